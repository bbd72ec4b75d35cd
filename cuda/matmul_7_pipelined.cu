// Rung 7, pipelined: the next k chunk is on its way while this one is multiplied.
//
// The idea is that a load does not stop a thread; the first use of its value does. In rungs 3 to 6 that use comes at
// once: a word is loaded into a register and the next thing is to store it to shared memory. So the thread waits there,
// then all threads of the block wait for each other, and only then do they multiply. Meanwhile little but the other
// resident block keeps the SM busy.
//
// Now a thread starts the loads of the next chunk (`fetch`: the words will come to the registers from_a and from_b),
// then multiplies the present chunk, for which it needs none of them, and only then stores them to shared memory
// (`put`, their first use). By then they have had the time of all those multiply-adds to arrive.
//
// For that there are two buffers in shared memory: one is read while the other is written. So one barrier a chunk is
// enough: behind it the new buffer is complete, and nobody reads the old one any more, which is the next to be written.
//
// Also different: the first chunk is fetched and put before the loop. Words and reads are as in rung 6; instructions
// are a few more (1.26 a multiply-add instead of 1.21), so all that is won is waiting.
//
// Won: 41.41 TFLOP/s, 1.19 times rung 6 and 0.808 of cuBLAS.
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
__device__ __forceinline__ void pipelined(const float *a, const float *b, float *c, long long m, long long n,
                                           long long k, unsigned long long *counts)
{
    __shared__ __align__(16) float a_chunk[2][DEPTH][PADDED], b_chunk[2][DEPTH][TILE];
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

    float4 from_a, from_b; // on their way from global to shared memory
    const auto fetch = [&](int depth) {
        from_a = load.template four_of<WIDE>(a, a_row < tile.rows ? depth - a_column : 0);
        from_b = load.template four_of<WIDE>(b, b_row < depth ? tile.columns - b_column : 0);
        a += DEPTH;
        b += DEPTH * n;
    };
    const auto put = [&](int buffer) {
        a_chunk[buffer][a_column][a_row] = from_a.x;
        a_chunk[buffer][a_column + 1][a_row] = from_a.y;
        a_chunk[buffer][a_column + 2][a_row] = from_a.z;
        a_chunk[buffer][a_column + 3][a_row] = from_a.w;
        four_at(&b_chunk[buffer][b_row][b_column]) = from_b;
    };

    __align__(16) float sums[4 * GROUPS][4 * GROUPS] = {};
    fetch(at_most<DEPTH>(k));
    put(0);
    __syncthreads();
    int buffer = 0;
    for (long long at = 0; at < k; at += DEPTH) {
        const bool more = at + DEPTH < k;
        if (more) {
            fetch(at_most<DEPTH>(k - at - DEPTH)); // only starts the loads: nothing uses them before `put`
        }
#pragma unroll 2 // as in rung 4; rung 8 has the registers for more
        for (int i = 0; i < DEPTH; ++i) {
            __align__(16) float left[4 * GROUPS], right[4 * GROUPS];
#pragma unroll
            for (int group = 0; group < GROUPS; ++group) {
                four_at(left + 4 * group) = four_at(&a_chunk[buffer][i][y + APART * group]);
                four_at(right + 4 * group) = four_at(&b_chunk[buffer][i][x + APART * group]);
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
