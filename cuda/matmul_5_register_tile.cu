// Rung 5, register tile: a thread computes 8 × 8 outputs.
//
// Rung 4 in both directions. At each step along k a thread reads 8 words of A and 8 of B into registers and makes all
// 64 products of them: one word read from shared memory for four multiply-adds, instead of one for one. The 256 threads
// make 128 × 128 outputs, and the loads from global memory fall to 2 k / 128 an output.
//
// A thread's outputs do not lie side by side but 16 apart. So neighbouring threads, which read at the same time, read
// neighbouring words, and those lie in different banks of shared memory: 32 of them can be read at once.
//
// On an H200 at m = n = k = 4096: 28.5 TFLOP/s, 1.8 times rung 4.
#include "matmul.cuh"

constexpr int TILE = 128;
constexpr int DEPTH = 8;
constexpr int OUTPUTS = 8;            // in each direction
constexpr int APART = TILE / OUTPUTS; // 16 × 16 threads; a thread's outputs are as far from each other
constexpr int THREADS = APART * APART;
constexpr int BLOCKS = 2; // resident on an SM
constexpr int A_ROWS = THREADS / DEPTH, B_ROWS = THREADS / TILE; // that all threads load at a time, a word each

template <bool COUNT> __device__ __forceinline__ void register_tile(const float *a, const float *b, float *c,
                                                                    long long m, long long n, long long k,
                                                                    unsigned long long *counts)
{
    __shared__ float a_tile[TILE][DEPTH], b_tile[DEPTH][TILE];
    Loads<COUNT> load;
    const Tile tile = tile_of_block<TILE, TILE>(m, n);
    const int thread = threadIdx.x;
    const int x = thread % APART, y = thread / APART;
    const int a_row = thread / DEPTH, a_column = thread % DEPTH;
    const int b_row = thread / TILE, b_column = thread % TILE;
    a += (tile.row + a_row) * k + a_column; // a and b point at what this thread loads next,
    b += b_row * n + tile.column + b_column;
    c += (tile.row + y) * n + tile.column + x;                  // and c at its first output, from where
    const int rows = tile.rows - y, columns = tile.columns - x; // so many exist
    float sums[OUTPUTS][OUTPUTS] = {};
    for (long long at = 0; at < k; at += DEPTH) {
        const int depth = at_most<DEPTH>(k - at); // less than DEPTH at the end of k
#pragma unroll
        for (int j = 0; j < TILE / A_ROWS; ++j) {
            const bool exists = a_row + j * A_ROWS < tile.rows && a_column < depth;
            a_tile[a_row + j * A_ROWS][a_column] = exists ? load.one(a + j * A_ROWS * k) : 0.0f;
        }
#pragma unroll
        for (int j = 0; j < DEPTH / B_ROWS; ++j) {
            const bool exists = b_row + j * B_ROWS < depth && b_column < tile.columns;
            b_tile[b_row + j * B_ROWS][b_column] = exists ? load.one(b + j * B_ROWS * n) : 0.0f;
        }
        a += DEPTH;
        b += DEPTH * n;
        __syncthreads();
#pragma unroll 2 // not all 8: two blocks an SM leave a thread 128 registers
        for (int i = 0; i < DEPTH; ++i) {
            float left[OUTPUTS], right[OUTPUTS];
#pragma unroll
            for (int j = 0; j < OUTPUTS; ++j) {
                left[j] = a_tile[y + APART * j][i];
                right[j] = b_tile[i][x + APART * j];
            }
#pragma unroll
            for (int down = 0; down < OUTPUTS; ++down) {
#pragma unroll
                for (int across = 0; across < OUTPUTS; ++across) {
                    sums[down][across] = fmaf(left[down], right[across], sums[down][across]);
                }
            }
        }
        __syncthreads();
    }
#pragma unroll
    for (int down = 0; down < OUTPUTS; ++down) {
#pragma unroll
        for (int across = 0; across < OUTPUTS; ++across) {
            if (APART * down < rows && APART * across < columns) {
                c[APART * down * n + APART * across] = sums[down][across];
            }
        }
    }
    load.report(counts);
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
    matmul_5_register_tile(const float *a, const float *b, float *c, long long m, long long n, long long k)
{
    register_tile<false>(a, b, c, m, n, k, nullptr);
}

extern "C" __global__ void __launch_bounds__(THREADS)
    matmul_5_register_tile_counted(const float *a, const float *b, float *c, long long m, long long n, long long k,
                                   unsigned long long *counts)
{
    register_tile<true>(a, b, c, m, n, k, counts);
}
