"""A made-up GPU behind the interface of ``kernels/chase.py``: a memory hierarchy on paper.

The L2 of a MIG slice is of one piece, all others have a near and a far half. Only tests use it.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gpu_explain.scenes.base import Device, SourceText

CLOCK_GHZ = 1.5
L1, NEAR, FAR, DRAM, HOST, SHARED, ADD = 33.0, 275.0, 500.0, 660.0, 2400.0, 28.5, 4.1
CLOCK_READS = 12


@dataclass(frozen=True)
class Chain:
    """As ``kernels.chase.Chain``."""

    cycles: tuple[float, ...]
    ns: tuple[float, ...]
    steps: int
    sm: int


@dataclass(frozen=True)
class Singles:
    """As ``kernels.chase.Singles``."""

    cycles: tuple[int, ...]
    floor: float


def hits(device: Device, footprint: int) -> dict[float, float]:
    """Which share of a random ring's loads each distance answers."""
    l1, l2 = 0.9 * device.shared_per_sm, device.l2_bytes
    inside = _share(footprint, l1, 1.3 * l1)
    within = _share(footprint, 0.95 * l2, 1.3 * l2)
    near = 1.0 if device.mig else _share(footprint, 0.47 * l2, 0.66 * l2)
    return {
        L1: inside,
        NEAR: (1 - inside) * within * near,
        FAR: (1 - inside) * within * (1 - near),
        DRAM: (1 - inside) * (1 - within),
    }


def _share(footprint: int, full: float, none: float) -> float:
    return min(max((none - footprint) / (none - full), 0.0), 1.0)


def _chain(cycles: float, laps: int, steps: int, seed: int) -> Chain:
    noise = random.Random(seed)
    measured = tuple(cycles * (1 + noise.gauss(0, 0.002)) for _ in range(laps))
    return Chain(measured, tuple(c / CLOCK_GHZ for c in measured), steps, 3)


def add_chain(gpu: Any, *, steps: int = 4096, laps: int = 5) -> Chain:
    """Registers."""
    return _chain(ADD, laps, steps, 1)


def shared_chase(gpu: Any, *, nodes: int = 1024, steps: int = 2048, laps: int = 5) -> Chain:
    """Shared memory."""
    return _chain(SHARED, laps, steps, 2)


def host_chase(gpu: Any, *, laps: int = 5) -> Chain:
    """The host's memory."""
    return _chain(HOST, laps, 512, 3)


def chase(gpu: Any, *, footprints: Sequence[int], steps: int = 2048, laps: int = 5) -> tuple[Chain, ...]:
    """Means over the distances that answer."""
    return tuple(
        _chain(sum(far * share for far, share in hits(gpu.device, size).items()), laps, steps, size)
        for size in footprints
    )


def single_loads(gpu: Any, *, footprint: int, loads: int = 2048) -> Singles:
    """Each load to one distance; beyond the L1, slices lie in two groups."""
    noise = random.Random(footprint)
    shares = hits(gpu.device, footprint)
    cycles = []
    for _ in range(loads):
        far = noise.choices(list(shares), list(shares.values()))[0]
        group = 0.0 if far == L1 else noise.choice((-0.07, 0.07)) * NEAR
        spread = 0.4 if far == L1 else 4.0 if far in (NEAR, FAR) else 40.0
        cycles.append(max(round(far + group + noise.gauss(0, spread)) + CLOCK_READS, 1))
    return Singles(tuple(cycles), float(CLOCK_READS))


def chase_by_sm(gpu: Any, *, footprint: int, steps: int = 1024) -> dict[int, float]:
    """SMs in four groups, each a little farther than the last."""
    return {sm: NEAR * (0.96 + 0.03 * (sm % 4)) + sm % 7 * 0.3 for sm in range(gpu.device.sms)}


def sources() -> tuple[SourceText, ...]:
    """A stand-in for the file that ran, marked as such."""
    names = ("add", "shared", "chase", "warm", "single", "clock", "from", "host")
    text = "// simulated chains\n" + "".join(f"{name}();\n" for name in names)
    focus = {name: (line, line) for line, name in enumerate(names, 2)}
    ring = SourceText("tests/simulated/ring.py", "python", "# simulated ring\nlay_ring()\n", {"ring": (2, 2)})
    return (SourceText("tests/simulated/chase.cu", "cuda", text, focus), ring)
