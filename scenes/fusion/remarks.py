"""What has to be said beside a picture of ``fusion`` so that it is not misread: from the numbers that it shows."""

from __future__ import annotations

from itertools import pairwise
from math import ceil

from gpu_explain.scenes.base import Measurement, number_text
from gpu_explain.scenes.draw.sizes import size_text
from gpu_explain.scenes.fusion.claims import FOUND_PERCENT
from gpu_explain.scenes.fusion.measure import ITEM, share_text
from gpu_explain.scenes.fusion.parameters import NAMES

ALIKE = 0.02
"""Up to this part two clocks count as agreeing."""
_FAR_LARGER = 8
"""An array of so many L2s is hardly in one, whatever ran before."""
_OVER_PERCENT = 102
"""From here on relu behind add counts as slower than with an emptied L2."""


def other_clock(m: Measurement) -> str:
    """How the profiler's times differ from the race's, and why: other launches, found as they are compared."""
    ratios = _against_the_race(m)
    floor = m.quantity("time.eager").floor
    launch = f"a launch ({number_text(floor)} µs if empty)" if floor else "a launch"
    if not ratios:
        return f"These are other launches than the race's: in a row, L2 not emptied, without {launch}."
    low, high = min(ratios), max(ratios)
    if low >= 1 - ALIKE and high <= 1 + ALIKE:
        within = max(ceil(max(high - 1, 1 - low) * 100), 1)
        said = f"Other launches than the race's, L2 not emptied; all agree within {within} %"
        if ITEM * m.number("race.n") >= _FAR_LARGER * m.device.l2_bytes > 0:
            array = m.quantity("bytes.array")
            return f"{said}: an L2 of {size_text(m.device.l2_bytes)} holds little of {array.text}."
        return f"{said}."
    if high < 1:
        return (
            f"All shorter than in the race, which adds {launch} and empties the L2 first; here data may still be in it."
        )
    less = f"from {_percent(1 - low)} less" if low < 1 else f"from {_percent(low - 1)} more"
    return (
        f"Other launches than the race's, L2 not emptied: {less} to {_percent(high - 1)} more time. It may hold data, "
        "or lines that must still go to memory."
    )


def _percent(part: float) -> str:
    return f"{part * 100:.0f} %"


def _against_the_race(m: Measurement) -> tuple[float, ...]:
    """The profiler's time ÷ the race's, for each kernel that both timed by itself."""
    found: list[float] = []
    for name in NAMES:
        if not m.has(f"ran.{name}"):
            continue
        kernels = m.one_series(f"ran.{name}").y
        alone = ("add", "relu") if name == "eager" else (name,)
        if len(kernels) == len(alone) and all(m.has(f"time.{one}") for one in alone):
            found += [us / m.number(f"time.{one}") for us, one in zip(kernels, alone, strict=True)]
    return tuple(found)


def above_hundred(m: Measurement) -> str:
    """Why relu right behind add may take longer than with an emptied L2; empty where it does not."""
    behind, flushed = m.one_series("cache.behind"), m.one_series("cache.flushed")
    if all(b / f * 100 < _OVER_PERCENT for b, f in zip(behind.y, flushed.y, strict=True)):
        return ""
    return (
        "Over 100 %, most likely since add left lines in the L2 that still had to go to memory, in relu's time; "
        "emptying, by reading, leaves none."
    )


def scatter(m: Measurement) -> str:
    """That gains at small sizes fall and rise within the spread of their samples; empty where they do not."""
    eager, fused = m.one_series("cache.eager"), m.one_series("cache.triton")
    behind, flushed = m.one_series("cache.behind"), m.one_series("cache.flushed")
    found = [at for at, (b, f) in enumerate(zip(behind.y, flushed.y, strict=True)) if b / f * 100 <= FOUND_PERCENT]
    gains = [round(eager.y[at] / fused.y[at], 2) for at in found]
    if all(one <= larger for one, larger in pairwise(gains)) or not eager.low or not fused.low:
        return ""
    low, high = zip(*((eager.low[at] / fused.high[at], eager.high[at] / fused.low[at]) for at in found), strict=True)
    if max(low) > min(high):
        return ""
    place = max(range(len(found)), key=lambda one: high[one] / low[one])
    said = ", ".join(f"{gain:.2f}" for gain in gains)
    return (
        f"Gains of {said} × differ no more than samples do: at {share_text(eager.x[found[place]])} the middle 60 % "
        f"give {low[place]:.2f} to {high[place]:.2f} ×."
    )
