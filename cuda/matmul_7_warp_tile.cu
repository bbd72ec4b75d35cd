// Rung 7, warp tile: the 32 threads of a warp compute outputs that lie close together.
//
// In rung 6 the outputs of a warp are 16 groups wide and 2 high, so for each step along k the warp reads 128 words of
// B and 16 of A from shared memory. Shared memory hands out 32 words at a time, and a word that several lanes of a warp
// ask for only once. In a nearly square arrangement, 8 groups high and 4 wide, the warp makes as many outputs from 64
// words of A and 32 of B: a third less to hand out. The 8 warps lie 2 × 4 in the block's 128 × 128 outputs.
#include "matmul.cuh"

constexpr int TILE = 128;
constexpr int DEPTH = 8;
constexpr int GROUPS = 2; // of 4 outputs, in each direction: 8 × 8 outputs a thread
constexpr int LANES_DOWN = 8, LANES_ACROSS = 4;
constexpr int APART_DOWN = 4 * LANES_DOWN, APART_ACROSS = 4 * LANES_ACROSS; // between the groups of a thread
constexpr int WARP_ROWS = GROUPS * APART_DOWN, WARP_COLUMNS = GROUPS * APART_ACROSS; // a warp's outputs: 64 × 32
constexpr int WARPS_ACROSS = TILE / WARP_COLUMNS;
constexpr int THREADS = 32 * (TILE / WARP_ROWS) * WARPS_ACROSS;
constexpr int BLOCKS = 2; // resident on an SM
constexpr int PADDED = TILE + 4;

static_assert(THREADS * 4 == TILE * DEPTH, "a thread loads four words of A and of B for each piece");

template <bool COUNT, bool WIDE>
__device__ __forceinline__ void warp_tile(const float *a, const float *b, float *c, long long m, long long n,
                                          long long k, unsigned long long *counts)
{
    __shared__ __align__(16) float a_tile[DEPTH][PADDED], b_tile[DEPTH][TILE];
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
    float sums[4 * GROUPS][4 * GROUPS] = {};
    for (long long at = 0; at < k; at += DEPTH) {
        const int depth = (int)min(k - at, (long long)DEPTH); // less than DEPTH at the end of k
        const float4 from_a = load.template four_of<WIDE>(a, a_row < tile.rows ? depth - a_column : 0);
        const float4 from_b = load.template four_of<WIDE>(b, b_row < depth ? tile.columns - b_column : 0);
        a += DEPTH;
        b += DEPTH * n;
        a_tile[a_column][a_row] = from_a.x;
        a_tile[a_column + 1][a_row] = from_a.y;
        a_tile[a_column + 2][a_row] = from_a.z;
        a_tile[a_column + 3][a_row] = from_a.w;
        *reinterpret_cast<float4 *>(&b_tile[b_row][b_column]) = from_b;
        __syncthreads();
#pragma unroll 2 // not all 8: two blocks an SM leave a thread 128 registers
        for (int i = 0; i < DEPTH; ++i) {
            float left[4 * GROUPS], right[4 * GROUPS];
#pragma unroll
            for (int group = 0; group < GROUPS; ++group) {
                *reinterpret_cast<float4 *>(left + 4 * group) =
                    *reinterpret_cast<const float4 *>(&a_tile[i][y + APART_DOWN * group]);
                *reinterpret_cast<float4 *>(right + 4 * group) =
                    *reinterpret_cast<const float4 *>(&b_tile[i][x + APART_ACROSS * group]);
            }
#pragma unroll
            for (int down = 0; down < 4 * GROUPS; ++down) {
#pragma unroll
                for (int across = 0; across < 4 * GROUPS; ++across) {
                    sums[down][across] = fmaf(left[down], right[across], sums[down][across]);
                }
            }
        }
        __syncthreads();
    }
#pragma unroll
    for (int down = 0; down < 4 * GROUPS; ++down) {
        const int row = APART_DOWN * (down / 4) + down % 4;
#pragma unroll
        for (int group = 0; group < GROUPS; ++group) {
            const int column = APART_ACROSS * group;
            const float *four = sums[down] + 4 * group;
            store_four<WIDE>(c + row * n + column, {four[0], four[1], four[2], four[3]},
                             row < rows ? columns - column : 0);
        }
    }
    load.report(counts);
}

MATMUL_KERNELS(matmul_7_warp_tile, warp_tile, THREADS, BLOCKS)
