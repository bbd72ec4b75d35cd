"""Reading once on the GPU: every number counts exactly once, and nothing beyond the array does."""

from __future__ import annotations

from typing import Any

import pytest

from gpu_explain.kernels.loader import load
from gpu_explain.kernels.read_once import FILE, THREADS, WORDS, pieces, read_once, reference
from gpu_explain.kernels.session import Session

NAN = float("nan")
PIECE = 4 * WORDS * THREADS
SIZES = (1, 3, 4, 31, PIECE - 1, PIECE, PIECE + 1, 10 * PIECE + 5)


@pytest.mark.sanitised
@pytest.mark.parametrize("offset", [0, 1, 2, 3])
def test_every_number_is_read_once_and_none_beyond(gpu: Session, offset: int) -> None:
    import torch

    for n in SIZES:
        room = torch.full((offset + n + 64,), NAN, device="cuda")
        x = room[offset : offset + n]
        x.copy_(torch.randint(-8, 9, (n,), device="cuda"))  # whole numbers: their sums are exact
        sums = torch.full((pieces(x) + 64,), NAN, device="cuda")
        read_once(gpu, x, sums[: pieces(x)])
        gpu.synchronise()
        # The last block has what is left over as well, even where that begins a piece of its own.
        whole = torch.zeros(pieces(x) * (PIECE if offset % 4 == 0 else PIECE // 4), device="cuda")
        whole[:n] = x
        assert torch.equal(sums[: pieces(x)], whole.view(pieces(x), -1).double().sum(1).float()), n
        assert sums[pieces(x) :].isnan().all()


def test_random_numbers_sum_as_in_double_precision(gpu: Session) -> None:
    import torch

    x = torch.randn(3, 1000, 77, device="cuda")
    assert float(read_once(gpu, x).double().sum()) == pytest.approx(float(reference(x)), abs=1e-2)


def test_nan_and_infinity_come_through(gpu: Session) -> None:
    import torch

    for at in (0, 4097, 9999):
        x = torch.ones(10_000, device="cuda")
        x[at] = NAN
        assert int(read_once(gpu, x).isnan().sum()) == 1
        x[at] = float("inf")
        assert int(read_once(gpu, x).isinf().sum()) == 1


def test_nothing_is_no_launch(gpu: Session) -> None:
    import torch

    assert read_once(gpu, torch.empty(0, device="cuda")).shape == (0,)


def test_more_numbers_than_32_bits_count(whole_gpu: Session) -> None:
    import torch

    n = 2**31 + 5
    if torch.cuda.mem_get_info()[0] < 1.5 * 4 * n:
        pytest.skip("an array of 8.6 GB does not fit")
    x = torch.zeros(n, device="cuda")
    x[-1], x[-4], x[0], x[2**31 - 1] = 1.0, 2.0, 4.0, 8.0
    sums = read_once(whole_gpu, x)
    assert float(sums.double().sum()) == 15.0
    assert float(sums[0]) == 4.0
    del x, sums
    torch.cuda.empty_cache()


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda gpu, x: read_once(gpu, x.half()), "x: float32 expected"),
        (lambda gpu, x: read_once(gpu, x[::2]), "x: a contiguous tensor expected"),
        (lambda gpu, x: read_once(gpu, x.cpu()), "x: a tensor on cuda"),
        (lambda gpu, x: read_once(gpu, x, x), "out: shape"),
    ],
)
def test_a_wrong_argument_is_named(gpu: Session, call: Any, named: str) -> None:
    import torch

    with pytest.raises(ValueError, match=named):
        call(gpu, torch.randn(64, device="cuda"))


def test_no_kernel_spills(whole_gpu: Session) -> None:
    for name in ("read_once_quads", "read_once_each"):
        assert int(load(whole_gpu, FILE, name).handle.attributes.local_size_bytes) == 0
