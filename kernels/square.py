"""y = x * x as a Triton kernel: the twin of ``cuda/square.cu``, with the same arguments in the same order."""

from __future__ import annotations

from typing import Any

import triton
import triton.language as tl

from gpu_explain.kernels.arguments import check_launchable, check_tensor, check_written

BLOCK_SIZE = 1024
NUM_WARPS = 4
_ITEM = 4
_MOST_PROGRAMS = 2**31 - 1


@triton.jit
def square_kernel(x, y, n, BLOCK_SIZE: tl.constexpr):
    """y[i] = x[i] * x[i] for i < n; float32, contiguous, one program for ``BLOCK_SIZE`` numbers."""
    # 64 bits, or the offsets would wrap beyond 2^31 numbers.
    i = tl.program_id(0).to(tl.int64) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = i < n
    number = tl.load(x + i, mask=mask)
    tl.store(y + i, number * number, mask=mask)


def square(x: Any, out: Any = None) -> Any:
    """Square every number in one launch on the current stream; returns ``out``, or a new tensor.

    Args:
        x: float32, contiguous, of any shape; may be empty.
        out: Like x; may be x.

    Raises:
        ValueError: Naming the argument and what was expected.
    """
    out = check(x, out)
    n = x.numel()
    programs = triton.cdiv(n, BLOCK_SIZE)
    if programs > _MOST_PROGRAMS:
        raise ValueError(f"x: at most {_MOST_PROGRAMS * BLOCK_SIZE} elements expected, got {n}")
    if n:
        square_kernel[(programs,)](x, out, n, BLOCK_SIZE=BLOCK_SIZE, num_warps=NUM_WARPS)
    return out


def check(x: Any, out: Any = None, *, ordinal: int | None = None) -> Any:
    """Check the arguments of :func:`square` and of its CUDA twin; returns ``out``, or a new tensor for it.

    Raises ``ValueError`` naming the argument and what was expected.
    """
    import torch

    check_tensor("x", x, dtypes=(torch.float32,), ordinal=ordinal)
    if ordinal is None:
        check_launchable("x", x)
    if out is None:
        return torch.empty_like(x)
    check_tensor("out", out, shape=tuple(x.shape), like=("x", x))
    check_written("out", out, ("x", x), in_place=True)
    return out


def reference(x: Any) -> Any:
    """What torch runs for it."""
    return x * x


def flops(n: int) -> int:
    """Arithmetic of n squares: a multiplication each."""
    return n


def bytes_moved(n: int) -> int:
    """Bytes that the kernel moves: read x, write y."""
    return 2 * _ITEM * n
