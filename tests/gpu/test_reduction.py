"""Sums in Triton and on every rung of the CUDA ladder: exact where sums are exact, float64's within rounding else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from gpu_explain.kernels.session import Session

INF, NAN = float("inf"), float("nan")
SIZES = (1, 2, 3, 4, 5, 31, 32, 33, 255, 256, 257, 1023, 1024, 1025, 4095, 4096, 4099, 100_003)

Call = Callable[[Any], Any]


def calls(gpu: Session, language: str = "") -> dict[str, Call]:
    """Every way of summing float32 (in one language), by name."""
    from gpu_explain.kernels.reduce_sum import reduce_sum
    from gpu_explain.kernels.reduction import RUNGS, reduce_sum_cuda

    found: dict[str, Call] = {} if language == "CUDA" else {"Triton": reduce_sum}
    for rung in () if language == "Triton" else RUNGS:
        found[rung] = lambda x, rung=rung: reduce_sum_cuda(gpu, x, rung=rung)  # type: ignore[misc]
    return found


def in_a_band(values: Any, offset: int = 0) -> Any:
    """A copy between NaN: whoever reads beyond it has a NaN for a sum."""
    import torch

    room = torch.full((values.numel() + 128 + offset,), NAN, dtype=values.dtype, device="cuda")
    inside = room[64 + offset : 64 + offset + values.numel()]
    inside.copy_(values)
    return inside


@pytest.mark.parametrize("language", [pytest.param("CUDA", marks=pytest.mark.sanitised), "Triton"])
def test_whole_numbers_add_up_exactly_in_any_order(gpu: Session, language: str) -> None:
    import torch

    for n in SIZES:
        x = in_a_band(torch.randint(-8, 9, (n,), device="cuda").float())
        for name, call in calls(gpu, language).items():
            got = call(x)
            gpu.synchronise()
            assert got.shape == (), name
            assert got.item() == x.double().sum().item(), (name, n)


def test_large_sums_are_exact_too(gpu: Session) -> None:
    import torch

    for n in (2**24, 2**24 + 5, 2**25 - 3):
        x = in_a_band(torch.randint(-8, 9, (n,), device="cuda", dtype=torch.int8).float())
        wanted = x.double().sum().item()
        for name, call in calls(gpu).items():
            assert call(x).item() == wanted, (name, n)


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_triton_rounds_once(gpu: Session, dtype: str) -> None:
    import torch

    from gpu_explain.kernels.reduce_sum import reduce_sum

    for n in (*SIZES, 3_000_001):
        for offset in (0, 1, 8):
            x = in_a_band(torch.rand(n, device="cuda").to(getattr(torch, dtype)), offset)
            got, wanted = reduce_sum(x), x.double().sum()
            assert got.dtype == x.dtype
            if wanted > torch.finfo(x.dtype).max:
                assert got.item() == INF
            else:
                # float32 additions in trees cost far less than 1e-6; then one rounding to the dtype.
                assert abs(got.double() - wanted) <= (1e-6 + torch.finfo(x.dtype).eps) * wanted, n


def test_two_launches_have_the_same_bits_every_time_and_triton_on_every_gpu(whole_gpu: Session) -> None:
    import torch

    from gpu_explain.kernels.reduce_sum import reduce_sum
    from gpu_explain.kernels.reduction import reduce_sum_cuda

    x = torch.randn(5_000_011, device="cuda")
    assert len({reduce_sum_cuda(whole_gpu, x).item() for _ in range(20)}) == 1
    ours = {reduce_sum(x).item() for _ in range(20)}
    if whole_gpu.device.sm_granularity and whole_gpu.device.sms_total > 40:
        with whole_gpu.on_sms(40) as narrow:
            ours |= {reduce_sum(x).item() for _ in range(20)}
            narrow.synchronise()
    assert len(ours) == 1


def test_nan_and_infinities_are_as_torch_has_them(gpu: Session) -> None:
    import torch

    for special in ((NAN,), (INF,), (-INF,), (INF, -INF), (3e38, 3e38), (1e-45,)):
        x = torch.zeros(10_000, device="cuda")
        x[torch.tensor([17, 9_999])[: len(special)]] = torch.tensor(special, device="cuda")
        for name, call in calls(gpu).items():
            if special != (1e-45,) or "atomic" not in name:  # the hardware's atomics take subnormal numbers for 0
                torch.testing.assert_close(call(x), x.sum(), rtol=0, atol=0, equal_nan=True, msg=f"{name}, {special}")


def test_no_elements_are_nothing_and_any_shape_is_summed(gpu: Session) -> None:
    import torch

    for name, call in calls(gpu).items():
        assert call(torch.empty(0, device="cuda")).item() == 0.0, name
        assert call(torch.ones(3, 5, 7, device="cuda")).item() == 105.0, name
        assert call(torch.full((), 3.0, device="cuda")).item() == 3.0, name


def test_misaligned_arrays_are_summed_or_refused_by_name(gpu: Session) -> None:
    import torch

    x = torch.arange(1001, device="cuda").float()[1:]
    for name, call in calls(gpu).items():
        if name in ("sum_atomic_quads", "block_sums"):
            with pytest.raises(ValueError, match=f"x: an address divisible by 16 expected for {name}"):
                call(x)
        else:
            assert call(x).item() == 500_500.0, name


def test_more_elements_than_32_bits_count(whole_gpu: Session) -> None:
    import torch

    n = 2**31 + 5
    if torch.cuda.mem_get_info()[0] < 1.2 * 4 * n:
        pytest.skip("an array of 8.6 GB does not fit")
    x = torch.zeros(n, device="cuda")
    x[0], x[2**31 - 1], x[-1] = 1.0, 20.0, 300.0
    for name, call in calls(whole_gpu).items():
        if name != "sum_atomic_each":  # seconds of atomics, one after another
            assert call(x).item() == 321.0, name
    del x
    whole_gpu.release()


def test_a_wrong_argument_is_named(whole_gpu: Session) -> None:
    import torch

    from gpu_explain.kernels.reduction import reduce_sum_cuda

    x = torch.ones(8, 8, device="cuda")
    for name, call in calls(whole_gpu).items():
        with pytest.raises(ValueError, match=r"x: float32.* expected, got int32"):
            call(x.int())
        with pytest.raises(ValueError, match="x: a contiguous tensor expected"):
            call(x.t()[:, :3])
        assert call(x).item() == 64.0, name
    with pytest.raises(ValueError, match="x: a tensor on cuda:0 expected, got cpu"):
        reduce_sum_cuda(whole_gpu, x.cpu())
    with pytest.raises(ValueError, match="rung: one of sum_atomic_each, "):
        reduce_sum_cuda(whole_gpu, x, rung="sum_atomic")
