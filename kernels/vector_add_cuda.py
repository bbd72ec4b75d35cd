"""Launcher of ``cuda/vector_add.cu``: a + b as one CUDA kernel, the twin of ``vector_add.py``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpu_explain.kernels.pointwise import check, launch_rung

if TYPE_CHECKING:
    from gpu_explain.kernels.session import Session

FILE = "vector_add.cu"


def vector_add_cuda(gpu: Session, a: Any, b: Any, out: Any = None, *, rung: str | None = None) -> Any:
    """Add a and b in one launch on the session's stream; returns ``out``, or a new tensor.

    Args:
        gpu: The session.
        a: float32, contiguous, on the session's GPU, of any shape; may be empty.
        b: Like a.
        out: Like them; may be one of them.
        rung: ``each`` (one number a thread) or ``quads`` (four, for arrays that begin at multiples of 16 bytes);
            ``None`` takes ``quads`` where it may.

    Raises:
        ValueError: Naming the argument and what was expected.
    """
    import torch

    out = check(a, b, out, (torch.float32,), ordinal=gpu.ordinal)
    launch_rung(gpu, FILE, "vector_add", a, b, out, rung)
    return out
