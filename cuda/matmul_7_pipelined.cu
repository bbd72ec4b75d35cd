// Rung 7, pipelined: the next piece is fetched while this one is multiplied.
//
// So far a block loads, waits, multiplies, waits; only the other block on the SM works meanwhile. Now there are two
// buffers in shared memory. A thread starts the loads of the next piece into registers, multiplies the present one, by
// when they have arrived, and puts them into the other buffer. One barrier a piece is enough instead of two, since
// nobody reads the buffer that is being written.
//
// On an H200 at m = n = k = 4096: 41.4 TFLOP/s, 1.19 times rung 6.
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
__device__ __forceinline__ void pipelined(const float *a, const float *b, float *c, long long m, long long n,
                                           long long k, unsigned long long *counts)
{
    __shared__ __align__(16) float a_tile[2][DEPTH][PADDED], b_tile[2][DEPTH][TILE];
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

    float4 from_a, from_b; // on their way from global to shared memory
    const auto fetch = [&](int depth) {
        from_a = load.template four_of<WIDE>(a, a_row < tile.rows ? depth - a_column : 0);
        from_b = load.template four_of<WIDE>(b, b_row < depth ? tile.columns - b_column : 0);
        a += DEPTH;
        b += DEPTH * n;
    };
    const auto put = [&](int buffer) {
        a_tile[buffer][a_column][a_row] = from_a.x;
        a_tile[buffer][a_column + 1][a_row] = from_a.y;
        a_tile[buffer][a_column + 2][a_row] = from_a.z;
        a_tile[buffer][a_column + 3][a_row] = from_a.w;
        four_at(&b_tile[buffer][b_row][b_column]) = from_b;
    };

    __align__(16) float sums[4 * GROUPS][4 * GROUPS] = {};
    fetch(at_most<DEPTH>(k));
    put(0);
    __syncthreads();
    int buffer = 0;
    for (long long at = 0; at < k; at += DEPTH) {
        const bool more = at + DEPTH < k;
        if (more) {
            fetch(at_most<DEPTH>(k - at - DEPTH)); // only started: nothing waits for it until `put`
        }
#pragma unroll 2 // not all 8: two blocks an SM leave a thread 128 registers
        for (int i = 0; i < DEPTH; ++i) {
            __align__(16) float left[4 * GROUPS], right[4 * GROUPS];
#pragma unroll
            for (int group = 0; group < GROUPS; ++group) {
                four_at(left + 4 * group) = four_at(&a_tile[buffer][i][y + APART * group]);
                four_at(right + 4 * group) = four_at(&b_tile[buffer][i][x + APART * group]);
            }
#pragma unroll
            for (int down = 0; down < 4 * GROUPS; ++down) {
#pragma unroll
                for (int across = 0; across < 4 * GROUPS; ++across) {
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

MATMUL_KERNELS(matmul_7_pipelined, pipelined, THREADS, BLOCKS)
