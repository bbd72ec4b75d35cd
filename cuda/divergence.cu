// What does an `if` cost? A warp issues one instruction at a time, for those of its lanes that are at it; lanes that
// took another path wait.
//
// There are up to 32 paths, all equally long, each a chain of multiply-adds with a constant of its own (so that they
// are really different code). Dealt out by lane, a warp has to walk every path that one of its lanes took, one after
// the other. Dealt out by warp, each warp walks one path, however many there are. Every thread writes down when its
// path began and ended, and which lanes walked it at the same time.
#include "clock.cuh"
#include "lane.cuh"

// Column c of thread t is record[c * blockDim.x + t]. All times are cycles of the block's SM.
enum DivergenceColumn { DIV_PATH, DIV_MASK, DIV_BEFORE, DIV_START, DIV_END, DIV_AFTER };

// What a thread saw on its path.
struct Walk {
    float x;
    unsigned mask;
    long long start, end;
};

// One path: `strides` times 16 multiply-adds, each of which needs the one before. Tends to 2 * (PATH + 1), whatever x
// was.
template <int PATH> __device__ __forceinline__ void walk(Walk &w, int strides)
{
    w.mask = __activemask();
    w.start = clock64();
#pragma unroll 1
    for (; strides > 0; --strides) {
#pragma unroll
        for (int step = 0; step < 16; ++step) {
            w.x = fmaf(w.x, 0.5f, PATH + 1.0f);
        }
    }
    w.end = clock_after(__float_as_uint(w.x));
}

__device__ __forceinline__ void walk_one_of_32(Walk &w, int path, int strides)
{
    switch (path) {
    case 0: walk<0>(w, strides); break;
    case 1: walk<1>(w, strides); break;
    case 2: walk<2>(w, strides); break;
    case 3: walk<3>(w, strides); break;
    case 4: walk<4>(w, strides); break;
    case 5: walk<5>(w, strides); break;
    case 6: walk<6>(w, strides); break;
    case 7: walk<7>(w, strides); break;
    case 8: walk<8>(w, strides); break;
    case 9: walk<9>(w, strides); break;
    case 10: walk<10>(w, strides); break;
    case 11: walk<11>(w, strides); break;
    case 12: walk<12>(w, strides); break;
    case 13: walk<13>(w, strides); break;
    case 14: walk<14>(w, strides); break;
    case 15: walk<15>(w, strides); break;
    case 16: walk<16>(w, strides); break;
    case 17: walk<17>(w, strides); break;
    case 18: walk<18>(w, strides); break;
    case 19: walk<19>(w, strides); break;
    case 20: walk<20>(w, strides); break;
    case 21: walk<21>(w, strides); break;
    case 22: walk<22>(w, strides); break;
    case 23: walk<23>(w, strides); break;
    case 24: walk<24>(w, strides); break;
    case 25: walk<25>(w, strides); break;
    case 26: walk<26>(w, strides); break;
    case 27: walk<27>(w, strides); break;
    case 28: walk<28>(w, strides); break;
    case 29: walk<29>(w, strides); break;
    case 30: walk<30>(w, strides); break;
    case 31: walk<31>(w, strides); break;
    }
}

// out: one float a thread, the result of its path. record: six columns. by_warp: 0 deals the `paths` (1 to 32) out by
// lane, 1 by warp. Launch with one block.
extern "C" __global__ void diverge(float *out, long long *record, long long paths, long long by_warp,
                                   long long strides)
{
    const int path = (int)((by_warp ? threadIdx.x / warpSize : lane_id()) % (unsigned)paths);
    Walk w = {};
    long long before = 0, after = 0;
#pragma unroll 1
    for (int round = 0; round < 2; ++round) { // in the first the code itself is fetched; the second counts
        w.x = (float)threadIdx.x;
        __syncthreads();
        before = clock64();
        walk_one_of_32(w, path, (int)strides);
        __syncwarp();
        after = clock64();
    }
    out[threadIdx.x] = w.x;
    record[DIV_PATH * blockDim.x + threadIdx.x] = path;
    record[DIV_MASK * blockDim.x + threadIdx.x] = w.mask;
    record[DIV_BEFORE * blockDim.x + threadIdx.x] = before;
    record[DIV_START * blockDim.x + threadIdx.x] = w.start;
    record[DIV_END * blockDim.x + threadIdx.x] = w.end;
    record[DIV_AFTER * blockDim.x + threadIdx.x] = after;
}
