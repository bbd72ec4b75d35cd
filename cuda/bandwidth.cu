// How much can be read in a second, against how much is read over and over?
//
// One block on each SM reads a region of memory, round and round. While the whole footprint fits in the L2, every
// block reads all of it, from a place of its own on, so that they do not all ask for the same line at the same time:
// what fits in the L1 is then answered by the SM's own L1, and the rest by the L2. Beyond the L2 each block has a
// region of its own: if they shared one, a block could find in the L2 what another has just read from DRAM.
// kernels/bandwidth_triton.py is the same in Triton, with the same arguments in the same order.

// words: 16-byte words. Block b reads `count` of them (a multiple of blockDim.x), 16 bytes a thread at a time, in the
// region of `quads` words (at least blockDim.x, less than 2^31) that begins at word b * apart. A block writes *never
// only if all that it read was 0, which is never so; the compiler does not know that, and keeps the loads.
extern "C" __global__ void read_footprint(const uint4 *words, unsigned *never, long long quads, long long apart,
                                          long long count)
{
    const uint4 *region = words + apart * blockIdx.x;
    const unsigned size = (unsigned)quads, threads = blockDim.x;
    unsigned at = (unsigned)((unsigned long long)quads * blockIdx.x / gridDim.x) / threads * threads + threadIdx.x;
    at = at < size ? at : at - size;
    unsigned seen = 0;
#pragma unroll 8
    for (unsigned left = (unsigned)(count / threads); left > 0; --left) {
        const uint4 word = region[at];
        seen |= word.x | word.y | word.z | word.w;
        at += threads;
        at = at < size ? at : at - size;
    }
    if (!__syncthreads_or((int)seen) && threadIdx.x == 0) {
        *never = 1;
    }
}
