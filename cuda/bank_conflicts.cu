// Shared memory is 32 banks wide. What does a warp's load cost when its lanes crowd into a few of them?
//
// Word w of 4 bytes lies in bank w % 32. In a turn, each bank hands out one word: lanes that want the same word share
// it, lanes that want different words of one bank queue. So a load takes as many turns as the longest queue.
//
// Two loops look at it. In `bank_loads` the loads of a warp are independent and several warps keep the banks busy: what
// counts is throughput, and each turn shows in full. In `bank_chain` one warp waits for every load before it makes the
// next: what counts is latency, and the turns add to a long way there and back.
//
// Which banks were asked is not assumed: lanes write down the addresses that they load from (kernels/bank_conflicts.py
// counts the queues in them).
#include "clock.cuh"

constexpr int UNROLL = 16; // loads between two looks at the loop's counter

// The first address of this lane, in bytes of the shared window: lane l begins at word l * stride.
__device__ __forceinline__ unsigned lane_address(const unsigned *words, long long stride)
{
    const unsigned lane = threadIdx.x % warpSize;
    return (unsigned)__cvta_generic_to_shared(words) + 4 * lane * (unsigned)stride;
}

template <int K> __device__ __forceinline__ unsigned load_row(unsigned address)
{
    unsigned word;
    // ld.volatile: a plain load would be made once, ahead of the loop, by the assembler that `asm volatile` does not
    // bind. K rows of 32 words on, each lane is in the bank that it was in before.
    asm volatile("ld.volatile.shared.u32 %0, [%1 + %2];" : "=r"(word) : "r"(address), "n"(4 * 32 * K) : "memory");
    return word;
}

template <int K> __device__ __forceinline__ unsigned load_rows(unsigned address)
{
    const unsigned word = load_row<K>(address);
    if constexpr (K + 1 < UNROLL) {
        return word + load_rows<K + 1>(address);
    }
    return word;
}

// Dynamic shared memory: 31 * stride + 32 * UNROLL words (word w holds w + 1). One block; all its warps make `steps`
// loads a lane, a multiple of UNROLL, from the same addresses. Queued in one go are UNROLL loads of a warp.
// sums: one a thread, what its loads brought together. record: for each warp the clock when all had met and when its
// own last value was there. addresses: 32 * UNROLL entries, what the lanes of warp 0 loaded from, in bytes from the
// first word.
extern "C" __global__ void bank_loads(unsigned *sums, long long stride, long long steps, long long *record,
                                      long long *addresses)
{
    extern __shared__ unsigned words[];
    for (unsigned w = threadIdx.x; w < 31 * (unsigned)stride + 32 * UNROLL; w += blockDim.x) {
        words[w] = w + 1;
    }
    __syncthreads();
    const unsigned at = lane_address(words, stride);
    unsigned sum = load_rows<0>(at) & 0; // the code is fetched before anything counts
    __syncthreads();
    const long long start = clock64();
#pragma unroll 1
    for (int left = (int)steps; left > 0; left -= UNROLL) {
        sum += load_rows<0>(at);
    }
    const long long end = clock_after(1ull + sum);
    sums[threadIdx.x] = sum;
    if (threadIdx.x % warpSize == 0) {
        record[2 * (threadIdx.x / warpSize)] = start;
        record[2 * (threadIdx.x / warpSize) + 1] = end;
    }
    if (threadIdx.x < warpSize) {
        for (int k = 0; k < UNROLL; ++k) {
            addresses[32 * k + threadIdx.x] = at + 4 * 32 * k - (unsigned)__cvta_generic_to_shared(words);
        }
    }
}

// The chain: each lane's word holds its own address, so a lane loads from the same place again and again and cannot
// know where before the load is back. One warp. Dynamic shared memory: 31 * stride + 1 words.
// record: cycles of `steps` loads. addresses: 32 entries, where the lanes stood in the end, in bytes from the first word.
extern "C" __global__ void bank_chain(long long stride, long long steps, long long *record, long long *addresses)
{
    extern __shared__ unsigned words[];
    unsigned at = lane_address(words, stride);
    const unsigned base = (unsigned)__cvta_generic_to_shared(words);
    words[threadIdx.x * (unsigned)stride] = at;
    __syncwarp();
    const auto follow = [&](int count) {
#pragma unroll 16
        for (int i = 0; i < count; ++i) {
            asm volatile("ld.shared.u32 %0, [%0];" : "+r"(at)::"memory");
        }
    };
    follow(UNROLL); // the code is fetched before anything counts
    const long long start = clock_after(1ull + at);
    follow((int)steps);
    const long long end = clock_after(1ull + at);
    if (threadIdx.x == 0) {
        record[0] = end - start;
    }
    addresses[threadIdx.x] = at - base;
}
