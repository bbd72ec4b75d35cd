// Who am I, and with whom? Each thread writes down its place, its lane, and which lanes of its warp are there.
//
// The program says blocks and threads, in one dimension or in two. The hardware says warps: it takes the threads of a
// block in a row, x first, and cuts the row into pieces of 32. Nothing here computes a warp from an index. Threads
// find out that they share one: a lane draws a number and hands it to the lanes that are there with it.
#include "lane.cuh"

// Column c of thread t of the grid is record[c * threads of the grid + t].
enum IdentityColumn { ID_LANE, ID_MASK, ID_WARP, ID_THREAD_X, ID_THREAD_Y, ID_BLOCK_X, ID_BLOCK_Y };

// record: seven columns, one entry a thread, block after block, in each block row after row. warps: a counter that
// starts at 0; each warp draws one number from it, and all of its threads write that number down.
extern "C" __global__ void identify(long long *record, unsigned *warps)
{
    const unsigned mask = __activemask(); // a bit for each lane that runs this together with me
    const int first = __ffs(mask) - 1;
    unsigned warp = 0;
    if (lane_id() == first) {
        warp = atomicAdd(warps, 1u);
    }
    warp = __shfl_sync(mask, warp, first);

    const long long per_block = blockDim.x * blockDim.y;
    const long long block = (long long)blockIdx.y * gridDim.x + blockIdx.x;
    const long long thread = block * per_block + threadIdx.y * blockDim.x + threadIdx.x;
    const long long threads = (long long)gridDim.x * gridDim.y * per_block;
    record[ID_LANE * threads + thread] = lane_id();
    record[ID_MASK * threads + thread] = mask;
    record[ID_WARP * threads + thread] = warp;
    record[ID_THREAD_X * threads + thread] = threadIdx.x;
    record[ID_THREAD_Y * threads + thread] = threadIdx.y;
    record[ID_BLOCK_X * threads + thread] = blockIdx.x;
    record[ID_BLOCK_Y * threads + thread] = blockIdx.y;
}
