"""A launcher's argument that is wrong is named, with what was expected and what came."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")

from gpu_explain.kernels.arguments import check_choice, check_number, check_tensor  # noqa: E402


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        ({"dtypes": (torch.float16, torch.float32)}, "x: float16 or float32 expected, got int32"),
        ({"shape": (3, 2)}, r"x: shape \(3, 2\) expected, got \(2, 3\)"),
        ({"dims": 1}, r"x: 1 dimensions expected, got shape \(2, 3\)"),
        ({"at_least": 7}, "x: at least 7 elements expected, got 6"),
        ({"ordinal": 0}, "x: a tensor on cuda:0 expected, got cpu"),
        ({"like": ("a", torch.ones(1))}, "x: the dtype of a, float32, expected, got int32"),
    ],
)
def test_a_wrong_tensor_is_named(wanted: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        check_tensor("x", torch.ones((2, 3), dtype=torch.int32), **wanted)


def test_gaps_between_elements_are_named() -> None:
    check_tensor("x", torch.ones(4, 4).t(), contiguous=False)
    with pytest.raises(ValueError, match=r"x: a contiguous tensor expected, got strides \(1, 4\)"):
        check_tensor("x", torch.ones(4, 4).t())


def test_what_is_right_passes() -> None:
    check_tensor("x", torch.ones(2, 3), dtypes=(torch.float32,), shape=(2, 3), dims=2, at_least=6)


@pytest.mark.parametrize("value", [0, 9, True, 2.0])
def test_a_wrong_number_is_named(value: Any) -> None:
    with pytest.raises(ValueError, match="n: an integer from 1 to 8 expected"):
        check_number("n", value, 1, 8)


def test_a_wrong_choice_is_named() -> None:
    check_choice("mix", "2r1w", ("2r1w", "1r1w"))
    with pytest.raises(ValueError, match="mix: one of 2r1w, 1r1w expected, got 'x'"):
        check_choice("mix", "x", ("2r1w", "1r1w"))
