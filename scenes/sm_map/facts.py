"""What the trace of a launch says about places, order and warps: plain functions of the recording."""

from __future__ import annotations

from functools import lru_cache

from gpu_explain.scenes.base import Trace

WARPS_KEPT = 2048
"""Warps whose times are kept for the step inside, by whole SMs: the recording of all would weigh megabytes."""


def handovers(trace: Trace, residents: int) -> list[int]:
    """For each block that had to wait for a place: ns from when one fell free on its SM to its start.

    On an SM with ``residents`` places the block that starts ``residents + k``-th cannot start before the ``k``-th end.
    """
    gaps = []
    for blocks in trace.by_sm.values():
        starts = sorted(trace.start_ns[b] for b in blocks)
        ends = sorted(trace.end_ns[b] for b in blocks)
        gaps += [start - end for start, end in zip(starts[residents:], ends, strict=False)]
    return gaps


def kept_sms(trace: Trace, warps_per_block: int) -> tuple[int, ...]:
    """The SMs whose warps are kept: that of the last block, of the first, of the last to end, then some in between.

    As many as :data:`WARPS_KEPT` allows, at least one, ascending.
    """
    order = [trace.sm[-1], trace.sm[0], trace.last_sm, *trace.sms[:: max(len(trace.sms) // 8, 1)], *trace.sms]
    kept: list[int] = []
    room = WARPS_KEPT
    for sm in dict.fromkeys(order):
        room -= len(trace.by_sm[sm]) * warps_per_block
        if kept and room < 0:
            break
        kept.append(sm)
    return tuple(sorted(kept))


@lru_cache(maxsize=16)
def lateness_ns(trace: Trace) -> tuple[int, ...]:
    """For each block: how long after a block with a higher number it started, at most, in ns; 0 for one in order.

    By the stamps and not by the tickets: hundreds of blocks start within a step of the timer, and the order in which
    their tickets are drawn is the order in which they reach one counter, not that in which they start.
    """
    late = [0] * trace.blocks
    first = trace.start_ns[-1]
    for block in range(trace.blocks - 1, -1, -1):
        late[block] = max(trace.start_ns[block] - first, 0)
        first = min(first, trace.start_ns[block])
    return tuple(late)


def late_starts(trace: Trace) -> frozenset[int]:
    """Blocks that started after one with a higher number, by more than one step of the timer."""
    return frozenset(block for block, late in enumerate(lateness_ns(trace)) if late > trace.step_ns)
