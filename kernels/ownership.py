"""Launchers of ``cuda/ownership.cu`` and its Triton twin: who took which element, with and without the offset."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpu_explain.kernels.arguments import check_choice, check_number
from gpu_explain.kernels.loader import load
from gpu_explain.kernels.sources import source
from gpu_explain.scenes.base import SourceText

if TYPE_CHECKING:
    from gpu_explain.kernels.session import Session

LANGUAGES = ("CUDA", "Triton")
MOST_ELEMENTS = 1 << 24
NOBODY = -1


@dataclass(frozen=True)
class Ownership:
    """Who took which element in one launch.

    Attributes:
        offset: Whether a thread's element was counted from its block's first one.
        blocks, threads: Blocks of the launch, and threads in each.
        owner: For each element the number in the grid, ``block * threads + thread``, of a thread that took it;
            :data:`NOBODY` where none did.
        writes: For each element how many threads took it.
    """

    offset: bool
    blocks: int
    threads: int
    owner: tuple[int, ...]
    writes: tuple[int, ...]


def own(
    gpu: Session, *, blocks: int, threads: int, offset: bool, n: int | None = None, language: str = "CUDA"
) -> Ownership:
    """Let ``blocks`` blocks of ``threads`` threads take n elements (``None``: one a thread; may be 0).

    Triton takes threads that are a power of two. Raises ``ValueError`` naming a wrong argument.
    """
    import torch

    check_choice("language", language, LANGUAGES)
    check_number("threads", threads, 1, gpu.device.threads_per_block)
    if language == "Triton" and threads & (threads - 1):
        raise ValueError(f"threads: a power of two expected for Triton, got {threads}")
    check_number("blocks", blocks, 1, MOST_ELEMENTS // threads)
    n = blocks * threads if n is None else n
    check_number("n", n, 0, MOST_ELEMENTS)
    owner = gpu.empty((n,), torch.int64, "the owners").fill_(NOBODY)
    writes = gpu.empty((n,), torch.int32, "the owners").zero_()
    name = kernel_name(offset)
    if language == "CUDA":
        load(gpu, "ownership.cu", name).launch(gpu, blocks, threads, owner, writes, n)
    else:
        from gpu_explain.kernels import ownership_triton

        getattr(ownership_triton, name)[(blocks,)](owner, writes, n, BLOCK=threads)
    gpu.synchronise()
    return Ownership(offset, blocks, threads, tuple(owner.tolist()), tuple(writes.tolist()))


def kernel_name(offset: bool) -> str:
    """The kernel with or without the offset, in both languages."""
    return "own_with_offset" if offset else "own_without_offset"


def sources(*, language: str = "CUDA") -> tuple[SourceText, ...]:
    """The file behind it, with the line ranges ``with``, ``without`` and ``take``."""
    path = "cuda/ownership.cu" if language == "CUDA" else "kernels/ownership_triton.py"
    return (source(path, {"with": kernel_name(True), "without": kernel_name(False), "take": "take"}),)
