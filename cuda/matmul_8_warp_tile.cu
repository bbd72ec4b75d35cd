// Rung 8, warp tile: a thread computes 16 × 8 outputs, and a warp a square of 64 × 64.
//
// 1. Twice the outputs a thread. For a step along k a thread reads 24 words for 128 multiply-adds, instead of 16 for
//    64, and everything else (addresses, loop, barrier) is shared by twice as many: 1.12 instructions a multiply-add
//    instead of 1.26. The block tile of 128 × 128 takes 4 warps instead of 8, so there are fewer to work while one
//    waits. But with 256 resident threads a thread may have 255 registers, which is room to unroll all 8 steps of a
//    chunk. The compiler then starts the reads of a step while it still multiplies for the one before (no line says so;
//    it is in the order of the machine code). That is what rung 7 did for global memory, now for shared memory.
// 2. The shape of a warp. Its lanes were 2 down and 16 across; now they are 4 down and 8 across, and its outputs a
//    square. For a step a thread makes 4 reads of A and 2 of B. With 16 lanes across each read of B would be for 64
//    different words, which takes two cycles at least; with 8 it is for 32, and one may do. (Each of A is for 16
//    instead of 8.)
//
// Also different, to make room for it: 128 threads make two loads of A and two of B for a chunk, so fetch and put loop.
//
// Won: 48.85 TFLOP/s, 1.18 times rung 7 and 0.953 of cuBLAS. With twice the outputs but only two steps unrolled it was
// 41.5 (in an earlier run), no more than rung 7: the gain comes with unrolling all 8, for which rung 7 has no registers.
// What it waited for was the time until a read arrives, not how many words shared memory hands out in a cycle: so the
// shape of the warp, which helps only the latter, gives less than 0.5 %. The rung bears its customary name all the same.
//
// Here the ladder ends, at 0.73 of 128 multiply-adds a cycle and SM. 0.89 of the loop's instructions are multiply-adds,
// so what is missing up to there is waiting. Tensor cores do far more, but not in full fp32. What else was tried for
// this rung is in benchmarks/results/2026-11-30-h200-matmul-ladder.md.
#include "matmul.cuh"

constexpr int TILE = 128; // side of the block tile
constexpr int DEPTH = 8;  // steps of a k chunk
constexpr int GROUPS_DOWN = 4, GROUPS_ACROSS = 2; // of 4 rows and of 4 columns: a thread tile of 16 × 8
constexpr int LANES_DOWN = 4, LANES_ACROSS = 8;   // how a warp's 32 lanes lie in each patch of its warp tile
constexpr int APART_DOWN = 4 * LANES_DOWN, APART_ACROSS = 4 * LANES_ACROSS; // a patch; from one group to the next
constexpr int WARP_ROWS = GROUPS_DOWN * APART_DOWN, WARP_COLUMNS = GROUPS_ACROSS * APART_ACROSS; // the warp tile
constexpr int WARPS_ACROSS = TILE / WARP_COLUMNS;
constexpr int THREADS = 32 * (TILE / WARP_ROWS) * WARPS_ACROSS;
constexpr int BLOCKS = 2; // resident on an SM, at least
constexpr int A_ROWS = THREADS / (DEPTH / 4), B_ROWS = THREADS / (TILE / 4); // of the chunks, loaded at a time
constexpr int A_FOURS = TILE / A_ROWS, B_FOURS = DEPTH / B_ROWS;             // loads a thread makes for each chunk
constexpr int PADDED = TILE + 4; // words from one row of a_chunk to the next

static_assert(LANES_DOWN * LANES_ACROSS == 32, "the lanes of a warp");
static_assert(WARP_ROWS * (TILE / WARP_ROWS) == TILE && WARP_COLUMNS * WARPS_ACROSS == TILE, "whole warp tiles");

template <bool COUNT, bool WIDE>
__device__ __forceinline__ void warp_tile(const float *a, const float *b, float *c, long long m, long long n,
                                          long long k, unsigned long long *counts)
{
    __shared__ __align__(16) float a_chunk[2][DEPTH][PADDED], b_chunk[2][DEPTH][TILE];
    Loads<COUNT> load;
    const BlockTile tile = find_block_tile<TILE, TILE>(m, n);
    const int thread = threadIdx.x;
    const int warp = thread / 32, lane = thread % 32;
    // Its first output in the block tile: where its warp tile begins, and its lane's place in the first patch.
    const int x = warp % WARPS_ACROSS * WARP_COLUMNS + lane % LANES_ACROSS * 4;
    const int y = warp / WARPS_ACROSS * WARP_ROWS + lane / LANES_ACROSS * 4;
    const int a_row = thread / (DEPTH / 4), a_column = thread % (DEPTH / 4) * 4;
    const int b_row = thread / (TILE / 4), b_column = thread % (TILE / 4) * 4;
    a += (tile.row + a_row) * k + a_column; // a and b: what this thread loads next
    b += b_row * n + tile.column + b_column;
    c += (tile.row + y) * n + tile.column + x;                  // c: its first output
    const int rows = tile.rows - y, columns = tile.columns - x; // of the block tile, from that output on

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
            a_chunk[buffer][a_column][a_row + j * A_ROWS] = from_a[j].x;
            a_chunk[buffer][a_column + 1][a_row + j * A_ROWS] = from_a[j].y;
            a_chunk[buffer][a_column + 2][a_row + j * A_ROWS] = from_a[j].z;
            a_chunk[buffer][a_column + 3][a_row + j * A_ROWS] = from_a[j].w;
        }
#pragma unroll
        for (int j = 0; j < B_FOURS; ++j) {
            four_at(&b_chunk[buffer][b_row + j * B_ROWS][b_column]) = from_b[j];
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
            fetch(at_most<DEPTH>(k - at - DEPTH)); // only starts the loads: nothing uses them before `put`
        }
#pragma unroll
        for (int i = 0; i < DEPTH; ++i) {
            __align__(16) float left[4 * GROUPS_DOWN], right[4 * GROUPS_ACROSS];
#pragma unroll
            for (int group = 0; group < GROUPS_DOWN; ++group) {
                four_at(left + 4 * group) = four_at(&a_chunk[buffer][i][y + APART_DOWN * group]);
            }
#pragma unroll
            for (int group = 0; group < GROUPS_ACROSS; ++group) {
                four_at(right + 4 * group) = four_at(&b_chunk[buffer][i][x + APART_ACROSS * group]);
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
