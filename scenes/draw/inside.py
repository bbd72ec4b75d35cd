"""Inside an SM, a block and a warp: its blocks over time, the warps of one of them, the 32 lanes of one of those."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gpu_explain.scenes.base import Trace
from gpu_explain.scenes.draw.bars import LOWER_EIGHTHS
from gpu_explain.scenes.draw.box import Box
from gpu_explain.scenes.draw.canvas import Canvas
from gpu_explain.scenes.draw.ink import Ink
from gpu_explain.scenes.draw.scale import Scale, count_text, time_text
from gpu_explain.scenes.draw.timeline import notch

_SIDE = 8
"""Cells at the left of an SM's rows, for its number and the time at which they begin: as wide as the map's labels."""
_BAR = LOWER_EIGHTHS[7]
"""A running block; the line of space above it parts the rows."""


def window(trace: Trace, block: int, cells: int, *, wanted: int = 12) -> tuple[float, float]:
    """A stretch of time, in ns, that shows a block: all of it where its bars have ``wanted`` cells, else around it."""
    lasts = max(trace.end_ns[block] - trace.start_ns[block], 1)
    whole = float(max(trace.span_ns, 1))
    if lasts / whole * cells >= wanted:
        return 0.0, whole
    length = lasts * cells / wanted
    begin = min(max((trace.start_ns[block] + trace.end_ns[block] - length) / 2, 0.0), whole - length)
    return begin, begin + length


def rows_of_blocks(
    canvas: Canvas, box: Box, trace: Trace, sm: int, chosen: int, now_ns: float, *, focused: bool = False
) -> None:
    """An SM's blocks in rows over time, with their numbers; the last row of the box is the time axis.

    A row means "resident at the same time" and nothing else; shades and notches only part a block from the next. A
    gap is drawn where a place was free for a cell's time or longer: shorter ones would come and go with the rounding.
    Rows that do not fit are left out around the chosen block's; blocks after ``now_ns``, which a line through the rows
    marks, are drawn too, for the recording is complete.
    """
    cells = max(box.width - _SIDE - len(time_text(trace.span_ns)) - 1, 1)
    begin, end = window(trace, chosen, cells)
    scale, left_x = Scale(begin, end, cells), box.x + _SIDE
    now_x = left_x + min(max(round(scale.at(now_ns)), 0), cells - 1)
    rows = trace.rows(sm)
    canvas.put(box.x, box.y, f"SM {sm:>3} ", Ink.DIM)
    room = max(box.height - 1, 1)
    mine = next((at for at, row in enumerate(rows) if chosen in row), 0)
    first = min(max(mine - room // 2, 0), max(len(rows) - room, 0))
    for y, row in enumerate(rows[first : first + room], box.y):
        marked = not begin <= now_ns <= end  # once the line of the moment that is shown has been drawn, or cannot be
        for turn, block in enumerate(row):
            left, right = scale.at(trace.start_ns[block]), scale.at(trace.end_ns[block])
            if turn + 1 < len(row) and scale.at(trace.start_ns[row[turn + 1]]) - right < 1:
                right = scale.at(trace.start_ns[row[turn + 1]])
            if right <= 0 or left >= cells:
                continue
            here, there = max(round(left), 0), min(round(right), cells)
            room_for = max(there - here, 1)
            text = f" {count_text(block)} " if len(count_text(block)) + 2 <= room_for else ""
            bar, label = (Ink.WORK_ALT, Ink.ON_WORK_ALT) if turn % 2 else (Ink.WORK, Ink.ON_WORK)
            if block == chosen:
                label = Ink.CURSOR
                canvas.put(left_x + here, y, ("▸" + text[1:]).ljust(room_for), label)
            else:
                canvas.put(left_x + here, y, _BAR * room_for, bar)
                canvas.put(left_x + here, y, text, label)
                if turn and left > 0:
                    canvas.put(left_x + here, y, notch(7), bar)
            if not marked and here <= now_x - left_x < here + room_for:
                marked = True
                if now_x - left_x >= here + max(len(text), 1):  # never through a number
                    canvas.put(now_x, y, "│", label)
        if not marked:
            canvas.put(now_x, y, "│", Ink.LOOK)
    _axis(canvas, box, scale, now_x, now_ns, hidden=len(rows) - min(room, len(rows)))


def _axis(canvas: Canvas, box: Box, scale: Scale, now_x: int, now_ns: float, hidden: int = 0) -> None:
    """Time under the rows, exactly as wide as they are, with its limits beside it and ``▲`` at the moment shown.

    ``◂`` or ``▸`` where that lies before or after this stretch of time.
    """
    y, left = box.bottom - 1, box.x + _SIDE
    canvas.put(left, y, "─" * scale.cells, Ink.FAINT)
    canvas.put(box.x, y, time_text(scale.low, like=scale.high), Ink.DIM)
    canvas.put(left + scale.cells + 1, y, time_text(scale.high), Ink.DIM)
    canvas.put(now_x, y, "◂" if now_ns < scale.low else "▸" if now_ns > scale.high else "▲", Ink.LOOK)
    text = f" {time_text(now_ns, like=scale.high)} "
    begin = now_x + 1 if now_x + 1 + len(text) <= left + scale.cells else now_x - len(text)
    canvas.put(begin, y, text, Ink.LOOK)
    if hidden:
        middle = left + scale.cells // 2
        x = left + 2 if now_x >= middle else max(middle, begin + len(text) + 1)
        canvas.put(x, y, f" {hidden} more residents ", Ink.DIM)


@dataclass(frozen=True)
class WarpBar:
    """One warp of a block: from when to when it worked, in ns after the block's start, and what it had.

    ``None`` where its times were not kept.
    """

    number: int
    start_ns: float | None
    end_ns: float | None
    text: str
    idle: bool = False


def warp_bars(canvas: Canvas, box: Box, bars: Sequence[WarpBar], lasts_ns: float, chosen: int) -> Box:
    """The warps of a block as bars over the block's time; those around the chosen one where not all fit.

    Returns where the bars stand, ``lasts_ns`` wide, for a scale below them.
    """
    first = min(max(chosen - box.height // 2, 0), max(len(bars) - box.height, 0))
    shown = bars[first : first + box.height]
    said = max((len(one.text) for one in shown), default=0)
    left, cells = box.x + 8, max(box.width - 9 - said, 4)
    scale = Scale(0.0, max(lasts_ns, 1.0), cells)
    for y, one in enumerate(shown, box.y):
        here = one.number == chosen
        canvas.put(box.x, y, "▸" if here else " ", Ink.CURSOR if here else Ink.DIM)
        canvas.put(box.x + 1, y, f"warp {one.number}", Ink.STRONG if here else Ink.DIM)
        if one.start_ns is None or one.end_ns is None:
            canvas.put(left, y, "┄" * cells, Ink.FAINT)
        else:
            start = max(round(scale.at(one.start_ns)), 0)
            length = max(round(scale.at(one.end_ns)) - start, 1)
            if one.idle:
                canvas.put(left, y, "·" * cells, Ink.FAINT)
            bar = "▏" if one.idle and length == 1 else "█" * length
            canvas.put(left + start, y, bar, Ink.WORK_ALT if here else Ink.WORK)
        canvas.put(left + cells + 1, y, one.text, Ink.TEXT if here else Ink.DIM)
    return Box(left, box.y, cells, len(shown))


_LANE = 3
"""Cells at the left of a row of lanes for the number of its first lane."""


def lane_columns(width: int, widest: int) -> int:
    """How many lanes stand in a row, a power of two, where an element's number takes ``widest`` cells."""
    columns = 1
    while columns < 16 and _LANE + columns * 2 * (widest + 1) <= width:
        columns *= 2
    return columns


def lanes_width(columns: int, widest: int) -> int:
    """Cells that so many lanes in a row take."""
    return _LANE + columns * (widest + 1)


def lanes(canvas: Canvas, box: Box, texts: Sequence[str], widest: int, chosen: int | None) -> None:
    """What each lane has, as many lanes a row as fit; ``–`` where a lane has nothing."""
    columns = lane_columns(box.width, widest)
    for lane, text in enumerate(texts):
        row, column = divmod(lane, columns)
        if row >= box.height:
            break
        if not column:
            canvas.put(box.x, box.y + row, f"{lane:>2}", Ink.DIM)
        ink = Ink.CURSOR if lane == chosen else Ink.FAINT if text == "–" else Ink.WORK_ALT
        canvas.right(box.x + _LANE + column * (widest + 1) + widest, box.y + row, text, ink)
