// One launch, written down at every level: which SM ran a block, when each of its warps began and ended, and which
// lane of which warp had which element.
//
// The story is the first line of nearly every kernel: `i = blockIdx.x * blockDim.x + threadIdx.x` makes the grid's
// threads the owners of n elements, and `if (i < n)` keeps the last block's surplus threads out. Here the owner does
// nothing with its element but sign it and wait, so that only the scheduling is left to see.
// kernels/grid_triton.py holds the same kernel in Triton, with the same arguments in the same order.
#include "trace.cuh"

// Columns of a warp's record: column c of warp w is warp_record[c * warps of the grid + w].
enum WarpColumn { WARP_START_NS, WARP_END_NS, WARP_SM };

constexpr unsigned NAP_NS = 100; // as in blocks.cu: warps that look at the clock all the time starve those that arrive

// Which lane of its warp a thread is, as the hardware has it (not computed from threadIdx).
__device__ __forceinline__ int lane_id()
{
    unsigned lane;
    asm volatile("mov.u32 %0, %%laneid;" : "=r"(lane));
    return (int)lane;
}

// What differs between blocks of real work, made by arithmetic: 0 … 1023 by the block's number, neighbours far apart.
__device__ __forceinline__ long long unevenness()
{
    return (blockIdx.x * 2654435761u) >> 22;
}

// record and arrivals: see trace.cuh. owner: one int an element, signed with warp * warpSize + lane by its thread.
// A thread with an element waits for `least` cycles of its SM's clock, and up to `spread` more, by its block's number.
extern "C" __global__ void traced_elements(long long *record, unsigned *arrivals, long long *warp_record, int *owner,
                                           long long n, long long least, long long spread)
{
    const long long start_ns = globaltimer_ns();
    const long long start_clock = clock64();
    const BlockTrace trace = trace_begin(record, arrivals);
    const int warps_per_block = (blockDim.x + warpSize - 1) / warpSize;
    const long long warps = (long long)gridDim.x * warps_per_block;
    const long long warp = (long long)blockIdx.x * warps_per_block + threadIdx.x / warpSize;
    if (lane_id() == 0) {
        warp_record[WARP_START_NS * warps + warp] = start_ns;
        warp_record[WARP_SM * warps + warp] = sm_id();
    }
    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        owner[i] = (int)(warp * warpSize + lane_id());
        const long long amount = least + spread * unevenness() / 1024;
        while (clock64() - start_clock < amount) {
            __nanosleep(NAP_NS);
        }
    }
    if (lane_id() == 0) {
        warp_record[WARP_END_NS * warps + warp] = globaltimer_ns();
    }
    trace_end(record, trace);
}
