// b = transpose of a: nothing is computed, every number only moves. How far from a copy must that be?
//
// A row of `a` is a column of `b`: whichever way the lanes of a warp stand, one side is read or written in single
// numbers that lie a row apart, and of every sector of 32 bytes that moves, 4 bytes are wanted. The ladder:
//
//   naive     one side coalesced, the other not
//   tile      through shared memory: both sides coalesced, but a column of the tile lies in a single bank
//   padded    a row of the tile is one word longer, so that 32 rows of a column meet every bank
//   swizzled  no word wasted: column c of row r lies at c ^ r, and again 32 rows meet every bank
//   wide      16 bytes a lane on both sides: a thread turns 4 x 4 numbers in its registers, the tile turns the rest
//
// All take any rows x columns of float32, both arrays contiguous; `wide` needs both to be multiples of 4 and the arrays
// to begin at multiples of 16 bytes. A block takes one tile; their number is one-dimensional since that limit is the
// higher one.

// Of the first four: rows of 256 bytes. With half of it, more rows end within a sector wherever sizes are odd.
constexpr int SIDE = 64;
constexpr int DOWN = 8; // rows of a tile that a block moves at a time: 64 x 8 threads, 8 numbers each
constexpr int WIDE_ROWS = 64, WIDE_COLUMNS = 64, WIDE_THREADS = 256;

// Where the block's tile begins in `a`. Blocks that follow one another go down a column of tiles: what they write lies
// side by side in `b`, and so do the sectors that wait in the L2 to be written out. What they read lies rows apart,
// which reading minds less.
struct Corner {
    long long row, column;
};

template <int ROWS, int COLUMNS> __device__ __forceinline__ Corner corner(long long rows)
{
    const unsigned down = (unsigned)((rows + ROWS - 1) / ROWS);
    return {(long long)(blockIdx.x % down) * ROWS, (long long)(blockIdx.x / down) * COLUMNS};
}

// In this one and those that follow, all numbers of a thread are on their way before the first is stored: a load behind
// a store would wait for it, since for all that the compiler knows it may read what the store writes.
extern "C" __global__ void transpose_naive(const float *a, float *b, long long rows, long long columns)
{
    const Corner tile = corner<SIDE, SIDE>(rows);
    const long long column = tile.column + threadIdx.x;
    float number[SIDE / DOWN];
#pragma unroll
    for (int i = 0; i < SIDE / DOWN; ++i) {
        const long long row = tile.row + threadIdx.y + i * DOWN;
        if (row < rows && column < columns) {
            number[i] = a[row * columns + column];
        }
    }
#pragma unroll
    for (int i = 0; i < SIDE / DOWN; ++i) {
        const long long row = tile.row + threadIdx.y + i * DOWN;
        if (row < rows && column < columns) {
            b[column * rows + row] = number[i];
        }
    }
}

// Where a tile's numbers lie in shared memory.
struct Plain {
    static constexpr int WORDS = SIDE * SIDE;
    __device__ static int at(int row, int column) { return row * SIDE + column; }
};

struct Padded {
    static constexpr int WORDS = SIDE * (SIDE + 1);
    __device__ static int at(int row, int column) { return row * (SIDE + 1) + column; }
};

struct Swizzled {
    static constexpr int WORDS = SIDE * SIDE;
    __device__ static int at(int row, int column) { return row * SIDE + (column ^ row); }
};

// Written by rows as `a` is read, read by columns as `b` is written.
template <typename Layout>
__device__ __forceinline__ void through_tile(const float *a, float *b, long long rows, long long columns)
{
    __shared__ float words[Layout::WORDS];
    const Corner tile = corner<SIDE, SIDE>(rows);
    const int x = threadIdx.x;
    float number[SIDE / DOWN];
#pragma unroll
    for (int i = 0; i < SIDE / DOWN; ++i) {
        const long long row = tile.row + threadIdx.y + i * DOWN, column = tile.column + x;
        if (row < rows && column < columns) {
            number[i] = a[row * columns + column];
        }
    }
#pragma unroll
    for (int i = 0; i < SIDE / DOWN; ++i) {
        words[Layout::at(threadIdx.y + i * DOWN, x)] = number[i]; // beyond the edge too, where nobody reads it
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < SIDE / DOWN; ++i) {
        const int y = threadIdx.y + i * DOWN;
        const long long row = tile.column + y, column = tile.row + x; // in `b`
        if (row < columns && column < rows) {
            b[row * rows + column] = words[Layout::at(x, y)];
        }
    }
}

extern "C" __global__ void transpose_tile(const float *a, float *b, long long rows, long long columns)
{
    through_tile<Plain>(a, b, rows, columns);
}

extern "C" __global__ void transpose_padded(const float *a, float *b, long long rows, long long columns)
{
    through_tile<Padded>(a, b, rows, columns);
}

extern "C" __global__ void transpose_swizzled(const float *a, float *b, long long rows, long long columns)
{
    through_tile<Swizzled>(a, b, rows, columns);
}

// A tile is cut into patches of 4 x 4. A thread reads a patch, four words of 16 bytes, and turns it in registers: each
// of its columns is then a word of `b`. The tile in shared memory holds those words, a row of it a row of `b`.
//
// The swizzle: a turn of 16-byte words serves 8 lanes. Those that write stand side by side in `a` and so would all
// write the same column of the tile; word u of the rows of patch p lies at u ^ (p % 8), in 8 different groups of banks.
extern "C" __global__ void __launch_bounds__(WIDE_THREADS)
    transpose_wide(const float4 *a, float4 *b, long long rows, long long columns)
{
    constexpr int ACROSS = WIDE_COLUMNS / 4;                              // patches in a row of the tile
    constexpr int WORDS = WIDE_ROWS / 4;                                  // words in a row of `b`'s tile
    constexpr int PATCHES = ACROSS * WORDS / WIDE_THREADS;                // of a thread
    __shared__ float4 turned[WIDE_COLUMNS * WORDS];
    const Corner tile = corner<WIDE_ROWS, WIDE_COLUMNS>(rows);
    float4 patch[PATCHES][4];
#pragma unroll
    for (int i = 0; i < PATCHES; ++i) {
        const int p = (threadIdx.x + i * WIDE_THREADS) % ACROSS, word = (threadIdx.x + i * WIDE_THREADS) / ACROSS;
        const long long row = tile.row + 4 * word, column = tile.column + 4 * p;
        if (row < rows && column < columns) {
#pragma unroll
            for (int k = 0; k < 4; ++k) {
                patch[i][k] = a[((row + k) * columns + column) / 4];
            }
        }
    }
#pragma unroll
    for (int i = 0; i < PATCHES; ++i) {
        const int p = (threadIdx.x + i * WIDE_THREADS) % ACROSS, word = (threadIdx.x + i * WIDE_THREADS) / ACROSS;
        const float4 *q = patch[i];
        float4 *to = turned + 4 * p * WORDS + (word ^ (p % 8));
        to[0 * WORDS] = make_float4(q[0].x, q[1].x, q[2].x, q[3].x);
        to[1 * WORDS] = make_float4(q[0].y, q[1].y, q[2].y, q[3].y);
        to[2 * WORDS] = make_float4(q[0].z, q[1].z, q[2].z, q[3].z);
        to[3 * WORDS] = make_float4(q[0].w, q[1].w, q[2].w, q[3].w);
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 4 * PATCHES; ++i) {
        const int r = (threadIdx.x + i * WIDE_THREADS) / WORDS, word = (threadIdx.x + i * WIDE_THREADS) % WORDS;
        const long long row = tile.column + r, column = tile.row + 4 * word; // in `b`
        if (row < columns && column < rows) {
            b[(row * rows + column) / 4] = turned[r * WORDS + (word ^ (r / 4 % 8))];
        }
    }
}
