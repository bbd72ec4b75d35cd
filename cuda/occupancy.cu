// How many warps fit on an SM, and is more better?
//
// Each SM has one stock of registers, of shared memory and of places for warps and blocks, and a block lives there
// only while it can have all that it asks for. `hold_registers_*` are blocks that hold on to a chosen number of
// registers (and, by the launch, of shared memory) and wait, traced, so that one can count who was there together.
// `add_each` and `add_quads` are the same addition with four and with sixteen bytes a thread and array: the launch
// takes their places away with shared memory that they do not use, and their bandwidth shows what a place is worth.
#include "trace.cuh"

constexpr unsigned NAP_NS = 100; // as in blocks.cu: warps that look at the clock all the time starve those that arrive

// Keep VALUES numbers in registers while waiting for `amount` cycles. in: blockDim.x + VALUES ints; out: one int a
// thread, the sum of its numbers.
template <int VALUES>
__device__ __forceinline__ void hold_and_wait(long long *record, unsigned *arrivals, const volatile int *in, int *out,
                                              long long amount)
{
    const BlockTrace trace = trace_begin(record, arrivals);
    const long long start = clock64();
    int held[VALUES];
#pragma unroll
    for (int k = 0; k < VALUES; ++k) {
        held[k] = in[threadIdx.x + k]; // volatile: it may be read once only, so it has to be kept
    }
    while (clock64() - start < amount) {
        __nanosleep(NAP_NS);
    }
    int sum = 0;
#pragma unroll
    for (int k = 0; k < VALUES; ++k) {
        sum += held[k];
    }
    out[(long long)blockIdx.x * blockDim.x + threadIdx.x] = sum;
    trace_end(record, trace);
}

// The names say how many numbers a thread holds; it needs a few registers more.
extern "C" __global__ void hold_registers_8(long long *record, unsigned *arrivals, const volatile int *in,
                                            int *out, long long amount)
{
    hold_and_wait<8>(record, arrivals, in, out, amount);
}

extern "C" __global__ void hold_registers_32(long long *record, unsigned *arrivals, const volatile int *in,
                                            int *out, long long amount)
{
    hold_and_wait<32>(record, arrivals, in, out, amount);
}

extern "C" __global__ void hold_registers_64(long long *record, unsigned *arrivals, const volatile int *in,
                                            int *out, long long amount)
{
    hold_and_wait<64>(record, arrivals, in, out, amount);
}

extern "C" __global__ void hold_registers_128(long long *record, unsigned *arrivals, const volatile int *in,
                                            int *out, long long amount)
{
    hold_and_wait<128>(record, arrivals, in, out, amount);
}

extern "C" __global__ void hold_registers_192(long long *record, unsigned *arrivals, const volatile int *in,
                                            int *out, long long amount)
{
    hold_and_wait<192>(record, arrivals, in, out, amount);
}

// c = a + b, one number a thread.
extern "C" __global__ void add_each(const float *a, const float *b, float *c, long long n)
{
    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        c[i] = a[i] + b[i];
    }
}

// c = a + b, four numbers a thread. n: a multiple of 4; a, b and c begin at multiples of 16 bytes.
extern "C" __global__ void add_quads(const float *a, const float *b, float *c, long long n)
{
    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n / 4) {
        const float4 x = reinterpret_cast<const float4 *>(a)[i];
        const float4 y = reinterpret_cast<const float4 *>(b)[i];
        float4 z;
        z.x = x.x + y.x;
        z.y = x.y + y.y;
        z.z = x.z + y.z;
        z.w = x.w + y.w;
        reinterpret_cast<float4 *>(c)[i] = z;
    }
}
