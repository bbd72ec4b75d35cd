"""relu(a + b) in Triton's interpreter, against torch on the CPU."""

from __future__ import annotations

import pytest
import torch

from gpu_explain.kernels.add_relu import BLOCK_SIZE, add_relu, reference

POISON = -12345.0


@pytest.mark.parametrize("n", [1, 2, 31, BLOCK_SIZE - 1, BLOCK_SIZE, BLOCK_SIZE + 1, 3 * BLOCK_SIZE + 7])
@pytest.mark.parametrize("offset", [0, 1])
def test_it_is_torch_and_writes_nothing_else(n: int, offset: int) -> None:
    torch.manual_seed(n)
    a, b = torch.randn(n + offset)[offset:], torch.randn(n + offset)[offset:]
    room = torch.full((n + offset + 8,), POISON)
    add_relu(a, b, room[offset : offset + n])
    assert torch.equal(room[offset : offset + n], reference(a, b))
    assert (room[:offset] == POISON).all()
    assert (room[offset + n :] == POISON).all()


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
def test_nan_and_infinity_stay_what_they_are() -> None:
    special = (float("nan"), float("inf"), float("-inf"), 0.0, -0.0, 1.5, -1.5)
    pairs = torch.tensor([(x, y) for x in special for y in special])
    a, b = pairs[:, 0].contiguous(), pairs[:, 1].contiguous()
    torch.testing.assert_close(add_relu(a, b), reference(a, b), rtol=0, atol=0, equal_nan=True)
    assert add_relu(a, b).isnan().sum() == 15


def test_no_elements_are_fine() -> None:
    assert add_relu(torch.empty(0), torch.empty(0)).shape == (0,)


def test_a_wrong_argument_is_named() -> None:
    a = torch.ones(4)
    with pytest.raises(ValueError, match="b: float32 or float16 or bfloat16 expected, got float64"):
        add_relu(a, a.double())
    with pytest.raises(ValueError, match=r"b: shape \(4,\) expected, got \(3,\)"):
        add_relu(a, a[:3])
