"""Launcher of ``cuda/read_once.cu``: an array read once, as fast as memory gives it; its sum comes of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpu_explain.kernels.arguments import check_tensor, check_written
from gpu_explain.kernels.loader import load

if TYPE_CHECKING:
    from gpu_explain.kernels.session import Session

FILE = "read_once.cu"
THREADS = 512
WORDS = 4
"""Loads of a thread."""
_WORD = 16
_MOST_BLOCKS = 2**31 - 1


def read_once(gpu: Session, x: Any, out: Any = None) -> Any:
    """Sums of pieces of ``x`` in one launch on the session's stream: float32, one entry a block, in order.

    Their sum is the sum of x, each piece summed in float32. Reads 16 bytes at a time where x begins at a multiple of
    16 bytes, else 4.

    Args:
        gpu: The session.
        x: float32, contiguous, on the session's GPU, of any shape; may be empty.
        out: float32 ``[pieces(x)]``, or a new tensor.

    Raises:
        ValueError: Naming the argument and what was expected.
    """
    import torch

    check_tensor("x", x, dtypes=(torch.float32,), ordinal=gpu.ordinal)
    blocks = pieces(x)
    if blocks > _MOST_BLOCKS:
        raise ValueError(f"x: at most {_MOST_BLOCKS} pieces expected, got {blocks}")
    if out is None:
        out = torch.empty(blocks, dtype=x.dtype, device=x.device)
    check_tensor("out", out, like=("x", x), shape=(blocks,))
    check_written("out", out, ("x", x))
    if blocks:
        name = "read_once_quads" if _aligned(x) else "read_once_each"
        load(gpu, FILE, name).launch(gpu, blocks, THREADS, x, out, x.numel())
    return out


def pieces(x: Any) -> int:
    """How many sums :func:`read_once` makes of x."""
    return int(-(-x.numel() // (THREADS * WORDS * (_WORD // 4 if _aligned(x) else 1))))


def reference(x: Any) -> Any:
    """The sum by torch, in float64."""
    return x.double().sum()


def _aligned(x: Any) -> bool:
    return bool(x.data_ptr() % _WORD == 0)
