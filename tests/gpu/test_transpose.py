"""Every transpose on the GPU: exact at any size, and not a number written beyond its place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from gpu_explain.kernels.loader import load
from gpu_explain.kernels.session import Session
from gpu_explain.kernels.transpose import FILE, METHODS, reference, takes_wide, transpose

POISON = -12345.0
GUARD = 4096
NAN, INF = float("nan"), float("inf")
SHAPES: tuple[tuple[int, int], ...] = (
    (1, 1),
    (1, 77),
    (77, 1),
    (2, 3),
    (31, 33),
    (32, 32),
    (33, 31),
    (64, 64),
    (65, 129),
    (4, 8),
    (68, 132),
)
SHAPES += ((60, 60), (64, 4), (4, 64), (1000, 1004), (1023, 257))


def guarded(rows: int, columns: int, offset: int = 0) -> tuple[Any, Any]:
    """A poisoned place for the result, ``offset`` elements from an aligned address, and all the room around it."""
    import torch

    room = torch.full((2 * GUARD + offset + rows * columns,), POISON, device="cuda")
    begin = GUARD + offset
    return room[begin : begin + rows * columns].view(columns, rows), room


def bits_equal(got: Any, wanted: Any) -> bool:
    import torch

    return torch.equal(got.contiguous().view(torch.int32), wanted.contiguous().view(torch.int32))


def check_transpose(gpu: Session, a: Any, method: str, offset: int = 0) -> None:
    rows, columns = a.shape
    out, room = guarded(rows, columns, offset)
    assert transpose(gpu, a, out, method=method) is out
    gpu.synchronise()
    assert bits_equal(out, a.t()), (method, rows, columns)
    assert (room[: GUARD + offset] == POISON).all(), (method, rows, columns)
    assert (room[GUARD + offset + rows * columns :] == POISON).all(), (method, rows, columns)


@pytest.mark.parametrize("method", METHODS)
def test_it_is_exact_and_writes_nothing_else(gpu: Session, method: str) -> None:
    import torch

    for rows, columns in SHAPES:
        if method == "wide" and (rows % 4 or columns % 4):
            continue
        check_transpose(gpu, torch.randn(rows, columns, device="cuda"), method)


@pytest.mark.sanitised
@pytest.mark.parametrize("method", METHODS)
def test_a_few_tiles(gpu: Session, method: str) -> None:
    import torch

    check_transpose(gpu, torch.randn(68, 132, device="cuda"), method)
    check_transpose(gpu, torch.randn(64, 64, device="cuda"), method)


@pytest.mark.parametrize("offset", [0, 1, 2, 3])
def test_misaligned_views_take_the_narrow_way(gpu: Session, offset: int) -> None:
    import torch

    a = torch.randn(offset + 64 * 128, device="cuda")[offset:].view(64, 128)
    out, room = guarded(64, 128, (4 - offset) % 4)
    assert takes_wide(a, out) == (offset == 0)
    transpose(gpu, a, out)
    assert bits_equal(out, a.t())
    assert int((room == POISON).sum()) == room.numel() - out.numel()
    if offset:
        with pytest.raises(ValueError, match=r"a: sizes that are multiples of 4 and addresses"):
            transpose(gpu, a, out, method="wide")


def test_every_bit_is_kept(gpu: Session) -> None:
    import torch

    special = torch.tensor([NAN, INF, -INF, 0.0, -0.0, 1e-45, -3.4e38, 1.5], device="cuda")
    a = special.repeat(64)[torch.randperm(512, device="cuda")].view(16, 32)
    a.view(torch.int32)[0, 0] = 0x7FA00001  # a signalling NaN with a payload
    for method in METHODS:
        assert bits_equal(transpose(gpu, a, method=method), a.t()), method


def test_nothing_is_no_launch(gpu: Session) -> None:
    import torch

    for shape in ((0, 5), (5, 0), (0, 0)):
        assert transpose(gpu, torch.empty(shape, device="cuda")).shape == shape[::-1]


def test_it_agrees_with_the_reference_and_with_itself(gpu: Session) -> None:
    import torch

    a = torch.randn(516, 260, device="cuda")
    assert torch.equal(transpose(gpu, a), reference(a))
    assert torch.equal(transpose(gpu, transpose(gpu, a)), a)


@pytest.mark.parametrize(
    ("rows", "columns", "method"),
    [(46400, 46400, "wide"), (46401, 46401, "swizzled"), (3, 2**30, "padded"), (2**29 + 4, 8, "wide")],
)
def test_more_numbers_than_32_bits_count(whole_gpu: Session, rows: int, columns: int, method: str) -> None:
    import torch

    if torch.cuda.mem_get_info()[0] < 3 * 4 * rows * columns:
        pytest.skip("arrays of more than 8.6 GB do not fit")
    a = torch.empty(rows, columns, device="cuda")
    a.view(-1).view(torch.int32).random_()  # any bits, compared as bits
    out = torch.full((columns, rows), POISON, device="cuda")
    transpose(whole_gpu, a, out, method=method)
    bits, turned = a.view(torch.int32), out.view(torch.int32)
    step = max(2**28 // columns, 1)
    for begin in range(0, rows, step):
        assert torch.equal(turned[:, begin : begin + step], bits[begin : begin + step].t())
    del a, out, bits, turned
    torch.cuda.empty_cache()


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda gpu, a: transpose(gpu, a.double()), "a: float32 expected"),
        (lambda gpu, a: transpose(gpu, a[0]), "a: 2 dimensions expected"),
        (lambda gpu, a: transpose(gpu, a.t()), "a: a contiguous tensor expected"),
        (lambda gpu, a: transpose(gpu, a.cpu()), "a: a tensor on cuda"),
        (lambda gpu, a: transpose(gpu, a, a), r"out: shape \(16, 8\) expected"),
        (lambda gpu, a: transpose(gpu, a, a.view(16, 8)), "out: memory apart from a's expected"),
        (lambda gpu, a: transpose(gpu, a, a.half().t().contiguous()), "out: the dtype of a"),
        (lambda gpu, a: transpose(gpu, a, method="fast"), "method: one of naive"),
        (lambda gpu, a: transpose(gpu, a[:, :6].contiguous(), method="wide"), "a: sizes that are multiples of 4"),
    ],
)
def test_a_wrong_argument_is_named(gpu: Session, call: Callable[..., Any], named: str) -> None:
    import torch

    with pytest.raises(ValueError, match=named):
        call(gpu, torch.randn(8, 16, device="cuda"))


def test_no_kernel_spills(whole_gpu: Session) -> None:
    for method in METHODS:
        attributes = load(whole_gpu, FILE, f"transpose_{method}").handle.attributes
        assert int(attributes.local_size_bytes) == 0
