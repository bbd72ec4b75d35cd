"""Launchers of ``cuda/bandwidth.cu`` and its Triton twin: how much is read in a second, by footprint."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import gcd
from typing import TYPE_CHECKING, Any

from gpu_explain.kernels.arguments import check_choice
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
"""Footprints are multiples of this many bytes, a chunk: what a block reads at a time, four 16-byte loads a thread."""

PER_SM = 32 << 20
"""Bytes that each SM reads in a launch at least: long enough, at any level, to dwarf the launch itself."""

BEYOND_L2 = 1 << 30
"""Bytes that all SMs together read at least where the footprint is larger than the L2."""

_MOST = 2**35
"""Bytes of the largest footprint; the kernels count chunks in 32 bits."""


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
    """What each block reads, in chunks: ``count`` of a region of ``chunks``; regions are ``apart`` apart."""

    chunks: int
    apart: int
    count: int

    @staticmethod
    def of(footprint: int, *, blocks: int, l2_bytes: int, per_sm: int = PER_SM, total: int = BEYOND_L2) -> Plan:
        """Within the L2 every block reads the whole footprint; beyond it each has its own part, whole rounds of it."""
        if footprint <= l2_bytes:
            return Plan(footprint // GRANULE, 0, max(per_sm // GRANULE, 1))
        part = max(footprint // blocks // GRANULE, 1)
        rounds = max(-(-total // footprint), 1)
        return Plan(part, part, rounds * part)

    def footprint(self, blocks: int) -> int:
        """Different bytes that are read."""
        return GRANULE * (self.chunks if not self.apart else self.chunks * blocks)

    def strides(self, blocks: int) -> list[int]:
        """For each block, by how many chunks it goes on: drawn from those that visit every chunk of a shared region.

        In a region of its own a block meets nobody, and goes on by one.
        """
        if self.apart or self.chunks < 3:
            return [1] * blocks
        visiting_all = [stride for stride in range(1, self.chunks) if gcd(stride, self.chunks) == 1]
        return random.Random(self.chunks).choices(visiting_all, k=blocks)


def read_footprints(
    gpu: Session,
    *,
    footprints: Sequence[int],
    languages: Sequence[str] = LANGUAGES,
    samples: int = 7,
    past_l1: bool = False,
) -> dict[str, tuple[Read, ...]]:
    """Time launches in which all SMs read over and over, for each language one launch for each of ``footprints``.

    All are timed in turns. Footprints are bytes; beyond the L2 one is rounded down to equal parts, one an SM. With
    ``past_l1`` the loads leave the L1 out (CUDA only). Raises ``ValueError`` naming a wrong argument, ``ProblemError``
    ``gpu-memory`` when the largest footprint does not fit, and as ``Timer.time`` does.
    """
    import torch

    for language in languages:
        check_choice("languages", language, LANGUAGES[:1] if past_l1 else LANGUAGES)
    for size in footprints:
        if size % GRANULE or not GRANULE <= size <= _MOST:
            raise ValueError(f"footprints: multiples of {GRANULE} up to {_MOST} expected, got {size}")
    if not footprints:
        return dict.fromkeys(languages, ())
    blocks = gpu.device.sms
    plans = [Plan.of(size, blocks=blocks, l2_bytes=gpu.device.l2_bytes) for size in footprints]
    most = max(plan.footprint(blocks) for plan in plans)
    # Random bits and not zeros: wires that never switch make a memory look faster than it is.
    words = gpu.scratch("the footprint", most)[:most].view(torch.int64).random_()
    never = torch.zeros(1, dtype=torch.int32, device=f"cuda:{gpu.ordinal}")
    readers = [
        _cuda(gpu, words, never, past_l1=past_l1) if language == "CUDA" else _triton(gpu, words, never)
        for language in languages
    ]

    def launch_of(reader: Reader, plan: Plan) -> Callable[[], object]:
        return lambda: reader(blocks, plan)

    launches = [launch_of(reader, plan) for plan in plans for reader in readers]
    timings = gpu.timer.time(launches, samples=samples)
    return {
        language: tuple(
            Read(plan.footprint(blocks), blocks * plan.count * GRANULE, timing)
            for plan, timing in zip(plans, timings[place :: len(languages)], strict=True)
        )
        for place, language in enumerate(languages)
    }


def read_host(gpu: Session, *, size: int = 32 << 20, samples: int = 7) -> Read:
    """Time launches in which all SMs together read ``size`` bytes of the host's pinned memory once (CUDA)."""
    import torch

    if not 1 <= size <= _MOST:
        raise ValueError(f"size: 1 to {_MOST} expected, got {size}")
    blocks = gpu.device.sms
    part = max(size // blocks // GRANULE, 1)
    read = blocks * part * GRANULE
    words = torch.ones(read // 8, dtype=torch.int64).pin_memory()
    never = torch.zeros(1, dtype=torch.int32, device=f"cuda:{gpu.ordinal}")
    launch = _cuda(gpu, words, never)
    (timing,) = gpu.timer.time([lambda: launch(blocks, Plan(part, part, part))], samples=samples)
    return Read(read, read, timing)


def sources(language: str) -> tuple[SourceText, ...]:
    """The file behind these launches, with the line range ``read``."""
    path = "cuda/bandwidth.cu" if language == "CUDA" else "kernels/bandwidth_triton.py"
    return (source(path, {"read": "read_chunks" if language == "CUDA" else "read_footprint"}),)


Reader = Callable[[int, Plan], object]
"""``(blocks, plan)`` queues one launch."""

_TRIAL = Plan(1, 0, 1)


def _cuda(gpu: Session, words: Any, never: Any, *, past_l1: bool = False) -> Reader:
    """The CUDA kernel, run once."""
    kernel = load(gpu, "bandwidth.cu", "read_footprint" + "_past_l1" * past_l1)
    prefer_shared(gpu, kernel, LARGEST_L1)
    strides = _Strides(never.device)

    def launch(blocks: int, plan: Plan) -> None:
        kernel.launch(gpu, blocks, THREADS, words, never, strides(blocks, plan), plan.chunks, plan.apart, plan.count)

    launch(1, _TRIAL)
    gpu.synchronise()
    return launch


def _triton(gpu: Session, words: Any, never: Any) -> Reader:
    """The Triton kernel, compiled and run once."""
    import torch

    began = time.perf_counter()
    from gpu_explain.kernels.bandwidth_triton import read_footprint

    view = words.view(torch.int32)
    strides = _Strides(never.device)

    def launch(blocks: int, plan: Plan) -> Any:
        return read_footprint[(blocks,)](
            view,
            never,
            strides(blocks, plan),
            plan.chunks,
            plan.apart,
            plan.count,
            BLOCK=GRANULE // 4,
            num_warps=THREADS // 32,
        )

    compiled = launch(1, _TRIAL)
    gpu.synchronise()
    prefer_shared_triton(compiled, LARGEST_L1)
    gpu.spent_compiling(time.perf_counter() - began)
    return launch


class _Strides:
    """The strides of a plan on the GPU, laid there when they are first asked for."""

    def __init__(self, device: Any) -> None:
        self._device = device
        self._kept: dict[tuple[int, Plan], Any] = {}

    def __call__(self, blocks: int, plan: Plan) -> Any:
        import torch

        if (blocks, plan) not in self._kept:
            self._kept[blocks, plan] = torch.tensor(plan.strides(blocks), dtype=torch.int32, device=self._device)
        return self._kept[blocks, plan]
