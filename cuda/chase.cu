// How far away is a piece of data? One thread follows a chain in which each step needs the one before, so nothing
// overlaps and the time of a step is the whole way there and back.
//
// In registers the chain is an addition, in shared memory and beyond it is a pointer: a ring of nodes, each of which
// holds the address of the next. The ring is one random cycle, so that no prefetch and no fixed stride can help, and a
// node has a cache line of its own. Where the ring lies decides where the loads are answered: it fits in the L1, it
// fits in the L2, it does not, or it lies in the host's memory.
//
// Two things that go wrong easily are guarded here. A clock is read only when the value has arrived: a comparison of
// the value stands before it. And the ring is warm in the order in which it is walked: with any other order a cache
// that is too small for the ring would still hold some of the nodes that come first.
#include "clock.cuh"
#include "trace.cuh"

struct Node {
    const Node *next;    // the next node of the ring
    const Node *further; // the node blockDim.x steps on: with it a whole block walks the ring together
    long long unused[14];
};
static_assert(sizeof(Node) == 128, "a node has a cache line of its own");

enum Where { CACHED, PAST_L1, FROM_HOST };

// One load of an address. The plain load may be answered by any cache, the L1 included; .cg ("cache global") leaves the
// L1 out; .cv ("cache volatile") asks the host's memory again each time.
template <Where where> __device__ __forceinline__ const Node *load_address(const Node *const *at)
{
    const Node *found;
    if (where == PAST_L1) {
        asm volatile("ld.global.cg.u64 %0, [%1];" : "=l"(found) : "l"(at) : "memory");
    } else if (where == FROM_HOST) {
        asm volatile("ld.global.cv.u64 %0, [%1];" : "=l"(found) : "l"(at) : "memory");
    } else {
        asm volatile("ld.global.u64 %0, [%1];" : "=l"(found) : "l"(at) : "memory");
    }
    return found;
}

// Run `lap` laps times and write down cycles and nanoseconds of each, then the SM. lap() returns a value that is
// there only when the lap's last step is done.
template <typename Lap> __device__ __forceinline__ void time_laps(Lap lap, long long laps, long long *record)
{
    for (long long i = 0; i < laps; ++i) {
        const long long start_ns = globaltimer_ns();
        const long long start = clock64();
        const long long end = clock_after(lap());
        record[2 * i] = end - start;
        record[2 * i + 1] = globaltimer_ns() - start_ns;
    }
    record[2 * laps] = sm_id();
}

// Registers: `steps` additions, each of which needs the sum before. out[0] is what is added, out[1] takes the sum.
// record: cycles and ns of each lap, then the SM. Launch with one thread.
extern "C" __global__ void add_chain(float *out, long long steps, long long laps, long long *record)
{
    const float step = out[0];
    float sum = step;
    time_laps(
        [&] {
#pragma unroll 64
            for (int i = 0; i < (int)steps; ++i) {
                sum = sum + step;
            }
            return (unsigned long long)__float_as_uint(sum);
        },
        laps, record);
    out[1] = sum;
}

// Shared memory: the ring is words, each of which holds the shared-memory address of the next.
// next: for each of the `nodes` (at most 1024) words its successor. record as above. Launch with one block.
extern "C" __global__ void shared_chase(const int *next, long long nodes, long long steps, long long laps,
                                        long long *record)
{
    __shared__ unsigned ring[1025]; // word 0 stays free, so that no address in the ring is 0
    const unsigned base = (unsigned)__cvta_generic_to_shared(ring + 1);
    for (int i = threadIdx.x; i < (int)nodes; i += blockDim.x) {
        ring[1 + i] = base + 4 * (unsigned)next[i];
    }
    __syncthreads();
    if (threadIdx.x != 0) {
        return;
    }
    unsigned at = base;
    time_laps(
        [&] {
#pragma unroll 16
            for (int i = 0; i < (int)steps; ++i) {
                asm volatile("ld.shared.u32 %0, [%0];" : "+r"(at)::"memory");
            }
            return (unsigned long long)at;
        },
        laps, record);
}

// Read every node once, in the order of the ring, blockDim.x nodes at a time. starts: the first blockDim.x nodes.
__device__ __forceinline__ void warm_ring(const Node *const *starts, long long nodes)
{
    if (threadIdx.x < nodes) {
        const Node *at = starts[threadIdx.x];
        for (long long i = threadIdx.x; i < nodes; i += blockDim.x) {
            at = load_address<CACHED>(&at->further);
        }
        if (at == nullptr) { // never; but loads of which nothing came would be removed
            __trap();
        }
    }
    __syncthreads();
}

// The chain itself: `steps` loads, each of which needs the address that the one before brings.
template <Where where> __device__ __forceinline__ const Node *follow(const Node *at, long long steps)
{
#pragma unroll 16
    for (int i = 0; i < (int)steps; ++i) {
        at = load_address<where>(&at->next);
    }
    return at;
}

// Global memory: warm the ring of `nodes`, then follow it for `laps` times `steps` loads. Launch with one block of as
// many threads as `starts` has nodes.
extern "C" __global__ void chase(const Node *const *starts, long long nodes, long long steps, long long laps,
                                 long long *record)
{
    warm_ring(starts, nodes);
    if (threadIdx.x != 0) {
        return;
    }
    const Node *at = starts[0];
    time_laps([&] { return (unsigned long long)(at = follow<CACHED>(at, steps)); }, laps, record);
}

// The host's memory, pinned: the same, the first lap warms the address translation. Launch with one thread.
extern "C" __global__ void host_chase(const Node *const *starts, long long steps, long long laps, long long *record)
{
    const Node *at = starts[0];
    time_laps([&] { return (unsigned long long)(at = follow<FROM_HOST>(at, steps)); }, laps, record);
}

// Run once() `count` times, each on its own and not before `before` is there: cycles[i] is how long the i-th took.
// Writing a figure down is over before the next begins (it is read back), or the next would wait behind the store.
template <typename Once>
__device__ __forceinline__ void time_one_by_one(unsigned long long before, Once once, long long count,
                                                volatile unsigned *cycles)
{
#pragma unroll 1
    for (int i = 0; i < (int)count; ++i) {
        const long long start = clock_after(before);
        before = once();
        cycles[i] = (unsigned)(clock_after(before) - start);
        before |= cycles[i];
    }
}

// One load at a time: cycles of each of `loads` loads around a warm ring, then as often the cycles between two reads
// of the clock with nothing in between. `loads` at most 2048. record: 2 * loads entries. Launch as chase.
extern "C" __global__ void single_loads(const Node *const *starts, long long nodes, long long loads,
                                        long long *record)
{
    __shared__ unsigned cycles[2048]; // kept here while the loads run: stores to memory would disturb them
    warm_ring(starts, nodes);
    if (threadIdx.x != 0) {
        return;
    }
    const Node *at = starts[0];
    const auto address = [&] { return (unsigned long long)at; };
    const auto load = [&] { return (unsigned long long)(at = load_address<CACHED>(&at->next)); };
    time_one_by_one(address(), load, loads, cycles);
    for (int i = 0; i < (int)loads; ++i) {
        record[i] = cycles[i];
    }
    time_one_by_one(address(), address, loads, cycles);
    for (int i = 0; i < (int)loads; ++i) {
        record[loads + i] = cycles[i];
    }
}

// The same chain from a chosen SM: of all blocks, the first that finds itself on SM `target` follows the ring, the
// others end. With target -1 all blocks do, at the same time. taken: 0 before the launch. record: 2 entries (for
// target -1: 2 a block): cycles of `steps` loads, and the SM.
extern "C" __global__ void chase_from(const Node *const *starts, long long nodes, long long steps, long long target,
                                      unsigned *taken, long long *record)
{
    __shared__ bool mine;
    if (threadIdx.x == 0) {
        mine = target < 0 || (sm_id() == target && atomicExch(taken, 1u) == 0u);
    }
    __syncthreads();
    if (!mine) {
        return;
    }
    warm_ring(starts, nodes);
    if (threadIdx.x != 0) {
        return;
    }
    const Node *at = follow<CACHED>(starts[0], steps / 4); // the code itself is fetched before anything counts
    long long *row = record + (target < 0 ? 2 * blockIdx.x : 0);
    const long long start = clock_after((unsigned long long)at);
    at = follow<CACHED>(at, steps);
    row[0] = clock_after((unsigned long long)at) - start;
    row[1] = sm_id();
}

// Single lines of the L2 from a chosen SM: of all blocks, the first that finds itself on SM `target` goes round a ring
// that is small enough to stay in the L2, past the L1, and writes down the cycles of each of `loads` loads, at most
// 2048, in the order of the ring. taken: 0 before the launch. record: `loads` entries, then the SM. Launch blocks of
// one thread.
extern "C" __global__ void lines_from(const Node *const *starts, long long nodes, long long loads, long long target,
                                      unsigned *taken, long long *record)
{
    __shared__ unsigned cycles[2048];
    if (sm_id() != target || atomicExch(taken, 1u) != 0u) {
        return;
    }
    const Node *at = follow<PAST_L1>(starts[0], nodes); // once round: the lines come into the L2
    const auto load = [&] { return (unsigned long long)(at = load_address<PAST_L1>(&at->next)); };
    time_one_by_one((unsigned long long)at, load, loads, cycles);
    for (int i = 0; i < (int)loads; ++i) {
        record[i] = cycles[i];
    }
    record[loads] = sm_id();
}
