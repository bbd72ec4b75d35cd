"""The tracer against what the driver says must happen."""

from __future__ import annotations

import pytest

from gpu_explain.kernels import blocks
from gpu_explain.kernels.session import Session
from gpu_explain.scenes.base import Trace

LONG = 60_000  # cycles: all residents are there long before the first leaves


def traced(
    gpu: Session, *, blocks_: int, threads: int, language: str, shared_bytes: int = 0, work: str = "wait"
) -> Trace:
    return blocks.trace_blocks(
        gpu,
        name="t",
        title="t",
        work=work,
        language=language,
        blocks=blocks_,
        threads=threads,
        amount=LONG,
        shared_bytes=shared_bytes,
    )


def check_columns(gpu: Session, trace: Trace, count: int) -> None:
    assert trace.blocks == count
    assert sorted(trace.ticket) == list(range(count))
    assert len(trace.sms) == min(count, gpu.device.sms)
    assert min(trace.start_ns) == 0
    assert trace.step_ns == gpu.device.timer_step_ns > 0
    assert min(trace.cycles) >= LONG
    assert max(trace.cycles) < 1.1 * LONG  # nobody was starved by those that wait


@pytest.mark.parametrize("language", ["CUDA", "Triton"])
@pytest.mark.parametrize("threads", [256, 512, 1024])
def test_as_many_blocks_are_resident_as_the_occupancy_api_says(gpu: Session, threads: int, language: str) -> None:
    fit = blocks.fit(gpu, work="wait", language=language, threads=threads)
    count = gpu.device.sms * fit.residents + 1
    trace = traced(gpu, blocks_=count, threads=threads, language=language)
    check_columns(gpu, trace, count)
    assert set(trace.peak_by_sm.values()) == {fit.residents}
    assert trace.peak == count - 1
    assert trace.moved == 0


@pytest.mark.parametrize("language", ["CUDA", "Triton"])
def test_blocks_that_wait_do_not_slow_each_other_down(gpu: Session, language: str) -> None:
    """Blocks come and go on full SMs: looking at the clock without a nap once made them last half as long again."""
    count = gpu.device.sms * blocks.fit(gpu, work="wait", language=language, threads=256).residents * 4
    trace = traced(gpu, blocks_=count, threads=256, language=language)
    check_columns(gpu, trace, count)
    assert 4 * trace.median_duration_ns <= trace.span_ns < 4.3 * trace.median_duration_ns


def test_shared_memory_limits_the_residents(gpu: Session) -> None:
    shared_bytes = gpu.device.shared_per_sm // 3 - 2048
    fit = blocks.fit(gpu, work="wait", language="CUDA", threads=128, shared_bytes=shared_bytes)
    assert fit.residents == 3
    assert fit.shared_bytes == shared_bytes
    count = gpu.device.sms * fit.residents + 1
    trace = traced(gpu, blocks_=count, threads=128, language="CUDA", shared_bytes=shared_bytes)
    check_columns(gpu, trace, count)
    assert max(trace.peak_by_sm.values()) == fit.residents
    assert trace.peak == count - 1


@pytest.mark.parametrize("language", ["CUDA", "Triton"])
@pytest.mark.parametrize("work", ["wait", "compute"])
@pytest.mark.parametrize("threads", [256, 512, 1024])
def test_the_traced_kernel_has_the_occupancy_of_the_plain_one(
    whole_gpu: Session, threads: int, work: str, language: str
) -> None:
    fit = blocks.fit(whole_gpu, work=work, language=language, threads=threads)
    assert fit.residents == fit.traced_residents > 0
    assert fit.traced_registers * threads * fit.residents <= whole_gpu.device.registers_per_sm


@pytest.mark.parametrize("language", ["CUDA", "Triton"])
def test_clock_and_timer_of_a_block_agree(gpu: Session, language: str) -> None:
    trace = traced(gpu, blocks_=gpu.device.sms, threads=256, language=language)
    step = gpu.device.timer_step_ns
    for cycles, start, end in zip(trace.cycles, trace.start_ns, trace.end_ns, strict=True):
        mhz = cycles / (end - start) * 1e3
        assert 0.95 * trace.cycles[0] <= cycles
        assert 200 < mhz < 1.1 * gpu.device.clock_max_mhz + 100 * step / (end - start) * 1e3


def test_results_of_computing_blocks_are_right(whole_gpu: Session) -> None:
    import torch

    from gpu_explain.kernels import blocks_triton
    from gpu_explain.kernels.loader import load

    threads, count, steps = 256, 37, 9
    lane = torch.arange(threads, dtype=torch.float64).repeat(count)
    wanted = lane
    for _ in range(steps):
        wanted = wanted * 0.5 + 1.0
    out = torch.full((count * threads,), float("nan"), device=f"cuda:{whole_gpu.ordinal}")
    load(whole_gpu, "blocks.cu", "compute_blocks").launch(whole_gpu, count, threads, out, steps)
    whole_gpu.synchronise()
    torch.testing.assert_close(out.cpu().double(), wanted, rtol=1e-6, atol=0)
    out.fill_(float("nan"))
    blocks_triton.compute_blocks[(count,)](out, steps, THREADS=threads, num_warps=threads // 32)
    whole_gpu.synchronise()
    torch.testing.assert_close(out.cpu().double(), wanted, rtol=1e-6, atol=0)


def test_the_same_file_runs_both_the_block_that_waits_and_the_picture_of_it(whole_gpu: Session) -> None:
    trace = traced(whole_gpu, blocks_=3, threads=64, language="CUDA", work="compute")
    assert trace.kernel == "traced_compute_blocks"
    assert trace.language == "CUDA"
