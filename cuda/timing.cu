// What the timer needs beside the kernel it times: something to hold the stream, something to empty the L2,
// something to read the clock with, and nothing at all.
#include "trace.cuh"

enum Outcome { OUTCOME_HELD = 1, OUTCOME_TIMED_OUT = 2 };

// Hold the stream until the CPU has queued everything that is to be timed: wait for *released to reach `sample`,
// for at most limit_ns. *outcome tells the CPU which of the two ended it. Launch with one thread.
extern "C" __global__ void hold(const volatile long long *released, long long sample, long long limit_ns,
                                volatile long long *outcome)
{
    const long long start = globaltimer_ns();
    while (*released < sample) {
        if (globaltimer_ns() - start > limit_ns) {
            *outcome = OUTCOME_TIMED_OUT;
            return;
        }
    }
    *outcome = OUTCOME_HELD;
}

// The floor of the method: a launch with nothing in it.
extern "C" __global__ void empty()
{
}

// Read `quads` 16-byte words, so that the L2 holds them and nothing else. By reading and not by writing: written
// lines would have to go back to memory at the cost of the kernel timed next. The sum is kept only if it is a value
// that it never is, which the compiler does not know.
extern "C" __global__ void read_all(const uint4 *words, long long quads, unsigned *never)
{
    unsigned sum = 0;
    const long long stride = (long long)gridDim.x * blockDim.x;
    for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < quads; i += stride) {
        const uint4 word = words[i];
        sum |= word.x | word.y | word.z | word.w;
    }
    if (sum != 0) {
        *never = sum;
    }
}

// The SM clock: cycles and nanoseconds between two steps of %globaltimer at least at_least_ns apart. Both ends lie on
// a step, so the coarseness of %globaltimer does not enter. Launch with one thread.
extern "C" __global__ void sm_clock(long long at_least_ns, volatile long long *cycles, volatile long long *ns)
{
    long long before = globaltimer_ns(), now = before;
    while (now == before) {
        now = globaltimer_ns();
    }
    const long long start_clock = clock64(), start_ns = now;
    while (now - start_ns < at_least_ns) {
        now = globaltimer_ns();
    }
    *cycles = clock64() - start_clock;
    *ns = now - start_ns;
}

// Write down the first `count` steps of %globaltimer, in ns. Launch with one thread.
extern "C" __global__ void timer_steps(long long *steps, long long count)
{
    long long before = globaltimer_ns();
    for (long long i = 0; i < count;) {
        const long long now = globaltimer_ns();
        if (now != before) {
            steps[i] = now - before;
            before = now;
            ++i;
        }
    }
}
