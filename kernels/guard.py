"""Launchers of ``cuda/guard.cu`` and its Triton twin: what the surplus threads of the last block do.

The array of n elements lies in the middle of an allocation, between bands that nobody should write: what strays
lands in one of them, is counted, and does no harm.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gpu_explain.kernels.arguments import check_choice, check_number
from gpu_explain.kernels.loader import load
from gpu_explain.kernels.sources import source
from gpu_explain.scenes.base import SourceText

if TYPE_CHECKING:
    from gpu_explain.kernels.session import Session

LANGUAGES = ("CUDA", "Triton")
MOST_ELEMENTS = 2**32 - 2**12
"""The numbers of all places, strays included, are different as 32-bit integers, and none of them is the poison."""
_POISON = -1
_BAND = 1024
_CHUNK = 1 << 26


@dataclass(frozen=True)
class Guarded:
    """What one launch wrote.

    Attributes:
        guard: Whether the kernel checked ``i < n``.
        n: Elements of the array.
        blocks, threads: Blocks of the launch, and threads in each.
        written: Elements of the array that hold their number.
        wrong: Elements of the array that hold anything else.
        strays: Places outside the array that were written.
        first_stray, last_stray: The first and the last of them, as an index into the array; ``None`` without any.
    """

    guard: bool
    n: int
    blocks: int
    threads: int
    written: int
    wrong: int
    strays: int
    first_stray: int | None
    last_stray: int | None

    @property
    def surplus(self) -> int:
        """Threads of the launch for which there is no element."""
        return self.blocks * self.threads - self.n


def number_elements(gpu: Session, *, n: int, threads: int, guard: bool, language: str = "CUDA") -> Guarded:
    """Let each of n elements be written by a thread, in as many blocks of ``threads`` as that takes (n may be 0).

    Triton takes threads that are a power of two. Raises ``ValueError`` naming a wrong argument, ``ProblemError``
    ``gpu-memory`` when the array does not fit.
    """
    import torch

    check_choice("language", language, LANGUAGES)
    check_number("threads", threads, 1, gpu.device.threads_per_block)
    if language == "Triton" and threads & (threads - 1):
        raise ValueError(f"threads: a power of two expected for Triton, got {threads}")
    check_number("n", n, 0, min(MOST_ELEMENTS, (2**31 - 1) * threads))
    blocks = -(-n // threads)
    behind = blocks * threads - n + _BAND
    room = gpu.empty((_BAND + n + behind,), torch.int32, "the guarded array").fill_(_POISON)
    out = room[_BAND : _BAND + n + behind]
    name = kernel_name(guard)
    if blocks and language == "CUDA":
        load(gpu, "guard.cu", name).launch(gpu, blocks, threads, out, n)
    elif blocks:
        from gpu_explain.kernels import guard_triton

        getattr(guard_triton, name)[(blocks,)](out, n, BLOCK=threads)
    gpu.synchronise()
    written = _numbered(out[:n])
    poisoned = torch.cat((room[:_BAND], out[n:])) == _POISON
    strayed = (~poisoned).nonzero().flatten().tolist()
    places = [at - _BAND if at < _BAND else n + at - _BAND for at in strayed]
    return Guarded(
        guard=guard,
        n=n,
        blocks=blocks,
        threads=threads,
        written=written,
        wrong=n - written,
        strays=len(places),
        first_stray=min(places, default=None),
        last_stray=max(places, default=None),
    )


def kernel_name(guard: bool) -> str:
    """The kernel with or without the check, in both languages."""
    return "number_guarded" if guard else "number_unguarded"


def sources(*, language: str = "CUDA") -> tuple[SourceText, ...]:
    """The file behind it, with the line ranges ``with`` and ``without``."""
    path = "cuda/guard.cu" if language == "CUDA" else "kernels/guard_triton.py"
    return (source(path, {"with": kernel_name(True), "without": kernel_name(False)}),)


def _numbered(out: Any) -> int:
    """Elements that hold their own index (its lower 32 bits), counted in pieces."""
    import torch

    found = 0
    for begin in range(0, out.numel(), _CHUNK):
        piece = out[begin : begin + _CHUNK]
        numbers = torch.arange(begin, begin + piece.numel(), device=out.device)
        found += int((piece == numbers.to(torch.int32)).sum().item())
    return found
