// Rung 3, shared tile: what a thread loads, its whole row or column of the block uses.
//
// Rung 2 still makes two loads from global memory for each multiply-add. But the 32 outputs of a row all need the same
// row of A, and those of a column the same column of B; each thread fetched them for itself. Now the block walks along
// k in chunks of 32. It copies a chunk of A and one of B, 32 × 32 words each, to shared memory (each thread one word of
// A and one of B) and waits until all are there; then each thread does 32 multiply-adds with them. Each word loaded is
// used 32 times: 2 k / 32 loads an output instead of 2 k.
//
// Also different, to make room for it:
//  - All threads of a block must come to each barrier, so threads without an output take part in the loop as well, and
//    the `if` for the edge of C moves to the end.
//  - All 32 steps of a chunk are unrolled, where it was 16. With few global loads in flight a thread needs only 32
//    registers instead of 56. 1024 threads with 56 left room for one block on an SM, with 32 for two. (The bound of 1
//    block in rungs 1 and 2 only told the compiler that it may use up to 64.)
//
// Won: 8.27 TFLOP/s, 1.50 times rung 2 and 0.161 of cuBLAS, with 256 words an output instead of 8192. That so much less
// loading wins so little says that something else is in the way now: shared memory.
#include "matmul.cuh"

constexpr int TILE = 32; // side of the block tile, and steps of a k chunk

template <bool COUNT> __device__ __forceinline__ void shared_tile(const float *a, const float *b, float *c,
                                                                  long long m, long long n, long long k,
                                                                  unsigned long long *counts)
{
    __shared__ float a_chunk[TILE][TILE], b_chunk[TILE][TILE];
    Loads<COUNT> load;
    const BlockTile tile = find_block_tile<TILE, TILE>(m, n);
    const int x = threadIdx.x, y = threadIdx.y;
    const long long row = tile.row + y, column = tile.column + x;
    float sum = 0.0f;
    for (long long at = 0; at < k; at += TILE) {
        // What lies outside of the matrices counts as 0.
        a_chunk[y][x] = row < m && at + x < k ? load.one(a + row * k + at + x) : 0.0f;
        b_chunk[y][x] = at + y < k && column < n ? load.one(b + (at + y) * n + column) : 0.0f;
        __syncthreads(); // all words are there
#pragma unroll
        for (int i = 0; i < TILE; ++i) {
            sum = fmaf(a_chunk[y][i], b_chunk[i][x], sum);
        }
        __syncthreads(); // all have used them: the next chunk may overwrite them
    }
    if (row < m && column < n) {
        c[row * n + column] = sum;
    }
    load.report(counts);
}

extern "C" __global__ void __launch_bounds__(TILE *TILE)
    matmul_3_shared_tile(const float *a, const float *b, float *c, long long m, long long n, long long k)
{
    shared_tile<false>(a, b, c, m, n, k, nullptr);
}

extern "C" __global__ void __launch_bounds__(TILE *TILE)
    matmul_3_shared_tile_counted(const float *a, const float *b, float *c, long long m, long long n, long long k,
                                 unsigned long long *counts)
{
    shared_tile<true>(a, b, c, m, n, k, counts);
}
