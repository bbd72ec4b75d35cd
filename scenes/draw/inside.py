"""Inside an SM, a block and a warp: its blocks over time, the warps of one of them, the 32 lanes of one of those."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gpu_explain.scenes.base import Trace
from gpu_explain.scenes.draw.box import Box
from gpu_explain.scenes.draw.canvas import Canvas
from gpu_explain.scenes.draw.ink import Ink
from gpu_explain.scenes.draw.scale import Scale, count_text, time_text


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

    A row means "resident at the same time" and nothing else. Rows that do not fit are left out around the chosen
    block's; blocks after ``now_ns`` are drawn too, for the recording is complete.
    """
    begin, end = window(trace, chosen, box.width)
    scale = Scale(begin, end, box.width)
    rows = trace.rows(sm)
    room = max(box.height - 1, 1)
    mine = next((at for at, row in enumerate(rows) if chosen in row), 0)
    first = min(max(mine - room // 2, 0), max(len(rows) - room, 0))
    for y, row in enumerate(rows[first : first + room], box.y):
        for turn, block in enumerate(row):
            left, right = scale.at(trace.start_ns[block]), scale.at(trace.end_ns[block])
            if right <= 0 or left >= box.width:
                continue
            here, there = max(round(left), 0), min(round(right), box.width)
            room_for = max(there - here - 1, 1)
            ink = Ink.CURSOR if block == chosen else Ink.ON_WORK_ALT if turn % 2 else Ink.ON_WORK
            text = f" {count_text(block)}" if len(count_text(block)) + 1 <= room_for else ""
            mark = "▸" if block == chosen and text else ""
            canvas.put(box.x + here, y, (mark + text[len(mark) :]).ljust(room_for), ink)
    _axis(canvas, box, scale, now_ns, hidden=len(rows) - min(room, len(rows)))


def _axis(canvas: Canvas, box: Box, scale: Scale, now_ns: float, hidden: int = 0) -> None:
    y = box.bottom - 1
    canvas.put(box.x, y, "─" * box.width, Ink.FAINT)
    x = canvas.put(box.x, y, f"{time_text(scale.low, like=scale.high)} ", Ink.DIM)
    canvas.right(box.right, y, f" {time_text(scale.high)}", Ink.DIM)
    at = box.x + min(max(round(scale.at(now_ns)), 0), box.width - 1)
    canvas.put(at, y, "▲", Ink.LOOK)
    if hidden:
        middle = box.x + box.width // 2
        canvas.put(x + 2 if at > middle else max(x + 2, middle), y, f" {hidden} more residents ", Ink.DIM)


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


def warp_bars(canvas: Canvas, box: Box, bars: Sequence[WarpBar], lasts_ns: float, chosen: int) -> None:
    """The warps of a block as bars over the block's time; those around the chosen one where not all fit."""
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
