// relu(a + b) in one kernel: three trips to memory where torch's two kernels make five.
//
// Nothing here is clever. The sum never leaves the registers of the thread that made it, so there is no tmp to write
// and to read back. The ladder has two rungs: `add_relu_each` takes one number a thread, `add_relu_quads` four, which
// the hardware loads and stores as one 16-byte word; with fewer, larger requests in flight, memory is kept busier.
// kernels/add_relu.py holds the same in Triton, with the same arguments in the same order.

// As torch has it: NaN stays NaN (fmaxf alone would turn it into 0), and -0 becomes +0.
__device__ __forceinline__ float add_relu(float a, float b)
{
    const float sum = a + b;
    return sum != sum ? sum : fmaxf(sum, 0.0f);
}

// One number a thread. For arrays that do not begin at a multiple of 16 bytes.
extern "C" __global__ void add_relu_each(const float *a, const float *b, float *c, long long n)
{
    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        c[i] = add_relu(a[i], b[i]);
    }
}

// Four numbers a thread. The 0 to 3 left over at the end go to as many threads more, one each. Needs a, b and c to
// begin at multiples of 16 bytes; launch at least n / 4 + n % 4 threads.
extern "C" __global__ void add_relu_quads(const float *a, const float *b, float *c, long long n)
{
    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    const long long quads = n / 4;
    if (i < quads) {
        const float4 x = reinterpret_cast<const float4 *>(a)[i];
        const float4 y = reinterpret_cast<const float4 *>(b)[i];
        float4 z;
        z.x = add_relu(x.x, y.x);
        z.y = add_relu(x.y, y.y);
        z.z = add_relu(x.z, y.z);
        z.w = add_relu(x.w, y.w);
        reinterpret_cast<float4 *>(c)[i] = z;
    } else if (i < quads + n % 4) {
        const long long last = 4 * quads + (i - quads);
        c[last] = add_relu(a[last], b[last]);
    }
}
