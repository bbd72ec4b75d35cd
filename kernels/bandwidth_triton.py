"""The Triton twin of ``cuda/bandwidth.cu``: the same reading, the same arguments in the same order.

A program reads ``BLOCK`` 4-byte words at a time; four of them are one of the 16-byte words that the arguments count.
"""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit(do_not_specialize=["quads", "apart", "count"])
def read_footprint(words, never, quads, apart, count, BLOCK: tl.constexpr):
    """Program ``p`` reads ``count`` of the ``quads`` 16-byte words from word ``p * apart`` on, round and round.

    words: int32, 16 bytes aligned; never: int32 ``[1]``, written only when every word read is 0. ``4 * quads``,
    ``4 * apart`` and ``4 * count`` are multiples of ``BLOCK``.
    """
    program = tl.program_id(0).to(tl.int64)
    region = words + tl.multiple_of(program * apart * 4, BLOCK)
    size = quads.to(tl.int64) * 4
    at = program * size // tl.num_programs(0) // BLOCK * BLOCK
    lane = tl.arange(0, BLOCK)
    seen = tl.zeros([BLOCK], dtype=tl.int32)
    for _ in tl.range(0, count * 4 // BLOCK, loop_unroll_factor=2):
        seen |= tl.load(region + tl.multiple_of(at, BLOCK) + lane)
        at += BLOCK
        at = tl.where(at >= size, at - size, at)
    anything = tl.max((seen != 0).to(tl.int32), axis=0)
    tl.store(never, 1, mask=anything == 0)
