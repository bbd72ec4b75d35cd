// Blocks that do one plain thing for a chosen while, so that only their scheduling is left to see.
//
// A block that *waits* watches its SM's clock: two on one SM do not slow each other down. A block that *computes*
// runs a chain of dependent multiply-adds: those on one SM share its arithmetic units. kernels/blocks_triton.py
// holds the same kernels in Triton, with the same arguments in the same order.
#include "trace.cuh"

constexpr unsigned NAP_NS = 100; // under a percent of a block; longer naps end blocks late and unevenly

// Wait until this SM's clock has moved on by `amount` cycles. Between two looks at the clock a warp sleeps. Warps that
// look all the time starve those that arrive: on a full SM a wait of 40 000 cycles was then seen to last 72 000.
__device__ __forceinline__ void wait(long long amount)
{
    const long long start = clock64();
    while (clock64() - start < amount) {
        __nanosleep(NAP_NS);
    }
}

// `amount` multiply-adds, each of which needs the result of the one before. Tends to 2, whatever x was.
__device__ __forceinline__ float compute(float x, long long amount)
{
#pragma unroll 16
    for (int i = 0; i < (int)amount; ++i) {
        x = fmaf(x, 0.5f, 1.0f);
    }
    return x;
}

extern "C" __global__ void wait_blocks(long long amount)
{
    wait(amount);
}

// out: one float a thread; written so that the compiler cannot drop the arithmetic.
extern "C" __global__ void compute_blocks(float *out, long long amount)
{
    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = compute((float)threadIdx.x, amount);
}

// The same two, traced. record and arrivals: see trace.cuh.
extern "C" __global__ void traced_wait_blocks(long long *record, unsigned *arrivals, long long amount)
{
    const BlockTrace trace = trace_begin(record, arrivals);
    wait(amount);
    trace_end(record, trace);
}

extern "C" __global__ void traced_compute_blocks(long long *record, unsigned *arrivals, float *out, long long amount)
{
    const BlockTrace trace = trace_begin(record, arrivals);
    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = compute((float)threadIdx.x, amount);
    trace_end(record, trace);
}
