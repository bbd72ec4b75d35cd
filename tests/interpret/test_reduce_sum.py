"""The sum in Triton's interpreter: exact on whole numbers, whatever the order, and nothing beyond the end is read."""

from __future__ import annotations

import pytest
import torch

from gpu_explain.kernels import reduce_sum as module
from gpu_explain.kernels.reduce_sum import BLOCK_SIZE, MOST_PARTIALS, reduce_sum, share_of


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("n", [0, 1, 2, 31, BLOCK_SIZE - 1, BLOCK_SIZE, BLOCK_SIZE + 1, 3 * BLOCK_SIZE + 7])
def test_whole_numbers_add_up_exactly(n: int, dtype: torch.dtype) -> None:
    torch.manual_seed(n)
    room = torch.full((n + 64,), float("nan"), dtype=dtype)
    room[:n] = torch.randint(-1, 2, (n,)).to(dtype)
    got, wanted = reduce_sum(room[:n]), room[:n].double().sum()
    assert got.dtype == dtype
    # The interpreter cuts float32 off to bfloat16, where GPUs and torch round.
    unit = torch.finfo(dtype).eps if dtype == torch.bfloat16 else 0.0
    assert abs(got.item() - wanted.to(dtype).item()) <= unit * abs(wanted.item())


def test_a_program_may_add_up_several_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BLOCK_SIZE", 64)
    monkeypatch.setattr(module, "MOST_PARTIALS", 16)
    x = torch.arange(64 * 16 * 3 + 5).float()
    assert share_of(x.numel()) == 4 * 64
    assert reduce_sum(x).item() == x.sum().item()


@pytest.mark.parametrize("n", [1, 4096, 10**6, 2**28, 2**31 + 5, 2**40])
def test_shares_cover_everything_with_no_more_programs_than_are_added_up(n: int) -> None:
    share = share_of(n)
    programs = -(-n // share)
    assert share % BLOCK_SIZE == 0
    assert 1 <= programs <= MOST_PARTIALS
