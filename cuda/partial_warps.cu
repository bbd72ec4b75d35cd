// Why 32? Because an instruction is issued for a whole warp, whether all of its lanes are there or one.
//
// Blocks of 33 threads have two warps, and the second does the work of one lane at the price of 32. To see that in
// time, issuing must be what everybody waits for: so there is no memory here, only arithmetic, eight chains of it a
// thread, so that no warp ever waits for a result of its own.

constexpr int CHAINS = 8; // a multiply-add's result is there after about four cycles: eight leave no gap

// out: one float a thread. `steps` multiply-adds in each of eight independent chains.
extern "C" __global__ void issue_bound(float *out, long long steps)
{
    float x[CHAINS];
#pragma unroll
    for (int chain = 0; chain < CHAINS; ++chain) {
        x[chain] = (float)(threadIdx.x + chain);
    }
#pragma unroll 8
    for (int i = 0; i < (int)steps; ++i) {
#pragma unroll
        for (int chain = 0; chain < CHAINS; ++chain) {
            x[chain] = fmaf(x[chain], 0.5f, 1.0f); // tends to 2, whatever it was
        }
    }
    float sum = 0.0f;
#pragma unroll
    for (int chain = 0; chain < CHAINS; ++chain) {
        sum += x[chain];
    }
    out[(long long)blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
