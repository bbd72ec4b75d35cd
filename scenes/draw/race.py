"""A race: lanes that start together, lengths to scale, the loser still running when the winner has finished."""

from __future__ import annotations

from dataclasses import dataclass
from math import floor, log10

from gpu_explain.scenes.draw.bars import FULL, LEFT_EIGHTHS
from gpu_explain.scenes.draw.box import Box
from gpu_explain.scenes.draw.canvas import Canvas
from gpu_explain.scenes.draw.ink import Ink
from gpu_explain.scenes.draw.scale import Scale, time_text

_ON = {
    Ink.A: Ink.ON_A,
    Ink.B: Ink.ON_B,
    Ink.C: Ink.ON_C,
    Ink.WORK: Ink.ON_WORK,
    Ink.WORK_ALT: Ink.ON_WORK_ALT,
    Ink.TAIL: Ink.ON_TAIL,
}
"""Inks that a leg may have, and what is written on it."""
_TICK = 11
"""Cells from one tick of the axis to the next, at least."""


@dataclass(frozen=True)
class Leg:
    """One piece of a lane, such as one kernel.

    Attributes:
        label: Written on the bar, shortened to what fits.
        start_ns, end_ns: From when to when, in ns since the common start.
        ink: One of the inks that have an ``ON_`` twin.
        fill: What the bar is made of beside its label.
    """

    label: str
    start_ns: float
    end_ns: float
    ink: Ink
    fill: str = FULL


@dataclass(frozen=True)
class Lane:
    """One entrant.

    Attributes:
        name: At the left.
        legs: Its pieces, in order of time.
        said: What is written after the bar once it has arrived.
        below: What is written under the bar, in rows, where there is room.
        strong: Whether the name stands out.
    """

    name: str
    legs: tuple[Leg, ...]
    said: str = ""
    below: tuple[str, ...] = ()
    strong: bool = False

    @property
    def end_ns(self) -> float:
        """When it arrives."""
        return max((leg.end_ns for leg in self.legs), default=0.0)


@dataclass(frozen=True)
class Race:
    """Lanes on one clock.

    Attributes:
        lanes: Top down.
        now_ns: Time played.
        gap: Free rows between lanes.
        below: Rows of text kept under each bar.
    """

    lanes: tuple[Lane, ...]
    now_ns: float
    gap: int = 0
    below: int = 0

    @property
    def end_ns(self) -> float:
        """When the last one arrives: the right end of the scale."""
        return max((lane.end_ns for lane in self.lanes), default=1.0)

    @property
    def rows(self) -> int:
        """Rows that :func:`draw_race` takes, the axis included."""
        return len(self.lanes) * (1 + self.below + self.gap) + 2


def draw_race(canvas: Canvas, box: Box, race: Race, *, label: int = 0) -> int:
    """Draw the lanes and the time axis; ``label`` cells are kept for the names. Returns the first free row.

    Room for what is said after a bar is kept at the right of the longest one.
    """
    label = label or max((len(lane.name) for lane in race.lanes), default=0) + 1
    said = max((len(lane.said) for lane in race.lanes if lane.end_ns >= race.end_ns * 0.8), default=0)
    left = box.x + label
    scale = Scale(0.0, max(race.end_ns, 1e-9), max(box.right - left - said - 2, 4))
    y = box.y
    for lane in race.lanes:
        if y >= box.bottom:
            return y
        canvas.put(box.x, y, lane.name, Ink.STRONG if lane.strong else Ink.TEXT)
        for leg in lane.legs:
            draw_leg(canvas, left, y, scale, leg, race.now_ns)
        if race.now_ns >= lane.end_ns and lane.said:
            canvas.put(left + int(scale.at(lane.end_ns)) + 2, y, lane.said, Ink.STRONG if lane.strong else Ink.TEXT)
        for row, text in enumerate(lane.below[: race.below]):
            canvas.put(left, y + 1 + row, text, Ink.DIM)
        y += 1 + race.below + race.gap
    if y + 1 < box.bottom:
        draw_axis(canvas, left, y, scale, race.now_ns)
    return min(y + 2, box.bottom)


def clock_text(ns: float, high_ns: float) -> str:
    """A time of a race that lasts ``high_ns``: in µs up to ten ms, or lanes that differ a little would read alike.

    >>> clock_text(1_242_300, 1_300_000)
    '1 242 µs'
    """
    return time_text(ns, like=min(high_ns, 999e3) if high_ns < 10e6 else high_ns)


def draw_leg(canvas: Canvas, left: int, y: int, scale: Scale, leg: Leg, now_ns: float) -> None:
    """One leg as far as it has come: starts at a cell, ends at one or an eighth of one; never without a sliver."""
    if now_ns <= leg.start_ns:
        return
    # A cell is left free before any leg but the first, so that two of one ink read as two.
    first = round(scale.at(leg.start_ns)) + (1 if leg.start_ns > 0 else 0)
    reached = scale.at(min(leg.end_ns, now_ns))
    if leg.fill != FULL:
        cells = max(round(reached - first), 1)
        canvas.put(left + first, y, leg.fill * cells, leg.ink)
        if len(leg.label) + 4 <= cells:
            # Cut out: on a solid ground it would part the bar.
            canvas.put(left + first + 1, y, f" {leg.label} ", Ink.TEXT)
        return
    eighths = max(round((reached - first) * 8), 1)
    whole, rest = divmod(eighths, 8)
    text = f" {leg.label}" if len(leg.label) + 1 <= whole else ""
    canvas.put(left + first, y, text.ljust(whole), _ON.get(leg.ink, leg.ink))
    if rest:
        canvas.put(left + first + whole, y, LEFT_EIGHTHS[rest], leg.ink)


def round_step(least: float) -> float:
    """The smallest of 1, 2, 5, 10, 20, 50 … that is not below ``least``, which must be positive.

    >>> round_step(130.0), round_step(5.0), round_step(0.3)
    (200.0, 5.0, 0.5)
    """
    power: float = 10.0 ** floor(log10(least))
    return next(power * digit for digit in (1, 2, 5, 10) if power * digit >= least * (1 - 1e-9))


def draw_axis(canvas: Canvas, left: int, y: int, scale: Scale, now_ns: float) -> None:
    """Time under the lanes, at round numbers from 0 on; ``▲`` stands at the time played."""
    canvas.put(left, y, "─" * scale.cells, Ink.FAINT)
    canvas.put(left, y + 1, "0", Ink.DIM)
    step = round_step(scale.high * _TICK / max(scale.cells, 1))
    free, at = left + 2, step
    while at <= scale.high:
        text = clock_text(at, scale.high)
        x = left + round(scale.at(at))
        start = x - len(text) // 2
        if start >= free and x < left + scale.cells:
            canvas.put(x, y, "┬", Ink.FAINT)
            free = canvas.put(start, y + 1, text, Ink.DIM) + 1
        at += step
    if now_ns < scale.high:
        canvas.put(left + min(round(scale.at(now_ns)), scale.cells - 1), y, "▲", Ink.LOOK)
