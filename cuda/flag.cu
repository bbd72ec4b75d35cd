// Blocks that wait for another block, and why that may never end.
//
// Every block of the grid waits for a flag that the last block sets. While all blocks fit on the GPU at once that
// works. With one block more it cannot: the last block waits for a place, and everyone who holds a place waits for the
// last block. Nothing would ever move again, so here the waiting ends at a deadline. Code that needs all blocks to meet
// is launched so that they are known to fit (a cooperative launch), or is cut into two launches.
#include "trace.cuh"

enum FlagOutcome { FLAG_TIMED_OUT, FLAG_SEEN, FLAG_SET };

// record and arrivals: see trace.cuh. deadline_ns: one integer, 0 before the launch; the first block to arrive puts
// its time plus limit_ns there, so that all give up at the same moment. flag: one integer, 0 before the launch.
// outcome: one FlagOutcome a block. A flag seen after the deadline does not count: its block had given up by then.
extern "C" __global__ void wait_for_the_last(long long *record, unsigned *arrivals, unsigned long long *deadline_ns,
                                             unsigned long long *flag, long long *outcome, long long limit_ns)
{
    const BlockTrace trace = trace_begin(record, arrivals);
    if (threadIdx.x == 0) {
        const unsigned long long mine = (unsigned long long)(globaltimer_ns() + limit_ns);
        const unsigned long long first = atomicCAS(deadline_ns, 0ULL, mine);
        const long long deadline = (long long)(first ? first : mine);
        if (blockIdx.x == gridDim.x - 1) {
            atomicExch(flag, 1ULL);
            outcome[blockIdx.x] = FLAG_SET;
        } else {
            long long result = FLAG_TIMED_OUT;
            while (globaltimer_ns() <= deadline) {
                if (*(volatile unsigned long long *)flag != 0) {
                    result = globaltimer_ns() <= deadline ? FLAG_SEEN : FLAG_TIMED_OUT;
                    break;
                }
                __nanosleep(100); // or the flag's address is read by all SMs at once, and its setter has to queue
            }
            outcome[blockIdx.x] = result;
        }
    }
    trace_end(record, trace);
}
