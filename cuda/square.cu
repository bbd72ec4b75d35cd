// y = x * x, the smallest work there is: what the five steps around it (allocate, copy in, launch, copy out, free)
// cost has nothing to do with it. kernels/square.py holds the same in Triton, with the same arguments in the same
// order.

// One number a thread. 64 bits, or the index would wrap beyond 2^31 numbers.
extern "C" __global__ void square(const float *x, float *y, long long n)
{
    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        y[i] = x[i] * x[i];
    }
}
