"""softmax in Triton's interpreter, on both paths, against torch on the CPU."""

from __future__ import annotations

import itertools

import pytest
import torch

from gpu_explain.kernels.softmax import Path, launch, path_for, softmax

INF, NAN = float("inf"), float("nan")
SMALL_BLOCKS = Path(wide=True, rows=1, block_size=16, unit=1, num_warps=1, programs=13)
TOGETHER = Path(wide=False, rows=4, block_size=128, unit=1, num_warps=1, programs=4)
APART = Path(wide=False, rows=1, block_size=128, unit=1, num_warps=1, programs=13)
PATHS = {"wide": SMALL_BLOCKS, "together": TOGETHER, "apart": APART}
# What rows without numbers make numpy say.
quiet = pytest.mark.filterwarnings("ignore::RuntimeWarning")


@quiet
@pytest.mark.parametrize("path", sorted(PATHS))
@pytest.mark.parametrize("columns", [1, 15, 16, 17, 48, 100, 128])
def test_every_path_is_softmax_and_writes_nothing_else(path: str, columns: int) -> None:
    torch.manual_seed(columns)
    x, room = 3 * torch.randn(13, columns + 3), torch.full((13, columns + 3), NAN)
    launch(x[:, 1:-2], room[:, 1:-2], PATHS[path])
    torch.testing.assert_close(room[:, 1:-2], torch.softmax(x[:, 1:-2], 1), rtol=1e-5, atol=1e-8)
    assert room[:, 0].isnan().all()
    assert room[:, -2:].isnan().all()


@quiet
@pytest.mark.parametrize("path", sorted(PATHS))
def test_rows_without_a_number_are_as_torch_has_them(path: str) -> None:
    torch.manual_seed(0)
    x = torch.randn(13, 100)
    x[0] = -INF
    x[1, 1:] = -INF
    x[2, :-1] = -INF
    x[3, 50], x[4, 50] = NAN, INF
    x[5, 0], x[5, -1] = INF, -INF
    x[6], x[7], x[8], x[9] = INF, NAN, 3e38, -3e38
    x[10, :64] = -INF
    out = torch.empty_like(x)
    launch(x, out, PATHS[path])
    torch.testing.assert_close(out, torch.softmax(x, 1), rtol=1e-5, atol=1e-8, equal_nan=True)
    assert out.isnan().all(1).nonzero().flatten().tolist() == [0, 3, 4, 5, 6, 7]


@quiet
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_the_path_chosen_is_right_in_every_dtype(dtype: torch.dtype) -> None:
    for rows, columns in ((3, 5), (2, 1000), (1, 40_000)):
        x = torch.randn(rows, columns).to(dtype)
        got = softmax(x)
        assert got.dtype == dtype
        tolerance = 1e-5 if dtype == torch.float32 else 2 * torch.finfo(dtype).eps
        torch.testing.assert_close(got.double(), torch.softmax(x.double(), 1), rtol=tolerance, atol=1e-7)


def test_the_path_covers_every_row_and_column_exactly() -> None:
    for columns in (1, 2, 100, 256, 4096, 4097, 16_384, 32_768, 32_769, 65_536, 10**6):
        for rows in (1, 7, 1000, 5000, 10**6):
            for itemsize, unit in itertools.product((2, 4), (1, 2, 4, 8, 16)):
                path = path_for(rows, columns, itemsize, unit)
                assert (path.programs - 1) * path.rows < rows <= path.programs * path.rows
                assert path.wide or path.block_size >= columns
                assert path.programs >= min(rows, 1024)
                assert path.block_size * path.rows <= 32 * 32 * path.num_warps


def test_a_wrong_argument_is_named() -> None:
    with pytest.raises(ValueError, match="x: 2 dimensions expected"):
        softmax(torch.ones(3))
    with pytest.raises(ValueError, match="x: columns next to each other expected"):
        softmax(torch.ones(3, 4).t())
