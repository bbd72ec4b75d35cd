// Rung 6, vectorised: each load from global memory and each read from shared memory takes 16 bytes.
//
// The words are the same as in rung 5, but they come in fewer instructions, and each instruction saved leaves a place
// for a multiply-add. (The schedulers are not full: rung 5 fills 0.60 of their places, 0.425 of them with multiply-adds.
// So waiting limits as well, and fewer instructions to wait for shorten that too.) For a chunk a thread makes 2 loads from global memory instead of 8, and
// for two steps 8 reads from shared memory instead of 24 (in rung 5 the compiler could pair words of A, but none of B).
// In all it is 1.21 instructions a multiply-add instead of 1.42.
//
// For that, four words must lie next to each other wherever they are read. Also different, therefore:
//  - A thread's 8 rows come in 2 groups of 4, the groups 64 apart, and so do its columns.
//  - At one step along k a thread needs words of A from 4 neighbouring rows. In rung 5's a_chunk[row][i] these are 8
//    words apart; so A is transposed on its way to shared memory: a_chunk[i][row].
//  - The rows of a_chunk are 4 words longer than needed. A warp stores words of rows i and i + 4 at a time, 16 of each.
//    4 rows of 128 words are a multiple of 32, so both would fall into the same 16 banks; 4 rows of 132 words are not,
//    and they are 16 banks apart: no conflict. (And rows still begin at multiples of 16 bytes.)
//
// Lanes next to each other read 16 bytes next to each other, so the words spread evenly over the banks. A warp's read
// of B is for 64 words, which takes two cycles: no fewer can do (rung 8 comes back to this).
//
// Where rows of A, B or C do not begin at multiples of 16 bytes, the `_any` kernel runs (WIDE = false): it goes to
// global memory word by word. Shared memory is read as here.
//
// Won: 34.94 TFLOP/s, 1.23 times rung 5 and 0.682 of cuBLAS.
#include "matmul.cuh"

constexpr int TILE = 128;            // side of the block tile
constexpr int DEPTH = 8;             // steps of a k chunk
constexpr int GROUPS = 2;            // of 4 rows, and as many of 4 columns: a thread tile of 8 × 8
constexpr int APART = TILE / GROUPS; // from one group of a thread to its next
constexpr int ACROSS = APART / 4;    // 16 × 16 threads
constexpr int THREADS = ACROSS * ACROSS;
constexpr int BLOCKS = 2;        // resident on an SM, at least
constexpr int PADDED = TILE + 4; // words from one row of a_chunk to the next

static_assert(THREADS * 4 == TILE * DEPTH, "a thread loads four words of A and of B for each chunk");

template <bool COUNT, bool WIDE>
__device__ __forceinline__ void vectorised(const float *a, const float *b, float *c, long long m, long long n,
                                           long long k, unsigned long long *counts)
{
    __shared__ __align__(16) float a_chunk[DEPTH][PADDED], b_chunk[DEPTH][TILE];
    Loads<COUNT> load;
    const BlockTile tile = find_block_tile<TILE, TILE>(m, n);
    const int thread = threadIdx.x;
    const int x = thread % ACROSS * 4, y = thread / ACROSS * 4; // its first output in the block tile
    const int a_row = thread / (DEPTH / 4), a_column = thread % (DEPTH / 4) * 4; // the first of its four words of A,
    const int b_row = thread / (TILE / 4), b_column = thread % (TILE / 4) * 4;   // and of B, in their chunks
    a += (tile.row + a_row) * k + a_column; // a and b: what this thread loads next
    b += b_row * n + tile.column + b_column;
    c += (tile.row + y) * n + tile.column + x;                  // c: its first output
    const int rows = tile.rows - y, columns = tile.columns - x; // of the block tile, from that output on
    __align__(16) float sums[4 * GROUPS][4 * GROUPS] = {};
    for (long long at = 0; at < k; at += DEPTH) {
        const int depth = at_most<DEPTH>(k - at); // less than DEPTH at the end of k
        // C++ needs `template` to see that four_of's `<` opens its arguments.
        const float4 from_a = load.template four_of<WIDE>(a, a_row < tile.rows ? depth - a_column : 0);
        const float4 from_b = load.template four_of<WIDE>(b, b_row < depth ? tile.columns - b_column : 0);
        a += DEPTH;
        b += DEPTH * n;
        a_chunk[a_column][a_row] = from_a.x;
        a_chunk[a_column + 1][a_row] = from_a.y;
        a_chunk[a_column + 2][a_row] = from_a.z;
        a_chunk[a_column + 3][a_row] = from_a.w;
        four_at(&b_chunk[b_row][b_column]) = from_b;
        __syncthreads();
#pragma unroll 2 // as in rung 4; rung 8 has the registers for more
        for (int i = 0; i < DEPTH; ++i) {
            __align__(16) float left[4 * GROUPS], right[4 * GROUPS];
#pragma unroll
            for (int group = 0; group < GROUPS; ++group) {
                four_at(left + 4 * group) = four_at(&a_chunk[i][y + APART * group]);
                four_at(right + 4 * group) = four_at(&b_chunk[i][x + APART * group]);
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
