// Rung 3, shared tile: what one thread loads, the whole block uses.
//
// The 32 outputs of a row all need the same row of A, and those of a column the same column of B; so far each thread
// fetched them for itself. Now the block walks along k in steps of 32. At each step it copies a piece of A and one of
// B, 32 × 32 words each, to shared memory (a thread loads one word of either), waits until all are there, and each
// thread takes 32 multiply-adds from them. Each word loaded is used 32 times: 2 k / 32 loads an output instead of 2 k.
//
// On an H200 at m = n = k = 4096: 8.27 TFLOP/s, 1.5 times rung 2, with 256 words an output instead of 8192. That so
// much less loading wins so little says that something else is in the way now: shared memory.
#include "matmul.cuh"

constexpr int TILE = 32;

template <bool COUNT> __device__ __forceinline__ void shared_tile(const float *a, const float *b, float *c,
                                                                  long long m, long long n, long long k,
                                                                  unsigned long long *counts)
{
    __shared__ float a_tile[TILE][TILE], b_tile[TILE][TILE];
    Loads<COUNT> load;
    const Tile tile = tile_of_block<TILE, TILE>(m, n);
    const int x = threadIdx.x, y = threadIdx.y;
    const long long row = tile.row + y, column = tile.column + x;
    float sum = 0.0f;
    for (long long at = 0; at < k; at += TILE) {
        // Threads without an output of their own load too, and what lies outside the matrices counts as 0.
        a_tile[y][x] = row < m && at + x < k ? load.one(a + row * k + at + x) : 0.0f;
        b_tile[y][x] = at + y < k && column < n ? load.one(b + (at + y) * n + column) : 0.0f;
        __syncthreads(); // all words are there
#pragma unroll
        for (int i = 0; i < TILE; ++i) {
            sum = fmaf(a_tile[y][i], b_tile[i][x], sum);
        }
        __syncthreads(); // all have used them: the next piece may overwrite them
    }
    if (row < m && column < n) {
        c[row * n + column] = sum;
    }
    load.report(counts);
}

extern "C" __global__ void __launch_bounds__(TILE *TILE)
    matmul_3_shared_tile(const float *a, const float *b, float *c, long long m, long long n, long long k)
{
    shared_tile<false>(a, b, c, m, n, k, nullptr);
}

extern "C" __global__ void __launch_bounds__(TILE *TILE)
    matmul_3_shared_tile_counted(const float *a, const float *b, float *c, long long m, long long n, long long k,
                                 unsigned long long *counts)
{
    shared_tile<true>(a, b, c, m, n, k, counts);
}
