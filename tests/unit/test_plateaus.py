"""Plateaus and heaps are found where they are, and only there."""

from __future__ import annotations

import random
from math import inf

import pytest

from gpu_explain.kernels.heaps import find_heaps
from gpu_explain.kernels.plateaus import find_plateaus, find_sure_plateaus

# Points of published curves (RRZE gpu-benches, gpu-latency): kB against cycles. The first GPU's L2 has two halves, the
# second's has one.
H100_PCIE = {
    62: 34.2, 77: 34.3, 95: 34.4, 118: 34.6, 144: 34.6, 177: 34.7, 216: 34.8, 239: 134.2, 264: 205.8, 291: 236.8,
    321: 258.9, 354: 264.0, 431: 265.5, 635: 265.5, 935: 265.5, 1512: 265.6, 2441: 265.4, 4333: 265.7, 8453: 265.6,
    13620: 265.5, 18132: 265.5, 21941: 267.8, 24136: 275.1, 26551: 319.6, 29207: 403.2, 32129: 461.5, 35343: 475.4,
    38878: 477.8, 42767: 475.1, 47045: 466.8, 51750: 484.3, 56926: 563.4, 62620: 626.5, 68883: 644.0, 75772: 649.2,
    125026: 649.9, 206295: 650.0, 340388: 652.4,
}  # fmt: skip
L40 = {
    28: 36.1, 41: 36.2, 52: 36.2, 65: 36.3, 84: 36.3, 90: 50.9, 95: 116.6, 101: 167.0, 107: 200.2, 113: 231.5,
    120: 247.8, 127: 266.4, 141: 274.4, 192: 276.5, 308: 276.7, 546: 276.5, 1065: 276.4, 2122: 276.5, 4351: 276.5,
    8865: 276.5, 18009: 276.5, 30020: 276.5, 44460: 279.2, 60865: 281.2, 80110: 282.4, 90119: 282.9, 93726: 284.2,
    97477: 297.4, 101378: 368.9, 105435: 443.2, 109655: 494.7, 114043: 531.4, 118607: 561.5, 185030: 630.4,
    288650: 631.1, 450297: 631.5, 702466: 631.7,
}  # fmt: skip


def stairs(*steps: tuple[int, float]) -> tuple[list[float], list[float]]:
    """``(points, height)`` one after the other over x = 1, 2, 3, …"""
    y = [height for points, height in steps for _ in range(points)]
    return [float(i + 1) for i in range(len(y))], y


def test_two_halves_of_an_l2_are_two_plateaus() -> None:
    found = find_plateaus(list(H100_PCIE), list(H100_PCIE.values()))
    assert [round(one.height) for one in found] == [35, 266, 475, 650]
    assert [one.end for one in found] == [216, 21941, 51750, 340388]
    assert [one.beyond for one in found] == [239, 24136, 56926, None]


def test_an_l2_of_one_piece_is_one_plateau() -> None:
    found = find_plateaus(list(L40), list(L40.values()))
    assert [round(one.height) for one in found] == [36, 276, 631]
    assert found[0].end == 84
    assert found[1].end in (93726, 97477)


@pytest.mark.parametrize("seed", range(8))
def test_noise_moves_no_knee(seed: int) -> None:
    x, y = stairs((8, 32.0), (9, 280.0), (5, 512.0), (7, 658.0))
    noise = random.Random(seed)
    noisy = [one * (1 + noise.gauss(0, 0.008)) for one in y]
    found = find_plateaus(x, noisy)
    assert [(one.first, one.last) for one in found] == [(0, 7), (8, 16), (17, 21), (22, 28)]
    assert [one.height for one in found] == pytest.approx([32, 280, 512, 658], rel=0.02)


def test_a_slope_has_no_plateau() -> None:
    x = [float(i) for i in range(1, 30)]
    assert find_plateaus(x, [30 * 1.12**i for i in range(29)]) == ()


def test_a_level_curve_is_one_plateau() -> None:
    x, y = stairs((12, 45.0))
    (only,) = find_plateaus(x, y)
    assert (only.start, only.end, only.beyond, only.height) == (1.0, 12.0, None, 45.0)


def test_ramps_belong_to_no_plateau() -> None:
    x, y = stairs((5, 32.0), (1, 60.0), (1, 110.0), (1, 200.0), (6, 280.0))
    assert [(one.first, one.last) for one in find_plateaus(x, y)] == [(0, 4), (8, 13)]


def test_falling_stairs_are_found_as_they_are() -> None:
    x, y = stairs((5, 500.0), (5, 100.0))
    assert [one.height for one in find_plateaus(x, y)] == [500.0, 100.0]


def test_two_points_are_no_plateau() -> None:
    x, y = stairs((5, 32.0), (2, 100.0), (5, 300.0))
    assert [one.height for one in find_plateaus(x, y)] == [32.0, 300.0]


def test_a_clear_knee_is_sure_and_a_blurred_one_is_not() -> None:
    x, y = stairs((6, 32.0), (6, 280.0), (6, 560.0))
    samples = [[height * (1 + 0.002 * i) for i in range(5)] for height in y]
    assert [one.confidence for one in find_sure_plateaus(x, samples)] == [1.0, 1.0, 1.0]
    for point in range(6, 12):  # half of these samples were answered from farther away
        samples[point] = [280.0, 280.0, 280.0, 560.0, 560.0]
    sure = find_sure_plateaus(x, samples)
    assert sure[0].confidence > 0.9
    assert min(one.confidence for one in sure) < 0.5


@pytest.mark.parametrize(
    ("x", "y", "named"),
    [([1.0, 2.0], [1.0], "y"), ([2.0, 1.0], [1.0, 1.0], "x"), ([1.0, 2.0], [1.0, 0.0], "y"), ([1.0], [inf], "y")],
)
def test_wrong_arguments_are_named(x: list[float], y: list[float], named: str) -> None:
    with pytest.raises(ValueError, match=f"^{named}: .*expected"):
        find_plateaus(x, y)


def test_no_points_have_no_plateaus() -> None:
    assert find_plateaus([], []) == ()


def heaped(*heaps: tuple[int, float, float], seed: int = 1) -> list[int]:
    """``(how many, centre, spread)`` values."""
    noise = random.Random(seed)
    return [max(round(noise.gauss(centre, spread)), 0) for count, centre, spread in heaps for _ in range(count)]


@pytest.mark.parametrize("seed", range(5))
def test_two_heaps_are_two(seed: int) -> None:
    first, second = find_heaps(heaped((1200, 266, 4), (800, 304, 5), seed=seed))
    assert first.centre == pytest.approx(266, abs=2)
    assert second.centre == pytest.approx(304, abs=2)
    assert first.share == pytest.approx(0.6, abs=0.02)
    assert first.high < second.low


@pytest.mark.parametrize("seed", range(5))
def test_one_heap_is_one_however_ragged(seed: int) -> None:
    assert len(find_heaps(heaped((2000, 280, 9), seed=seed))) == 1
    comb = [one // 4 * 4 for one in heaped((2000, 280, 9), seed=seed)]
    assert len(find_heaps(comb)) == 1


def test_a_few_slow_loads_are_no_heap() -> None:
    heaps = find_heaps(heaped((2000, 280, 5), (30, 900, 20)))
    assert len(heaps) == 1
    assert heaps[0].share == pytest.approx(1, abs=0.02)


def test_equal_values_are_one_heap() -> None:
    assert [(one.low, one.high, one.share) for one in find_heaps([32] * 50)] == [(32, 32, 1.0)]
    with pytest.raises(ValueError, match=r"^values: at least one"):
        find_heaps([])
