"""Triton twins of ``cuda/blocks.cu``: the same blocks, the same arguments in the same order.

A Triton program is one block; ``THREADS`` is ``32 * num_warps``, so that each thread holds one element. ``amount``
is not specialised: one compiled kernel serves every amount, and fit, trace and timing speak of the same kernel.
"""

from __future__ import annotations

import triton
import triton.language as tl

from gpu_explain.kernels.trace_triton import clock64, trace_begin, trace_end


@triton.jit
def nap():
    """Sleep for about 100 ns."""
    tl.inline_asm_elementwise("nanosleep.u32 100; mov.u32 $0, 0;", "=r", [], dtype=tl.int32, is_pure=False, pack=1)


@triton.jit
def wait(amount):
    """Wait until this SM's clock has moved on by ``amount`` cycles, asleep between two looks at it."""
    start = clock64()
    while clock64() - start < amount:
        nap()


@triton.jit
def compute(x, amount):
    """``amount`` multiply-adds, each of which needs the one before (float32). Tends to 2, whatever ``x`` was."""
    for _ in tl.range(0, amount, loop_unroll_factor=16):
        x = x * 0.5 + 1.0
    return x


@triton.jit(do_not_specialize=["amount"])
def wait_blocks(amount):
    """Blocks that wait for ``amount`` cycles."""
    wait(amount)


@triton.jit(do_not_specialize=["amount"])
def compute_blocks(out, amount, THREADS: tl.constexpr):
    """Blocks that compute; ``out`` takes one float32 a thread, shape ``[programs * THREADS]``."""
    lane = tl.arange(0, THREADS)
    i = tl.program_id(0).to(tl.int64) * THREADS + lane
    tl.store(out + i, compute(lane.to(tl.float32), amount))


@triton.jit(do_not_specialize=["amount"])
def traced_wait_blocks(record, arrivals, amount):
    """The same, traced; ``record`` is int64 ``[6, programs]``, ``arrivals`` one int32 that starts at 0."""
    start_clock = trace_begin(record, arrivals)
    wait(amount)
    trace_end(record, start_clock)


@triton.jit(do_not_specialize=["amount"])
def traced_compute_blocks(record, arrivals, out, amount, THREADS: tl.constexpr):
    """The same, traced."""
    start_clock = trace_begin(record, arrivals)
    lane = tl.arange(0, THREADS)
    i = tl.program_id(0).to(tl.int64) * THREADS + lane
    tl.store(out + i, compute(lane.to(tl.float32), amount))
    trace_end(record, start_clock)
