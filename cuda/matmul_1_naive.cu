// Rung 1, naive: one thread computes one output, straight from the formula.
//
// C[row][column] is the sum over i of A[row][i] · B[i][column], so a thread loads 2 k words for its k multiply-adds.
//
// What is wrong with it is which output a thread takes. Threads are numbered along x first, and 32 consecutive ones are
// a warp, which loads with one instruction. Here x walks down the rows, so the 32 lanes of a warp ask for A[row + 0 …
// 31][i]: 32 words that lie k apart. Memory answers in sectors of 32 bytes, so that is 32 sectors, of which one word
// each is wanted. (For B they all ask for the same word: one sector more.)
//
// On an H200 at m = n = k = 4096: 0.50 TFLOP/s. It touches 4224 sectors an output.
#include "matmul.cuh"

constexpr int TILE = 32; // a block's outputs are 32 × 32, one a thread

template <bool COUNT> __device__ __forceinline__ void naive(const float *a, const float *b, float *c, long long m,
                                                            long long n, long long k, unsigned long long *counts)
{
    Loads<COUNT> load;
    const Tile tile = tile_of_block<TILE, TILE>(m, n);
    const long long row = tile.row + threadIdx.x;
    const long long column = tile.column + threadIdx.y;
    if (row < m && column < n) {
        float sum = 0.0f;
#pragma unroll 16 // more loads in flight at a time; the next rungs unroll as well
        for (long long i = 0; i < k; ++i) {
            sum = fmaf(load.one(a + row * k + i), load.one(b + i * n + column), sum);
        }
        c[row * n + column] = sum;
    }
    load.report(counts);
}

extern "C" __global__ void __launch_bounds__(TILE *TILE, 1)
    matmul_1_naive(const float *a, const float *b, float *c, long long m, long long n, long long k)
{
    naive<false>(a, b, c, m, n, k, nullptr);
}

extern "C" __global__ void __launch_bounds__(TILE *TILE, 1)
    matmul_1_naive_counted(const float *a, const float *b, float *c, long long m, long long n, long long k,
                           unsigned long long *counts)
{
    naive<true>(a, b, c, m, n, k, counts);
}
