// What memory can do at all, for kernels that read two arrays and write one, and for those that read one and write
// one. A roof belongs to a mix: DRAM loses time when it turns from reading to writing, so an add may well exceed what
// a copy can reach.
//
// Each mix comes in three widths: 1, 2 or 4 words of 16 bytes a thread, all loads issued before the first store. The
// roof is the best of them. The arithmetic is an exclusive or, so that no number is slow or special.

template <int WORDS> __device__ __forceinline__ void two_in_one_out(const uint4 *a, const uint4 *b, uint4 *c,
                                                                    long long words)
{
    const long long first = (long long)blockIdx.x * blockDim.x * WORDS + threadIdx.x;
    uint4 x[WORDS], y[WORDS];
#pragma unroll
    for (int k = 0; k < WORDS; ++k) {
        const long long i = first + (long long)k * blockDim.x;
        if (i < words) {
            x[k] = a[i];
            y[k] = b[i];
        }
    }
#pragma unroll
    for (int k = 0; k < WORDS; ++k) {
        const long long i = first + (long long)k * blockDim.x;
        if (i < words) {
            uint4 z;
            z.x = x[k].x ^ y[k].x;
            z.y = x[k].y ^ y[k].y;
            z.z = x[k].z ^ y[k].z;
            z.w = x[k].w ^ y[k].w;
            c[i] = z;
        }
    }
}

template <int WORDS> __device__ __forceinline__ void one_in_one_out(const uint4 *a, uint4 *c, long long words)
{
    const long long first = (long long)blockIdx.x * blockDim.x * WORDS + threadIdx.x;
    uint4 x[WORDS];
#pragma unroll
    for (int k = 0; k < WORDS; ++k) {
        const long long i = first + (long long)k * blockDim.x;
        if (i < words) {
            x[k] = a[i];
        }
    }
#pragma unroll
    for (int k = 0; k < WORDS; ++k) {
        const long long i = first + (long long)k * blockDim.x;
        if (i < words) {
            c[i] = x[k];
        }
    }
}

// The names say reads, writes and words a thread.
extern "C" __global__ void roof_2r1w_1(const uint4 *a, const uint4 *b, uint4 *c, long long words)
{
    two_in_one_out<1>(a, b, c, words);
}

extern "C" __global__ void roof_2r1w_2(const uint4 *a, const uint4 *b, uint4 *c, long long words)
{
    two_in_one_out<2>(a, b, c, words);
}

extern "C" __global__ void roof_2r1w_4(const uint4 *a, const uint4 *b, uint4 *c, long long words)
{
    two_in_one_out<4>(a, b, c, words);
}

extern "C" __global__ void roof_1r1w_1(const uint4 *a, uint4 *c, long long words)
{
    one_in_one_out<1>(a, c, words);
}

extern "C" __global__ void roof_1r1w_2(const uint4 *a, uint4 *c, long long words)
{
    one_in_one_out<2>(a, c, words);
}

extern "C" __global__ void roof_1r1w_4(const uint4 *a, uint4 *c, long long words)
{
    one_in_one_out<4>(a, c, words);
}
