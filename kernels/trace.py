"""The tracer's side on the CPU: room for the records, and from them a :class:`Trace`.

The columns are those of ``cuda/trace.cuh`` (and its Triton twin ``trace_triton.py``).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from gpu_explain.kernels.loader import load
from gpu_explain.scenes.base import Trace

if TYPE_CHECKING:
    from gpu_explain.kernels.session import Session

COLUMNS = 6
_STEPS = 256
_UNWRITTEN = -1


def timer_step_ns(gpu: Session) -> int:
    """The step in which ``%globaltimer`` moves on this GPU, in ns: the smallest of 256 seen."""
    import torch

    steps = torch.zeros(_STEPS, dtype=torch.int64, device=f"cuda:{gpu.ordinal}")
    load(gpu, "timing.cu", "timer_steps").launch(gpu, 1, 1, steps, _STEPS)
    gpu.synchronise()
    return int(steps.min().item())


def record_trace(
    gpu: Session,
    launch: Callable[[Any, Any], object],
    *,
    blocks: int,
    threads: int,
    name: str,
    title: str,
    kernel: str,
    language: str,
) -> Trace:
    """Run one traced launch and read what its blocks wrote down.

    ``launch(record, arrivals)`` queues it: ``record`` is int64 ``[6, blocks]``, ``arrivals`` int32 ``[1]``. It is run
    before as well, until the clock has risen; only the last launch is kept. Times of the trace are ns since the first
    block's start. Raises ``RuntimeError`` when a block wrote nothing.
    """
    import torch

    record = gpu.empty((COLUMNS, blocks), torch.int64, "the trace")
    arrivals = gpu.empty((1,), torch.int32, "the trace").zero_()
    gpu.timer.warm([lambda: launch(record, arrivals)])
    record.fill_(_UNWRITTEN)  # poisoned, so that a block that never wrote cannot pass for one that did
    arrivals.zero_()
    gpu.synchronise()
    gpu.progress("tracing the launch")
    launch(record, arrivals)
    gpu.synchronise()
    columns = record.tolist()
    if any(_UNWRITTEN in column for column in columns):
        raise RuntimeError(f"{kernel}: a block of the launch left no record")
    sm, sm_end, start, end, cycles, ticket = columns
    first = min(start)
    return Trace(
        name=name,
        title=title,
        kernel=kernel,
        language=language,
        threads=threads,
        step_ns=gpu.device.timer_step_ns,
        sm=tuple(sm),
        sm_end=tuple(sm_end),
        start_ns=tuple(at - first for at in start),
        end_ns=tuple(at - first for at in end),
        cycles=tuple(cycles),
        ticket=tuple(ticket),
    )
