"""The Triton twin of ``cuda/guard.cu``: the check is a mask. Same arguments in the same order."""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def number_guarded(out, n, BLOCK: tl.constexpr):
    """out[i] = i for i < n; ``out`` is int32."""
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, i.to(tl.int32), mask=i < n)


@triton.jit
def number_unguarded(out, n, BLOCK: tl.constexpr):
    """out[i] = i for every place of every program, n or more included; ``out`` is int32 and goes on behind n."""
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, i.to(tl.int32))
