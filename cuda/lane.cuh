// Which lane of its warp a thread is, as the hardware has it (not computed from threadIdx).
#pragma once

__device__ __forceinline__ unsigned lane_id()
{
    unsigned lane;
    asm volatile("mov.u32 %0, %%laneid;" : "=r"(lane));
    return lane;
}
