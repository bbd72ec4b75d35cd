// How much can be read in a second, against how much is read over and over?
//
// Every block reads the same footprint, round and round, each from a place of its own, so that they do not all ask
// for the same line at the same time. A footprint that fits in the L1 is answered by the SM's own L1; a larger one by
// the L2, which all SMs share; one that fits in neither comes from DRAM on every round, since by then the lines have
// been driven out. kernels/bandwidth_triton.py is the same in Triton, with the same arguments in the same order.

// words: `quads` 16-byte words, which is the footprint, at least blockDim.x of them and less than 2^31. Each block
// reads `count` of them (a multiple of blockDim.x), 16 bytes a thread at a time. The words' bits are collected and the
// result is written only if it is 0, which it never is unless all words are; the compiler does not know that.
extern "C" __global__ void read_footprint(const uint4 *words, unsigned *never, long long quads, long long count)
{
    const unsigned size = (unsigned)quads, threads = blockDim.x;
    const unsigned first = (unsigned)((unsigned long long)quads * blockIdx.x / gridDim.x) / threads * threads;
    unsigned at = first + threadIdx.x;
    at = at < size ? at : at - size;
    unsigned seen = 0;
#pragma unroll 8
    for (unsigned left = (unsigned)(count / threads); left > 0; --left) {
        const uint4 word = words[at];
        seen |= word.x | word.y | word.z | word.w;
        at += threads;
        at = at < size ? at : at - size;
    }
    if (seen == 0) {
        *never = 1;
    }
}
