"""a + b and relu(a + b) in Triton and CUDA: torch's to the last bit, at every size, dtype and alignment they take."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest

from gpu_explain.kernels.session import Session
from tests.gpu.guarded import POISON, Guarded, equal_bits

INF, NAN = float("inf"), float("nan")
SPECIAL = (NAN, INF, -INF, 0.0, -0.0, 1e-45, -1e-45, 6e-8, 65504.0, -65504.0, 3.4e38, -3.4e38, 1.5, -1.5)
SIZES = (1, 2, 3, 4, 5, 31, 255, 256, 1000, 1023, 1024, 1025, 4099, 2**20 + 3)

Call = Callable[..., Any]


def calls(gpu: Session, language: str = "") -> dict[str, tuple[Call, Call]]:
    """Our kernels (of one language) that take float32, each with torch's way."""
    from gpu_explain.kernels import add_relu, add_relu_cuda, vector_add, vector_add_cuda

    found: dict[str, tuple[Call, Call]] = {
        "Triton add": (vector_add.vector_add, vector_add.reference),
        "Triton add+relu": (add_relu.add_relu, add_relu.reference),
    }
    for rung in (None, "each"):
        found[f"CUDA add, {rung}"] = (
            lambda a, b, out=None, rung=rung: vector_add_cuda.vector_add_cuda(gpu, a, b, out, rung=rung),
            vector_add.reference,
        )
        found[f"CUDA add+relu, {rung}"] = (
            lambda a, b, out=None, rung=rung: add_relu_cuda.add_relu_cuda(gpu, a, b, out, rung=rung),
            add_relu.reference,
        )
    return {name: both for name, both in found.items() if name.startswith(language)}


@pytest.mark.parametrize("language", [pytest.param("CUDA", marks=pytest.mark.sanitised), "Triton"])
@pytest.mark.parametrize("offset", [0, 1])
def test_float32_is_torchs_and_nothing_else_is_written(gpu: Session, language: str, offset: int) -> None:
    import torch

    for n in SIZES[:-1]:
        a, b = (torch.randn(n + offset, device="cuda")[offset:] for _ in range(2))
        for name, (call, reference) in calls(gpu, language).items():
            result = Guarded(n, torch.float32, offset=offset)
            call(a, b, result.tensor)
            gpu.synchronise()
            assert equal_bits(result.tensor, reference(a, b)), (name, n)
            assert result.untouched(), (name, n)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("offset", [0, 1, 8])
def test_halves_are_torchs_too(gpu: Session, dtype: str, offset: int) -> None:
    import torch

    kind = getattr(torch, dtype)
    for n in SIZES:
        a, b = (torch.randn(n + offset, device="cuda").to(kind)[offset:] for _ in range(2))
        for name, (call, reference) in calls(gpu, "Triton").items():
            result = Guarded(n, kind, offset=offset)
            call(a, b, result.tensor)
            gpu.synchronise()
            assert equal_bits(result.tensor, reference(a, b)), (name, n)
            assert result.untouched(), (name, n)


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_nan_infinities_zeros_and_the_smallest_numbers(gpu: Session, dtype: str) -> None:
    import torch

    pairs = torch.tensor(list(itertools.product(SPECIAL, SPECIAL)), device="cuda").to(getattr(torch, dtype))
    a, b = pairs[:, 0].contiguous(), pairs[:, 1].contiguous()
    for name, (call, reference) in calls(gpu, "" if dtype == "float32" else "Triton").items():
        assert equal_bits(call(a, b), reference(a, b)), name


@pytest.mark.parametrize(("block_size", "num_warps"), [(1, 1), (128, 4), (65536, 32)])
def test_any_block_size_adds(gpu: Session, block_size: int, num_warps: int) -> None:
    import torch

    from gpu_explain.kernels.vector_add import vector_add

    for n in (1, 100, 3 * block_size - 1):
        a, b = torch.randn(n, device="cuda"), torch.randn(n, device="cuda")
        result = Guarded(n, torch.float32)
        vector_add(a, b, result.tensor, block_size=block_size, num_warps=num_warps)
        gpu.synchronise()
        assert equal_bits(result.tensor, a + b)
        assert result.untouched()


@pytest.mark.parametrize(("n", "block_size"), [(1, 128), (1024, 128), (1000, 128), (100_000, 1024)])
def test_every_program_of_a_traced_launch_left_its_record(gpu: Session, n: int, block_size: int) -> None:
    import torch

    from gpu_explain.kernels.vector_add import trace_vector_add

    a, b = torch.randn(n, device="cuda"), torch.randn(n, device="cuda")
    result = Guarded(n, torch.float32)
    trace = trace_vector_add(gpu, a, b, result.tensor, block_size=block_size, num_warps=4)
    assert equal_bits(result.tensor, a + b)
    assert result.untouched()
    assert trace.blocks == -(-n // block_size)
    assert trace.threads == 4 * gpu.device.warp_size
    assert sorted(trace.ticket) == list(range(trace.blocks))
    assert len(set(trace.sm)) <= gpu.device.sms
    assert trace.moved == 0
    assert all(cycles > 0 for cycles in trace.cycles)


def test_the_result_may_go_where_an_input_was_and_no_elements_are_no_launch(gpu: Session) -> None:
    import torch

    for call, reference in calls(gpu).values():
        a, b = torch.randn(1003, device="cuda"), torch.randn(1003, device="cuda")
        wanted = reference(a, b)
        assert call(a, b, a) is a
        assert equal_bits(a, wanted)
        assert call(a[:0], b[:0]).shape == (0,)
        assert call(a[:1000].view(10, 100), b[:1000].view(10, 100)).shape == (10, 100)


def test_more_elements_than_32_bits_count(whole_gpu: Session) -> None:
    import torch

    n = 2**31 + 5
    if torch.cuda.mem_get_info()[0] < 3.2 * 4 * n:
        pytest.skip("three arrays of 8.6 GB do not fit")
    a, b, c = torch.zeros(n, device="cuda"), torch.ones(n, device="cuda"), torch.empty(n, device="cuda")
    a[-3:] = torch.tensor([7.0, 9.0, NAN], device="cuda")
    for name, (call, _) in calls(whole_gpu).items():
        c.fill_(POISON)
        call(a, b, c)
        assert c[-3:-1].tolist() == [8.0, 10.0], name
        assert bool(c[-1].isnan()), name
        assert c[: n - 3].min().item() == c[: n - 3].max().item() == 1.0, name
    del a, b, c
    whole_gpu.release()


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (lambda a, b: (a.double(), b), "a: float32.* expected"),
        (lambda a, b: (a, b[:-1]), "b: shape .* expected"),
        (lambda a, b: (a, b.cpu()), "b: the device of a, cuda:0, expected"),
        (lambda a, b: (a.view(2, -1).t(), b.view(2, -1).t()), "a: a contiguous tensor expected"),
        (lambda a, b: (a, b, a.half()), "out: .* expected, got float16"),
    ],
)
def test_a_wrong_argument_is_named(whole_gpu: Session, change: Call, named: str) -> None:
    import torch

    a, b = torch.randn(64, device="cuda"), torch.randn(64, device="cuda")
    for call, _ in calls(whole_gpu).values():
        with pytest.raises(ValueError, match=named):
            call(*change(a, b))


def test_quads_of_a_misaligned_array_are_refused(whole_gpu: Session) -> None:
    import torch

    from gpu_explain.kernels.vector_add_cuda import vector_add_cuda

    a = torch.randn(65, device="cuda")
    with pytest.raises(ValueError, match="b: an address divisible by 16 expected for quads"):
        vector_add_cuda(whole_gpu, a[:64], a[1:], rung="quads")
    with pytest.raises(ValueError, match="rung: one of each, quads expected, got 'pairs'"):
        vector_add_cuda(whole_gpu, a[:64], a[:64], rung="pairs")
