"""The map of SMs: a cell for each, filled by what it holds at a time; with it the line of blocks and the time bar.

Cells stand in the order of ``%smid``, which is a virtual number: a cell's place says nothing about the chip. Within a
cell places mean nothing either: residents fill it from the left.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import ceil

from gpu_explain.scenes.base import Trace
from gpu_explain.scenes.draw.bars import LOWER_EIGHTHS
from gpu_explain.scenes.draw.box import Box
from gpu_explain.scenes.draw.canvas import Canvas
from gpu_explain.scenes.draw.ink import Ink
from gpu_explain.scenes.draw.scale import count_text, time_text

LABEL = 8
"""Cells at the left of every row for the number of its first SM."""

RUNNING, FRESH, FREE = "▇", "▒", "·"
"""A running block leaves a line of space above it, so that rows of cells stay apart."""
_FULL = 7
"""Eighths of a cell that :data:`RUNNING` fills; a cell that is partly held is lower, never narrower than its row."""
MOST, FEWEST = "▴", "▾"
"""Behind the numbers of the SMs that ran the most and the fewest blocks."""

Cell = Sequence[tuple[str, Ink]]
Painter = Callable[[int, int], Cell]
"""``(sm, width) -> width`` glyphs with their inks."""


def sm_ids(trace: Trace, sms: int) -> tuple[int | None, ...]:
    """The SMs to draw: those of the device where their numbers allow it, else those seen and nameless ones."""
    if trace.sms[-1] < sms:
        return tuple(range(sms))
    return (*trace.sms, *(None,) * (sms - len(trace.sms)))


@dataclass(frozen=True)
class Layout:
    """How the cells stand: ``columns`` a row, each ``width`` wide with one cell of space after it."""

    ids: tuple[int | None, ...]
    width: int
    columns: int
    rows: int


def layout(box: Box, ids: tuple[int | None, ...], residents: int) -> Layout:
    """The widest cells with which all SMs fit into the box: one glyph a resident at best, one an SM at worst."""
    best = max(4, min(8, residents))
    found = None
    for width in sorted({best, 4, 2, 1}, reverse=True):
        columns = max((box.width - LABEL + 1) // (width + 1), 1)
        rows = ceil(len(ids) / columns)
        found = Layout(ids, width, min(ceil(len(ids) / rows) if rows > 1 else columns, columns), rows)
        if rows <= box.height:
            break
    assert found is not None
    return found


def draw_cells(
    canvas: Canvas, box: Box, cells: Layout, paint: Painter, *, cursor: int | None = None, focused: bool = False
) -> int:
    """Draw the cells; ``▸`` stands before the SM ``cursor``. Returns the first free row.

    Rows that do not fit are counted in the last one.
    """
    shown = cells.rows if cells.rows <= box.height else max(box.height - 1, 0)
    for row in range(shown):
        ids = cells.ids[row * cells.columns : (row + 1) * cells.columns]
        y = box.y + row
        canvas.put(box.x, y, f"SM {ids[0]:>3} " if ids[0] is not None else "SM   ? ", Ink.DIM)
        for column, sm in enumerate(ids):
            x = box.x + LABEL + column * (cells.width + 1)
            cell = paint(sm, cells.width) if sm is not None else ((FREE, Ink.FAINT),) * cells.width
            for at, (glyph, ink) in enumerate(cell[: cells.width]):
                canvas.put(x + at, y, glyph, ink)
            if sm is not None and sm == cursor:
                canvas.put(x - 1, y, "▸", Ink.CURSOR if focused else Ink.LOOK)
    y = box.y + shown
    if shown < cells.rows and y < box.bottom:
        canvas.put(box.x + LABEL, y, f"⋮ {len(cells.ids) - shown * cells.columns} more SMs", Ink.DIM)
        y += 1
    return y


def full_bar(cells: Layout, residents: int) -> tuple[str, Ink, str]:
    """The legend's entry for a full SM: its bar, and the blocks that it stands for."""
    each, rest = divmod(residents, cells.width)
    several = f", {each} a cell" if each > 1 and not rest else ""
    return RUNNING * cells.width, Ink.WORK, f"full SM: {residents} block{'s' * (residents > 1)}{several}"


def moved(cells: Layout, sm: int, key: str) -> int:
    """The SM to which an arrow key leads, around the edges; nameless ones are skipped.

    Left and right go through all SMs; up and down stay in the column.
    """
    named = [id for id in cells.ids if id is not None]
    at = named.index(sm)
    if key in ("up", "down"):
        column = range(at % cells.columns, len(named), cells.columns)
        return named[column[(at // cells.columns + (1 if key == "down" else -1)) % len(column)]]
    return named[(at + {"left": -1, "right": 1}.get(key, 0)) % len(named)]


# -- what an SM holds ------------------------------------------------------------------------------------------------


@lru_cache(maxsize=32)
def _moments(trace: Trace) -> dict[int, tuple[tuple[int, ...], tuple[int, ...]]]:
    """For each SM the starts and the ends of its blocks, each ascending, in ns."""
    return {
        sm: (tuple(sorted(trace.start_ns[b] for b in blocks)), tuple(sorted(trace.end_ns[b] for b in blocks)))
        for sm, blocks in trace.by_sm.items()
    }


@lru_cache(maxsize=32)
def _all_moments(trace: Trace) -> tuple[tuple[int, ...], tuple[int, ...]]:
    return tuple(sorted(trace.start_ns)), tuple(sorted(trace.end_ns))


def held(trace: Trace, sm: int, now_ns: float, fresh_ns: float = 0.0) -> tuple[int, int]:
    """Blocks resident on an SM at a time, and how many of them started less than ``fresh_ns`` before."""
    starts, ends = _moments(trace).get(sm, ((), ()))
    started, ended = bisect_right(starts, now_ns), bisect_right(ends, now_ns)
    return started - ended, min(started - bisect_right(starts, now_ns - fresh_ns), started - ended)


def progress(trace: Trace, now_ns: float) -> tuple[int, int, int]:
    """Blocks in line, running and done at a time."""
    starts, ends = _all_moments(trace)
    started, ended = bisect_right(starts, now_ns), bisect_right(ends, now_ns)
    return trace.blocks - started, started - ended, ended


def residents_painter(trace: Trace, residents: int, now_ns: float, fresh_ns: float) -> Painter:
    """Cells filled by the blocks resident at ``now_ns``; those that started within ``fresh_ns`` look different."""

    def paint(sm: int, width: int) -> Cell:
        count, fresh = held(trace, sm, now_ns, fresh_ns)
        eighths = max(round(min(count / residents, 1.0) * width * 8), 1 if count else 0)
        whole, rest = divmod(eighths, 8)
        part = LOWER_EIGHTHS[max(round(rest / 8 * _FULL), 1)]
        glyphs = [(RUNNING, Ink.WORK)] * whole + ([(part, Ink.WORK)] if rest else [])
        if fresh:
            new = min(max(round(fresh / residents * width), 1), len(glyphs))
            glyphs[len(glyphs) - new :] = [(FRESH, Ink.LOOK)] * new
        return glyphs + [(FREE, Ink.DIM)] * (width - len(glyphs))

    return paint


def totals_painter(trace: Trace) -> Painter:
    """Cells that tell how many blocks the SM ran in all: as a number where it fits, else as a height.

    Where there is room the most and the fewest are marked behind their numbers, since ink alone would hide them.
    """
    most = max(len(blocks) for blocks in trace.by_sm.values())
    least = min(len(blocks) for blocks in trace.by_sm.values())

    def paint(sm: int, width: int) -> Cell:
        count = len(trace.by_sm.get(sm, ()))
        if not count:
            return ((FREE, Ink.FAINT),) * width
        ink = Ink.LOOK if count == most > least else Ink.DIM if count == least < most else Ink.WORK_ALT
        text = str(count).rjust(min(width, len(str(most))))
        if len(text) > width:
            text = LOWER_EIGHTHS[min(max(round(count / most * 8), 1), 8)] * width
        elif len(text) < width:
            text += MOST if ink is Ink.LOOK else FEWEST if ink is Ink.DIM else ""
        return [(glyph, ink) for glyph in text.ljust(width)]

    return paint


# -- the line of blocks, and time ------------------------------------------------------------------------------------

LINE_LEGEND = (("░", Ink.TAIL, "in line"), ("█", Ink.WORK, "running"), ("─", Ink.DIM, "done"))
"""What the parts of :func:`line_of_blocks` mean."""


def counters(canvas: Canvas, x: int, y: int, trace: Trace, now_ns: float, *, clock: bool = True) -> int:
    """``t = 21.4 µs  in line 1 799  running 1 056  done 1 052``; returns the column after it."""
    queued, running, done = progress(trace, now_ns)
    if clock:
        x = canvas.put(x, y, f"t = {time_text(now_ns, like=trace.span_ns)}".ljust(14), Ink.STRONG)
    for word, count, ink in (
        ("in line", queued, Ink.TAIL),
        ("running", running, Ink.WORK_ALT),
        ("done", done, Ink.TEXT),
    ):
        x = canvas.put(x, y, f"{word} ", Ink.DIM)
        x = canvas.put(x, y, count_text(count).ljust(len(count_text(trace.blocks))), ink if count else Ink.DIM) + 2
    return x


def line_of_blocks(canvas: Canvas, x: int, y: int, width: int, trace: Trace, now_ns: float) -> None:
    """All blocks of the grid as one bar: in line, running, done; whatever there is has a cell."""
    parts = progress(trace, now_ns)
    cells = _shares(parts, width)
    for (glyph, ink, _), count in zip(LINE_LEGEND, cells, strict=True):
        canvas.put(x, y, glyph * count, ink)
        x += count


def _shares(parts: Sequence[int], cells: int) -> list[int]:
    """Cells for each part, in proportion, at least one for what is there; they add up to ``cells``."""
    total = sum(parts) or 1
    found = [max(round(part / total * cells), 1 if part else 0) for part in parts]
    while sum(found) > cells > 0 and max(found) > 1:
        found[found.index(max(found))] -= 1
    while 0 < sum(found) < cells:
        found[found.index(max(found))] += 1
    return found


def time_bar(
    canvas: Canvas, box: Box, now_ns: float, end_ns: float, *, focused: bool = False, marks_ns: Sequence[float] = ()
) -> None:
    """Time from 0 to ``end_ns`` in one row, played up to ``now_ns``; a bar that can be scrubbed when focused."""
    text = time_text(end_ns)
    left, right = box.x + LABEL, box.right - len(text) - 1
    cells = max(right - left, 1)
    canvas.put(box.x, box.y, "time", Ink.CURSOR if focused else Ink.DIM)
    canvas.put(left, box.y, "─" * cells, Ink.FAINT)
    for mark in marks_ns:
        canvas.put(left + min(int(mark / max(end_ns, 1) * cells), cells - 1), box.y, "┬", Ink.DIM)
    at = min(int(now_ns / max(end_ns, 1) * cells), cells - 1)
    canvas.put(left, box.y, "━" * at, Ink.WORK_ALT)
    canvas.put(left + at, box.y, "●", Ink.CURSOR if focused else Ink.LOOK)
    canvas.put(right + 1, box.y, text, Ink.DIM)


def queue_chart(canvas: Canvas, box: Box, trace: Trace, now_ns: float, end_ns: float) -> None:
    """Blocks in line over time as an area, under a time bar of the same width; the top is the whole grid.

    A cell shows the line at the end of its time, so that blocks which start at once never seem to have waited.
    """
    starts, _ = _all_moments(trace)
    cells = _chart_cells(box, end_ns)
    counts = [trace.blocks - bisect_right(starts, (cell + 1) / cells * end_ns) for cell in range(cells)]
    _area(canvas, box, counts, trace.blocks, now_ns / max(end_ns, 1), Ink.TAIL)


def running_chart(canvas: Canvas, box: Box, trace: Trace, now_ns: float, end_ns: float, top: int) -> None:
    """Blocks running over time as an area, under a time bar of the same width; each cell the most in its time."""
    counts = _most_running(trace, _chart_cells(box, end_ns), end_ns)
    _area(canvas, box, counts, top, now_ns / max(end_ns, 1), Ink.WORK)


def running_text(trace: Trace, now_ns: float) -> str:
    """How many blocks run at a time; once the launch is over, how many did at most, since 0 would say nothing."""
    if now_ns >= trace.span_ns:
        return f"at most {count_text(trace.peak)}"
    return count_text(progress(trace, now_ns)[1])


def _chart_cells(box: Box, end_ns: float) -> int:
    """Columns of a chart: as many as the time bar has, which leaves room for its last label."""
    return max(box.width - LABEL - len(time_text(end_ns)) - 1, 1)


@lru_cache(maxsize=64)
def _most_running(trace: Trace, cells: int, end_ns: float) -> tuple[int, ...]:
    most = [0] * cells
    steps = trace.residents
    for (at, count), until in zip(steps, [*(ns for ns, _ in steps[1:]), trace.span_ns], strict=True):
        first = min(int(at / max(end_ns, 1) * cells), cells - 1)
        for cell in range(first, min(ceil(until / max(end_ns, 1) * cells), cells)):
            most[cell] = max(most[cell], count)
    return tuple(most)


def _area(canvas: Canvas, box: Box, counts: Sequence[int], top: int, played: float, ink: Ink) -> None:
    """Columns of eighths over an axis that names the top, up to the share of time that has been played."""
    left, base = box.x + LABEL, box.bottom - 1
    canvas.right(left - 1, box.y, count_text(top), Ink.DIM)
    if box.height > 1:
        canvas.right(left - 1, base, "0", Ink.DIM)
    for y in range(box.y, box.bottom):
        canvas.put(left - 1, y, "┤" if y in (box.y, base) else "│", Ink.FAINT)
    for column, count in enumerate(counts):
        if (column + 0.5) / len(counts) > played:
            break
        eighths = max(round(count / max(top, 1) * box.height * 8), 1 if count else 0)
        for up in range(box.height):
            part = min(max(eighths - up * 8, 0), 8)
            if part:
                canvas.put(left + column, base - up, LOWER_EIGHTHS[part], ink)
