"""The Triton twin of ``cuda/bandwidth.cu``: the same reading, the same arguments in the same order.

A program reads ``BLOCK`` 4-byte words at a time; four of them are one of the 16-byte words that the arguments count.
"""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit(do_not_specialize=["quads", "count"])
def read_footprint(words, never, quads, count, BLOCK: tl.constexpr):
    """Each program reads ``count`` of the footprint's ``quads`` 16-byte words, round and round, from its own place.

    words: int32 ``[4 * quads]``; never: int32 ``[1]``, written only when every word read is 0. ``4 * quads`` and
    ``4 * count`` are multiples of ``BLOCK``.
    """
    size = quads.to(tl.int64) * 4
    lane = tl.arange(0, BLOCK)
    at = tl.program_id(0).to(tl.int64) * size // tl.num_programs(0) // BLOCK * BLOCK
    seen = tl.zeros([BLOCK], dtype=tl.int32)
    for _ in range(count * 4 // BLOCK):
        seen |= tl.load(words + tl.multiple_of(at, BLOCK) + lane)
        at += BLOCK
        at = tl.where(at >= size, at - size, at)
    anything = tl.max((seen != 0).to(tl.int32), axis=0)
    tl.store(never, 1, mask=anything == 0)
