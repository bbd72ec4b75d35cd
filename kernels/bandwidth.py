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
GRANULE = 32 * 1024
"""Footprints are multiples of this many bytes: what one Triton program reads at a time."""

PER_SM = 32 << 20
"""Bytes that each SM reads in a launch: long enough, at any level, to dwarf the launch itself."""

_THREADS = 512
_QUAD = 16
_MOST_BYTES = _QUAD * (2**31 - 1)


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


def read_footprints(
    gpu: Session, *, language: str, footprints: Sequence[int], per_sm: int = PER_SM, samples: int = 7
) -> tuple[Read, ...]:
    """Time launches in which all SMs read the same footprint over and over, one launch for each of ``footprints``.

    Each SM reads ``per_sm`` bytes. Raises ``ValueError`` naming a wrong argument, ``ProblemError`` ``gpu-memory`` when
    the largest footprint does not fit, and as ``Timer.time`` does.
    """
    import torch

    if language not in LANGUAGES:
        raise ValueError(f"language: one of {', '.join(LANGUAGES)} expected, got {language!r}")
    for size in footprints:
        if size % GRANULE or not GRANULE <= size <= _MOST_BYTES:
            raise ValueError(f"footprints: multiples of {GRANULE} up to {_MOST_BYTES} expected, got {size}")
    if per_sm < 1:
        raise ValueError(f"per_sm: at least 1 expected, got {per_sm}")
    if not footprints:
        return ()
    # Random bits and not zeros: wires that never switch make a memory look faster than it is.
    words = gpu.scratch("the footprint", max(footprints))[: max(footprints)].view(torch.int64).random_()
    never = torch.zeros(1, dtype=torch.int32, device=f"cuda:{gpu.ordinal}")
    launch, residents = (_cuda if language == "CUDA" else _triton)(gpu, words, never)
    blocks = gpu.device.sms * residents
    count = max(per_sm // residents // GRANULE, 1) * GRANULE // _QUAD

    def launch_of(size: int) -> Callable[[], object]:
        return lambda: launch(blocks, size // _QUAD, count)

    timings = gpu.timer.time([launch_of(size) for size in footprints], samples=samples)
    read = blocks * count * _QUAD
    return tuple(Read(size, read, timing) for size, timing in zip(footprints, timings, strict=True))


def read_host(gpu: Session, *, size: int = 32 << 20, samples: int = 7) -> Read:
    """Time launches in which all SMs together read ``size`` bytes of the host's pinned memory once (CUDA)."""
    import torch

    if not 1 <= size <= _MOST_BYTES:
        raise ValueError(f"size: 1 to {_MOST_BYTES} expected, got {size}")
    kernel = load(gpu, "bandwidth.cu", "read_footprint")
    blocks = gpu.device.sms
    count = max(size // _QUAD // blocks // _THREADS, 1) * _THREADS
    read = blocks * count * _QUAD
    words = torch.ones(read // 8, dtype=torch.int64).pin_memory()
    never = torch.zeros(1, dtype=torch.int32, device=f"cuda:{gpu.ordinal}")
    (timing,) = gpu.timer.time(
        [lambda: kernel.launch(gpu, blocks, _THREADS, words, never, blocks * count, count)], samples=samples
    )
    return Read(read, read, timing)


def sources(language: str) -> tuple[SourceText, ...]:
    """The file behind these launches, with the line range ``read``."""
    path = "cuda/bandwidth.cu" if language == "CUDA" else "kernels/bandwidth_triton.py"
    return (source(path, {"read": "read_footprint"}),)


Reader = Callable[[int, int, int], object]
"""``(blocks, quads, count)`` queues one launch."""


def _cuda(gpu: Session, words: Any, never: Any) -> tuple[Reader, int]:
    """The CUDA kernel, run once, and how many of its blocks an SM holds."""
    kernel = load(gpu, "bandwidth.cu", "read_footprint")
    prefer_shared(gpu, kernel, LARGEST_L1)

    def launch(blocks: int, quads: int, count: int) -> None:
        kernel.launch(gpu, blocks, _THREADS, words, never, quads, count)

    launch(1, GRANULE // _QUAD, _THREADS)
    gpu.synchronise()
    return launch, kernel.residents(_THREADS)


def _triton(gpu: Session, words: Any, never: Any) -> tuple[Reader, int]:
    """The Triton kernel, compiled and run once, and how many of its programs an SM holds."""
    import torch
    from cuda.bindings import driver

    began = time.perf_counter()
    from gpu_explain.kernels.bandwidth_triton import read_footprint
    from gpu_explain.kernels.device import checked

    view = words.view(torch.int32)
    block = GRANULE // 4

    def launch(blocks: int, quads: int, count: int) -> Any:
        return read_footprint[(blocks,)](view, never, quads, count, BLOCK=block, num_warps=_THREADS // 32)

    compiled = launch(1, GRANULE // _QUAD, GRANULE // _QUAD)
    gpu.synchronise()
    prefer_shared_triton(compiled, LARGEST_L1)
    gpu.spent_compiling(time.perf_counter() - began)
    handle = driver.CUfunction(int(compiled.function))
    shared = int(compiled.metadata.shared)
    residents = checked(driver.cuOccupancyMaxActiveBlocksPerMultiprocessor(handle, _THREADS, shared))
    return launch, int(residents)
