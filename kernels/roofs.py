"""Launchers of ``cuda/roofs.cu``: the fastest that memory has been seen to take a mix of reads and writes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from gpu_explain.kernels.loader import load

if TYPE_CHECKING:
    from gpu_explain.kernels.session import Session

FILE = "roofs.cu"
MIXES = ("2r1w", "1r1w")
"""Reads and writes: two arrays read and one written, one read and one written."""
WIDTHS = (1, 2, 4)
"""Words of 16 bytes a thread."""
THREADS = 256
_WORD = 16


def roof_launch(gpu: Session, *, mix: str, words: int, arrays: tuple[Any, ...]) -> Callable[[], None]:
    """A launch that moves ``arrays`` once, the last of them written to.

    ``arrays`` are contiguous tensors on the session's GPU, of one size in bytes, which is a multiple of 16, each
    beginning at a multiple of 16: three for ``2r1w``, two for ``1r1w``. Raises ``ValueError`` naming a wrong argument.
    """
    if mix not in MIXES:
        raise ValueError(f"mix: one of {', '.join(MIXES)} expected, got {mix!r}")
    if words not in WIDTHS:
        raise ValueError(f"words: one of {', '.join(map(str, WIDTHS))} expected, got {words}")
    wanted = 3 if mix == "2r1w" else 2
    if len(arrays) != wanted:
        raise ValueError(f"arrays: {wanted} expected for {mix}, got {len(arrays)}")
    sizes = {array.nbytes for array in arrays}
    if len(sizes) != 1 or sizes.pop() % _WORD or any(array.data_ptr() % _WORD for array in arrays):
        raise ValueError(f"arrays: equal sizes expected, in whole and aligned words of {_WORD} bytes")
    total = arrays[0].nbytes // _WORD
    kernel = load(gpu, FILE, f"roof_{mix}_{words}")
    blocks = -(-total // (THREADS * words))
    return lambda: kernel.launch(gpu, blocks, THREADS, *arrays, total)
