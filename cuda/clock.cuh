// An SM's clock, read no earlier than it should be.
#pragma once

// The SM's clock, read when `value` (never 0) is there. A warp issues its instructions in order and the comparison
// waits for the value, so the read, which depends on the comparison, cannot come earlier.
__device__ __forceinline__ long long clock_after(unsigned long long value)
{
    long long now;
    asm volatile("{\n\t"
                 ".reg .pred there;\n\t"
                 "setp.ne.u64 there, %1, 0;\n\t"
                 "mov.u64 %0, 0;\n\t"
                 "@there mov.u64 %0, %%clock64;\n\t"
                 "}"
                 : "=l"(now)
                 : "l"(value)
                 : "memory");
    return now;
}
