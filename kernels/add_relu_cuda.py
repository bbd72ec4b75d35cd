"""Launcher of ``cuda/add_relu.cu``: relu(a + b) as one CUDA kernel, the twin of ``add_relu.py``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpu_explain.kernels.add_relu import check
from gpu_explain.kernels.loader import load

if TYPE_CHECKING:
    from gpu_explain.kernels.session import Session

THREADS = 256
FILE = "add_relu.cu"
_WORD = 16
_MOST_BLOCKS = 2**31 - 1


def add_relu_cuda(gpu: Session, a: Any, b: Any, out: Any = None) -> Any:
    """relu(a + b) in one launch on the session's stream; returns ``out``, or a new tensor.

    Takes four numbers a thread where every array begins at a multiple of 16 bytes, else one.

    Args:
        gpu: The session.
        a: float32, contiguous, on the session's GPU, of any shape; may be empty.
        b: Like a.
        out: Like them; may be one of them.

    Raises:
        ValueError: Naming the argument and what was expected.
    """
    out = check(a, b, out)
    n = a.numel()
    aligned = all(tensor.data_ptr() % _WORD == 0 for tensor in (a, b, out))
    threads = n // 4 + n % 4 if aligned else n
    blocks = -(-threads // THREADS)
    if blocks > _MOST_BLOCKS:
        raise ValueError(f"a: at most {_MOST_BLOCKS * THREADS} threads' worth of elements expected, got {n}")
    if n:
        name = "add_relu_quads" if aligned else "add_relu_each"
        # Found by its name and not through its path: a call's cost on the host is part of what is measured here.
        kernel = gpu.loaded.get(name)
        if kernel is None:
            kernel = gpu.loaded[name] = load(gpu, FILE, name)
        kernel.launch(gpu, blocks, THREADS, a, b, out, n)
    return out
