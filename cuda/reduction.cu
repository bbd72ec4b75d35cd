// The sum of all elements, as a ladder. On every rung the same additions; what changes is where two threads' sums meet.
//
//   sum_atomic_each      each thread adds its number to the total: n atomics on one address, done one after another
//   sum_atomic_warps     the 32 lanes of a warp first add up through their registers: n / 32 atomics
//   sum_atomic_blocks    the warps of a block first add up through shared memory: n / 256 atomics
//   sum_atomic_strided   each thread first adds up many numbers of its own: one atomic for each block, however large n is
//   sum_atomic_quads     those numbers are loaded four at a time, as one 16-byte word: memory is kept busy
//   block_sums           no atomics: each block writes its sum down, and a second launch of one block adds up those
//
// Atomics come in the order in which they arrive, and float additions in another order round differently: only the
// last rung has the same bits in every run. It needs no total that was set to zero before, either, and it adds the
// smallest numbers (subnormal ones, below 1.2e-38) up, which an atomic addition in global memory takes for 0.
// kernels/reduce_sum.py is the last rung in Triton.

constexpr unsigned ALL_LANES = 0xffffffffu;
constexpr int WARP_SIZE = 32;
constexpr int MOST_WARPS = 32; // a block has at most 1024 threads
constexpr int QUADS = 4;       // 16-byte words that a thread has on their way at once

// The sum over a warp, in its lane 0: 16 lanes hand theirs to the other 16, then 8, 4, 2, 1.
__device__ __forceinline__ float warp_sum(float sum)
{
#pragma unroll
    for (int distance = WARP_SIZE / 2; distance > 0; distance /= 2) {
        sum += __shfl_down_sync(ALL_LANES, sum, distance);
    }
    return sum;
}

// The sum over a block, in its thread 0. blockDim.x is a multiple of 32, and every thread must call it.
__device__ __forceinline__ float block_sum(float sum)
{
    __shared__ float of_warp[MOST_WARPS];
    const int lane = threadIdx.x % WARP_SIZE, warp = threadIdx.x / WARP_SIZE;
    sum = warp_sum(sum);
    if (lane == 0) {
        of_warp[warp] = sum;
    }
    __syncthreads();
    const int warps = blockDim.x / WARP_SIZE;
    return warp == 0 ? warp_sum(lane < warps ? of_warp[lane] : 0.0f) : 0.0f;
}

__device__ __forceinline__ long long thread_in_grid()
{
    return (long long)blockIdx.x * blockDim.x + threadIdx.x;
}

// One number a thread. Every thread of a warp must get to the shuffles, so one without a number brings a 0.
__device__ __forceinline__ float one_number(const float *x, long long n)
{
    const long long i = thread_in_grid();
    return i < n ? x[i] : 0.0f;
}

// Rung 1. *total must be 0 before.
extern "C" __global__ void sum_atomic_each(const float *x, float *total, long long n)
{
    const long long i = thread_in_grid();
    if (i < n) {
        atomicAdd(total, x[i]);
    }
}

// Rung 2.
extern "C" __global__ void sum_atomic_warps(const float *x, float *total, long long n)
{
    const float sum = warp_sum(one_number(x, n));
    if (threadIdx.x % WARP_SIZE == 0) {
        atomicAdd(total, sum);
    }
}

// Rung 3.
extern "C" __global__ void sum_atomic_blocks(const float *x, float *total, long long n)
{
    const float sum = block_sum(one_number(x, n));
    if (threadIdx.x == 0) {
        atomicAdd(total, sum);
    }
}

// Rung 4. The grid is as large as fits on the GPU at once and strides over the numbers: in each step, neighbours read
// neighbours.
extern "C" __global__ void sum_atomic_strided(const float *x, float *total, long long n)
{
    const long long stride = (long long)gridDim.x * blockDim.x;
    float sum = 0.0f;
    for (long long i = thread_in_grid(); i < n; i += stride) {
        sum += x[i];
    }
    sum = block_sum(sum);
    if (threadIdx.x == 0) {
        atomicAdd(total, sum);
    }
}

// A thread's share in 16-byte words, QUADS of them asked for before the first is added; the 0 to 3 numbers left over
// at the end go to the first threads. Needs x to begin at a multiple of 16 bytes.
__device__ __forceinline__ float sum_of_quads(const float *x, long long n)
{
    const float4 *words = reinterpret_cast<const float4 *>(x);
    const long long count = n / 4, stride = (long long)gridDim.x * blockDim.x;
    long long i = thread_in_grid();
    float sum = i < n % 4 ? x[4 * count + i] : 0.0f;
    for (; i + (QUADS - 1) * stride < count; i += QUADS * stride) {
        float4 word[QUADS];
#pragma unroll
        for (int k = 0; k < QUADS; ++k) {
            word[k] = words[i + k * stride];
        }
#pragma unroll
        for (int k = 0; k < QUADS; ++k) {
            sum += (word[k].x + word[k].y) + (word[k].z + word[k].w);
        }
    }
    for (; i < count; i += stride) {
        const float4 word = words[i];
        sum += (word.x + word.y) + (word.z + word.w);
    }
    return sum;
}

// Rung 5.
extern "C" __global__ void sum_atomic_quads(const float *x, float *total, long long n)
{
    const float sum = block_sum(sum_of_quads(x, n));
    if (threadIdx.x == 0) {
        atomicAdd(total, sum);
    }
}

// Rung 6, launched twice: x to the blocks' sums, then these, with one block, to the total.
extern "C" __global__ void block_sums(const float *x, float *sums, long long n)
{
    const float sum = block_sum(sum_of_quads(x, n));
    if (threadIdx.x == 0) {
        sums[blockIdx.x] = sum;
    }
}
