"""The Triton twin of ``cuda/grid.cu``: the same records, the same arguments in the same order.

Triton has no threads to name, but it has them: ``THREADS`` elements on ``THREADS`` threads are one each, and inline
assembly that runs once an element tells which thread of which warp that was.
"""

from __future__ import annotations

import triton
import triton.language as tl

from gpu_explain.kernels.blocks_triton import nap
from gpu_explain.kernels.trace_triton import clock64, trace_begin, trace_end


@triton.jit
def lane_of(element):
    """Which lane of its warp handles each element (int32, the element's shape)."""
    return tl.inline_asm_elementwise("mov.u32 $0, %laneid;", "=r,r", [element], dtype=tl.int32, is_pure=False, pack=1)


@triton.jit
def thread_of(element):
    """Which thread of the program handles each element (int32, the element's shape)."""
    return tl.inline_asm_elementwise("mov.u32 $0, %tid.x;", "=r,r", [element], dtype=tl.int32, is_pure=False, pack=1)


@triton.jit
def time_of(element):
    """The GPU's timer in ns as each element's thread reads it (int64, the element's shape)."""
    return tl.inline_asm_elementwise(
        "mov.u64 $0, %globaltimer;", "=l,r", [element], dtype=tl.int64, is_pure=False, pack=1
    )


@triton.jit
def sm_of(element):
    """The SM on which each element's thread runs (int32, the element's shape)."""
    return tl.inline_asm_elementwise("mov.u32 $0, %smid;", "=r,r", [element], dtype=tl.int32, is_pure=False, pack=1)


@triton.jit
def unevenness():
    """What differs between blocks of real work, made by arithmetic: 0 … 1023 by the program's number (int64)."""
    return ((tl.program_id(0).to(tl.int64) * 2654435761) & 0xFFFFFFFF) >> 22


@triton.jit(do_not_specialize=["n", "least", "spread"])
def traced_elements(record, arrivals, warp_record, owner, n, least, spread, THREADS: tl.constexpr, WARP: tl.constexpr):
    """Sign each element with the warp and lane that has it; wait for ``least`` cycles and up to ``spread`` more.

    ``record`` is int64 ``[6, programs]``, ``arrivals`` one int32 that starts at 0, ``warp_record`` int64 ``[3, warps]``
    (start and end in ns, SM), ``owner`` int32 ``[n]``. Launch with ``num_warps = THREADS // WARP``.
    """
    element = tl.arange(0, THREADS)
    began = time_of(element)  # before the tracer, whose ticket every warp has to wait for in Triton
    began_clock = clock64()
    start_clock = trace_begin(record, arrivals)
    i = tl.program_id(0).to(tl.int64) * THREADS + element
    lane = lane_of(element)
    warps = tl.num_programs(0) * (THREADS // WARP)
    warp = tl.program_id(0) * (THREADS // WARP) + thread_of(element) // WARP
    tl.store(warp_record + 0 * warps + warp, began, mask=lane == 0)
    tl.store(warp_record + 2 * warps + warp, sm_of(element).to(tl.int64), mask=lane == 0)
    # The mask keeps the surplus of the last program from writing. It does not let them leave: all warps wait below.
    tl.store(owner + i, warp * WARP + lane, mask=i < n)
    amount = least + spread * unevenness() // 1024
    while clock64() - began_clock < amount:
        nap()
    tl.store(warp_record + 1 * warps + warp, time_of(element), mask=lane == 0)
    trace_end(record, start_clock)
