// Rung 5, register tile: a thread computes 8 × 8 outputs, its thread tile.
//
// Rung 4 in both directions. At each step along k a thread takes 8 words of A and 8 of B into registers and makes all
// 64 products of them: 16 words for 64 multiply-adds, where it was 9 for 8. In two steps that is 8 reads for A (two
// words each, as in rung 4) and 16 for B for 128 multiply-adds, 0.19 each: now less than the 0.25 that an SM can
// afford.
//
// Outputs of a thread do not lie side by side but 16 apart, because of banks. The lanes of a warp are 16 across and 2
// down. With outputs 16 apart, lanes next to each other want words of B next to each other: 16 words in 16 banks. Side
// by side, lanes would want words 8 apart, and 16 of those lie in only 4 banks: four cycles instead of one.
//
// Also different, to make room for it: the block tile is 128 × 128, so loads from global memory fall to 2 k / 128 an
// output. 256 threads make it, each loading 4 words of A and 4 of B for each chunk. 64 sums a thread take twice the
// registers, so only half as many warps are resident as in rung 4: 16 an SM.
//
// Won: 28.49 TFLOP/s, 1.79 times rung 4 and 0.556 of cuBLAS.
#include "matmul.cuh"

constexpr int TILE = 128;             // side of the block tile
constexpr int DEPTH = 8;              // steps of a k chunk
constexpr int OUTPUTS = 8;            // side of the thread tile
constexpr int APART = TILE / OUTPUTS; // 16: the outputs of a thread are so far apart, and it is 16 × 16 threads
constexpr int THREADS = APART * APART;
constexpr int BLOCKS = 2; // resident on an SM, at least
// Rows of the chunks of A and of B that all threads together load at a time, one word each: 32 and 2.
constexpr int A_ROWS = THREADS / DEPTH, B_ROWS = THREADS / TILE;

template <bool COUNT> __device__ __forceinline__ void register_tile(const float *a, const float *b, float *c,
                                                                    long long m, long long n, long long k,
                                                                    unsigned long long *counts)
{
    __shared__ float a_chunk[TILE][DEPTH], b_chunk[DEPTH][TILE];
    Loads<COUNT> load;
    const BlockTile tile = find_block_tile<TILE, TILE>(m, n);
    const int thread = threadIdx.x;
    const int x = thread % APART, y = thread / APART; // its first output in the block tile
    const int a_row = thread / DEPTH, a_column = thread % DEPTH;
    const int b_row = thread / TILE, b_column = thread % TILE;
    a += (tile.row + a_row) * k + a_column; // a and b: what this thread loads next
    b += b_row * n + tile.column + b_column;
    c += (tile.row + y) * n + tile.column + x;                  // c: its first output
    const int rows = tile.rows - y, columns = tile.columns - x; // of the block tile, from that output on
    float sums[OUTPUTS][OUTPUTS] = {};
    for (long long at = 0; at < k; at += DEPTH) {
        const int depth = at_most<DEPTH>(k - at); // less than DEPTH at the end of k
#pragma unroll
        for (int j = 0; j < TILE / A_ROWS; ++j) {
            const bool exists = a_row + j * A_ROWS < tile.rows && a_column < depth;
            a_chunk[a_row + j * A_ROWS][a_column] = exists ? load.one(a + j * A_ROWS * k) : 0.0f;
        }
#pragma unroll
        for (int j = 0; j < DEPTH / B_ROWS; ++j) {
            const bool exists = b_row + j * B_ROWS < depth && b_column < tile.columns;
            b_chunk[b_row + j * B_ROWS][b_column] = exists ? load.one(b + j * B_ROWS * n) : 0.0f;
        }
        a += DEPTH;
        b += DEPTH * n;
        __syncthreads();
#pragma unroll 2 // as in rung 4; rung 8 has the registers for more
        for (int i = 0; i < DEPTH; ++i) {
            float left[OUTPUTS], right[OUTPUTS]; // words of A, the left factor, and of B, the right one
#pragma unroll
            for (int j = 0; j < OUTPUTS; ++j) {
                left[j] = a_chunk[y + APART * j][i];
                right[j] = b_chunk[i][x + APART * j];
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
