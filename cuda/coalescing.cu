// What does a warp's load cost, by where its 32 lanes read?
//
// A load is one instruction for the 32 lanes of a warp, and memory answers it in pieces: sectors of 32 bytes, four to a
// line of 128, however few of their bytes were asked for. Lanes that read side by side share sectors; lanes that stand
// apart pay for a sector each. Three things are varied here: the distance between neighbours (stride), where the first
// one begins (offset), and how much each lane reads at a time (1 to 16 bytes).
//
// Which pieces were needed is not assumed: where there is room for it, every load puts down the very address that it
// reads. kernels/coalescing.py counts the sectors in what was written.

constexpr int LOADS = 16;   // of a thread
constexpr int TOGETHER = 8; // of them are on their way before the first is used

struct ThroughL1 {
    template <typename Word> __device__ static Word load(const Word *at) { return *at; }
};

// Asks the L2 and leaves the L1 out. Through the L1, a sector that one warp fetched may serve its neighbour as well.
struct PastL1 {
    template <typename Word> __device__ static Word load(const Word *at) { return __ldcg(at); }
};

__device__ __forceinline__ unsigned folded(unsigned word)
{
    return word;
}

__device__ __forceinline__ unsigned folded(uint2 word)
{
    return word.x ^ word.y;
}

__device__ __forceinline__ unsigned folded(uint4 word)
{
    return word.x ^ word.y ^ word.z ^ word.w;
}

// Load i of the launch reads the word at byte (offset + i * stride) % window of `bytes`. Of the LOADS * blockDim.x
// loads of a block, thread t makes loads t, t + blockDim.x, …: the lanes of a warp are neighbours in each.
// stride, offset: bytes, multiples of the word. window: bytes, a power of two up to 2^32; it is read round and round.
// seen: the exclusive or of all that a warp has read, an entry a warp. addresses: an entry a load, or null.
template <typename Word, typename Way>
__device__ __forceinline__ void read_lanes(const char *bytes, unsigned *seen, long long stride, long long offset,
                                           long long window, long long *addresses)
{
    // Within the window 32 bits are enough, and what is left out above them would be left out anyway.
    const unsigned inside = (unsigned)(window - 1), step = (unsigned)stride * blockDim.x;
    const long long first = (long long)blockIdx.x * blockDim.x * LOADS + threadIdx.x;
    const unsigned begin = (unsigned)(offset + first * stride);
    unsigned all = 0;
#pragma unroll
    for (int part = 0; part < LOADS; part += TOGETHER) {
        const Word *at[TOGETHER];
#pragma unroll
        for (int k = 0; k < TOGETHER; ++k) {
            at[k] = reinterpret_cast<const Word *>(bytes + ((begin + (part + k) * step) & inside));
        }
        if (addresses != nullptr) {
#pragma unroll
            for (int k = 0; k < TOGETHER; ++k) {
                addresses[first + (long long)(part + k) * blockDim.x] = (long long)at[k];
            }
        }
        Word word[TOGETHER];
#pragma unroll
        for (int k = 0; k < TOGETHER; ++k) {
            word[k] = Way::load(at[k]);
        }
#pragma unroll
        for (int k = 0; k < TOGETHER; ++k) {
            all ^= folded(word[k]);
        }
    }
    for (int lanes = warpSize / 2; lanes > 0; lanes /= 2) {
        all ^= __shfl_xor_sync(~0u, all, lanes);
    }
    if (threadIdx.x % warpSize == 0) {
        seen[(blockIdx.x * blockDim.x + threadIdx.x) / warpSize] = all;
    }
}

// The number is how many bytes a lane reads at a time.
extern "C" __global__ void read_lanes_1(const char *bytes, unsigned *seen, long long stride, long long offset,
                                        long long window, long long *addresses)
{
    read_lanes<unsigned char, ThroughL1>(bytes, seen, stride, offset, window, addresses);
}

extern "C" __global__ void read_lanes_2(const char *bytes, unsigned *seen, long long stride, long long offset,
                                        long long window, long long *addresses)
{
    read_lanes<unsigned short, ThroughL1>(bytes, seen, stride, offset, window, addresses);
}

extern "C" __global__ void read_lanes_4(const char *bytes, unsigned *seen, long long stride, long long offset,
                                        long long window, long long *addresses)
{
    read_lanes<unsigned, ThroughL1>(bytes, seen, stride, offset, window, addresses);
}

extern "C" __global__ void read_lanes_8(const char *bytes, unsigned *seen, long long stride, long long offset,
                                        long long window, long long *addresses)
{
    read_lanes<uint2, ThroughL1>(bytes, seen, stride, offset, window, addresses);
}

extern "C" __global__ void read_lanes_16(const char *bytes, unsigned *seen, long long stride, long long offset,
                                         long long window, long long *addresses)
{
    read_lanes<uint4, ThroughL1>(bytes, seen, stride, offset, window, addresses);
}

extern "C" __global__ void read_lanes_4_past_l1(const char *bytes, unsigned *seen, long long stride, long long offset,
                                                long long window, long long *addresses)
{
    read_lanes<unsigned, PastL1>(bytes, seen, stride, offset, window, addresses);
}
