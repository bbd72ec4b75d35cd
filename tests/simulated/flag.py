"""A made-up GPU behind the interface of ``kernels/flag.py``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gpu_explain.scenes.base import SourceText, Trace
from tests.simulated import blocks as scheduler

KERNEL = "wait_for_the_last"
TIMED_OUT, SEEN, SET = 0, 1, 2
LONGEST_NS = 2_000_000


@dataclass(frozen=True)
class Waited:
    """As ``kernels.flag.Waited``."""

    trace: Trace
    outcome: tuple[int, ...]
    limit_ns: int


def residents(gpu: Any, *, threads: int) -> int:
    """By threads and block slots of the made-up device."""
    return scheduler.fit(gpu, work="wait", language="CUDA", threads=threads).residents


def wait_for_the_last(gpu: Any, *, name: str, title: str, blocks: int, threads: int, limit_ns: int) -> Waited:
    """Blocks take places breadth first; whoever has one keeps it until the flag or the deadline."""
    gpu.progress("tracing the launch")
    sms, step = gpu.device.sms, gpu.device.timer_step_ns
    places = sms * residents(gpu, threads=threads)
    fits = blocks <= places
    starts, ends, outcome = [], [], []
    for block in range(blocks):
        resident = block < places
        start = block % places * 2 if resident else limit_ns + 2 * step
        last = block == blocks - 1
        end = start + step if last else blocks * 2 + 2 * step if fits else limit_ns + step
        starts.append(start // step * step)
        ends.append(max(end // step * step, starts[-1]))
        outcome.append(SET if last else SEEN if fits else TIMED_OUT)
    sm = tuple(block % sms for block in range(blocks))
    cycles = tuple(int((e - s) * scheduler.CLOCK_GHZ) for s, e in zip(starts, ends, strict=True))
    trace = Trace(
        name, title, KERNEL, "CUDA", threads, step, sm, sm, tuple(starts), tuple(ends), cycles, tuple(range(blocks))
    )
    return Waited(trace, tuple(outcome), limit_ns)


def sources() -> tuple[SourceText, ...]:
    """A stand-in for the file that ran, marked as such."""
    return (SourceText("tests/simulated/flag.cu", "cuda", "// simulated\nwait();\n", {"flag": (2, 2)}),)
