// The tracer: what each block writes down about itself, so that a picture can show what really happened.
//
// A record is six columns of 64-bit integers, one entry a block (column c of block b is record[c * gridDim.x + b]).
// %globaltimer counts nanoseconds, the same on every SM, in steps that the session measures; clock64() counts the
// cycles of one SM and is finer, but only comparable within that SM. %smid is a virtual number: it says which blocks
// shared an SM, not where on the chip it lies.
#pragma once

enum TraceColumn { TRACE_SM, TRACE_SM_END, TRACE_START_NS, TRACE_END_NS, TRACE_CYCLES, TRACE_TICKET };

__device__ __forceinline__ long long globaltimer_ns()
{
    unsigned long long now;
    // volatile and "memory": neither two reads made into one, nor a read moved past the work that it times.
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now)::"memory");
    return (long long)now;
}

__device__ __forceinline__ long long sm_id()
{
    unsigned sm;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(sm)::"memory");
    return (long long)sm;
}

// What thread 0 keeps while its block works.
struct BlockTrace {
    long long start_clock;
    unsigned ticket;
};

// Call first. Thread 0 stamps the block's arrival and draws a ticket from a counter that starts at 0. The ticket is
// kept and not stored yet: a store would have to wait for its value, and the block with it.
__device__ __forceinline__ BlockTrace trace_begin(long long *record, unsigned *arrivals)
{
    BlockTrace trace = {0, 0};
    if (threadIdx.x == 0) {
        const long long start_ns = globaltimer_ns();
        trace.start_clock = clock64();
        trace.ticket = atomicAdd(arrivals, 1u);
        record[TRACE_START_NS * gridDim.x + blockIdx.x] = start_ns;
        record[TRACE_SM * gridDim.x + blockIdx.x] = sm_id();
    }
    return trace;
}

// Call last. The barrier makes the end the block's end: without it, it would be the end of thread 0's warp.
__device__ __forceinline__ void trace_end(long long *record, BlockTrace trace)
{
    __syncthreads();
    if (threadIdx.x == 0) {
        const long long end_clock = clock64();
        const long long end_ns = globaltimer_ns();
        record[TRACE_CYCLES * gridDim.x + blockIdx.x] = end_clock - trace.start_clock;
        record[TRACE_END_NS * gridDim.x + blockIdx.x] = end_ns;
        record[TRACE_SM_END * gridDim.x + blockIdx.x] = sm_id();
        record[TRACE_TICKET * gridDim.x + blockIdx.x] = (long long)trace.ticket;
    }
}
