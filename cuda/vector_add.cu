// c = a + b: the kernel that every course begins with, and the one that shows what a load's width is worth.
//
// A thread finds its element from where it stands in the grid, `i = blockIdx.x * blockDim.x + threadIdx.x`, and
// `if (i < n)` keeps the last block's surplus threads out. The ladder has two rungs. `vector_add_each` takes one number
// a thread: 4 bytes asked of each array, so few bytes are under way that memory is not kept busy. `vector_add_quads`
// takes four, which the hardware loads and stores as one 16-byte word: the same bytes in a quarter of the requests,
// four times as many under way, and memory at its limit.
// kernels/vector_add.py holds the same in Triton, with the same arguments in the same order; there the compiler chooses
// the width.

// One number a thread. For arrays that do not begin at a multiple of 16 bytes.
extern "C" __global__ void vector_add_each(const float *a, const float *b, float *c, long long n)
{
    // 64 bits, or i would wrap beyond 2^31 numbers.
    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        c[i] = a[i] + b[i];
    }
}

// Four numbers a thread. The 0 to 3 left over at the end go to as many threads more, one each. Needs a, b and c to
// begin at multiples of 16 bytes; launch at least n / 4 + n % 4 threads.
extern "C" __global__ void vector_add_quads(const float *a, const float *b, float *c, long long n)
{
    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    const long long quads = n / 4;
    if (i < quads) {
        const float4 x = reinterpret_cast<const float4 *>(a)[i];
        const float4 y = reinterpret_cast<const float4 *>(b)[i];
        float4 z;
        z.x = x.x + y.x;
        z.y = x.y + y.y;
        z.z = x.z + y.z;
        z.w = x.w + y.w;
        reinterpret_cast<float4 *>(c)[i] = z;
    } else if (i < quads + n % 4) {
        const long long last = 4 * quads + (i - quads);
        c[last] = a[last] + b[last];
    }
}
