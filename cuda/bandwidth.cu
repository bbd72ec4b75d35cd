// How much can be read in a second, against how much is read over and over?
//
// One block on each SM reads a region of memory, chunk by chunk, round and round. While the whole footprint fits in the
// L2, every block reads all of it: what fits in the L1 is then answered by the SM's own L1, and the rest by the L2.
// Beyond the L2 each block has a region of its own: if they shared one, a block could find in the L2 what another has
// just read from DRAM.
//
// Blocks that share a region must not walk behind one another. SMs that ask for the same line at nearly the same time
// are answered together, before the L2 is asked twice, and blocks that walk the same way catch up with each other: up
// to 18 TB/s were read so on an H200 whose L2 delivers 9.5. So each block begins at a place of its own and goes on by a
// stride of its own, which shares no factor with the number of chunks and therefore visits every one.
// kernels/bandwidth_triton.py is the same in Triton, with the same arguments in the same order.

// Whether the L1 had a part in it shows in the second kernel, which leaves the L1 out.

struct ThroughL1 {
    __device__ static uint4 load(const uint4 *at) { return *at; }
};

struct PastL1 {
    __device__ static uint4 load(const uint4 *at) { return __ldcg(at); }
};

template <typename Way>
__device__ __forceinline__ void read_chunks(const uint4 *words, unsigned *never, const int *strides, long long chunks,
                                            long long apart, long long count)
{
    const long long size = 4 * blockDim.x;
    const uint4 *mine = words + apart * size * blockIdx.x + threadIdx.x;
    const unsigned end = (unsigned)chunks, stride = (unsigned)strides[blockIdx.x];
    unsigned chunk = (unsigned)((unsigned long long)chunks * blockIdx.x / gridDim.x);
    unsigned seen = 0;
#pragma unroll 2
    for (unsigned left = (unsigned)count; left > 0; --left) {
        const uint4 *from = mine + chunk * size;
#pragma unroll
        for (int part = 0; part < 4; ++part) {
            const uint4 word = Way::load(from + part * blockDim.x);
            seen |= word.x | word.y | word.z | word.w;
        }
        chunk += stride;
        chunk = chunk < end ? chunk : chunk - end;
    }
    if (!__syncthreads_or((int)seen) && threadIdx.x == 0) {
        *never = 1;
    }
}

// A chunk is 4 * blockDim.x words of 16 bytes. Block b reads `count` chunks (less than 2^31) of the region of `chunks`
// (less than 2^30) that begins at chunk b * apart, in steps of strides[b]. A block writes *never only if all that it
// read was 0, which is never so; the compiler does not know that, and keeps the loads.
extern "C" __global__ void read_footprint(const uint4 *words, unsigned *never, const int *strides, long long chunks,
                                          long long apart, long long count)
{
    read_chunks<ThroughL1>(words, never, strides, chunks, apart, count);
}

extern "C" __global__ void read_footprint_past_l1(const uint4 *words, unsigned *never, const int *strides,
                                                  long long chunks, long long apart, long long count)
{
    read_chunks<PastL1>(words, never, strides, chunks, apart, count);
}
