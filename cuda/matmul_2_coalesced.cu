// Rung 2, coalesced: x and y change places, and nothing else.
//
// Now column is tile.column + threadIdx.x, so the lanes of a warp are next to each other in a row of C. They ask for
// the same A[row][i], which is one sector, and for B[i][column + 0 … 31], 32 neighbours in 4 sectors: 5 sectors where
// rung 1 touched 33. As many words are loaded as before, 2 k an output, but a request for 32 words takes the fewest
// sectors that can hold them. Such a request is called coalesced. (Where rows begin in the middle of a sector it takes
// one more.) Outputs are written side by side as well.
//
// Won: 5.51 TFLOP/s, 11 times rung 1 and 0.108 of cuBLAS, with 640 sectors an output instead of 4224. (6.6 times fewer
// sectors do not explain it all. The cache looks words up by lines of 128 bytes: 33 of them a step before, 2 now.)
#include "matmul.cuh"

constexpr int TILE = 32; // side of the block tile

template <bool COUNT> __device__ __forceinline__ void coalesced(const float *a, const float *b, float *c, long long m,
                                                                long long n, long long k, unsigned long long *counts)
{
    Loads<COUNT> load;
    const BlockTile tile = find_block_tile<TILE, TILE>(m, n);
    const long long row = tile.row + threadIdx.y;
    const long long column = tile.column + threadIdx.x;
    if (row < m && column < n) {
        float sum = 0.0f;
#pragma unroll 16 // so that the loads of several steps are in flight together
        for (long long i = 0; i < k; ++i) {
            sum = fmaf(load.one(a + row * k + i), load.one(b + i * n + column), sum);
        }
        c[row * n + column] = sum;
    }
    load.report(counts);
}

extern "C" __global__ void __launch_bounds__(TILE *TILE, 1) // 1 block an SM: up to 64 registers a thread
    matmul_2_coalesced(const float *a, const float *b, float *c, long long m, long long n, long long k)
{
    coalesced<false>(a, b, c, m, n, k, nullptr);
}

extern "C" __global__ void __launch_bounds__(TILE *TILE, 1)
    matmul_2_coalesced_counted(const float *a, const float *b, float *c, long long m, long long n, long long k,
                               unsigned long long *counts)
{
    coalesced<true>(a, b, c, m, n, k, counts);
}
