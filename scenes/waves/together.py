"""Whether the blocks of one wave end together, read off their trace."""

from __future__ import annotations

from gpu_explain.scenes.base import Trace

_LATE = 0.9
"""Share of a launch's span after which an end counts as the end of all: handing blocks out takes some of the rest."""


def end_together(trace: Trace) -> bool:
    """Whether every block of a launch ran until near its end."""
    return min(trace.end_ns) >= _LATE * trace.span_ns


def half_ended_ns(trace: Trace) -> int:
    """When half of a launch's blocks (rounded up) had ended, in ns since its first start."""
    return sorted(trace.end_ns)[(trace.blocks - 1) // 2]


def ends_apart(trace: Trace, sm: int) -> bool:
    """Whether an SM's first block to end did so clearly before its last one."""
    return min(trace.end_ns[block] for block in trace.by_sm[sm]) < _LATE * trace.last_end_by_sm[sm]


def first_is_lowest(trace: Trace, sm: int) -> bool:
    """Whether on an SM the block with the lowest number ended before all its others."""
    blocks = trace.by_sm[sm]
    lowest = min(blocks)
    return all(trace.end_ns[lowest] < trace.end_ns[block] for block in blocks if block != lowest)


def shown_first(trace: Trace) -> int:
    """The SM that a list of them begins with: the last to work where most others have nothing left, else the first."""
    return trace.last_sm if has_tail(trace) else trace.sms[0]


def has_tail(trace: Trace) -> bool:
    """Whether SMs work on for a good while after half of them have ended."""
    return trace.tail_ns > trace.median_duration_ns / 4
