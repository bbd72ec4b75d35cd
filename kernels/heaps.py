"""Finds the heaps in a histogram: values that were met often, with few in between.

The counts are smoothed with a triangle a little wider than the clock's grain, so that a comb does not look like many
heaps. Two peaks are two heaps when the valley between them is lower than :data:`VALLEY` of the lower of them; a heap
with less than :data:`SMALL` of all values is none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

VALLEY = 0.5
SMALL = 0.05
_WIDTH = 0.012  # half-width of the triangle, as a share of the median


@dataclass(frozen=True)
class Heap:
    """Values that lie together.

    Attributes:
        low, high: The range that was given to it, ends included.
        centre: Median of its values.
        share: Share of all values, 0 … 1.
    """

    low: int
    high: int
    centre: float
    share: float


def find_heaps(values: Sequence[int]) -> tuple[Heap, ...]:
    """The heaps of whole positive numbers, ascending. Raises ``ValueError`` when there are no values."""
    if not values:
        raise ValueError("values: at least one expected")
    if min(values) < 0:
        raise ValueError(f"values: none below 0 expected, got {min(values)}")
    middle = median(values)
    # The slowest loads met a refresh or a miss of their own; they are no heap and would make the histogram long.
    top = sorted(values)[min(int(len(values) * 0.99), len(values) - 1)]
    low = min(values)
    width = max(round(middle * _WIDTH), 2)
    density = _smoothed([v for v in values if v <= top], low, top, width)
    cuts = _valleys(density)
    edges = [low, *(low + cut for cut in cuts), max(values) + 1]
    heaps = []
    for left, right in pairwise(edges):
        inside = [v for v in values if left <= v < right]
        if len(inside) >= SMALL * len(values):
            heaps.append(Heap(min(inside), max(inside), float(median(inside)), len(inside) / len(values)))
    return tuple(heaps)


def _smoothed(values: Sequence[int], low: int, high: int, width: int) -> list[float]:
    """Counts of ``low … high`` under a triangle of half-width ``width``."""
    counts = [0.0] * (high - low + 1)
    for value in values:
        for off in range(-width, width + 1):
            place = value - low + off
            if 0 <= place < len(counts):
                counts[place] += 1 - abs(off) / (width + 1)
    return counts


def _valleys(density: Sequence[float]) -> list[int]:
    """Where to cut: the deepest places between peaks that stand apart."""
    peaks: list[int] = []
    cuts: list[int] = []
    for place, here in enumerate(density):
        before = density[place - 1] if place else 0.0
        after = density[place + 1] if place + 1 < len(density) else 0.0
        if not (here >= before and here > after):
            continue
        if not peaks:
            peaks.append(place)
            continue
        between = range(peaks[-1], place + 1)
        valley = min(between, key=density.__getitem__)
        if density[valley] < VALLEY * min(density[peaks[-1]], here):
            peaks.append(place)
            cuts.append(valley)
        elif here > density[peaks[-1]]:
            peaks[-1] = place
    return cuts
