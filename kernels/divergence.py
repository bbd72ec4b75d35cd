"""Launcher of ``cuda/divergence.cu``: what k equally long paths cost a warp, by the clocks of each thread."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gpu_explain.kernels.arguments import check_choice, check_number
from gpu_explain.kernels.loader import load
from gpu_explain.kernels.sources import source
from gpu_explain.scenes.base import SourceText

if TYPE_CHECKING:
    from gpu_explain.kernels.session import Session

KERNEL = "diverge"
BY = ("lane", "warp")
MOST_PATHS = 32
"""Paths that the kernel has."""
STRIDE = 16
"""Multiply-adds between two turns of a path's loop."""
_MOST_STRIDES = 100_000
_COLUMNS = 6
_UNWRITTEN = -1


@dataclass(frozen=True)
class Divergence:
    """What the threads of one block did, an entry a thread in every column.

    Attributes:
        paths: Different paths that were dealt out.
        by: ``lane`` (lane l took path l % paths) or ``warp`` (warp w took path w % paths).
        warps: Warps of the block.
        steps: Dependent multiply-adds in each path.
        path: The path that a thread took.
        mask: The lanes of its warp that walked it at the same time, a bit each.
        before, after: When the thread's warp came to the branch, and when all of its lanes had met again, in cycles
            of the SM since the first of all threads came to it.
        start, end: When the thread's path began and ended, on the same clock.
        result: What the path computed.
    """

    paths: int
    by: str
    warps: int
    steps: int
    path: tuple[int, ...]
    mask: tuple[int, ...]
    before: tuple[int, ...]
    start: tuple[int, ...]
    end: tuple[int, ...]
    after: tuple[int, ...]
    result: tuple[float, ...]

    @property
    def cycles(self) -> int:
        """Cycles from the first thread at the branch to the last one past it."""
        return max(self.after) - min(self.before)

    @property
    def path_cycles(self) -> dict[int, int]:
        """For each path the cycles from its first thread's start to its last one's end."""
        found: dict[int, int] = {}
        for path in sorted(set(self.path)):
            mine = [at for at, taken in enumerate(self.path) if taken == path]
            found[path] = max(self.end[at] for at in mine) - min(self.start[at] for at in mine)
        return found


def diverge(gpu: Session, *, paths: int, by: str, warps: int = 1, strides: int = 64) -> Divergence:
    """Deal ``paths`` paths of ``strides * STRIDE`` dependent multiply-adds out in one block of ``warps`` warps.

    By warp, what one path costs as many warps (``paths=1``) is the comparison: more warps than an SM can issue from
    without a gap (four a scheduler) take longer than one, whatever they do. Raises ``ValueError`` naming a wrong
    argument.
    """
    import torch

    check_choice("by", by, BY)
    check_number("paths", paths, 1, min(MOST_PATHS, gpu.device.warp_size))
    check_number("warps", warps, 1, gpu.device.threads_per_block // gpu.device.warp_size)
    check_number("strides", strides, 1, _MOST_STRIDES)
    threads = warps * gpu.device.warp_size
    kernel = load(gpu, "divergence.cu", KERNEL)
    record = gpu.empty((_COLUMNS, threads), torch.int64, "the clocks of the paths")
    out = gpu.empty((threads,), torch.float32, "the results of the paths")
    arguments = (out, record, paths, int(by == "warp"), strides)
    gpu.timer.warm([lambda: kernel.launch(gpu, 1, threads, *arguments)])
    record.fill_(_UNWRITTEN)
    out.fill_(float("nan"))
    kernel.launch(gpu, 1, threads, *arguments)
    gpu.synchronise()
    path, mask, *clocks = record.tolist()
    if _UNWRITTEN in path:
        raise RuntimeError(f"{KERNEL}: a thread left no record")
    first = min(clocks[0])
    before, start, end, after = (tuple(at - first for at in column) for column in clocks)
    return Divergence(
        paths, by, warps, strides * STRIDE, tuple(path), tuple(mask), before, start, end, after, tuple(out.tolist())
    )


def expected(path: int, thread: int, steps: int) -> float:
    """What the path computes from the thread's number, in 64 bits: x becomes ``x / 2 + path + 1``, ``steps`` times."""
    x: Any = float(thread)
    for _ in range(steps):
        x = x * 0.5 + path + 1.0
    return float(x)


def sources() -> tuple[SourceText, ...]:
    """The files behind it, with the line ranges ``path``, ``branch``, ``kernel`` and ``clock``."""
    return (
        source("cuda/divergence.cu", {"path": "walk", "branch": "walk_one_of_32", "kernel": KERNEL}),
        source("cuda/clock.cuh", {"clock": "clock_after"}),
    )
