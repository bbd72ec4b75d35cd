"""The timer against CUPTI and against itself. Prints its table: run with ``-s`` to see it."""

from __future__ import annotations

import sys
from functools import partial
from statistics import median

import pytest

from gpu_explain.kernels import blocks
from gpu_explain.kernels.loader import load
from gpu_explain.kernels.profiler import kernel_list
from gpu_explain.kernels.session import Session
from gpu_explain.scenes.base import Timing

AIMED_US = (5, 10, 20, 50, 200, 1000, 5000)


def waits(gpu: Session) -> list[int]:
    return [round(us * gpu.timer.clock_mhz()) for us in AIMED_US]


def timed(gpu: Session, amounts: list[int]) -> tuple[Timing, ...]:
    kernel = load(gpu, "blocks.cu", "wait_blocks")
    return gpu.timer.time([partial(kernel.launch, gpu, gpu.device.sms, 256, amount) for amount in amounts], samples=25)


def test_events_and_cupti_agree_within_three_percent_and_the_floor(gpu: Session) -> None:
    kernel, count, rounds = load(gpu, "blocks.cu", "wait_blocks"), gpu.device.sms, 25
    gpu.timer.warm([lambda: kernel.launch(gpu, count, 256, 1000)])
    amounts = waits(gpu)
    timings = timed(gpu, amounts)

    def run() -> None:
        for _ in range(rounds):
            for amount in amounts:
                kernel.launch(gpu, count, 256, amount)

    listed = kernel_list(gpu, run)
    if not listed.kernels:
        pytest.skip(listed.why)
    assert listed.counts() == {"wait_blocks": rounds * len(amounts)}
    sys.stdout.write(
        f"\n{gpu.device.sms} SMs  aimed µs   events µs  p20..p80          CUPTI µs  difference  floor  clock MHz\n"
    )
    worst = []
    for place, (aimed, timing) in enumerate(zip(AIMED_US, timings, strict=True)):
        cupti = median(k.duration_us for k in listed.kernels[place :: len(amounts)])
        floor = timing.floor_us
        assert floor is not None
        off = timing.median_us - cupti
        sys.stdout.write(
            f"{'':9}{aimed:9}{timing.median_us:12.2f}  {timing.at(0.2):.2f}..{timing.at(0.8):<9.2f}{cupti:11.2f}"
            f"{off:+9.2f} µs {floor:6.2f}  {min(timing.clock_mhz):.0f}..{max(timing.clock_mhz):.0f}\n"
        )
        worst.append(abs(off) - 0.03 * cupti - floor)
    assert max(worst) <= 0


def test_two_runs_agree_within_two_percent(gpu: Session) -> None:
    amounts = waits(gpu)
    for one, other in zip(timed(gpu, amounts), timed(gpu, amounts), strict=True):
        assert other.median_us == pytest.approx(one.median_us, rel=0.02)


def test_the_floor_is_an_empty_launch_and_not_the_cpu(gpu: Session) -> None:
    (timing,) = timed(gpu, [1])
    assert timing.floor_us is not None
    assert 0 < timing.floor_us < 15
    assert timing.median_us == pytest.approx(timing.floor_us, abs=3)


def test_clocks_come_with_every_sample(gpu: Session) -> None:
    (timing,) = timed(gpu, [40_000])
    assert len(timing.clock_mhz) == len(timing.samples_us) == 25
    assert 200 < min(timing.clock_mhz) <= max(timing.clock_mhz) <= 1.1 * gpu.device.clock_max_mhz
    # The kernel waits for cycles and is timed in µs: the clock must be what turns one into the other.
    expected = 40_000 / timing.clock_mhz[0]
    assert expected <= timing.median_us <= 1.03 * expected + 2 * (timing.floor_us or 0)


def test_a_cold_l2_is_slower_for_data_that_would_fit(whole_gpu: Session) -> None:
    import torch

    gpu = whole_gpu  # few SMs cannot ask for data faster than DRAM brings it
    count = gpu.device.l2_bytes // 10 // 4  # three arrays, 0.3 of the L2 together
    x, y = (gpu.empty((count,), torch.float32).normal_() for _ in range(2))
    out = gpu.empty((count,), torch.float32)
    (warm,) = gpu.timer.time([lambda: torch.add(x, y, out=out)])
    (cold,) = gpu.timer.time([lambda: torch.add(x, y, out=out)], cold=True)
    assert cold.cold
    assert not warm.cold
    assert cold.median_us > 1.1 * warm.median_us


def test_short_kernels_are_read_from_cupti_too(whole_gpu: Session) -> None:
    short, long = blocks.time_blocks(
        whole_gpu, work="wait", language="CUDA", sizes=(1, 1), threads=64, amount=4000, samples=7
    )
    if short.profiler_us is None:
        assert kernel_list(whole_gpu, lambda: whole_gpu.timer.warm([])).why
        pytest.skip("CUPTI records nothing here")
    assert long.profiler_us is not None
    assert short.profiler_us == pytest.approx(4000 / short.clock_mhz[0], rel=0.3, abs=1.5)
    assert short.profiler_us < short.median_us


def test_a_launch_that_queues_too_slowly_is_found_out(whole_gpu: Session) -> None:
    import time

    from gpu_explain.scenes.base import ProblemError

    with pytest.raises(ProblemError) as caught:
        whole_gpu.timer.time([lambda: time.sleep(0.12)], samples=1)
    assert caught.value.problem.id == "timer-starved"
