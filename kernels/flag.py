"""Launcher of ``cuda/flag.cu``: every block waits, for a bounded time, for a flag that the last block sets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gpu_explain.kernels.loader import load
from gpu_explain.kernels.sources import source
from gpu_explain.kernels.trace import COLUMNS, record_trace
from gpu_explain.scenes.base import SourceText, Trace

if TYPE_CHECKING:
    from gpu_explain.kernels.session import Session

KERNEL = "wait_for_the_last"
TIMED_OUT, SEEN, SET = 0, 1, 2
"""What became of a block: it gave up, it saw the flag in time, it was the one that set it."""

LONGEST_NS = 2_000_000
"""The longest that a block may wait, in ns: far below any display watchdog, however many waves there are."""
_MOST_BLOCKS = 2**31 - 1
_UNWRITTEN = -1


@dataclass(frozen=True)
class Waited:
    """One launch of blocks that wait for the last.

    Attributes:
        trace: The blocks.
        outcome: What became of each: :data:`TIMED_OUT`, :data:`SEEN` or :data:`SET`.
        limit_ns: How long after the first block's arrival all gave up, in ns.
    """

    trace: Trace
    outcome: tuple[int, ...]
    limit_ns: int


def residents(gpu: Session, *, threads: int) -> int:
    """Most such blocks on one SM, by the occupancy API. Raises ``ValueError`` naming a wrong argument."""
    _check(gpu, blocks=1, threads=threads, limit_ns=1)
    return load(gpu, "flag.cu", KERNEL).residents(threads)


def wait_for_the_last(gpu: Session, *, name: str, title: str, blocks: int, threads: int, limit_ns: int) -> Waited:
    """Launch ``blocks`` blocks, of which all but the last wait for it, and give up ``limit_ns`` after the first began.

    ``name`` and ``title`` are the trace's. Raises ``ValueError`` naming a wrong argument, ``RuntimeError`` when a
    block left no outcome.
    """
    import torch

    _check(gpu, blocks=blocks, threads=threads, limit_ns=limit_ns)
    kernel = load(gpu, "flag.cu", KERNEL)
    state = gpu.empty((2,), torch.int64, "the flag").zero_()
    deadline, flag = state[:1], state[1:]
    outcome = gpu.empty((blocks,), torch.int64, "what became of the blocks")
    # Modules load lazily: the first launch must not fall into the recording.
    kernel.launch(gpu, 1, threads, *_trial(gpu), deadline, flag, outcome, 1)

    def launch(record: Any, arrivals: Any) -> None:
        state.zero_()
        outcome.fill_(_UNWRITTEN)
        kernel.launch(gpu, blocks, threads, record, arrivals, deadline, flag, outcome, limit_ns)

    trace = record_trace(
        gpu, launch, blocks=blocks, threads=threads, name=name, title=title, kernel=KERNEL, language="CUDA"
    )
    found = tuple(outcome.tolist())
    if _UNWRITTEN in found:
        raise RuntimeError(f"{KERNEL}: a block of the launch left no outcome")
    return Waited(trace, found, limit_ns)


def sources() -> tuple[SourceText, ...]:
    """The file behind it, with the line range ``flag``."""
    return (source("cuda/flag.cu", {"flag": KERNEL}),)


def _check(gpu: Session, *, blocks: int, threads: int, limit_ns: int) -> None:
    if not 1 <= blocks <= _MOST_BLOCKS:
        raise ValueError(f"blocks: 1 to {_MOST_BLOCKS} expected, got {blocks}")
    if not 1 <= threads <= gpu.device.threads_per_block:
        raise ValueError(f"threads: 1 to {gpu.device.threads_per_block} expected, got {threads}")
    if not 1 <= limit_ns <= LONGEST_NS:
        raise ValueError(f"limit_ns: 1 to {LONGEST_NS} expected, got {limit_ns}")


def _trial(gpu: Session) -> tuple[Any, ...]:
    """Where a launch of one block leaves its record."""
    import torch

    return gpu.empty((COLUMNS, 1), torch.int64), gpu.empty((1,), torch.int32).zero_()
