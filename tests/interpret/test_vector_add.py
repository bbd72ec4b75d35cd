"""a + b and relu(a + b) in Triton's interpreter, in every dtype, against torch on the CPU."""

from __future__ import annotations

import pytest
import torch

from gpu_explain.kernels import add_relu, vector_add

POISON = -12345.0


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("n", [1, 3, 1023, 1024, 1025, 3000])
def test_it_is_torch_and_writes_nothing_else(n: int, dtype: torch.dtype) -> None:
    torch.manual_seed(n)
    a, b = torch.randn(n).to(dtype), torch.randn(n).to(dtype)
    for call, reference in (
        (vector_add.vector_add, vector_add.reference),
        (add_relu.add_relu, add_relu.reference),
    ):
        room = torch.full((n + 16,), POISON, dtype=dtype)
        call(a, b, room[8 : 8 + n])
        # The interpreter cuts float32 off to bfloat16, where GPUs and torch round.
        unit = torch.finfo(dtype).eps if dtype == torch.bfloat16 else 0.0
        torch.testing.assert_close(room[8 : 8 + n], reference(a, b), rtol=unit, atol=0)
        assert (room[:8] == room.new_tensor(POISON)).all()
        assert (room[8 + n :] == room.new_tensor(POISON)).all()


@pytest.mark.parametrize(("block_size", "programs"), [(1, 100), (128, 1), (64, 2)])
def test_any_block_size_adds(block_size: int, programs: int) -> None:
    a, b = torch.randn(100), torch.randn(100)
    assert torch.equal(vector_add.vector_add(a, b, block_size=block_size), a + b)
    assert -(-100 // block_size) == programs


def test_a_wrong_argument_is_named() -> None:
    a = torch.ones(4)
    with pytest.raises(ValueError, match="block_size: one of 1, 2, 4"):
        vector_add.vector_add(a, a, block_size=100)
    with pytest.raises(ValueError, match="num_warps: one of 1, 2, 4, 8, 16, 32 expected, got 3"):
        vector_add.vector_add(a, a, num_warps=3)
    with pytest.raises(ValueError, match="a: float32 or float16 or bfloat16 expected, got int64"):
        vector_add.vector_add(a.long(), a.long())
