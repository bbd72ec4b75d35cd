// How fast can memory be read, each number once? A sum, since what is read must be used for something.
//
// A block adds up a piece of the array and writes one number, so that next to nothing is written. What keeps memory
// busy is what is on its way: a thread asks for four words of 16 bytes before it adds the first. Nothing is carried
// over from piece to piece, and blocks that come later fill the places of those that are done.
//
// `read_once_each` does the same 4 bytes at a time, for arrays that do not begin at a multiple of 16 bytes.

constexpr int WORDS = 4; // loads of a thread, all on their way before the first is used

// The sum of `mine` over the block, for thread 0.
__device__ __forceinline__ float summed_over_block(float mine)
{
    __shared__ float warps[32];
    for (int lanes = warpSize / 2; lanes > 0; lanes /= 2) {
        mine += __shfl_xor_sync(~0u, mine, lanes);
    }
    if (threadIdx.x % warpSize == 0) {
        warps[threadIdx.x / warpSize] = mine;
    }
    __syncthreads();
    if (threadIdx.x < warpSize) {
        mine = threadIdx.x < blockDim.x / warpSize ? warps[threadIdx.x] : 0.0f;
        for (int lanes = warpSize / 2; lanes > 0; lanes /= 2) {
            mine += __shfl_xor_sync(~0u, mine, lanes);
        }
    }
    return mine;
}

__device__ __forceinline__ float sum_of(float number)
{
    return number;
}

__device__ __forceinline__ float sum_of(float4 word)
{
    return (word.x + word.y) + (word.z + word.w);
}

// The piece of this block, WORDS * blockDim.x words of the `words` that `x` has.
template <typename Word> __device__ __forceinline__ float sum_of_piece(const Word *x, long long words)
{
    const long long first = (long long)blockIdx.x * blockDim.x * WORDS + threadIdx.x;
    Word word[WORDS];
#pragma unroll
    for (int k = 0; k < WORDS; ++k) {
        const long long i = first + (long long)k * blockDim.x;
        word[k] = i < words ? x[i] : Word{};
    }
    float sum = 0.0f;
#pragma unroll
    for (int k = 0; k < WORDS; ++k) {
        sum += sum_of(word[k]);
    }
    return sum;
}

// sums: an entry a block. Launch as many blocks as there are pieces of 4 * WORDS * blockDim.x numbers, the last one
// begun or not; x begins at a multiple of 16 bytes. The 0 to 3 numbers left over at the end are the last block's.
extern "C" __global__ void read_once_quads(const float *x, float *sums, long long n)
{
    float sum = sum_of_piece(reinterpret_cast<const float4 *>(x), n / 4);
    if (blockIdx.x == gridDim.x - 1 && threadIdx.x < n % 4) {
        sum += x[n - 1 - threadIdx.x];
    }
    sum = summed_over_block(sum);
    if (threadIdx.x == 0) {
        sums[blockIdx.x] = sum;
    }
}

// The same by single numbers: as many blocks as there are pieces of WORDS * blockDim.x.
extern "C" __global__ void read_once_each(const float *x, float *sums, long long n)
{
    const float sum = summed_over_block(sum_of_piece(x, n));
    if (threadIdx.x == 0) {
        sums[blockIdx.x] = sum;
    }
}
