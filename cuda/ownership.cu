// Which element is mine? Two kernels that differ in one line.
//
// threadIdx.x begins at 0 in every block. Used alone it makes all blocks work on the same first elements, and nobody
// on the others. blockIdx.x * blockDim.x, the threads in the blocks before mine, is what is missing.
// kernels/ownership_triton.py holds the same in Triton, with the same arguments in the same order.

// owner[i] becomes the number in the grid of a thread that took element i, writes[i] how many took it.
__device__ __forceinline__ void take(long long *owner, int *writes, long long n, long long i)
{
    if (i < n) {
        owner[i] = (long long)blockIdx.x * blockDim.x + threadIdx.x;
        atomicAdd(&writes[i], 1);
    }
}

extern "C" __global__ void own_without_offset(long long *owner, int *writes, long long n)
{
    const long long i = threadIdx.x;
    take(owner, writes, n, i);
}

extern "C" __global__ void own_with_offset(long long *owner, int *writes, long long n)
{
    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    take(owner, writes, n, i);
}
