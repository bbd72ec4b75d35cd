"""What a call costs a program that makes one after the other: the host's clock over back-to-back calls.

The timer of ``timing.py`` holds the stream until all is queued, so it can never show that the GPU waits for Python.
This one does nothing but call: for small work it reads what a call costs the host, for large work what it costs the
GPU, whichever is more. CUPTI, once attached to a process, slows every launch in it, so it belongs into a process that
has not profiled (``spoiled`` says).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from gpu_explain.scenes.base import Timing

if TYPE_CHECKING:
    from gpu_explain.kernels.session import Session

_BATCH_S = 0.0015  # a batch lasts about this long …
_CALLS = (4, 200)  # … but has at least and at most so many calls


def spoiled(gpu: Session) -> str:
    """Why call times would be wrong in this process; empty when they are right."""
    return "the profiler was attached to this process and slows every launch" if gpu.profiled else ""


def call_times(gpu: Session, calls: Sequence[Callable[[], object]], *, batches: int = 7) -> tuple[Timing, ...]:
    """Time back-to-back calls, in turns, a batch of each at a time.

    Each sample is the time of a batch, from the first call to the end of the GPU's work, divided by its calls, in µs.
    """
    if batches < 1:
        raise ValueError(f"batches: at least 1 expected, got {batches}")
    counts = []
    for call in calls:
        for _ in range(3):  # nothing is compiled or allocated for the first time while it counts
            call()
        once = _batch(gpu, call, _CALLS[0])
        counts.append(min(max(round(_BATCH_S / max(once, 1e-7)), _CALLS[0]), _CALLS[1]))
    taken: list[list[float]] = [[] for _ in calls]
    for number in range(batches):
        gpu.progress("timing calls", number / batches)
        for place, (call, count) in enumerate(zip(calls, counts, strict=True)):
            taken[place].append(_batch(gpu, call, count) * 1e6)
    return tuple(
        Timing(
            samples_us=tuple(samples),
            method=f"The host's clock over {count} calls in a row and the wait for the last, ÷ {count}; median of"
            f" {batches} batches, in turns. No profiler in this process.",
        )
        for samples, count in zip(taken, counts, strict=True)
    )


def _batch(gpu: Session, call: Callable[[], object], count: int) -> float:
    """Seconds a call, over ``count`` calls and the wait for the last of them."""
    gpu.synchronise()
    began = time.perf_counter()
    for _ in range(count):
        call()
    gpu.synchronise()
    return (time.perf_counter() - began) / count
