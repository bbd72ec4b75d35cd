"""Distances as rungs of a ladder, and one load that goes down to a rung and comes back up.

How long each way takes is measured and drawn to scale in the bars. Where on its way the dot is at a moment is not
known: it goes down in the first half of the time and up in the second, and the title must say *sketch*.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gpu_explain.scenes.base.quantity import number_text
from gpu_explain.scenes.draw.bars import bar
from gpu_explain.scenes.draw.box import Box
from gpu_explain.scenes.draw.canvas import Canvas
from gpu_explain.scenes.draw.ink import Ink

_PLACE, _NAME, _VALUE = 8, 14, 15  # cells for where a rung lies, what it is called, how far it is
_TIME = 9  # cells kept after the bars for how long each took
_MOST_GAP = 5


@dataclass(frozen=True)
class Rung:
    """One level: where it lies, what it is called, how many cycles off it is, and the same in ns as words."""

    place: str
    name: str
    cycles: float
    time: str


@dataclass(frozen=True)
class Ladder:
    """A ladder at one moment: ``▸`` stands before the rung that is followed and behind a bar that still grows.

    Attributes:
        rungs: From near to far; the first is where the load starts.
        followed: Index of the rung that the dot goes to.
        now: Cycles since all loads were issued.
        end: Cycles at the right end of the bars.
    """

    rungs: Sequence[Rung]
    followed: int
    now: float
    end: float


def draw_ladder(canvas: Canvas, box: Box, ladder: Ladder) -> int:
    """Draw a ladder into a box of at least as many rows as rungs, and two for the axis; returns the first free row."""
    count = len(ladder.rungs)
    room = box.height - 2 - count
    gap = min(max(room // max(count - 1, 1), 0), _MOST_GAP)
    pole = box.x + _PLACE + 2
    left = pole + 3 + _NAME + _VALUE
    width = max(box.right - left - _TIME, 1)
    rows = [box.y + index * (gap + 1) for index in range(count)]
    for y in range(rows[0], rows[-1] + 1):
        canvas.put(pole, y, "│", Ink.FAINT)
    for index, (rung, y) in enumerate(zip(ladder.rungs, rows, strict=True)):
        _rung(canvas, box.x, y, rung, ladder, width, chosen=index == ladder.followed)
    _dot(canvas, pole, rows, ladder)
    return _axis(canvas, left, rows[-1] + 1, width, ladder)


def _rung(canvas: Canvas, x: int, y: int, rung: Rung, ladder: Ladder, width: int, *, chosen: bool) -> None:
    canvas.right(x + _PLACE, y, rung.place, Ink.DIM)
    canvas.put(x + _PLACE + 1, y, "─┼─", Ink.FAINT)
    left = x + _PLACE + 5
    if chosen:
        canvas.put(left - 1, y, "▸", Ink.TAIL)
    canvas.put(left, y, rung.name[:_NAME], Ink.STRONG if chosen else Ink.TEXT)
    canvas.right(left + _NAME + _VALUE - 2, y, f"● {_cycles(rung.cycles)} cycles", Ink.MEASURED)
    left += _NAME + _VALUE
    back = ladder.now >= rung.cycles
    length = min(ladder.now, rung.cycles, ladder.end) / ladder.end * width if ladder.end > 0 else 0.0
    ink = Ink.TAIL if chosen else Ink.WORK if back else Ink.WORK_ALT
    end = bar(canvas, left, y, length, ink)
    if back:
        canvas.put(end + 1, y, rung.time, Ink.STRONG if chosen else Ink.DIM)
    elif ladder.now >= ladder.end:
        # A gap in the bar: what follows is longer than the axis.
        canvas.put(left + max(width - 4, 0), y, "╱╱", Ink.WARN)
        canvas.put(left + width, y, "▸", Ink.WARN)
    elif length > 0:
        canvas.put(end, y, "▸", ink)


def _cycles(cycles: float) -> str:
    return number_text(round(cycles, 1)).removesuffix("0") if cycles < 10 else number_text(round(cycles))


def _dot(canvas: Canvas, pole: int, rows: Sequence[int], ladder: Ladder) -> None:
    """The load on the pole, with what it is doing beside it where the row is free."""
    target = ladder.rungs[ladder.followed]
    if ladder.now <= 0 or target.cycles <= 0:
        return
    share = min(ladder.now / target.cycles, 1.0)
    down = 1 - abs(2 * share - 1)  # 0 at both ends of the time, 1 half way
    y = rows[0] + round(down * (rows[ladder.followed] - rows[0]))
    canvas.put(pole, y, "◉", Ink.LOOK)
    if share < 1 and y not in rows:
        doing = "on its way" if share < 0.5 else "on its way back"
        canvas.put(pole + 2, y, f"← your load, {doing}", Ink.LOOK)


def _axis(canvas: Canvas, left: int, y: int, width: int, ladder: Ladder) -> int:
    """Cycles under the bars."""
    canvas.put(left, y, "─" * width, Ink.FAINT)
    if ladder.now < ladder.end:
        canvas.put(left + min(round(ladder.now / ladder.end * width), width - 1), y, "▲", Ink.LOOK)
    canvas.put(left, y + 1, "0", Ink.DIM)
    end = f"{_cycles(ladder.end)} cycles"
    middle = _cycles(ladder.end / 2)
    canvas.right(left + width, y + 1, end, Ink.DIM)
    at = left + width // 2 - len(middle) // 2
    if at > left + 1 and at + len(middle) + 1 < left + width - len(end):
        canvas.put(left + width // 2, y, "┬", Ink.FAINT)
        canvas.put(at, y + 1, middle, Ink.DIM)
    return y + 2
