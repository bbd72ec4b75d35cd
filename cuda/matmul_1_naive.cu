// Rung 1, naive: one thread computes one output, straight from the formula.
//
// C[row][column] is the sum over i of A[row][i] · B[i][column], so a thread loads 2 k words for its k multiply-adds.
//
// What is wrong with it is which output a thread takes. Threads are numbered along x first, and 32 consecutive ones are
// a warp. Here row is tile.row + threadIdx.x, so the lanes of a warp are in 32 rows of C and ask for A[row + 0 …
// 31][i]: words that lie k apart, in 32 different sectors. (For B all ask for the same word: one sector more.) At the
// next i they want the next words of the same sectors, which a cache may still have; but it has to hand out 33 sectors
// each time. The outputs are written as far apart.
//
// Won: it is where we start, 0.50 TFLOP/s, 0.010 of cuBLAS. It touches 33 · 4096 / 32 = 4224 sectors an output.
#include "matmul.cuh"

constexpr int TILE = 32; // the block tile is 32 × 32 outputs, one a thread

template <bool COUNT> __device__ __forceinline__ void naive(const float *a, const float *b, float *c, long long m,
                                                            long long n, long long k, unsigned long long *counts)
{
    Loads<COUNT> load;
    const BlockTile tile = find_block_tile<TILE, TILE>(m, n);
    const long long row = tile.row + threadIdx.x;
    const long long column = tile.column + threadIdx.y;
    if (row < m && column < n) {
        float sum = 0.0f;
#pragma unroll 16 // so that the loads of several steps are in flight together
        for (long long i = 0; i < k; ++i) {
            sum = fmaf(load.one(a + row * k + i), load.one(b + i * n + column), sum);
        }
        c[row * n + column] = sum;
    }
    load.report(counts);
}

extern "C" __global__ void __launch_bounds__(TILE *TILE, 1) // 1 block an SM: up to 64 registers a thread
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
