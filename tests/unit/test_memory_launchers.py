"""What launchers of memory's kernels compute on the host: sectors, queues, pieces, what times say. No GPU needed."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_explain.kernels.bank_conflicts import BANKS, UNROLL, expected_sum, queues
from gpu_explain.kernels.coalescing import LINE, SECTOR, Pattern, Reading, fetched_bytes, granularity, touched
from gpu_explain.kernels.halves import find_halves
from gpu_explain.scenes.base import Timing


def reading(stride: int, us: float, *, floor: float = 0.0, loads: int = 1000, width: int = 4) -> Reading:
    timing = Timing((us,), (1000.0,), floor, method="made up")
    return Reading(Pattern(stride, width=width), "DRAM", 1 << 20, loads, (0.0, 0.0, 0.0), timing)


@pytest.mark.parametrize(
    ("pattern", "sectors", "lines"),
    [(Pattern(4), 4, 1), (Pattern(4, 4), 5, 2), (Pattern(64), 32, 16), (Pattern(128), 32, 32), (Pattern(0), 1, 1)],
)
def test_sectors_and_lines_of_a_warp(pattern: Pattern, sectors: int, lines: int) -> None:
    starts = np.array([pattern.address(i, 1 << 20) for i in range(64)])
    for warp in touched(starts, pattern.width):
        assert (warp.sectors, warp.lines) == (sectors, lines)


@given(st.lists(st.integers(0, 10_000), min_size=32, max_size=32), st.sampled_from([1, 2, 4, 8, 16]))
def test_no_piece_is_counted_twice_and_none_left_out(words: list[int], width: int) -> None:
    (warp,) = touched(np.array(words) * width, width)
    assert warp.bytes == len(set(words)) * width
    assert warp.bytes / SECTOR <= warp.sectors <= min(32, warp.bytes)
    assert warp.sectors / (LINE // SECTOR) <= warp.lines <= warp.sectors


def test_bytes_moved_are_found_in_the_times_less_the_floor() -> None:
    found = fetched_bytes([reading(4, 13.0, floor=3.0), reading(64, 163.0, floor=3.0)])
    assert found == (4.0, 64.0)
    assert fetched_bytes([reading(4, 10.0), reading(8, 10.0, loads=500)]) == (4.0, 8.0)


@pytest.mark.parametrize("readings", [[], [reading(8, 1.0)]])
def test_without_neighbours_nothing_is_found(readings: list[Reading]) -> None:
    with pytest.raises(ValueError, match=r"^readings: one whose stride is its width expected first"):
        fetched_bytes(readings)


def test_the_piece_is_where_the_times_flatten() -> None:
    # Times on an H200 in µs, strides of 1 to 32 floats: L2, then DRAM.
    for times, piece in (((11.5, 18.5, 32.2, 59.2, 58.7, 109.4), 32), ((18.8, 33.1, 63.1, 121.4, 237.6, 287.1), 64)):
        assert granularity([reading(4 << i, us, floor=2.7) for i, us in enumerate(times)]) == piece
    assert granularity([reading(4 << i, 10.0 * 2**i) for i in range(6)]) is None
    assert granularity([]) is None
    with pytest.raises(ValueError, match=r"^readings: strides expected of which each is twice"):
        granularity([reading(4, 1.0), reading(12, 1.0)])


@given(st.integers(0, 256))
def test_the_longest_queue_is_the_greatest_common_divisor(stride: int) -> None:
    at = [4 * lane * stride for lane in range(32)]
    assert max(queues(at)) == (np.gcd(stride, BANKS) if stride else 1)
    assert sum(queues(at)) == len(set(at))


def test_a_lane_reads_a_word_in_each_row() -> None:
    words = [w + 1 for w in range(31 * 5 + 32 * UNROLL)]
    for lane in (0, 7, 31):
        assert expected_sum(lane, 5, 2 * UNROLL) == 2 * sum(words[lane * 5 + 32 * k] for k in range(UNROLL))


def waits(halves: int, noise: float) -> dict[int, tuple[int, ...]]:
    """40 SMs, numbered by threes, and 60 lines; a third of the lines in one half; slices and SMs of their own."""
    rng = np.random.default_rng(1)
    sms, lines = np.arange(40), np.arange(60)
    apart = 0 if halves == 1 else 33 * ((sms[:, None] // 2 % 2) != (lines[None, :] % 3 == 0))
    cycles = 270 + apart + sms[:, None] % 5 + lines[None, :] % 7 * 2 + rng.normal(0, noise, (40, 60))
    return {3 * int(sm): tuple(row.round().astype(int).tolist()) for sm, row in zip(sms, cycles, strict=True)}


def test_two_halves_are_found_in_the_waits() -> None:
    halves = find_halves(waits(2, 3.0))
    assert halves
    assert {frozenset(one) for one in halves.sms} == {
        frozenset(3 * sm for sm in range(40) if sm // 2 % 2 == half) for half in (0, 1)
    }
    mine = 0 if 0 in halves.sms[0] else 1  # SM 0 is near the lines that do not divide by 3
    assert halves.lines[mine] == tuple(line for line in range(60) if line % 3)
    assert halves.far - halves.near == pytest.approx(33, abs=2)
    assert halves.share > 0.8


def test_one_half_is_not_taken_for_two() -> None:
    one = find_halves(waits(1, 3.0))
    assert one
    assert one.share < 0.2
    assert find_halves(waits(1, 0.0)) is None


def test_halves_need_something_to_look_at() -> None:
    assert find_halves({}) is None
    assert find_halves({1: (270, 280)}) is None
    with pytest.raises(ValueError, match=r"^by_sm: as many cycles for each SM expected"):
        find_halves({1: (270, 280), 2: (270,)})
