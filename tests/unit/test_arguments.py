"""A launcher's argument that is wrong is named, with what was expected and what came."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")

from gpu_explain.kernels.arguments import (  # noqa: E402
    check_choice,
    check_flag,
    check_launchable,
    check_number,
    check_tensor,
    check_written,
)


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


@pytest.mark.parametrize("value", [None, 3, "x", [1.0], torch.float32])
def test_what_is_no_tensor_is_named(value: Any) -> None:
    with pytest.raises(ValueError, match="x: a tensor expected, got "):
        check_tensor("x", value, dtypes=(torch.float32,), dims=1)


@pytest.mark.filterwarnings("ignore:Sparse:UserWarning")
def test_a_tensor_whose_memory_does_not_hold_its_elements_is_named() -> None:
    """A kernel reads memory: of a lazily negated tensor it would read the other sign."""
    with pytest.raises(ValueError, match="x: a tensor whose sign is in its memory"):
        check_tensor("x", torch._neg_view(torch.ones(3)))
    with pytest.raises(ValueError, match="x: a tensor whose sign is in its memory"):
        check_tensor("x", torch.ones(3, dtype=torch.complex64).conj())
    with pytest.raises(ValueError, match=r"x: a dense tensor expected, got torch\.sparse_coo"):
        check_tensor("x", torch.eye(3).to_sparse())


def test_a_device_is_compared_without_the_dtype() -> None:
    check_tensor("x", torch.ones(3), beside=("a", torch.ones(1, dtype=torch.int32)))
    with pytest.raises(ValueError, match="x: the device of a, meta, expected, got cpu"):
        check_tensor("x", torch.ones(3), beside=("a", torch.ones(1, device="meta")))


def test_triton_launches_on_a_gpu_only_but_in_its_interpreter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TRITON_INTERPRET", raising=False)
    with pytest.raises(ValueError, match="x: a tensor on a GPU expected, got cpu"):
        check_launchable("x", torch.ones(3))
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    check_launchable("x", torch.ones(3))
    with pytest.raises(ValueError, match="x: a tensor on a GPU expected, got meta"):
        check_launchable("x", torch.ones(3, device="meta"))


def test_a_result_must_lie_apart_from_what_is_read() -> None:
    room = torch.zeros(100)
    check_written("out", room[:50], ("a", room[50:]), ("b", torch.zeros(3)))
    check_written("out", room[:0], ("a", room))
    for meets in (room[49:], room[:1], room[10:20], room):
        with pytest.raises(ValueError, match="out: memory apart from a's expected, got an overlap"):
            check_written("out", room[:50], ("a", meets))


def test_in_place_is_all_or_nothing() -> None:
    room = torch.zeros(100)
    check_written("out", room[:50], ("x", room[:50]), in_place=True)
    with pytest.raises(ValueError, match="out: memory apart from x's, or x itself, expected"):
        check_written("out", room[1:51], ("x", room[:50]), in_place=True)
    square = torch.zeros(8, 8)
    with pytest.raises(ValueError, match="out: memory apart from x's"):
        check_written("out", square.t(), ("x", square), in_place=True)


@pytest.mark.parametrize("strides", [(0, 1), (1, 1), (3, 1), (1, 7)])
def test_a_result_needs_an_address_for_each_element(strides: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match="out: an address for each element expected, got strides"):
        check_written("out", torch.zeros(100).as_strided((8, 4), strides))
    check_written("out", torch.zeros(100).as_strided((8, 4), (4, 1)))
    check_written("out", torch.zeros(100).as_strided((8, 4), (1, 8)))
    check_written("out", torch.zeros(1).expand(1, 1))


def test_true_is_no_number_and_a_word_no_flag() -> None:
    with pytest.raises(ValueError, match="width: one of 1, 2, 4 expected, got True"):
        check_choice("width", True, (1, 2, 4))
    with pytest.raises(ValueError, match=r"width: one of 1, 2, 4 expected, got 2\.0"):
        check_choice("width", 2.0, (1, 2, 4))
    check_flag("causal", False)
    with pytest.raises(ValueError, match="causal: True or False expected, got 'no'"):
        check_flag("causal", "no")


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"block_m": 0}, "block_m: an integer from 16"),
        ({"block_n": 48}, "block_n: a power of two expected, got 48"),
        ({"block_k": 32.0}, "block_k: an integer from 16"),
        ({"group_m": 0}, "group_m: an integer from 1"),
        ({"num_warps": 3}, "num_warps: a power of two expected"),
        ({"store_parts": 3}, "store_parts: an integer from 1 to 2"),
    ],
)
def test_tile_sizes_that_cannot_be_are_named(change: dict[str, Any], named: str) -> None:
    from gpu_explain.kernels.matmul_configs import Config

    with pytest.raises(ValueError, match=named):
        Config(**({"block_m": 64, "block_n": 64, "block_k": 32} | change))
