// Rung 4, register column: a thread computes 8 outputs below each other instead of one.
//
// In rung 3 each multiply-add takes a word of A and a word of B from shared memory. The words of A of 4 steps lie next
// to each other, so the compiler fetches them with one read of 16 bytes; that leaves 40 reads for 32 multiply-adds,
// 1.25 each. In the cycle that a read takes at least, an SM could start four multiply-adds: it can afford 0.25 reads
// each.
//
// A thread with 8 outputs in a column needs, at a step along k, 8 words of A but only one of B, which it uses 8 times
// from a register. In two steps that is 2 reads for B and 8 for A (of two words each, since the loop is unrolled by
// two) for 16 multiply-adds: 0.63 each.
//
// Also different, to make room for it:
//  - The block tile is 64 × 64 now, so that there are enough threads; loads from global memory fall to 2 k / 64 an
//    output. A k chunk is 8 steps instead of 32, so that each of the 512 threads still loads one word of A (64 × 8) and
//    one of B (8 × 64). That means four times as many barriers.
//  - Threads are numbered in one dimension. They are laid over the chunk of A, over that of B and over the block tile
//    in three ways: which words a thread loads no longer follows from which outputs it computes.
//  - The pointers a and b walk along k, and edges are counted from the block tile (rows, columns, depth).
//  - Two blocks shall be resident, 1024 threads: at most 64 registers each. Unrolled steps take registers for the words
//    in flight; all 8 would not fit (the compiler would move some to memory), so only 2 are unrolled.
//
// Won: 15.94 TFLOP/s, 1.93 times rung 3 and 0.311 of cuBLAS.
#include "matmul.cuh"

constexpr int TILE = 64;   // side of the block tile
constexpr int DEPTH = 8;   // steps of a k chunk
constexpr int OUTPUTS = 8; // outputs of a thread, below each other
constexpr int THREADS = TILE * TILE / OUTPUTS;
constexpr int BLOCKS = 2; // resident on an SM, at least

template <bool COUNT> __device__ __forceinline__ void register_column(const float *a, const float *b, float *c,
                                                                      long long m, long long n, long long k,
                                                                      unsigned long long *counts)
{
    __shared__ float a_chunk[TILE][DEPTH], b_chunk[DEPTH][TILE];
    Loads<COUNT> load;
    const BlockTile tile = find_block_tile<TILE, TILE>(m, n);
    const int thread = threadIdx.x;
    const int x = thread % TILE, y = thread / TILE * OUTPUTS;    // its first output in the block tile,
    const int a_row = thread / DEPTH, a_column = thread % DEPTH; // the word of A's chunk that it loads,
    const int b_row = thread / TILE, b_column = thread % TILE;   // and that of B's
    a += (tile.row + a_row) * k + a_column; // a and b: what this thread loads next
    b += b_row * n + tile.column + b_column;
    c += (tile.row + y) * n + tile.column + x;                  // c: its first output
    const int rows = tile.rows - y, columns = tile.columns - x; // of the block tile, from that output on
    float sums[OUTPUTS] = {};
    for (long long at = 0; at < k; at += DEPTH) {
        const int depth = at_most<DEPTH>(k - at); // less than DEPTH at the end of k
        a_chunk[a_row][a_column] = a_row < tile.rows && a_column < depth ? load.one(a) : 0.0f;
        b_chunk[b_row][b_column] = b_row < depth && b_column < tile.columns ? load.one(b) : 0.0f;
        a += DEPTH;
        b += DEPTH * n;
        __syncthreads();
#pragma unroll 2 // not all 8, which would not fit in 64 registers
        for (int i = 0; i < DEPTH; ++i) {
            const float right = b_chunk[i][x]; // read once, used for all 8 outputs
#pragma unroll
            for (int down = 0; down < OUTPUTS; ++down) {
                sums[down] = fmaf(a_chunk[y + down][i], right, sums[down]);
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
