// The matmul ladder: C = A · B in fp32, eight times, each time one step faster. This header is what the rungs share.
//
// Read matmul_1_naive.cu next, then the other files by their numbers. Each begins with what it changes, why, and what
// that won; what stays the same looks the same. A is m × k, B is k × n, C is m × n, row by row without gaps, of any
// size. All rungs add the same products in the same order, so they all give the same bits.
//
// The words: a kernel is run by many threads. 32 of them are a warp, its lanes, which execute each instruction
// together. Warps form a block, which runs on one SM (streaming multiprocessor), beside others for which there is room;
// its threads can wait for each other (__syncthreads) and have some of the SM's shared memory to themselves. A register
// belongs to one thread. A, B and C lie in global memory, which is large and hundreds of cycles away; shared memory is
// small and near; registers are where arithmetic happens. A multiply-add takes a word (4 bytes) of A and one of B, and
// an SM could do more of them than any memory can feed: the ladder is about using a word more often once it is there.
//
// Measured on an H200 on 2026-11-30 (driver 580.159, NVRTC 13.0, 1980 MHz), m = n = k = 4096, loads as counted by the
// kernels' own counters. cuBLAS in fp32, without tf32, reached 51.3 TFLOP/s in the same run.
//
//  rung                 what it changes                                   TFLOP/s   loads an output: words    sectors
//  1 naive              -                                                    0.50                     8192       4224
//  2 coalesced          lanes of a warp read neighbouring words              5.51                     8192        640
//  3 shared tile        a block shares what its threads load                 8.27                      256         32
//  4 register column    8 outputs a thread share a word of B                15.9                       128         16
//  5 register tile      8 x 8 outputs a thread share words of A and B       28.5                        64          8
//  6 vectorised         16 bytes a load                                     34.9                        64          8
//  7 pipelined          the next piece is loaded meanwhile                  41.4                        64          8
//  8 warp tile          16 x 8 outputs a thread, 64 x 64 a warp             48.9                        64          8
#pragma once

// How much of the next MOST rows, columns or steps exists when `left` are left.
template <int MOST> __device__ __forceinline__ int at_most(long long left)
{
    return left < MOST ? (int)left : MOST;
}

// Four words at a multiple of 16 bytes, to be read or written at once.
__device__ __forceinline__ float4 &four_at(float *first)
{
    return *reinterpret_cast<float4 *>(first);
}

// A block's part of C: its top left output, and how many rows and columns of it exist (fewer at the edges of C).
struct Tile {
    long long row, column;
    int rows, columns;
};

// Block 0 has the top left tile, block 1 the tile right of it, and so on, one row of tiles after another. A grid of one
// dimension, since the second may not be longer than 65 535 blocks.
template <int ROWS, int COLUMNS> __device__ __forceinline__ Tile tile_of_block(long long m, long long n)
{
    const long long across = (n + COLUMNS - 1) / COLUMNS;
    const long long row = blockIdx.x / across * ROWS, column = blockIdx.x % across * COLUMNS;
    return {row, column, at_most<ROWS>(m - row), at_most<COLUMNS>(n - column)};
}

// Columns of counts: 4-byte words that threads asked for; requests, which are load instructions of a whole warp; and
// 32-byte sectors that those requests touched, which is the unit in which the caches answer them.
enum LoadColumn { LOADED_WORDS, LOAD_REQUESTS, LOADED_SECTORS };

// Every read of A and B in the ladder. The kernels that are timed are made with COUNT = false, for which nothing is
// left but the load; their `_counted` twins are the same code with COUNT = true.
template <bool COUNT> struct Loads {
    unsigned long long words = 0, requests = 0, sectors = 0;

    __device__ __forceinline__ float one(const float *from)
    {
        note(from, 1);
        return *from;
    }

    // `from` is at a multiple of 16 bytes.
    __device__ __forceinline__ float4 four(const float *from)
    {
        note(from, 4);
        return *reinterpret_cast<const float4 *>(from);
    }

    // Four neighbours of a row, of which the first `inside` exist; 0 stands for the others, and adds nothing. WIDE: the
    // row begins at a multiple of 16 bytes and its length is a multiple of 4, so four of them are all there or none is.
    template <bool WIDE> __device__ __forceinline__ float4 four_of(const float *from, int inside)
    {
        float4 found = {0.0f, 0.0f, 0.0f, 0.0f};
        if (WIDE) {
            if (inside > 0) {
                found = four(from);
            }
        } else {
            found.x = inside > 0 ? one(from) : 0.0f;
            found.y = inside > 1 ? one(from + 1) : 0.0f;
            found.z = inside > 2 ? one(from + 2) : 0.0f;
            found.w = inside > 3 ? one(from + 3) : 0.0f;
        }
        return found;
    }

    // Adds what this thread counted to the launch's totals. Call last.
    __device__ __forceinline__ void report(unsigned long long *counts) const
    {
        if (COUNT) {
            atomicAdd(counts + LOADED_WORDS, words);
            atomicAdd(counts + LOAD_REQUESTS, requests);
            atomicAdd(counts + LOADED_SECTORS, sectors);
        }
    }

  private:
    __device__ __forceinline__ void note(const float *from, int loaded)
    {
        if (COUNT) {
            const unsigned lane = (threadIdx.x + threadIdx.y * blockDim.x) % warpSize;
            const unsigned together = __activemask();
            const unsigned same_sector = __match_any_sync(together, reinterpret_cast<unsigned long long>(from) / 32);
            words += loaded;
            requests += lane == __ffs(together) - 1; // one lane speaks for the warp,
            sectors += lane == __ffs(same_sector) - 1; // and one for all lanes that share a sector
        }
    }
};

// Writes four neighbours of a row of C, of which the first `inside` exist. WIDE as above.
template <bool WIDE> __device__ __forceinline__ void store_four(float *to, float *four, int inside)
{
    if (WIDE) {
        if (inside > 0) {
            four_at(to) = four_at(four);
        }
    } else {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            if (i < inside) {
                to[i] = four[i];
            }
        }
    }
}

// The four kernels of a rung that loads 16 bytes at a time: for rows that begin at multiples of 16 bytes and for any
// others, plain and counted. `blocks` of them shall fit on an SM at once, which bounds the registers of a thread.
#define MATMUL_KERNELS(name, rung, threads, blocks)                                                                    \
    extern "C" __global__ void __launch_bounds__(threads, blocks)                                                      \
        name(const float *a, const float *b, float *c, long long m, long long n, long long k)                          \
    {                                                                                                                  \
        rung<false, true>(a, b, c, m, n, k, nullptr);                                                                  \
    }                                                                                                                  \
    extern "C" __global__ void __launch_bounds__(threads, blocks)                                                      \
        name##_any(const float *a, const float *b, float *c, long long m, long long n, long long k)                    \
    {                                                                                                                  \
        rung<false, false>(a, b, c, m, n, k, nullptr);                                                                 \
    }                                                                                                                  \
    extern "C" __global__ void __launch_bounds__(threads)                                                              \
        name##_counted(const float *a, const float *b, float *c, long long m, long long n, long long k,                \
                       unsigned long long *counts)                                                                     \
    {                                                                                                                  \
        rung<true, true>(a, b, c, m, n, k, counts);                                                                    \
    }                                                                                                                  \
    extern "C" __global__ void __launch_bounds__(threads)                                                              \
        name##_any_counted(const float *a, const float *b, float *c, long long m, long long n, long long k,            \
                           unsigned long long *counts)                                                                 \
    {                                                                                                                  \
        rung<true, false>(a, b, c, m, n, k, counts);                                                                   \
    }
