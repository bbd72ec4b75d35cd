"""Launcher of ``cuda/square.cu``: x * x as a CUDA kernel, the twin of ``square.py``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpu_explain.kernels.loader import load
from gpu_explain.kernels.square import check

if TYPE_CHECKING:
    from gpu_explain.kernels.session import Session

KERNEL = "square"
THREADS = 256
MOST_BLOCKS = 2**31 - 1


def square_cuda(gpu: Session, x: Any, out: Any = None) -> Any:
    """Square every number in one launch on the session's stream; returns ``out``, or a new tensor.

    Args:
        gpu: The session.
        x: float32, contiguous, on the session's GPU, of any shape; may be empty.
        out: Like x; may be x.

    Raises:
        ValueError: Naming the argument and what was expected.
    """
    out = check(x, out, ordinal=gpu.ordinal)
    n = x.numel()
    blocks = -(-n // THREADS)
    if blocks > MOST_BLOCKS:
        raise ValueError(f"x: at most {MOST_BLOCKS * THREADS} elements expected, got {n}")
    if n:
        load(gpu, "square.cu", KERNEL).launch(gpu, blocks, THREADS, x, out, n)
    return out
