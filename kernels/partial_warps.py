"""Launcher of ``cuda/partial_warps.cu``: what blocks cost that do not fill their last warp."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpu_explain.kernels.arguments import check_number
from gpu_explain.kernels.loader import load
from gpu_explain.kernels.sources import source
from gpu_explain.scenes.base import SourceText, Timing

if TYPE_CHECKING:
    from gpu_explain.kernels.session import Session

KERNEL = "issue_bound"
CHAINS = 8
"""Independent multiply-adds a thread and step."""
SIZES = (32, 33, 64, 250, 256)
_MOST_STEPS = 1_000_000


@dataclass(frozen=True)
class Partial:
    """Blocks of one size, as many as for every other size.

    Attributes:
        threads: Threads in a block.
        warps: Warps in a block.
        blocks: Blocks of the launch.
        steps: Steps of :data:`CHAINS` multiply-adds that each thread makes.
        timing: How long the launch took.
    """

    threads: int
    warps: int
    blocks: int
    steps: int
    timing: Timing

    @property
    def flops(self) -> int:
        """Arithmetic that was asked for: two a multiply-add."""
        return 2 * CHAINS * self.steps * self.threads * self.blocks

    @property
    def tflop_per_s(self) -> float:
        """Arithmetic that was asked for, a second, in TFLOP/s, by the median time."""
        return self.flops / self.timing.median_us / 1e6


def partial_warps(
    gpu: Session, *, sizes: Sequence[int] = SIZES, steps: int = 2048, samples: int = 15
) -> tuple[Partial, ...]:
    """Time launches of equally many blocks, of each of ``sizes`` threads, that wait for nothing but to be issued.

    There are twice as many blocks as the GPU has places for blocks of the smallest size, so that all SMs have enough
    warps, and about equally many. Raises ``ValueError`` naming a wrong argument, and as ``Timer.time`` does.
    """
    import torch

    for threads in sizes:
        check_number("sizes", threads, 1, gpu.device.threads_per_block)
    check_number("steps", steps, 1, _MOST_STEPS)
    if not sizes:
        return ()
    kernel = load(gpu, "partial_warps.cu", KERNEL)
    blocks = 2 * gpu.device.sms * gpu.device.blocks_per_sm
    out = gpu.empty((blocks * max(sizes),), torch.float32, "the results of the chains")

    def launch_of(threads: int) -> Callable[[], object]:
        return lambda: kernel.launch(gpu, blocks, threads, out, steps)

    timings = gpu.timer.time([launch_of(threads) for threads in sizes], samples=samples)
    return tuple(
        Partial(threads, -(-threads // gpu.device.warp_size), blocks, steps, timing)
        for threads, timing in zip(sizes, timings, strict=True)
    )


def sources() -> tuple[SourceText, ...]:
    """The file behind it, with the line range ``kernel``."""
    return (source("cuda/partial_warps.cu", {"kernel": KERNEL}),)
