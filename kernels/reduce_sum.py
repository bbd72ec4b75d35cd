"""The sum of all elements in Triton: two launches of one kernel, the same bits in every run and on every GPU.

Each program of the first launch adds up its share, lane by lane, and writes one partial sum; the second launch is one
program that adds up those. Nothing is added atomically, and shares depend on n alone: so the order of the additions,
and with it the last bit, is always the same. The CUDA ladder that leads here is ``cuda/reduction.cu``.
"""

from __future__ import annotations

from typing import Any

import triton
import triton.language as tl

from gpu_explain.kernels.arguments import check_launchable, check_tensor
from gpu_explain.kernels.pointwise import float_dtypes

BLOCK_SIZE = 1024
"""Elements a program loads at a time: 8 a thread with 4 warps, two 16-byte loads of float32."""
NUM_WARPS = 4
MOST_PARTIALS = 16384
"""The most programs: what the second launch's one program adds up at once."""
LAST_WARPS = 32


@triton.jit
def sum_kernel(x, out, n, share, BLOCK_SIZE: tl.constexpr):
    """out[p] = sum of x[p * share … (p + 1) * share) for every program p, in float32; ``BLOCK_SIZE`` divides share."""
    first = tl.program_id(0).to(tl.int64) * share
    lane = tl.arange(0, BLOCK_SIZE)
    # One sum a lane, so that nobody waits for anybody before the end.
    total = tl.zeros([BLOCK_SIZE], tl.float32)
    for start in tl.range(0, share, BLOCK_SIZE):
        i = first + start + lane
        total += tl.load(x + i, mask=i < n, other=0.0).to(tl.float32)
    tl.store(out + tl.program_id(0), tl.sum(total, axis=0))


def reduce_sum(x: Any) -> Any:
    """The sum of all elements in two launches on the current stream, added up in float32.

    Args:
        x: float32, float16 or bfloat16, contiguous, of any shape; may be empty.

    Returns:
        A tensor of no dimensions, of x's dtype.

    Raises:
        ValueError: Naming the argument and what was expected.
    """
    import torch

    check_tensor("x", x, dtypes=float_dtypes())
    check_launchable("x", x)
    n = x.numel()
    out = torch.empty((), dtype=x.dtype, device=x.device)
    if n == 0:
        return out.zero_()
    share = share_of(n)
    programs = triton.cdiv(n, share)
    if programs == 1:
        sum_kernel[(1,)](x, out, n, share, BLOCK_SIZE=BLOCK_SIZE, num_warps=NUM_WARPS)
        return out
    partials = torch.empty(programs, dtype=torch.float32, device=x.device)
    sum_kernel[(programs,)](x, partials, n, share, BLOCK_SIZE=BLOCK_SIZE, num_warps=NUM_WARPS)
    sum_kernel[(1,)](partials, out, programs, MOST_PARTIALS, BLOCK_SIZE=MOST_PARTIALS, num_warps=LAST_WARPS)
    return out


def share_of(n: int) -> int:
    """Elements a program adds up: as few blocks as keep the number of programs within :data:`MOST_PARTIALS`."""
    return BLOCK_SIZE * triton.cdiv(n, BLOCK_SIZE * MOST_PARTIALS)


def reference(x: Any) -> Any:
    """What torch runs."""
    return x.sum()


def flops(n: int) -> int:
    """Arithmetic of a sum of n elements."""
    return max(n - 1, 0)


def moved_bytes(n: int, itemsize: int = 4) -> int:
    """Bytes that must be moved: each element read once. The partial sums are less than a thousandth of it."""
    return itemsize * n
