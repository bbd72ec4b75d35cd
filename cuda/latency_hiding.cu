// How is a slow memory fast? Not by answering sooner: by having been asked for many things at once.
//
// One lane of each warp follows chains of addresses through DRAM, in which each load needs the one before. A single
// chain is as slow as DRAM is far. The ladder has two ways up: more warps (while one waits, the SM issues from
// another) and more independent chains in a thread (which a compiler makes out of independent loads). On either, each
// load takes as long as ever, and the SM gets more of them. Every load's two clocks are written down.
#include "clock.cuh"
#include "lane.cuh"

// A node of the ring (kernels/ring.py): a cache line that begins with the address of the next node.
struct Node {
    const Node *next;
    long long unused[15];
};
static_assert(sizeof(Node) == 128, "a node has a cache line of its own");

// When a load was issued and when its value was there, on the SM's clock (its lower half: differences of less than
// 2^32 cycles are right in it).
struct alignas(8) LoadClocks {
    unsigned issued, arrived;
};

__device__ __forceinline__ const Node *load_next(const Node *at)
{
    const Node *found;
    asm volatile("ld.global.u64 %0, [%1];" : "=l"(found) : "l"(&at->next) : "memory");
    return found;
}

__device__ __forceinline__ unsigned clock_now()
{
    unsigned now;
    asm volatile("mov.u32 %0, %%clock;" : "=r"(now)::"memory");
    return now;
}

// `rounds` steps of all chains of this thread. The loads of a round are all issued before the first is waited for.
template <int CHAINS>
__device__ __forceinline__ void follow(const Node *(&at)[CHAINS], LoadClocks *clocks, int rounds)
{
#pragma unroll 1
    for (int round = 0; round < rounds; ++round) {
        LoadClocks seen[CHAINS];
#pragma unroll
        for (int chain = 0; chain < CHAINS; ++chain) {
            seen[chain].issued = clock_now();
            at[chain] = load_next(at[chain]);
        }
#pragma unroll
        for (int chain = 0; chain < CHAINS; ++chain) {
            seen[chain].arrived = (unsigned)clock_after((unsigned long long)at[chain]);
        }
#pragma unroll
        for (int chain = 0; chain < CHAINS; ++chain) {
            clocks[round * CHAINS + chain] = seen[chain];
        }
    }
}

// starts: a node for each chain of each warp. record: for each warp, round and chain a LoadClocks. Dynamic shared
// memory holds the record while the loads run, since stores to memory would disturb them.
template <int CHAINS>
__device__ __forceinline__ void keep_in_flight(const Node *const *starts, LoadClocks *record, long long rounds)
{
    extern __shared__ LoadClocks kept[];
    const int warp = threadIdx.x / warpSize, entries = (int)rounds * CHAINS;
    const Node *at[CHAINS];
#pragma unroll
    for (int chain = 0; chain < CHAINS; ++chain) {
        at[chain] = starts[warp * CHAINS + chain];
    }
#pragma unroll 1
    for (int lap = 0; lap < 2; ++lap) { // in the first the code itself is fetched; the second goes on and counts
        __syncthreads();
        if (lane_id() == 0) {
            follow(at, kept + warp * entries, (int)rounds);
        }
    }
    __syncthreads();
    const int all = entries * (blockDim.x / warpSize);
    for (int i = threadIdx.x; i < all; i += blockDim.x) {
        record[i] = kept[i];
    }
}

// The names say how many chains a thread follows. Launch with one block of whole warps.
extern "C" __global__ void loads_in_flight_1(const Node *const *starts, LoadClocks *record, long long rounds)
{
    keep_in_flight<1>(starts, record, rounds);
}

extern "C" __global__ void loads_in_flight_2(const Node *const *starts, LoadClocks *record, long long rounds)
{
    keep_in_flight<2>(starts, record, rounds);
}

extern "C" __global__ void loads_in_flight_4(const Node *const *starts, LoadClocks *record, long long rounds)
{
    keep_in_flight<4>(starts, record, rounds);
}

extern "C" __global__ void loads_in_flight_8(const Node *const *starts, LoadClocks *record, long long rounds)
{
    keep_in_flight<8>(starts, record, rounds);
}
