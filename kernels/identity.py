"""Launcher of ``cuda/identity.cu``: every thread writes down who it is and which lanes of its warp are there."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gpu_explain.kernels.arguments import check_number
from gpu_explain.kernels.loader import Extent, load
from gpu_explain.kernels.sources import source
from gpu_explain.scenes.base import SourceText

if TYPE_CHECKING:
    from gpu_explain.kernels.session import Session

KERNEL = "identify"
MOST_THREADS = 1 << 24
"""The most threads of a launch: their record takes 56 bytes each."""
_MOST_BLOCKS_Y = 65535
_COLUMNS = 7
_UNWRITTEN = -1


@dataclass(frozen=True)
class Identities:
    """What the threads of one launch wrote down, an entry a thread: block after block, in each block row after row.

    Attributes:
        blocks, threads: Extents of the grid and of a block, ``(x, y)``.
        warp_size: Lanes that a warp has.
        lane: The thread's lane in its warp, as the hardware has it.
        mask: A bit for each lane that was active together with the thread.
        warp: A number that exactly the threads of one warp share; by order of arrival.
        thread_x, thread_y, block_x, block_y: ``threadIdx`` and ``blockIdx``.

    All are numpy int64 arrays; -1 where a thread wrote nothing.
    """

    blocks: tuple[int, int]
    threads: tuple[int, int]
    warp_size: int
    lane: Any
    mask: Any
    warp: Any
    thread_x: Any
    thread_y: Any
    block_x: Any
    block_y: Any

    @property
    def warps(self) -> int:
        """Warps that were seen."""
        return len({int(one) for one in self.warp if one >= 0})

    @property
    def idle_lanes(self) -> int:
        """Lanes without a thread, by the masks of all warps."""
        masks = {int(warp): int(mask) for warp, mask in zip(self.warp, self.mask, strict=True) if warp >= 0}
        return sum(self.warp_size - mask.bit_count() for mask in masks.values())


def identify(gpu: Session, *, blocks: Extent, threads: Extent) -> Identities:
    """Launch ``blocks`` blocks of ``threads`` threads, each a number or ``(x, y)``.

    Raises ``ValueError`` naming a wrong argument.
    """
    import torch

    grid, block = _extent("blocks", blocks), _extent("threads", threads)
    per_block = math.prod(block)
    if per_block > gpu.device.threads_per_block:
        raise ValueError(f"threads: at most {gpu.device.threads_per_block} in a block expected, got {per_block}")
    if grid[1] > _MOST_BLOCKS_Y:
        raise ValueError(f"blocks: at most {_MOST_BLOCKS_Y} in y expected, got {grid[1]}")
    all_threads = math.prod(grid) * per_block
    if all_threads > MOST_THREADS:
        raise ValueError(f"blocks: at most {MOST_THREADS // per_block} of {per_block} threads expected, got {grid}")
    record = gpu.empty((_COLUMNS, all_threads), torch.int64, "the threads' identities").fill_(_UNWRITTEN)
    warps = torch.zeros(1, dtype=torch.int32, device=record.device)
    load(gpu, "identity.cu", KERNEL).launch(gpu, grid, block, record, warps)
    gpu.synchronise()
    return Identities(grid, block, gpu.device.warp_size, *record.cpu().numpy())


def sources() -> tuple[SourceText, ...]:
    """The files behind it, with the line ranges ``identity`` and ``lane``."""
    return (source("cuda/identity.cu", {"identity": KERNEL}), source("cuda/lane.cuh", {"lane": "lane_id"}))


def _extent(name: str, extent: Extent) -> tuple[int, int]:
    numbers = extent if isinstance(extent, tuple) else (extent,)
    if not 1 <= len(numbers) <= 2:
        raise ValueError(f"{name}: a number or two, x first, expected, got {extent!r}")
    for number in numbers:
        check_number(name, number, 1, MOST_THREADS)
    return (numbers[0], numbers[1] if len(numbers) == 2 else 1)
