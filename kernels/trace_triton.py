"""The tracer in Triton: the twin of ``cuda/trace.cuh``, with the same columns.

Own inline assembly rather than ``triton.language.extra.cuda.smid``: that one is declared pure, so two reads of it
become one and "the block stayed on its SM" could not fail.
"""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def globaltimer_ns():
    """The GPU's timer in ns (int64), the same on every SM."""
    return tl.inline_asm_elementwise("mov.u64 $0, %globaltimer;", "=l", [], dtype=tl.int64, is_pure=False, pack=1)


@triton.jit
def clock64():
    """Cycles of this SM (int64)."""
    return tl.inline_asm_elementwise("mov.u64 $0, %clock64;", "=l", [], dtype=tl.int64, is_pure=False, pack=1)


@triton.jit
def sm_id():
    """The number of this SM (int32), a virtual one."""
    return tl.inline_asm_elementwise("mov.u32 $0, %smid;", "=r", [], dtype=tl.int32, is_pure=False, pack=1)


@triton.jit
def trace_begin(record, arrivals):
    """Stamp the program's arrival and draw a ticket; returns the SM's clock. Call first."""
    block = tl.program_id(0)
    blocks = tl.num_programs(0)
    start_ns = globaltimer_ns()
    # Read before the ticket is drawn: Triton hands its value to every thread, so the block waits for it.
    start_clock = clock64()
    tl.store(record + 2 * blocks + block, start_ns)
    tl.store(record + 0 * blocks + block, sm_id().to(tl.int64))
    tl.store(record + 5 * blocks + block, tl.atomic_add(arrivals, 1, sem="relaxed").to(tl.int64))
    return start_clock


@triton.jit
def trace_end(record, start_clock):
    """Stamp the program's end, once all its warps are there. Call last."""
    tl.debug_barrier()
    block = tl.program_id(0)
    blocks = tl.num_programs(0)
    end_clock = clock64()
    tl.store(record + 3 * blocks + block, globaltimer_ns())
    tl.store(record + 4 * blocks + block, end_clock - start_clock)
    tl.store(record + 1 * blocks + block, sm_id().to(tl.int64))
