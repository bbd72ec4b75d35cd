"""relu(a + b) as one Triton kernel: the sum stays in registers, so there is no tmp to write and to read back.

The twin of ``cuda/add_relu.cu``, with the same arguments in the same order. ``reference`` is what eager torch does:
two kernels, and five trips to memory where this one makes three.
"""

from __future__ import annotations

from typing import Any

import triton
import triton.language as tl

from gpu_explain.kernels.pointwise import MOST_BLOCKS, check, float_dtypes

BLOCK_SIZE = 512
"""Numbers a program: 4 a thread with 4 warps, which is one 16-byte load from each float32 array."""
NUM_WARPS = 4


@triton.jit
def add_relu_kernel(a, b, c, n, BLOCK_SIZE: tl.constexpr):
    """c[i] = relu(a[i] + b[i]) for i < n; contiguous, one program for ``BLOCK_SIZE`` numbers."""
    # 64 bits, or the offsets would wrap beyond 2^31 numbers.
    i = tl.program_id(0).to(tl.int64) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = i < n
    total = tl.load(a + i, mask=mask).to(tl.float32) + tl.load(b + i, mask=mask).to(tl.float32)
    # Without PropagateNan a NaN would become 0, which torch does not do.
    tl.store(c + i, tl.maximum(total, 0.0, propagate_nan=tl.PropagateNan.ALL), mask=mask)


def add_relu(a: Any, b: Any, out: Any = None) -> Any:
    """relu(a + b) in one launch on the current stream; returns ``out``, or a new tensor.

    Args:
        a: float32, float16 or bfloat16, contiguous, of any shape; may be empty.
        b: Like a, on the same device.
        out: Like them; may be one of them.

    Raises:
        ValueError: Naming the argument and what was expected.
    """
    out = check(a, b, out, float_dtypes())
    n = a.numel()
    programs = triton.cdiv(n, BLOCK_SIZE)
    if programs > MOST_BLOCKS:
        raise ValueError(f"a: at most {MOST_BLOCKS * BLOCK_SIZE} elements expected, got {n}")
    if n:
        add_relu_kernel[(programs,)](a, b, out, n, BLOCK_SIZE=BLOCK_SIZE, num_warps=NUM_WARPS)
    return out


def reference(a: Any, b: Any) -> Any:
    """What eager torch runs for the same line: an add kernel, a tmp in memory, a relu kernel."""
    return (a + b).relu()


def flops(n: int) -> int:
    """Arithmetic of relu(a + b) over n numbers: an add and a maximum each."""
    return 2 * n


def fused_bytes(n: int, itemsize: int = 4) -> int:
    """Bytes that one fused kernel moves: read a, read b, write c."""
    return 3 * itemsize * n


def eager_bytes(n: int, itemsize: int = 4) -> int:
    """Bytes that two kernels move: read a, read b, write tmp; read tmp, write c."""
    return 5 * itemsize * n
