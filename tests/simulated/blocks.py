"""A made-up GPU behind the interface of ``kernels/blocks.py``: a block scheduler on paper.

Blocks are placed breadth first, up to the limits of the device; a place that falls free takes the next block.
Waiting blocks last as long as they are told; computing blocks share their SM. Only tests use it.
"""

from __future__ import annotations

import heapq
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gpu_explain.scenes.base import Device, SourceText, Timing, Trace

CLOCK_GHZ = 1.5
LAUNCH_US = 3.5


@dataclass(frozen=True)
class Fit:
    """Residents per SM of the untraced and the traced kernel, as ``kernels.blocks.Fit``."""

    residents: int
    registers: int
    shared_bytes: int
    traced_residents: int
    traced_registers: int
    method: str


def fit(gpu: Any, *, work: str, language: str, threads: int, shared_bytes: int = 0) -> Fit:
    """Residents by threads, block slots and shared memory of the made-up device."""
    device: Device = gpu.device
    residents = min(device.threads_per_sm // threads, device.blocks_per_sm)
    if shared_bytes:
        residents = min(residents, device.shared_per_sm // shared_bytes)
    return Fit(residents, 24, shared_bytes, residents, 24, "simulated: threads, block slots, shared memory")


def _schedule(device: Device, residents: int, blocks: int, work: str, threads: int, amount: int) -> list[list[int]]:
    """``[sm, start_ns, end_ns]`` of every block."""
    full = -(-threads // device.warp_size)
    lone = amount / CLOCK_GHZ * (4 if work == "compute" else 1)
    noise = random.Random(blocks * 1000 + threads)
    order = list(range(device.sms))
    places = [(0.0, slot, i) for slot in range(residents) for i in range(device.sms)]
    heapq.heapify(places)
    found = []
    running: dict[int, list[float]] = {sm: [] for sm in order}
    for block in range(blocks):
        at, slot, sm = heapq.heappop(places)
        here = [end for end in running[sm] if end > at + lone / 2]
        share = 1.0
        if work == "compute":
            # Sixteen warps saturate an SM of four schedulers with a four-cycle multiply-add.
            expected = min(residents, -(-(blocks - block) // device.sms) + len(here))
            share = max(1.0, expected * full / 16)
        start = at + 40 + noise.random() * 60
        end = start + lone * share * (1 + noise.random() * 0.002)
        running[sm] = [*here, end]
        found.append([sm, int(start), int(end)])
        heapq.heappush(places, (end, slot, sm))
    return found


def trace_blocks(
    gpu: Any,
    *,
    name: str,
    title: str,
    work: str,
    language: str,
    blocks: int,
    threads: int,
    amount: int,
    shared_bytes: int = 0,
) -> Trace:
    """A trace as the made-up scheduler would leave it, on the device's own timer step."""
    device: Device = gpu.device
    residents = fit(gpu, work=work, language=language, threads=threads, shared_bytes=shared_bytes).residents
    raw = _schedule(device, residents, blocks, work, threads, amount)
    step = device.timer_step_ns
    first = min(start for _, start, _ in raw)
    starts = tuple((start // step - first // step) * step for _, start, _ in raw)
    ends = tuple((end // step - first // step) * step for _, _, end in raw)
    ticket = [0] * blocks
    for place, block in enumerate(sorted(range(blocks), key=lambda b: raw[b][1])):
        ticket[block] = place
    sms = tuple(sm for sm, _, _ in raw)
    cycles = tuple(int((end - start) * CLOCK_GHZ) for _, start, end in raw)
    return Trace(name, title, f"{work}_blocks", language, threads, step, sms, sms, starts, ends, cycles, tuple(ticket))


def time_blocks(
    gpu: Any, *, work: str, language: str, sizes: Sequence[int], threads: int, amount: int, samples: int = 15
) -> tuple[Timing, ...]:
    """One timing a size: the made-up schedule's span plus a launch, with a little noise."""
    residents = fit(gpu, work=work, language=language, threads=threads).residents
    noise = random.Random(threads + amount)
    found = []
    for blocks in sizes:
        gpu.progress(f"timing {blocks} blocks")
        raw = _schedule(gpu.device, residents, blocks, work, threads, amount)
        span = (max(e for _, _, e in raw) - min(s for _, s, _ in raw)) / 1000
        took = tuple(span + LAUNCH_US + noise.random() * 0.05 for _ in range(samples))
        found.append(Timing(took, (CLOCK_GHZ * 1000,) * samples, LAUNCH_US, method="simulated"))
    return tuple(found)


def sources(*, work: str, language: str) -> tuple[SourceText, ...]:
    """A stand-in for the file that ran, marked as such."""
    text = f"// simulated {work} blocks in {language}\nstart();\nwork();\nend();\n"
    focus = {"kernel": (2, 4), work: (3, 3), "trace": (2, 4)}
    return (SourceText("tests/simulated/blocks.cu", "cuda", text, focus),)
