"""Launcher of ``cuda/hello.cu``: every thread of a launch says who it is, and what it said is caught."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpu_explain.kernels.arguments import check_number
from gpu_explain.kernels.device import checked
from gpu_explain.kernels.loader import load
from gpu_explain.kernels.sources import source
from gpu_explain.scenes.base import SourceText

if TYPE_CHECKING:
    from gpu_explain.kernels.session import Session

KERNEL = "hello"
_RECORD_BYTES = 512
"""More than one call of this printf takes up in the GPU's buffer, which overwrites the oldest when it is full (an H200
kept one line for each 256 bytes of the buffer)."""
_MOST_BLOCKS = 2**31 - 1
_LINE = re.compile(r"^block (\d+), thread (\d+)$", re.MULTILINE)


@dataclass(frozen=True)
class Said:
    """What the threads of one launch said.

    Attributes:
        blocks, threads: Blocks of the launch, and threads in each.
        text: All that arrived, as it was printed.
        order: ``(block, thread)`` of each line, in the order in which they arrived.
    """

    blocks: int
    threads: int
    text: str
    order: tuple[tuple[int, int], ...]


def most_threads(gpu: Session) -> int:
    """Most threads of a launch whose lines all fit into the GPU's buffer for ``printf``."""
    from cuda.bindings import driver

    gpu.synchronise()  # makes sure that there is a context to be asked
    return int(checked(driver.cuCtxGetLimit(driver.CUlimit.CU_LIMIT_PRINTF_FIFO_SIZE))) // _RECORD_BYTES


def hello(gpu: Session, *, blocks: int, threads: int) -> Said:
    """Launch ``blocks`` blocks of ``threads`` threads that print a line each.

    Raises ``ValueError`` naming a wrong argument.
    """
    check_number("threads", threads, 1, gpu.device.threads_per_block)
    check_number("blocks", blocks, 1, min(_MOST_BLOCKS, max(most_threads(gpu) // threads, 1)))
    kernel = load(gpu, "hello.cu", KERNEL)
    with gpu.captured() as caught:
        kernel.launch(gpu, blocks, threads)
    order = tuple((int(block), int(thread)) for block, thread in _LINE.findall(caught.text))
    return Said(blocks, threads, caught.text, order)


def sources() -> tuple[SourceText, ...]:
    """The file behind it, with the line range ``hello``."""
    return (source("cuda/hello.cu", {"hello": KERNEL}),)
