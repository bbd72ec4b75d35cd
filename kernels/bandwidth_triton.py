"""The Triton twin of ``cuda/bandwidth.cu``: the same reading, the same arguments in the same order."""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit(do_not_specialize=["chunks", "apart", "count"])
def read_footprint(words, never, strides, chunks, apart, count, BLOCK: tl.constexpr):
    """Program ``p`` reads ``count`` of the ``chunks`` chunks from chunk ``p * apart`` on, in steps of ``strides[p]``.

    A chunk is ``BLOCK`` words. words: int32, 16 bytes aligned; never: int32 ``[1]``, written only when every word read
    is 0; strides: int32, one a program.
    """
    program = tl.program_id(0).to(tl.int64)
    region = words + tl.multiple_of(program * apart * BLOCK, BLOCK)
    end = chunks.to(tl.int64)
    chunk = program * end // tl.num_programs(0)
    stride = tl.load(strides + program).to(tl.int64)
    lane = tl.arange(0, BLOCK)
    seen = tl.zeros([BLOCK], dtype=tl.int32)
    for _ in tl.range(0, count, loop_unroll_factor=2):
        seen |= tl.load(region + tl.multiple_of(chunk * BLOCK, BLOCK) + lane)
        chunk += stride
        chunk = tl.where(chunk >= end, chunk - end, chunk)
    anything = tl.max((seen != 0).to(tl.int32), axis=0)
    tl.store(never, 1, mask=anything == 0)
