"""The Triton reading kernel on the CPU: it reads every word of its region, and none beyond."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("triton", reason="triton is not installed")

BLOCK = 64  # words; a power of two, as on the GPU, only smaller


@pytest.mark.parametrize(
    ("blocks", "steps", "apart", "strides"), [(1, 1, 0, [1]), (3, 4, 0, [1, 3, 1]), (2, 3, 3, [1, 2])]
)
def test_every_word_is_read_and_none_beyond(blocks: int, steps: int, apart: int, strides: list[int]) -> None:
    from gpu_explain.kernels.bandwidth_triton import read_footprint

    region, gap = steps * BLOCK, apart * BLOCK
    end = region + (blocks - 1) * gap
    words = torch.zeros(end + 32, dtype=torch.int32)
    words[end:] = -1

    def written() -> bool:
        never = torch.zeros(1, dtype=torch.int32)
        by = torch.tensor(strides, dtype=torch.int32)
        read_footprint[(blocks,)](words, never, by, steps, apart, steps, BLOCK=BLOCK)
        return bool(never.item())

    assert written()
    ones = range(blocks) if gap else (0,)
    for place in (0, BLOCK - 1, region - 1):
        for block in ones:
            words[block * gap + place] = 7
        assert not written()
        for block in ones:
            words[block * gap + place] = 0
