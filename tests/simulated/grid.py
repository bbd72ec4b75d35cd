"""A made-up GPU behind the interface of ``kernels/grid.py``: the block scheduler of ``blocks.py``, seen by warp."""

from __future__ import annotations

import heapq
import random
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gpu_explain.scenes.base import SourceText, Trace
from tests.simulated import blocks as scheduler

LANGUAGES = ("CUDA", "Triton")
_launches = 0


@dataclass(frozen=True)
class Owners:
    """As ``kernels.grid.Owners``."""

    elements: int
    signed: int
    strangers: int
    lane_low: tuple[int, ...]
    lane_high: tuple[int, ...]


@dataclass(frozen=True)
class Recorded:
    """As ``kernels.grid.Recorded``."""

    trace: Trace
    warps_per_block: int
    warp_start_ns: Any
    warp_end_ns: Any
    warp_sm: Any
    owners: Owners
    residents: int
    registers: int
    method: str


def residents(gpu: Any, *, language: str, threads: int) -> int:
    """By threads and block slots of the made-up device."""
    return scheduler.fit(gpu, work="wait", language=language, threads=threads).residents


def record(
    gpu: Any, *, name: str, title: str, language: str, elements: int, threads: int, least: int, spread: int = 0
) -> Recorded:
    """A launch as a scheduler on paper would leave it; the surplus warps of CUDA's last block end at once."""
    gpu.progress("tracing the launch")
    warp_size, step, sms = gpu.device.warp_size, gpu.device.timer_step_ns, gpu.device.sms
    count, warps = -(-elements // threads), -(-threads // warp_size)
    held = residents(gpu, language=language, threads=threads)
    free = [(slot, at) for slot in range(held) for at in range(sms)]  # (time, SM); at first in a row
    heapq.heapify(free)
    noise = random.Random(count)
    sm, starts, ends = [], [], []
    for block in range(count):
        at, here = heapq.heappop(free)
        begin = at + 40 + int(noise.random() * 60)
        lasts = int((least + spread * ((block * 2654435761 & 0xFFFFFFFF) >> 22) // 1024) / scheduler.CLOCK_GHZ)
        heapq.heappush(free, (begin + lasts, here))
        sm.append(here)
        starts.append(begin)
        ends.append(begin + lasts)
    first = min(starts)
    ticket = [0] * count
    for place, block in enumerate(sorted(range(count), key=lambda b: starts[b])):
        ticket[block] = place
    trace = Trace(
        name, title, "traced_elements", language, threads, step, tuple(sm), tuple(sm),
        tuple((at // step - first // step) * step for at in starts),
        tuple((at // step - first // step) * step for at in ends),
        tuple(int((b - a) * scheduler.CLOCK_GHZ) for a, b in zip(starts, ends, strict=True)), tuple(ticket),
    )  # fmt: skip
    trace = _elsewhere(trace, sms)
    warp_starts = [at for at in trace.start_ns for _ in range(warps)]
    warp_ends = [at for at in trace.end_ns for _ in range(warps)]
    if language == "CUDA":
        for warp in range(count * warps):
            if warp // warps * threads + warp % warps * warp_size >= elements:
                warp_ends[warp] = warp_starts[warp] + step
    last_lane = min(elements, threads, warp_size)
    lanes = tuple(lane if lane < last_lane else -1 for lane in range(warp_size))
    return Recorded(
        trace,
        warps,
        np.array(warp_starts),
        np.array(warp_ends),
        np.repeat(trace.sm, warps),
        Owners(elements, elements, 0, lanes, lanes),
        held,
        24,
        "simulated",
    )


def _elsewhere(trace: Trace, sms: int) -> Trace:
    """The same launch with the SMs' numbers turned by one, every other time: no two launches are the same."""
    global _launches  # noqa: PLW0603
    _launches += 1
    turn = _launches % 2
    return replace(
        trace, sm=tuple((sm + turn) % sms for sm in trace.sm), sm_end=tuple((sm + turn) % sms for sm in trace.sm_end)
    )


def sources(*, language: str) -> tuple[SourceText, ...]:
    """A stand-in for the file that ran, marked as such."""
    text = f"// simulated elements in {language}\nstart();\nwork();\nend();\n"
    return (SourceText("tests/simulated/grid.cu", "cuda", text, {"kernel": (2, 4), "trace": (2, 2)}),)
