// Rung 6, vectorised: every load takes 16 bytes instead of 4, from global memory and from shared memory alike.
//
// The words are the same as in rung 5, in a quarter of the instructions. Each of an SM's four schedulers starts one
// instruction a cycle, so one that is no multiply-add takes the place of one. For wide loads, four words must lie next
// to each other wherever they are read:
//  - a thread's 8 × 8 outputs are now 2 × 2 groups of 4 × 4, the groups 64 apart;
//  - a thread needs A's words of several rows at one step along k, and they lie k apart. So A is turned over on its
//    way to shared memory: a_tile[i][row]. The 4 words of padding a row keep the writing of columns free of bank
//    conflicts.
// Where rows do not begin at multiples of 16 bytes (WIDE = false), global memory is read word by word; the rest stays.
//
// On an H200 at m = n = k = 4096: 34.9 TFLOP/s, 1.23 times rung 5.
#include "matmul.cuh"

constexpr int TILE = 128;
constexpr int DEPTH = 8;
constexpr int GROUPS = 2;            // of 4 outputs, in each direction: 8 × 8 outputs a thread
constexpr int APART = TILE / GROUPS; // how far the groups of a thread lie from each other
constexpr int ACROSS = APART / 4;    // 16 × 16 threads
constexpr int THREADS = ACROSS * ACROSS;
constexpr int BLOCKS = 2; // resident on an SM
constexpr int PADDED = TILE + 4;

static_assert(THREADS * 4 == TILE * DEPTH, "a thread loads four words of A and of B for each piece");

template <bool COUNT, bool WIDE>
__device__ __forceinline__ void vectorised(const float *a, const float *b, float *c, long long m, long long n,
                                           long long k, unsigned long long *counts)
{
    __shared__ __align__(16) float a_tile[DEPTH][PADDED], b_tile[DEPTH][TILE];
    Loads<COUNT> load;
    const Tile tile = tile_of_block<TILE, TILE>(m, n);
    const int thread = threadIdx.x;
    const int x = thread % ACROSS * 4, y = thread / ACROSS * 4;
    const int a_row = thread / (DEPTH / 4), a_column = thread % (DEPTH / 4) * 4;
    const int b_row = thread / (TILE / 4), b_column = thread % (TILE / 4) * 4;
    a += (tile.row + a_row) * k + a_column; // a and b point at what this thread loads next,
    b += b_row * n + tile.column + b_column;
    c += (tile.row + y) * n + tile.column + x;                  // and c at its first output, from where
    const int rows = tile.rows - y, columns = tile.columns - x; // so many exist
    __align__(16) float sums[4 * GROUPS][4 * GROUPS] = {};
    for (long long at = 0; at < k; at += DEPTH) {
        const int depth = at_most<DEPTH>(k - at); // less than DEPTH at the end of k
        // C++ needs `template` to see that four_of's `<` opens its arguments.
        const float4 from_a = load.template four_of<WIDE>(a, a_row < tile.rows ? depth - a_column : 0);
        const float4 from_b = load.template four_of<WIDE>(b, b_row < depth ? tile.columns - b_column : 0);
        a += DEPTH;
        b += DEPTH * n;
        a_tile[a_column][a_row] = from_a.x;
        a_tile[a_column + 1][a_row] = from_a.y;
        a_tile[a_column + 2][a_row] = from_a.z;
        a_tile[a_column + 3][a_row] = from_a.w;
        four_at(&b_tile[b_row][b_column]) = from_b;
        __syncthreads();
#pragma unroll 2 // not all 8: two blocks an SM leave a thread 128 registers
        for (int i = 0; i < DEPTH; ++i) {
            __align__(16) float left[4 * GROUPS], right[4 * GROUPS];
#pragma unroll
            for (int group = 0; group < GROUPS; ++group) {
                four_at(left + 4 * group) = four_at(&a_tile[i][y + APART * group]);
                four_at(right + 4 * group) = four_at(&b_tile[i][x + APART * group]);
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
        const int row = APART * (down / 4) + down % 4;
#pragma unroll
        for (int group = 0; group < GROUPS; ++group) {
            const int column = APART * group;
            store_four<WIDE>(c + row * n + column, sums[down] + 4 * group, row < rows ? columns - column : 0);
        }
    }
    load.report(counts);
}

MATMUL_KERNELS(matmul_6_vectorised, vectorised, THREADS, BLOCKS)
