// The matmul ladder: C = A · B in fp32, eight times, each time faster. This header is what the rungs share.
//
// A is m × k, B is k × n, C is m × n, row by row without gaps, of any size. All rungs add the same products in the same
// order; they differ in how words (4 bytes each) get to the arithmetic. So they all give the same bits, with one
// exception: a sum that has underflowed to -0 becomes +0 in rungs 3 to 8 if they fill the last k chunk up with 0 · 0.
//
// HOW TO READ IT. This comment first, then the files by their numbers, from naive to warp tile. Each begins with what
// it changes, why that helps, what it won, and what else differs to make room for it. In the code, look at the loop
// over k. Leave out at first: `Loads` and COUNT (load.one(p) is *p, and counts if asked to), WIDE, the edges (what lies
// outside of a matrix is loaded as 0) and the extern "C" functions (the kernels that are launched, all of them
// one-liners). `if (COUNT)` and `if (WIDE)` are decided by the compiler and cost nothing.
//
// THE LADDER, measured on an H200 on 2026-11-30 (driver 580.159, NVRTC 13.0, 1980 MHz), m = n = k = 4096. cuBLAS in
// fp32, without tf32, reached 51.3 TFLOP/s in the same run; 128 multiply-adds a cycle and SM would be 67. The figures
// are measured; what limits a rung is reasoned from them and from the counts below. The words are explained further
// down.
//
//  rung               what limits the rung before    the change                            TFLOP/s  × last  of cuBLAS
//  1 naive                                           one output a thread                      0.50            0.010
//  2 coalesced        32 sectors for 32 words        lanes of a warp load neighbours          5.51   11.07    0.108
//  3 shared tile      2 global loads a multiply-add  a block shares what its threads load     8.27    1.50    0.161
//  4 register column  shared memory                  8 outputs a thread share words of B     15.94    1.93    0.311
//  5 register tile    shared memory, still           8 × 8 outputs share those of A and B    28.49    1.79    0.556
//  6 vectorised       instructions besides           16 bytes with one load                  34.94    1.23    0.682
//                     the multiply-adds
//  7 pipelined        waiting for global memory      the next k chunk is loaded meanwhile    41.41    1.19    0.808
//  8 warp tile        other instructions, again,     16 × 8 outputs a thread, and all        48.85    1.18    0.953
//                     and waiting for shared memory  steps of a k chunk unrolled
//
//  rung               loads an output    shared reads    instructions    registers  warps resident
//                     words   sectors    a multiply-add  a multiply-add  a thread   on an SM
//  1 naive             8192      4224          -              5.75            56         32
//  2 coalesced         8192       640          -              5.75            56         32
//  3 shared tile        256        32        1.25             3.50            32         64
//  4 register column    128        16        0.63             2.64            56         32
//  5 register tile       64         8        0.19             1.42           128         16
//  6 vectorised          64         8        0.06             1.21           120         16
//  7 pipelined           64         8        0.06             1.26           123         16
//  8 warp tile           64         8        0.05             1.12           255          8
//
// A load is from global memory, a read from shared memory. Loads are as the kernels' own counters say (k = 4096, 256 ×
// 256 outputs), registers and warps as in the measured run. Shared reads and instructions are counted in the machine
// code of the loop (sm_90, NVRTC 13.5): instructions of a warp, whatever their width.
//
// THE MACHINE. A kernel is run by many threads. 32 of them are a warp; the threads of a warp are called its lanes, and
// execute each instruction together. Warps form a block. A block runs on one SM (streaming multiprocessor). While it
// has registers and shared memory there it is resident; so may other blocks be, as long as there is enough for them.
// __syncthreads is a barrier: the threads of a block wait there for each other. Registers belong to one thread and are
// where arithmetic happens; shared memory belongs to a block, and is near; A, B and C lie in global memory, hundreds of
// cycles away.
//
// A load does not stop a thread, nor does a read. It only starts; the thread runs on until the first instruction that
// uses the value. Loads that have started and not arrived are in flight. To unroll a loop is to write its body several
// times instead of jumping back: the compiler can then start the loads of several steps before it uses the first value.
//
// Global memory is moved in sectors: 32 bytes at a multiple of 32. A load asks for each sector that its lanes touch.
// Between global memory and the SM lie caches, in lines of 128 bytes, 4 sectors; the sectors counted here are those
// that loads ask for, whether they then come from a cache or from memory.
// Shared memory has 32 banks; the word at address w (in words) lies in bank w % 32, and a bank hands out one word a
// cycle. Lanes that want the same word get it together; lanes that want different words of one bank wait for each
// other. Where that takes more cycles than so many words need at least, it is a bank conflict. To transpose is to turn rows into columns, as .T does.
//
// What an SM of the H200 can do (compute capability 9.0; other architectures have other numbers):
//  - Four schedulers each start one instruction of a warp a cycle. If all are multiply-adds, that is 4 × 32 = 128 in a
//    cycle; any other instruction takes the place of 32. (So many on 8.6, 8.9, 10.0 and 12.0 too; 64 on 7.5 and 8.0.)
//  - Shared memory hands out 32 words a cycle. So a read of a warp takes at least a cycle (two if its lanes want 64
//    different words, as reads of 16 bytes a lane may), in which the four schedulers could have started a multiply-add
//    of a warp each: with more than 0.25 reads a multiply-add, both counted by warp, they must wait.
//  - 65 536 registers, at most 255 a thread: 1024 resident threads can have 64 each, 512 can have 128.
//  - 64 warps may be resident. While one waits, a scheduler takes another, so the fewer there are, the more each must
//    have in flight. Only rung 3 has all 64: in rungs 1 and 2 the words of unrolled loads take registers, from rung 4 on
//    the outputs do.
//
// THE PIECES (numbers of rung 8). A block computes one block tile of C. It walks along k chunk by chunk: a k chunk is
// DEPTH steps, which are DEPTH columns of A and DEPTH rows of B as long as the block tile, and which lie in shared
// memory as a_chunk and b_chunk. A step is one value of i in the formula: one column of A and one row of B.
//
//                              B +-------+------+-----+        block tile 128 × 128       warp tile 64 × 64
//                              k |       |chunk |     |      +-----------+-----------+    +-----+-----+   4 × 2 patches
//                                |       |next  |     |      |           |           |    | 4×4 | 4×4 |   of 16 × 32.
//                                |       |      |     |      | warp tile | warp tile |    +-----+-----+   In each patch
//         A          k           +-------+------+-----+      |           |           |    | 4×4 | 4×4 |   a thread has
//        +-------------------+ C +-------+------+-----+      +-----------+-----------+    +-----+-----+   4 × 4, which
//      m |                   |   |       |block |     |      |           |           |    | 4×4 | 4×4 |   together are
//        | chunk | next |    |   |       |tile  |     |      | warp tile | warp tile |    +-----+-----+   its thread
//        +-------------------+   +-------+------+-----+      |           |           |    | 4×4 | 4×4 |   tile: 16 × 8
//                                        n                   +-----------+-----------+    +-----+-----+
#pragma once

// How much of the next MOST rows, columns or steps exists when `left` are left.
template <int MOST> __device__ __forceinline__ int at_most(long long left)
{
    return left < MOST ? (int)left : MOST;
}

// Four words at a multiple of 16 bytes, to be read or written at once. Where `first` is in an array of the thread's
// own, such as its sums, it means four registers: no address is ever taken.
__device__ __forceinline__ float4 &four_at(float *first)
{
    return *reinterpret_cast<float4 *>(first);
}

// A block tile: its first output in C, and how many of its rows and columns exist (fewer at the edges of C).
struct BlockTile {
    long long row, column;
    int rows, columns;
};

// Block 0 has the first block tile of C, block 1 the next to the right, and so on, row after row. Blocks are numbered
// in one dimension, since in y there may be no more than 65 535 of them.
template <int ROWS, int COLUMNS> __device__ __forceinline__ BlockTile find_block_tile(long long m, long long n)
{
    const long long across = (n + COLUMNS - 1) / COLUMNS;
    const long long row = blockIdx.x / across * ROWS, column = blockIdx.x % across * COLUMNS;
    return {row, column, at_most<ROWS>(m - row), at_most<COLUMNS>(n - column)};
}

// What is counted, and where in `counts`: words that threads asked for (32 if all lanes ask for the same one);
// requests, which are load instructions of a whole warp; and sectors that each request touched.
enum LoadColumn { LOADED_WORDS, LOAD_REQUESTS, LOADED_SECTORS };

// Every load of A and B from global memory (shared memory, stores and time are not counted). The kernels that are timed
// are made with COUNT = false, for which nothing is left but the load; their `_counted` twins with COUNT = true.
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

    // Four neighbours of a row, of which the first `inside` exist, if any; 0 stands for the others, and adds nothing.
    // WIDE: the row begins at a multiple of 16 bytes and its length is a multiple of 4, so four of them are all there
    // or none is.
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
            const unsigned together = __activemask(); // a bit for each lane that is here now
            const unsigned same_sector = // of these, the lanes whose address is in the same sector as this one's
                __match_any_sync(together, reinterpret_cast<unsigned long long>(from) / 32);
            words += loaded;
            requests += lane == __ffs(together) - 1;   // the first of them speaks for the warp, and here the first
            sectors += lane == __ffs(same_sector) - 1; // speaks for all that share a sector
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

// The four kernels of a rung that loads 16 bytes at a time: for rows that begin at multiples of 16 bytes and (`_any`)
// for rows that begin anywhere, each plain and counted. __launch_bounds__(threads, blocks): a block has so many
// threads, and at least so many blocks shall find room on an SM, so the compiler gives a thread at most 65 536 /
// (threads · blocks) registers. The counted twins need some for the counter and are not bound.
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
