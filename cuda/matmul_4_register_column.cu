// Rung 4, register column: a thread computes 8 outputs below each other instead of one.
//
// Rung 3 reads two words from shared memory for each multiply-add, and shared memory cannot hand them out as fast as an
// SM multiplies. A thread with 8 outputs of a column reads a word of B once for all 8 and keeps it in a register: 9
// words for 8 multiply-adds instead of 16. (The compiler fetches up to four words with one read where they lie
// together, here and in rung 3: what counts is the ratio.) The 512 threads now make 64 × 64 outputs, so the loads from
// global memory fall as well, to 2 k / 64 an output.
//
// On an H200 at m = n = k = 4096: 15.9 TFLOP/s, 1.9 times rung 3.
#include "matmul.cuh"

constexpr int TILE = 64;   // a block's outputs are 64 × 64
constexpr int DEPTH = 8;   // how far along k a piece reaches: with 512 threads, still one word of A and B each
constexpr int OUTPUTS = 8; // outputs of a thread, below each other
constexpr int THREADS = TILE * TILE / OUTPUTS;
constexpr int BLOCKS = 2; // resident on an SM

template <bool COUNT> __device__ __forceinline__ void register_column(const float *a, const float *b, float *c,
                                                                      long long m, long long n, long long k,
                                                                      unsigned long long *counts)
{
    __shared__ float a_tile[TILE][DEPTH], b_tile[DEPTH][TILE];
    Loads<COUNT> load;
    const Tile tile = tile_of_block<TILE, TILE>(m, n);
    const int thread = threadIdx.x;
    // A block of one dimension: which word a thread loads no longer follows from which outputs it computes.
    const int x = thread % TILE, y = thread / TILE * OUTPUTS; // its first output
    const int a_row = thread / DEPTH, a_column = thread % DEPTH;
    const int b_row = thread / TILE, b_column = thread % TILE;
    a += (tile.row + a_row) * k + a_column; // a and b point at what this thread loads next,
    b += b_row * n + tile.column + b_column;
    c += (tile.row + y) * n + tile.column + x;                  // and c at its first output, from where
    const int rows = tile.rows - y, columns = tile.columns - x; // so many exist
    float sums[OUTPUTS] = {};
    for (long long at = 0; at < k; at += DEPTH) {
        const int depth = at_most<DEPTH>(k - at); // less than DEPTH at the end of k
        a_tile[a_row][a_column] = a_row < tile.rows && a_column < depth ? load.one(a) : 0.0f;
        b_tile[b_row][b_column] = b_row < depth && b_column < tile.columns ? load.one(b) : 0.0f;
        a += DEPTH;
        b += DEPTH * n;
        __syncthreads();
#pragma unroll 2 // not all 8: two blocks an SM leave a thread 64 registers
        for (int i = 0; i < DEPTH; ++i) {
            const float right = b_tile[i][x]; // read once, used for all 8 outputs
#pragma unroll
            for (int down = 0; down < OUTPUTS; ++down) {
                sums[down] = fmaf(a_tile[y + down][i], right, sums[down]);
            }
        }
        __syncthreads();
    }
#pragma unroll
    for (int down = 0; down < OUTPUTS; ++down) {
        if (down < rows && columns > 0) {
            c[down * n] = sums[down];
        }
    }
    load.report(counts);
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
    matmul_4_register_column(const float *a, const float *b, float *c, long long m, long long n, long long k)
{
    register_column<false>(a, b, c, m, n, k, nullptr);
}

extern "C" __global__ void __launch_bounds__(THREADS)
    matmul_4_register_column_counted(const float *a, const float *b, float *c, long long m, long long n, long long k,
                                     unsigned long long *counts)
{
    register_column<true>(a, b, c, m, n, k, counts);
}
