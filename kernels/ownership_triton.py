"""The Triton twin of ``cuda/ownership.cu``: the same two kernels, the same arguments in the same order.

A program has no threads to name; ``tl.arange`` plays the part of ``threadIdx.x``, ``BLOCK`` that of ``blockDim.x``.
"""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def take(owner, writes, n, i, BLOCK: tl.constexpr):
    """owner[i] becomes the number in the grid of a place that took element i, writes[i] how many took it."""
    mine = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    tl.store(owner + i, mine, mask=mask)
    tl.atomic_add(writes + i, 1, mask=mask, sem="relaxed")


@triton.jit
def own_without_offset(owner, writes, n, BLOCK: tl.constexpr):
    """Every program takes the first ``BLOCK`` elements. ``owner`` is int64 ``[n]``, ``writes`` int32 ``[n]``."""
    i = tl.arange(0, BLOCK)
    take(owner, writes, n, i, BLOCK)


@triton.jit
def own_with_offset(owner, writes, n, BLOCK: tl.constexpr):
    """Every program takes ``BLOCK`` elements of its own. ``owner`` is int64 ``[n]``, ``writes`` int32 ``[n]``."""
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    take(owner, writes, n, i, BLOCK)
