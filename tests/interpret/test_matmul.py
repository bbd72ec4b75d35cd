"""The Triton matmuls in Triton's interpreter, against float64 on the CPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from gpu_explain.kernels.matmul import bytes_loaded, bytes_needed, flops, matmul, programs, reference
from gpu_explain.kernels.matmul_configs import Config
from gpu_explain.kernels.matmul_persistent import matmul_persistent
from gpu_explain.kernels.turned import bytes_moved, turned

POISON = -12345.0
SMALL = Config(16, 32, 16, group_m=2)
HALVES = Config(16, 32, 16, group_m=2, store_parts=2)
SHAPES = ((1, 1, 1), (16, 32, 16), (17, 33, 31), (50, 70, 40), (3, 100, 1), (100, 1, 17), (16, 24, 40))

Call = Callable[..., Any]


def _persistent(a: Any, b: Any, out: Any = None, *, config: Config = SMALL) -> Any:
    return matmul_persistent(a, b, out, sms=3, config=config, tma=False)


def _halves(a: Any, b: Any, out: Any = None, *, config: Config = HALVES) -> Any:
    return matmul_persistent(a, b, out, sms=3, config=HALVES, tma=False)


@pytest.fixture(params=[matmul, _persistent, _halves], ids=["ordinary", "persistent", "stored in halves"])
def call(request: pytest.FixtureRequest) -> Call:
    return lambda a, b, out=None: request.param(a, b, out, config=SMALL)


def _close(got: Any, a: Any, b: Any) -> None:
    wanted = reference(a, b)
    assert torch.equal(got, wanted.to(got.dtype)) or bool((got - wanted).norm() <= 1e-3 * wanted.norm())


@pytest.mark.parametrize(("m", "n", "k"), SHAPES)
@pytest.mark.parametrize("turned", ["", "a", "b", "ab"])
def test_it_is_the_product_and_writes_nothing_else(call: Call, m: int, n: int, k: int, turned: str) -> None:
    torch.manual_seed(m)
    # Cut out of matrices of NaN, so that an element that was read and did not belong would show.
    rooms = {
        name: torch.full((rows + 3, columns + 5), float("nan"), dtype=torch.float16)
        for name, rows, columns in (
            ("a", *((k, m) if "a" in turned else (m, k))),
            ("b", *((n, k) if "b" in turned else (k, n))),
        )
    }
    for room in rooms.values():
        inside = room[1:-2, 2:-3]
        inside[:] = torch.randn(inside.shape)
    a, b = rooms["a"][1:-2, 2:-3], rooms["b"][1:-2, 2:-3]
    a, b = a.t() if "a" in turned else a, b.t() if "b" in turned else b
    room = torch.full((m + 4, n + 4), POISON, dtype=torch.float16)
    out = room[2:-2, 2:-2]
    assert call(a, b, out) is out
    _close(out, a, b)
    out.fill_(POISON)
    assert (room == POISON).all()


def test_float32_is_multiplied_too(call: Call) -> None:
    a, b = torch.randn(20, 30), torch.randn(30, 40)
    _close(call(a, b), a, b)


def test_the_steps_may_be_every_other_one(call: Call) -> None:
    a, b = torch.randn(20, 60)[:, ::2], torch.randn(60, 80)[::2, ::2]
    _close(call(a, b), a, b)


@pytest.mark.parametrize(("m", "n", "k"), [(0, 5, 3), (5, 0, 3), (0, 0, 0)])
def test_no_elements_are_no_launch(call: Call, m: int, n: int, k: int) -> None:
    assert call(torch.ones(m, k), torch.ones(k, n)).shape == (m, n)


def test_no_steps_give_zeros(call: Call) -> None:
    out = torch.full((5, 7), POISON)
    assert call(torch.ones(5, 0), torch.ones(0, 7), out).eq(0).all()


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_an_infinity_stays_in_its_row(call: Call) -> None:
    a, b = torch.ones(40, 17), torch.ones(17, 40)
    a[39, 16] = float("inf")
    got = call(a, b)
    assert got[39].isinf().all()
    assert (got[:39] == 17).all()


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (lambda a, b: (a.double(), b), r"a: float32 or .* expected, got float64"),
        (lambda a, b: (a, b.half()), "b: the dtype of a, float32, expected, got float16"),
        (lambda a, b: (a, b[:-1]), "b: 6 rows expected"),
        (lambda a, b: (a[0], b), "a: 2 dimensions expected"),
        (lambda a, b: (a, b, torch.empty(4, 9)), r"out: shape \(4, 5\) expected, got \(4, 9\)"),
        (lambda a, b: (a, b, torch.empty(4, 5).double()), "out: float32 or .* expected, got float64"),
        (lambda a, b: (a, b, torch.empty(1, 5).expand(4, 5)), "out: an address for each element expected"),
        (lambda a, b: (a, b, a[:, :5]), "out: memory apart from a's expected"),
        (lambda a, b: (a, b, b[:4]), "out: memory apart from b's expected"),
    ],
)
def test_a_wrong_argument_is_named(call: Call, change: Call, named: str) -> None:
    with pytest.raises(ValueError, match=named):
        call(*change(torch.randn(4, 6), torch.randn(6, 5)))


@pytest.mark.parametrize("dtype", [torch.int8, torch.float16, torch.float32, torch.float64])
def test_a_matrix_is_turned_as_torch_does_it(dtype: torch.dtype) -> None:
    for rows, columns in ((1, 1), (3, 200), (129, 65), (0, 4)):
        room = torch.randint(-100, 100, (rows + 1, 2 * columns + 1)).to(dtype)
        for x in (room[1:, 1::2], room[:, :-1].t()):
            got = turned(x)
            assert got.is_contiguous()
            assert got.equal(x.t())


def test_arithmetic_and_bytes_are_counted() -> None:
    config = Config(128, 256, 64)
    assert bytes_moved(10, 20, 4) == 1600
    assert flops(1024, 512, 64) == 2 * 1024 * 512 * 64
    assert programs(1024, 513, config) == 8 * 3
    assert bytes_needed(10, 20, 30, 2, 4) == 2 * (300 + 600) + 4 * 200
    assert bytes_loaded(1024, 512, 64, 2, config) == 16 * (128 + 256) * 64 * 2
