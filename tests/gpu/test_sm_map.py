"""What the launches of sm-map must do on any GPU: owners, warps and residents; blocks that wait for the last."""

from __future__ import annotations

import pytest

from gpu_explain.kernels import flag, grid
from gpu_explain.kernels.session import Session

LONG = 60_000  # cycles: all residents are there long before the first leaves
LIMIT_NS = 500_000


def recorded(gpu: Session, *, language: str, elements: int, threads: int) -> grid.Recorded:
    return grid.record(gpu, name="t", title="t", language=language, elements=elements, threads=threads, least=LONG)


@pytest.mark.parametrize("language", grid.LANGUAGES)
@pytest.mark.parametrize(("elements", "threads"), [(1, 32), (31, 32), (1000, 256), (100_003, 256), (70_001, 1024)])
def test_every_element_has_its_thread_and_every_warp_its_sm(
    gpu: Session, language: str, elements: int, threads: int
) -> None:
    found = recorded(gpu, language=language, elements=elements, threads=threads)
    blocks, warp_size = -(-elements // threads), gpu.device.warp_size
    assert found.trace.blocks == blocks
    assert sorted(found.trace.ticket) == list(range(blocks))
    assert found.warps_per_block == threads // warp_size
    assert (found.owners.signed, found.owners.strangers) == (elements, 0)
    seen = min(elements, threads, warp_size)
    assert found.owners.lane_low[:seen] == found.owners.lane_high[:seen] == tuple(range(seen))
    assert set(found.owners.lane_high[seen:]) <= {-1}
    assert [sm for sm in found.trace.sm for _ in range(found.warps_per_block)] == list(found.warp_sm)
    # Warps of a block start and stamp one after the other, the first of a launch while their code is still on its way.
    slack = 1000 + 2 * gpu.device.timer_step_ns
    for warp, (start, end) in enumerate(zip(found.warp_start_ns, found.warp_end_ns, strict=True)):
        block = warp // found.warps_per_block
        assert start <= end <= found.trace.end_ns[block] + slack
        assert start >= found.trace.start_ns[block] - slack
        if warp % found.warps_per_block * warp_size + block * threads < elements:
            assert end - start > 0.8 * (found.trace.end_ns[block] - found.trace.start_ns[block])


def test_threads_that_fill_no_warp(gpu: Session) -> None:
    found = recorded(gpu, language="CUDA", elements=777, threads=48)
    assert found.warps_per_block == 2
    assert (found.owners.signed, found.owners.strangers) == (777, 0)


@pytest.mark.parametrize("language", grid.LANGUAGES)
@pytest.mark.parametrize("threads", [32, 256, 1024])
def test_as_many_are_resident_as_the_occupancy_api_says(gpu: Session, language: str, threads: int) -> None:
    held = grid.residents(gpu, language=language, threads=threads)
    blocks = gpu.device.sms * held + 1
    trace = recorded(gpu, language=language, elements=blocks * threads, threads=threads).trace
    assert set(trace.peak_by_sm.values()) == {held}
    assert trace.peak == blocks - 1
    assert trace.moved == 0


@pytest.mark.parametrize("language", grid.LANGUAGES)
def test_uneven_blocks_wait_as_long_as_their_numbers_say(whole_gpu: Session, language: str) -> None:
    blocks, least, spread = 500, 20_000, 40_000
    trace = grid.record(
        whole_gpu,
        name="t",
        title="t",
        language=language,
        elements=blocks * 256,
        threads=256,
        least=least,
        spread=spread,
    ).trace
    for block, cycles in enumerate(trace.cycles):
        wanted = least + spread * ((block * 2654435761 & 0xFFFFFFFF) >> 22) // 1024
        # The tracer's clock starts after the kernel's, by what stamping and drawing a ticket take: 210 cycles once.
        assert wanted - 600 <= cycles < 1.1 * wanted + 4000


def test_surplus_warps_leave_in_cuda_and_stay_in_triton(gpu: Session) -> None:
    for language in grid.LANGUAGES:
        found = recorded(gpu, language=language, elements=256 + 64, threads=256)
        stay = [end - start for start, end in zip(found.warp_start_ns, found.warp_end_ns, strict=True)][8:]
        lasts = found.trace.end_ns[1] - found.trace.start_ns[1]
        assert min(stay[:2]) > 0.8 * lasts
        if language == "CUDA":
            assert max(stay[2:]) < 0.1 * lasts + 2 * gpu.device.timer_step_ns
        else:
            assert min(stay[2:]) > 0.8 * lasts


def test_a_hundred_thousand_blocks(whole_gpu: Session) -> None:
    found = recorded(whole_gpu, language="CUDA", elements=100_000 * 256, threads=256)
    assert found.trace.blocks == 100_000
    assert (found.owners.signed, found.owners.strangers) == (100_000 * 256, 0)


@pytest.mark.parametrize("threads", [256, 1024])
def test_blocks_can_wait_for_the_last_only_while_all_fit(gpu: Session, threads: int) -> None:
    places = gpu.device.sms * flag.residents(gpu, threads=threads)

    def outcomes(blocks: int) -> tuple[int, int, int]:
        found = flag.wait_for_the_last(
            gpu, name="t", title="t", blocks=blocks, threads=threads, limit_ns=LIMIT_NS
        ).outcome
        return found.count(flag.TIMED_OUT), found.count(flag.SEEN), found.count(flag.SET)

    for _ in range(3):
        assert outcomes(1) == (0, 0, 1)
        assert outcomes(gpu.device.sms) == (0, gpu.device.sms - 1, 1)
        assert outcomes(places) == (0, places - 1, 1)
        assert outcomes(places + 1) == (places, 0, 1)
