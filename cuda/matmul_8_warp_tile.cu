// Rung 8, warp tile: a warp computes 64 × 64 outputs, 16 × 8 a thread.
//
// Twice the outputs a thread: 24 words from shared memory for 128 multiply-adds, instead of 16 for 64. The block's 128
// × 128 outputs are made by 4 warps instead of 8. Fewer warps are left to work while one of them waits; but a thread
// may have 255 registers now, so all steps of a piece are unrolled, and the words of the next are read while it
// multiplies.
//
// A warp's outputs lie in a square, its lanes 4 down and 8 across, where they were 2 down and 16 across. Shared memory
// hands out 32 words at a time, and a word that several lanes want only once; so for each step along k a warp reads 64
// words of A and 64 of B for its 64 × 64 outputs. In the old shape it would be 32 and 128.
//
// On an H200 at m = n = k = 4096: 48.9 TFLOP/s, 1.18 times rung 7 and 0.95 of cuBLAS. It is the larger tile together with
// the unrolling: with two steps unrolled it would be 41.5. The shape of the warp is worth less than 0.5 % there, since
// shared memory no longer sets the pace.
#include "matmul.cuh"

constexpr int TILE = 128;
constexpr int DEPTH = 8;
constexpr int GROUPS_DOWN = 4, GROUPS_ACROSS = 2; // of 4 outputs: 16 × 8 outputs a thread
constexpr int LANES_DOWN = 4, LANES_ACROSS = 8;
constexpr int APART_DOWN = 4 * LANES_DOWN, APART_ACROSS = 4 * LANES_ACROSS; // between the groups of a thread
constexpr int WARP_ROWS = GROUPS_DOWN * APART_DOWN, WARP_COLUMNS = GROUPS_ACROSS * APART_ACROSS;
constexpr int WARPS_ACROSS = TILE / WARP_COLUMNS;
constexpr int THREADS = 32 * (TILE / WARP_ROWS) * WARPS_ACROSS;
constexpr int BLOCKS = 2; // resident on an SM
constexpr int A_ROWS = THREADS / (DEPTH / 4), B_ROWS = THREADS / (TILE / 4); // that all threads load at a time
constexpr int A_FOURS = TILE / A_ROWS, B_FOURS = DEPTH / B_ROWS;             // loads a thread makes for each piece
constexpr int PADDED = TILE + 4;

static_assert(WARP_ROWS * (TILE / WARP_ROWS) == TILE && WARP_COLUMNS * WARPS_ACROSS == TILE, "whole warps");

template <bool COUNT, bool WIDE>
__device__ __forceinline__ void warp_tile(const float *a, const float *b, float *c, long long m, long long n,
                                          long long k, unsigned long long *counts)
{
    __shared__ __align__(16) float a_tile[2][DEPTH][PADDED], b_tile[2][DEPTH][TILE];
    Loads<COUNT> load;
    const Tile tile = tile_of_block<TILE, TILE>(m, n);
    const int thread = threadIdx.x;
    const int warp = thread / 32, lane = thread % 32;
    const int x = warp % WARPS_ACROSS * WARP_COLUMNS + lane % LANES_ACROSS * 4;
    const int y = warp / WARPS_ACROSS * WARP_ROWS + lane / LANES_ACROSS * 4;
    const int a_row = thread / (DEPTH / 4), a_column = thread % (DEPTH / 4) * 4;
    const int b_row = thread / (TILE / 4), b_column = thread % (TILE / 4) * 4;
    a += (tile.row + a_row) * k + a_column; // a and b point at what this thread loads next,
    b += b_row * n + tile.column + b_column;
    c += (tile.row + y) * n + tile.column + x;                  // and c at its first output, from where
    const int rows = tile.rows - y, columns = tile.columns - x; // so many exist

    float4 from_a[A_FOURS], from_b[B_FOURS]; // on their way from global to shared memory
    const auto fetch = [&](int depth) {
#pragma unroll
        for (int j = 0; j < A_FOURS; ++j) {
            const int down = j * A_ROWS;
            from_a[j] = load.template four_of<WIDE>(a + down * k, a_row + down < tile.rows ? depth - a_column : 0);
        }
#pragma unroll
        for (int j = 0; j < B_FOURS; ++j) {
            const int down = j * B_ROWS;
            from_b[j] = load.template four_of<WIDE>(b + down * n, b_row + down < depth ? tile.columns - b_column : 0);
        }
        a += DEPTH;
        b += DEPTH * n;
    };
    const auto put = [&](int buffer) {
#pragma unroll
        for (int j = 0; j < A_FOURS; ++j) {
            a_tile[buffer][a_column][a_row + j * A_ROWS] = from_a[j].x;
            a_tile[buffer][a_column + 1][a_row + j * A_ROWS] = from_a[j].y;
            a_tile[buffer][a_column + 2][a_row + j * A_ROWS] = from_a[j].z;
            a_tile[buffer][a_column + 3][a_row + j * A_ROWS] = from_a[j].w;
        }
#pragma unroll
        for (int j = 0; j < B_FOURS; ++j) {
            four_at(&b_tile[buffer][b_row + j * B_ROWS][b_column]) = from_b[j];
        }
    };

    __align__(16) float sums[4 * GROUPS_DOWN][4 * GROUPS_ACROSS] = {};
    fetch(at_most<DEPTH>(k));
    put(0);
    __syncthreads();
    int buffer = 0;
    for (long long at = 0; at < k; at += DEPTH) {
        const bool more = at + DEPTH < k;
        if (more) {
            fetch(at_most<DEPTH>(k - at - DEPTH)); // only started: nothing waits for it until `put`
        }
#pragma unroll
        for (int i = 0; i < DEPTH; ++i) {
            __align__(16) float left[4 * GROUPS_DOWN], right[4 * GROUPS_ACROSS];
#pragma unroll
            for (int group = 0; group < GROUPS_DOWN; ++group) {
                four_at(left + 4 * group) = four_at(&a_tile[buffer][i][y + APART_DOWN * group]);
            }
#pragma unroll
            for (int group = 0; group < GROUPS_ACROSS; ++group) {
                four_at(right + 4 * group) = four_at(&b_tile[buffer][i][x + APART_ACROSS * group]);
            }
#pragma unroll
            for (int down = 0; down < 4 * GROUPS_DOWN; ++down) {
#pragma unroll
                for (int across = 0; across < 4 * GROUPS_ACROSS; ++across) {
                    sums[down][across] = fmaf(left[down], right[across], sums[down][across]);
                }
            }
        }
        buffer ^= 1;
        if (more) {
            put(buffer);
        }
        __syncthreads();
    }
#pragma unroll
    for (int down = 0; down < 4 * GROUPS_DOWN; ++down) {
        const int row = APART_DOWN * (down / 4) + down % 4;
#pragma unroll
        for (int group = 0; group < GROUPS_ACROSS; ++group) {
            const int column = APART_ACROSS * group;
            store_four<WIDE>(c + row * n + column, sums[down] + 4 * group, row < rows ? columns - column : 0);
        }
    }
    load.report(counts);
}

MATMUL_KERNELS(matmul_8_warp_tile, warp_tile, THREADS, BLOCKS)
