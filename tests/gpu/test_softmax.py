"""softmax in Triton: float64's within rounding, on both paths, and torch's where no number comes out."""

from __future__ import annotations

from typing import Any

import pytest

from gpu_explain.kernels.session import Session
from tests.gpu.guarded import Guarded

INF, NAN = float("inf"), float("nan")
# Columns around the borders of blocks, of both paths and of the 16-byte words.
COLUMNS = (1, 2, 3, 31, 256, 257, 1000, 4096, 4097, 20_000, 32_768, 32_769, 65_536, 70_001)
# Of the result: half a unit in the last place of the dtype, beside what float32 arithmetic costs.
RELATIVE = {"float32": 2e-5, "float16": 2**-10, "bfloat16": 2**-7}
ABSOLUTE = {"float32": 1e-9, "float16": 6e-8, "bfloat16": 1e-9}


def assert_softmax(got: Any, x: Any, dtype: str) -> None:
    import torch

    wanted = torch.softmax(x.double(), dim=1)
    torch.testing.assert_close(got.double(), wanted, rtol=RELATIVE[dtype], atol=ABSOLUTE[dtype], equal_nan=True)


@pytest.mark.parametrize("dtype", sorted(RELATIVE))
def test_it_is_softmax_at_any_width_and_nothing_else_is_written(gpu: Session, dtype: str) -> None:
    import torch

    from gpu_explain.kernels.softmax import softmax

    kind = getattr(torch, dtype)
    for columns in COLUMNS if dtype == "float32" else COLUMNS[::3]:
        for rows in (1, 130):
            x = (3 * torch.randn(rows, columns, device="cuda")).to(kind)
            result = Guarded(rows * columns, kind)
            softmax(x, result.tensor.view(rows, columns))
            gpu.synchronise()
            assert_softmax(result.tensor.view(rows, columns), x, dtype)
            assert result.untouched(), (rows, columns)


def test_many_short_rows_are_put_together_and_all_are_right(gpu: Session) -> None:
    import torch

    from gpu_explain.kernels.softmax import path_of, softmax

    for rows, columns in ((40_001, 1), (40_001, 5), (33_333, 100), (20_001, 256), (9_999, 257)):
        x = 3 * torch.randn(rows, columns, device="cuda")
        assert path_of(x, x).rows > 1
        result = Guarded(rows * columns, torch.float32)
        softmax(x, result.tensor.view(rows, columns))
        gpu.synchronise()
        assert_softmax(result.tensor.view(rows, columns), x, "float32")
        assert result.untouched()


@pytest.mark.parametrize("columns", [5, 1000, 4096, 32_768, 40_000])
def test_rows_without_a_number_are_as_torch_has_them(gpu: Session, columns: int) -> None:
    import torch

    from gpu_explain.kernels.softmax import softmax

    x = torch.randn(12, columns, device="cuda")
    x[0] = -INF  # fully masked
    x[1, 1:] = -INF  # all but the first
    x[2, :-1] = -INF  # all but the last
    x[3, columns // 2] = NAN
    x[4, columns // 2] = INF
    x[5, 0], x[5, -1] = INF, -INF
    x[6] = INF
    x[7] = NAN
    x[8] = -INF
    x[8, -1] = NAN
    x[9] = 3e38  # would overflow if it were not for the maximum taken off
    x[10] = -3e38
    x[11, ::2] = -INF
    got, wanted = softmax(x), torch.softmax(x, dim=1)
    torch.testing.assert_close(got, wanted, rtol=2e-5, atol=1e-9, equal_nan=True)
    assert torch.equal(got.isnan().any(1).nonzero().flatten().cpu(), torch.tensor([0, 3, 4, 5, 6, 7, 8]))
    assert torch.equal(got.isnan().all(1), got.isnan().any(1))


@pytest.mark.parametrize("columns", [100, 4096, 40_000])
def test_rows_far_apart_misaligned_and_in_place(gpu: Session, columns: int) -> None:
    import torch

    from gpu_explain.kernels.softmax import softmax

    wide = torch.randn(70, columns + 37, device="cuda")
    before = wide.clone()
    for offset in (0, 1, 4):
        x = wide[:, offset : offset + columns]
        assert_softmax(softmax(x), x, "float32")
        assert_softmax(softmax(wide[::2, offset : offset + columns]), wide[::2, offset : offset + columns], "float32")
    assert torch.equal(wide, before)
    inside = wide[:, 3 : 3 + columns]
    assert softmax(inside, inside) is inside
    assert_softmax(inside, before[:, 3 : 3 + columns], "float32")
    assert torch.equal(wide[:, :3], before[:, :3])
    assert torch.equal(wide[:, 3 + columns :], before[:, 3 + columns :])
    once = torch.randn(1, columns, device="cuda")
    assert_softmax(softmax(once.expand(9, columns)), once.expand(9, columns), "float32")


def test_no_elements_are_no_launch(whole_gpu: Session) -> None:
    import torch

    from gpu_explain.kernels.softmax import softmax

    assert softmax(torch.empty(0, 5, device="cuda")).shape == (0, 5)
    assert softmax(torch.empty(5, 0, device="cuda")).shape == (5, 0)
    assert softmax(torch.full((1, 1), 7.0, device="cuda")).item() == 1.0


@pytest.mark.parametrize("columns", [4096, 40_000])
def test_more_elements_than_32_bits_count(whole_gpu: Session, columns: int) -> None:
    import torch

    from gpu_explain.kernels.softmax import softmax

    rows = 2**31 // columns + 3
    if torch.cuda.mem_get_info()[0] < 2.2 * 2 * rows * columns:
        pytest.skip("two arrays of 4.3 GB do not fit")
    x = torch.zeros(rows, columns, dtype=torch.float16, device="cuda")
    x[-2:] = torch.randn(2, columns, device="cuda")
    out = torch.full_like(x, NAN)
    softmax(x, out)
    assert_softmax(out[-3:], x[-3:], "float16")
    assert bool((out[:-2] == out[0, 0]).all())
    del x, out
    whole_gpu.release()


@pytest.mark.parametrize(
    ("x", "out", "named"),
    [
        ("torch.ones(4, 4, dtype=torch.float64)", "None", "x: float32 or float16 or bfloat16 expected, got float64"),
        ("torch.ones(4)", "None", "x: 2 dimensions expected"),
        ("torch.ones(4, 6).t()", "None", "x: columns next to each other expected"),
        ("torch.ones(4, 6)", "torch.ones(4, 5)", r"out: shape \(4, 6\) expected"),
        ("torch.ones(4, 6)", "torch.ones(4, 6, dtype=torch.float16)", "out: the dtype of x, float32, expected"),
        ("torch.ones(4, 6)", "torch.ones(6, 4).t()", "out: columns next to each other expected"),
        ("torch.ones(4, 6)", "torch.ones(1, 6).expand(4, 6)", "out: an address for each element expected"),
    ],
)
def test_a_wrong_argument_is_named(whole_gpu: Session, x: str, out: str, named: str) -> None:
    import torch

    from gpu_explain.kernels.softmax import softmax

    with torch.device("cuda"), pytest.raises(ValueError, match=named):
        softmax(eval(x), eval(out))
