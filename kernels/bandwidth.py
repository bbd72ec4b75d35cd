"""Launchers of ``cuda/bandwidth.cu`` and its Triton twin: how much is read in a second, by footprint."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gpu_explain.kernels.carveout import LARGEST_L1, prefer_shared, prefer_shared_triton
from gpu_explain.kernels.loader import load
from gpu_explain.kernels.sources import source
from gpu_explain.scenes.base import SourceText, Timing

if TYPE_CHECKING:
    from gpu_explain.kernels.session import Session

LANGUAGES = ("CUDA", "Triton")
THREADS = 1024
QUAD = 16
"""Bytes that a thread reads at a time."""
GRANULE = 4 * THREADS * QUAD
"""Footprints are multiples of this many bytes: what a Triton program reads at a time, four 16-byte loads a thread."""

PER_SM = 32 << 20
"""Bytes that each SM reads in a launch at least: long enough, at any level, to dwarf the launch itself."""

BEYOND_L2 = 1 << 30
"""Bytes that all SMs together read at least where the footprint is larger than the L2."""

_STEP = GRANULE // QUAD
_MOST_QUADS = 2**31 - 1


@dataclass(frozen=True)
class Read:
    """Launches that read a footprint.

    Attributes:
        footprint: The bytes that were read over and over.
        bytes: All the bytes that one launch read.
        timing: How long it took.
    """

    footprint: int
    bytes: int
    timing: Timing

    def rate(self, us: float) -> float:
        """Bytes a second in GB/s when the launch takes ``us``."""
        return self.bytes / us / 1e3

    @property
    def gb_per_s(self) -> float:
        """Bytes a second in GB/s, by the median time."""
        return self.rate(self.timing.median_us)


@dataclass(frozen=True)
class Plan:
    """What the blocks of a launch read: ``count`` words of a region of ``quads``, regions ``apart`` words apart."""

    quads: int
    apart: int
    count: int

    @staticmethod
    def of(footprint: int, *, blocks: int, l2_bytes: int, per_sm: int = PER_SM, total: int = BEYOND_L2) -> Plan:
        """Within the L2 every block reads the whole footprint; beyond it each has its own part, whole rounds of it."""
        if footprint <= l2_bytes:
            return Plan(footprint // QUAD, 0, max(per_sm // GRANULE, 1) * _STEP)
        part = max(footprint // blocks // GRANULE, 1) * _STEP
        rounds = max(-(-total // footprint), 1)
        return Plan(part, part, rounds * part)

    def footprint(self, blocks: int) -> int:
        """Different bytes that are read."""
        return QUAD * (self.quads if not self.apart else self.quads * blocks)


def read_footprints(gpu: Session, *, language: str, footprints: Sequence[int], samples: int = 7) -> tuple[Read, ...]:
    """Time launches in which all SMs read over and over, one launch for each of ``footprints`` in bytes.

    Beyond the L2 a footprint is rounded down to equal parts, one an SM. Raises ``ValueError`` naming a wrong argument,
    ``ProblemError`` ``gpu-memory`` when the largest footprint does not fit, and as ``Timer.time`` does.
    """
    import torch

    if language not in LANGUAGES:
        raise ValueError(f"language: one of {', '.join(LANGUAGES)} expected, got {language!r}")
    for size in footprints:
        if size % GRANULE or not GRANULE <= size <= _MOST_QUADS * QUAD:
            raise ValueError(f"footprints: multiples of {GRANULE} up to {_MOST_QUADS * QUAD} expected, got {size}")
    if not footprints:
        return ()
    blocks = gpu.device.sms
    plans = [Plan.of(size, blocks=blocks, l2_bytes=gpu.device.l2_bytes) for size in footprints]
    most = max(plan.footprint(blocks) for plan in plans)
    # Random bits and not zeros: wires that never switch make a memory look faster than it is.
    words = gpu.scratch("the footprint", most)[:most].view(torch.int64).random_()
    never = torch.zeros(1, dtype=torch.int32, device=f"cuda:{gpu.ordinal}")
    launch = (_cuda if language == "CUDA" else _triton)(gpu, words, never)

    def launch_of(plan: Plan) -> Callable[[], object]:
        return lambda: launch(blocks, plan)

    timings = gpu.timer.time([launch_of(plan) for plan in plans], samples=samples)
    return tuple(
        Read(plan.footprint(blocks), blocks * plan.count * QUAD, timing)
        for plan, timing in zip(plans, timings, strict=True)
    )


def read_host(gpu: Session, *, size: int = 32 << 20, samples: int = 7) -> Read:
    """Time launches in which all SMs together read ``size`` bytes of the host's pinned memory once (CUDA)."""
    import torch

    if not 1 <= size <= _MOST_QUADS * QUAD:
        raise ValueError(f"size: 1 to {_MOST_QUADS * QUAD} expected, got {size}")
    blocks = gpu.device.sms
    part = max(size // blocks // GRANULE, 1) * _STEP
    read = blocks * part * QUAD
    words = torch.ones(read // 8, dtype=torch.int64).pin_memory()
    never = torch.zeros(1, dtype=torch.int32, device=f"cuda:{gpu.ordinal}")
    launch = _cuda(gpu, words, never)
    (timing,) = gpu.timer.time([lambda: launch(blocks, Plan(part, part, part))], samples=samples)
    return Read(read, read, timing)


def sources(language: str) -> tuple[SourceText, ...]:
    """The file behind these launches, with the line range ``read``."""
    path = "cuda/bandwidth.cu" if language == "CUDA" else "kernels/bandwidth_triton.py"
    return (source(path, {"read": "read_footprint"}),)


Reader = Callable[[int, Plan], object]
"""``(blocks, plan)`` queues one launch."""

_TRIAL = Plan(_STEP, 0, _STEP)


def _cuda(gpu: Session, words: Any, never: Any) -> Reader:
    """The CUDA kernel, run once."""
    kernel = load(gpu, "bandwidth.cu", "read_footprint")
    prefer_shared(gpu, kernel, LARGEST_L1)

    def launch(blocks: int, plan: Plan) -> None:
        kernel.launch(gpu, blocks, THREADS, words, never, plan.quads, plan.apart, plan.count)

    launch(1, _TRIAL)
    gpu.synchronise()
    return launch


def _triton(gpu: Session, words: Any, never: Any) -> Reader:
    """The Triton kernel, compiled and run once."""
    import torch

    began = time.perf_counter()
    from gpu_explain.kernels.bandwidth_triton import read_footprint

    view = words.view(torch.int32)

    def launch(blocks: int, plan: Plan) -> Any:
        return read_footprint[(blocks,)](
            view, never, plan.quads, plan.apart, plan.count, BLOCK=GRANULE // 4, num_warps=THREADS // 32
        )

    compiled = launch(1, _TRIAL)
    gpu.synchronise()
    prefer_shared_triton(compiled, LARGEST_L1)
    gpu.spent_compiling(time.perf_counter() - began)
    return launch
