// Why `if (i < n)`? Threads come in whole blocks, elements do not: a grid has up to a block's threads too many.
//
// Without the check the surplus writes behind the array, into whatever lies there, and nothing complains. Whoever
// launches `number_unguarded` gives it room for that: the allocation goes on behind the n elements.
// kernels/guard_triton.py holds the same in Triton, with the same arguments in the same order.

extern "C" __global__ void number_guarded(int *out, long long n)
{
    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        out[i] = (int)i;
    }
}

extern "C" __global__ void number_unguarded(int *out, long long n)
{
    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = (int)i;
}
