"""Finds the levels in a curve that climbs by stairs, such as latency against footprint, and where each of them ends.

The points, in order, are divided into *plateaus* and *ramps* so that the division costs least. A plateau of points
costs the squared distances of their logarithms from the mean, in units of the tolerance, and a fixed price for being
one; a point on a ramp costs a price of its own. So a plateau is a run of points for which being level is cheaper than
being on the way from one level to the next; how many there are comes out, it is not put in. The best division is found
exactly, by dynamic programming over where the last piece begins (Bellman 1961, "On the approximation of curves by line
segments using dynamic programming"). Neighbouring plateaus that differ by less than :data:`SAME` are one.

How sure a plateau is, is asked of the samples: in every point one of its samples is drawn in place of the median, the
curve is divided again, and the confidence is the share of such rounds that found the same plateau.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import inf, log
from statistics import median

TOLERANCE = 0.02
"""Points of one plateau lie about this much around it, as a share of its height."""

SAME = 0.08
"""Neighbouring plateaus whose heights differ by a smaller share are one."""

LEAST = 3
"""A plateau has at least so many points."""

_PLATEAU = 4.0  # price of a plateau
_RAMP = 3.0  # price of a point on a ramp: LEAST of them are dearer than a good plateau


@dataclass(frozen=True)
class Plateau:
    """A level run of points.

    Attributes:
        first, last: Indices of its first and last point.
        start, end: Their x.
        beyond: The x of the point after the last, the first that is known not to belong; ``None`` at the curve's end.
            The knee lies between ``end`` and ``beyond``.
        height: Median of its points' y.
        low, high: Lowest and highest y of its points.
        confidence: Share (0 … 1) of the rounds with redrawn samples that found it too, its end at most one point off;
            1 where there are no samples to redraw.
    """

    first: int
    last: int
    start: float
    end: float
    beyond: float | None
    height: float
    low: float
    high: float
    confidence: float = 1.0


def find_plateaus(x: Sequence[float], y: Sequence[float], *, tolerance: float = TOLERANCE) -> tuple[Plateau, ...]:
    """The plateaus of a curve, from left to right. ``x`` ascends, ``y`` is positive.

    Raises ``ValueError`` naming a wrong argument.
    """
    if len(x) != len(y):
        raise ValueError(f"y: as many values as x expected ({len(x)}), got {len(y)}")
    if any(b <= a for a, b in pairwise(x)):
        raise ValueError("x: ascending values expected")
    if any(not 0 < one < inf for one in y):
        raise ValueError("y: positive values expected")
    if not 0 < tolerance < 1:
        raise ValueError(f"tolerance: between 0 and 1 expected, got {tolerance}")
    runs = _joined(_division([log(one) for one in y], tolerance), y)
    return tuple(_plateau(first, last, x, y) for first, last in runs)


def find_sure_plateaus(
    x: Sequence[float], samples: Sequence[Sequence[float]], *, tolerance: float = TOLERANCE, rounds: int = 40
) -> tuple[Plateau, ...]:
    """The plateaus of the medians, each with its confidence. ``samples``: for each x the values measured there.

    Raises ``ValueError`` naming a wrong argument.
    """
    if any(not one for one in samples):
        raise ValueError("samples: at least one value a point expected")
    found = find_plateaus(x, [median(one) for one in samples], tolerance=tolerance)
    if rounds < 1:
        raise ValueError(f"rounds: at least 1 expected, got {rounds}")
    draw = random.Random(1)
    again = [find_plateaus(x, [draw.choice(one) for one in samples], tolerance=tolerance) for _ in range(rounds)]
    return tuple(
        replace(one, confidence=sum(any(_same(one, other) for other in others) for others in again) / rounds)
        for one in found
    )


def _same(one: Plateau, other: Plateau) -> bool:
    return abs(one.height / other.height - 1) < SAME / 2 and abs(one.last - other.last) <= 1


def _plateau(first: int, last: int, x: Sequence[float], y: Sequence[float]) -> Plateau:
    here = y[first : last + 1]
    beyond = x[last + 1] if last + 1 < len(x) else None
    return Plateau(first, last, x[first], x[last], beyond, median(here), min(here), max(here))


def _division(heights: Sequence[float], tolerance: float) -> list[tuple[int, int]]:
    """The plateaus ``(first, last)`` of the cheapest division; ``heights`` are logarithms."""
    count = len(heights)
    sums, squares = [0.0], [0.0]
    for height in heights:
        sums.append(sums[-1] + height)
        squares.append(squares[-1] + height * height)

    def plateau_cost(first: int, end: int) -> float:
        total = sums[end] - sums[first]
        spread = squares[end] - squares[first] - total * total / (end - first)
        return _PLATEAU + max(spread, 0.0) / tolerance**2

    best = [0.0] + [inf] * count  # of the points before each index
    begins = [0] * (count + 1)  # where the last piece of that division begins
    for end in range(1, count + 1):
        best[end], begins[end] = best[end - 1] + _RAMP, end - 1
        for first in range(end - LEAST + 1):
            cost = best[first] + plateau_cost(first, end)
            if cost < best[end]:
                best[end], begins[end] = cost, first
    found, end = [], count
    while end > 0:
        if end - begins[end] >= LEAST:
            found.append((begins[end], end - 1))
        end = begins[end]
    return found[::-1]


def _joined(runs: Sequence[tuple[int, int]], y: Sequence[float]) -> list[tuple[int, int]]:
    """Neighbours of nearly the same height made into one, with what lies between them."""
    joined: list[tuple[int, int]] = []
    for first, last in runs:
        if joined:
            before = median(y[joined[-1][0] : joined[-1][1] + 1])
            if abs(median(y[first : last + 1]) / before - 1) < SAME:
                joined[-1] = (joined[-1][0], last)
                continue
        joined.append((first, last))
    return joined
