"""Every rung of the fp32 matmul ladder on the GPU: right at any size and place, and loading what it says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from gpu_explain.kernels.session import Session
from gpu_explain.scenes.base import ProblemError

RUNGS = (
    "naive",
    "coalesced",
    "shared_tile",
    "register_column",
    "register_tile",
    "vectorised",
    "pipelined",
    "warp_tile",
)
SIZES = (
    (1, 1, 1),
    (1, 1, 2000),
    (3, 5, 7),
    (4, 4, 4),
    (31, 33, 32),
    (64, 64, 64),
    (127, 129, 130),
    (128, 128, 128),
    (129, 260, 68),
    (1, 1028, 12),
    (1027, 1, 9),
    (300, 516, 1000),
)
POISON, GUARD = -12345.0, 512

pytestmark = pytest.mark.parametrize("rung", RUNGS)


def _matrix(rows: int, columns: int, offset: int = 0) -> Any:
    """Random numbers, contiguous, beginning `offset` elements behind a multiple of 16 bytes."""
    import torch

    return torch.randn(rows * columns + offset, device="cuda")[offset:].view(rows, columns)


def _guarded(rows: int, columns: int, offset: int = 0) -> tuple[Any, Any]:
    """A poisoned output and the whole buffer that it lies in the middle of."""
    import torch

    buffer = torch.full((rows * columns + 2 * GUARD,), POISON, device="cuda")
    return buffer, buffer[GUARD + offset :][: rows * columns].view(rows, columns)


def _check(buffer: Any, out: Any, a: Any, b: Any, offset: int = 0) -> None:
    from gpu_explain.kernels.matmul_cuda import error_bound, reference

    wrong = (out.double() - reference(a, b)).abs() > error_bound(a, b)
    assert not wrong.any(), f"{int(wrong.sum())} outputs of {a.shape} x {b.shape} are off, first {wrong.nonzero()[0]}"
    assert (buffer[: GUARD + offset] == POISON).all()
    assert (buffer[GUARD + offset + out.numel() :] == POISON).all()


def test_the_names_are_all_of_them(rung: str) -> None:
    from gpu_explain.kernels import matmul_cuda

    assert tuple(one.name for one in matmul_cuda.RUNGS) == RUNGS


@pytest.mark.parametrize("offset", [0, 1])
def test_it_is_right_and_writes_nothing_else(gpu: Session, rung: str, offset: int) -> None:
    from gpu_explain.kernels.matmul_cuda import matmul_cuda

    for m, n, k in SIZES:
        a, b = _matrix(m, k, offset), _matrix(k, n, offset)
        buffer, out = _guarded(m, n, offset)
        assert matmul_cuda(gpu, a, b, out, rung=rung) is out
        _check(buffer, out, a, b, offset)


@pytest.mark.parametrize("misaligned", ["a", "b", "out"])
def test_one_misaligned_matrix_is_enough(whole_gpu: Session, rung: str, misaligned: str) -> None:
    from gpu_explain.kernels.matmul_cuda import matmul_cuda

    a, b = _matrix(132, 36, misaligned == "a"), _matrix(36, 260, misaligned == "b")
    buffer, out = _guarded(132, 260, misaligned == "out")
    matmul_cuda(whole_gpu, a, b, out, rung=rung)
    _check(buffer, out, a, b, misaligned == "out")


def test_all_rungs_give_the_same_bits(whole_gpu: Session, rung: str) -> None:
    import torch

    from gpu_explain.kernels.matmul_cuda import matmul_cuda

    for m, n, k in ((128, 384, 512), (131, 259, 517)):
        a, b = _matrix(m, k), _matrix(k, n)
        assert torch.equal(matmul_cuda(whole_gpu, a, b, rung=rung), matmul_cuda(whole_gpu, a, b, rung="naive"))


def test_the_bound_notices_a_missing_product(whole_gpu: Session, rung: str) -> None:
    """Else the checks above would prove nothing."""
    from gpu_explain.kernels.matmul_cuda import error_bound, matmul_cuda, reference

    a, b = _matrix(128, 130), _matrix(130, 128)
    out = matmul_cuda(whole_gpu, a[:, :-1].contiguous(), b[:-1], rung=rung)
    off = (out.double() - reference(a, b)).abs() > error_bound(a, b)
    assert off.float().mean() > 0.9


def test_nothing_to_add_makes_zeros_and_nothing_to_make_launches_nothing(whole_gpu: Session, rung: str) -> None:
    import torch

    from gpu_explain.kernels.matmul_cuda import Loads, count_loads, matmul_cuda

    out = torch.full((5, 8), POISON, device="cuda")
    assert (matmul_cuda(whole_gpu, _matrix(5, 0), _matrix(0, 8), out, rung=rung) == 0).all()
    assert matmul_cuda(whole_gpu, _matrix(0, 7), _matrix(7, 9), rung=rung).shape == (0, 9)
    assert matmul_cuda(whole_gpu, _matrix(3, 7), _matrix(7, 0), rung=rung).shape == (3, 0)
    assert count_loads(whole_gpu, _matrix(0, 7), _matrix(7, 9), rung=rung) == Loads(0, 0, 0)


def test_nan_and_infinity_spread_as_they_must(whole_gpu: Session, rung: str) -> None:
    """And no further: the zeros that stand for what lies outside must not meet them."""
    import torch

    from gpu_explain.kernels.matmul_cuda import matmul_cuda, reference

    for m, n, k in ((130, 132, 36), (37, 41, 43)):
        a, b = _matrix(m, k), _matrix(k, n)
        a[m - 1, k - 1], a[0, 2], b[k - 1, 3], b[1, n - 1] = float("nan"), float("inf"), float("-inf"), float("nan")
        a[2, 0] = float("nan")  # what row 1 would meet behind its end
        got, wanted = matmul_cuda(whole_gpu, a, b, rung=rung).double(), reference(a, b)
        assert torch.equal(got.isnan(), wanted.isnan())
        assert torch.equal(got.isposinf(), wanted.isposinf())
        assert torch.equal(got.isneginf(), wanted.isneginf())
        assert wanted.isnan().any()
        assert wanted.isposinf().any()
        assert wanted.isneginf().any()


@pytest.mark.sanitised
def test_small_ones_for_the_sanitizer(whole_gpu: Session, rung: str) -> None:
    import torch

    from gpu_explain.kernels.matmul_cuda import count_loads, matmul_cuda, words_expected

    for m, n, k in ((33, 36, 20), (130, 132, 24), (65, 67, 35)):
        a, b = torch.randn(m, k).cuda(), torch.randn(k, n).cuda()
        out, counted = torch.empty(m, n, device="cuda"), torch.empty(m, n, device="cuda")
        matmul_cuda(whole_gpu, a, b, out, rung=rung)
        loads = count_loads(whole_gpu, a, b, counted, rung=rung)
        whole_gpu.synchronise()
        assert loads.words == words_expected(rung, m, n, k)
        left, right = a.cpu().double(), b.cpu().double()
        for got in (out, counted):
            assert torch.allclose(got.cpu().double(), left @ right, atol=1e-4)


@pytest.mark.parametrize("offset", [0, 1])
def test_it_loads_as_many_words_as_its_tile_says(whole_gpu: Session, rung: str, offset: int) -> None:
    import torch

    from gpu_explain.kernels.matmul_cuda import count_loads, find_rung, matmul_cuda, words_expected

    for m, n, k in ((128, 128, 128), (256, 384, 64), (131, 259, 67)):
        a, b = _matrix(m, k, offset), _matrix(k, n, offset)
        out = torch.full((m, n), POISON, device="cuda")
        loads = count_loads(whole_gpu, a, b, out, rung=rung)
        assert loads.words == words_expected(rung, m, n, k)
        assert torch.equal(out, matmul_cuda(whole_gpu, a, b, rung=rung)), "the counted twin is another kernel"
    a, b = _matrix(256, 256), _matrix(256, 256)
    side = find_rung(rung).reuse[0]
    assert count_loads(whole_gpu, a, b, rung=rung).words / 256**2 == 2 * 256 / side


def test_its_requests_are_as_wide_and_whole_as_it_says(whole_gpu: Session, rung: str) -> None:
    from gpu_explain.kernels.matmul_cuda import count_loads, find_rung

    loads = count_loads(whole_gpu, _matrix(256, 256), _matrix(256, 256), rung=rung)
    wide = find_rung(rung).wide
    assert loads.requests == loads.words / 32 / (4 if wide else 1)
    # Two requests a step along k: one word in each of 32 sectors and one for all, or one for all and 32 in 4 sectors.
    steps = 256**3 / 32
    if rung in {"naive", "coalesced"}:
        assert loads.sectors == (33 if rung == "naive" else 5) * steps
    else:
        assert loads.sectors == loads.words / 8, "a sector of 8 words is asked for once"


@pytest.mark.parametrize(("m", "n", "k"), [(2**15 + 1, 4, 2**16), (4, 2**16, 2**15 + 1), (46_344, 46_344, 4)])
def test_indices_pass_two_to_the_31(whole_gpu: Session, rung: str, m: int, n: int, k: int) -> None:
    """In A, in B and in C: the last rows and columns lie beyond."""
    import torch

    from gpu_explain.kernels.matmul_cuda import error_bound, matmul_cuda, reference

    assert max(m * n, n * k, m * k) > 2**31
    try:
        whole_gpu.reserve(4 * (m * n + n * k + m * k) + 2**30, "a matrix beyond 2^31 elements")
    except ProblemError as error:
        pytest.skip(str(error))
    a, b = torch.randn(m, k, device="cuda"), torch.randn(k, n, device="cuda")
    out = torch.full((m, n), POISON, device="cuda")
    matmul_cuda(whole_gpu, a, b, out, rung=rung)
    for rows, columns in ((slice(-3, None), slice(-40, None)), (slice(0, 2), slice(0, 40))):
        left, right = a[rows], b[:, columns].contiguous()
        off = (out[rows, columns].double() - reference(left, right)).abs() - error_bound(left, right)
        assert (off <= 0).all()
    assert not (out == POISON).any()
    del a, b, out
    torch.cuda.empty_cache()


Change = Callable[[Any, Any], tuple[Any, ...]]


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (lambda a, b: (a.half(), b), "a: float32 expected"),
        (lambda a, b: (a[0], b), "a: 2 dimensions expected"),
        (lambda a, b: (a.cpu(), b), "a: a tensor on cuda"),
        (lambda a, b: (a.t(), b), "a: a contiguous tensor expected"),
        (lambda a, b: (a, b.half()), "b: the dtype of a"),
        (lambda a, b: (a, b.cpu()), "b: the device of a"),
        (lambda a, b: (a, b[:, ::2]), "b: a contiguous tensor expected"),
        (lambda a, b: (a, b[1:]), r"b: shape \(8, 12\) expected"),
        (lambda a, b: (a, b, a.new_empty(6, 11)), r"out: shape \(6, 12\) expected"),
        (lambda a, b: (a, b, a.new_empty(12, 6).t()), "out: a contiguous tensor expected"),
        (lambda a, b: (a, b, b.view(-1)[:72].view(6, 12)), "out: memory apart from b's expected"),
    ],
)
def test_a_wrong_argument_is_named(whole_gpu: Session, rung: str, change: Change, named: str) -> None:
    from gpu_explain.kernels.matmul_cuda import count_loads, matmul_cuda

    for function in (matmul_cuda, count_loads):
        with pytest.raises(ValueError, match=named):
            function(whole_gpu, *change(_matrix(6, 8), _matrix(8, 12)), rung=rung)


def test_a_rung_that_is_not_there_is_named(whole_gpu: Session, rung: str) -> None:
    from gpu_explain.kernels.matmul_cuda import matmul_cuda

    with pytest.raises(ValueError, match="rung: one of naive, "):
        matmul_cuda(whole_gpu, _matrix(6, 8), _matrix(8, 12), rung=rung + "s")
