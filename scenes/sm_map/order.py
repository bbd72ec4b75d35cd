"""The step on order: where the first blocks ran, when the others started, and what of it one may rely on."""

from __future__ import annotations

from functools import lru_cache

from gpu_explain.scenes.base import Measurement, Trace
from gpu_explain.scenes.draw.box import Box, legend, titled
from gpu_explain.scenes.draw.canvas import Canvas
from gpu_explain.scenes.draw.ink import Ink
from gpu_explain.scenes.draw.plot import Plot, Tick
from gpu_explain.scenes.draw.scale import Scale, count_text, time_text
from gpu_explain.scenes.sm_map.facts import lateness_ns


def draw_order(m: Measurement, canvas: Canvas, box: Box, now_ns: float, origin: str) -> None:
    """The first blocks as a table, how late each block started as a chart, and what is true of them."""
    trace = m.trace("launch")
    verdicts = _verdicts(m)
    room = titled(canvas, box, "WHERE AND WHEN THE FIRST BLOCKS RAN", origin)
    _first(canvas, room, trace)
    below = len(verdicts) + 2 + (1 if box.height >= 22 else 0)
    chart = Box(box.x, room.y + 3, box.width, max(box.bottom - below - room.y - 3, 0))
    if chart.height >= 8 and trace.blocks > 1:
        _draw_lateness(canvas, chart, trace, now_ns)
        y = chart.bottom
    else:
        y = chart.y
    part = titled(
        canvas, Box(box.x, y, box.width, box.bottom - y), "WHAT THIS LAUNCH SHOWS", "✓ rely on it   ✗ do not", rule=True
    )
    for row, (sure, text) in enumerate(verdicts[: part.height]):
        canvas.put(part.x, part.y + row, "✓" if sure else "✗", Ink.GOOD if sure else Ink.BAD)
        canvas.put(part.x + 2, part.y + row, text, Ink.TEXT)
    if part.height > len(verdicts) and now_ns >= trace.span_ns:
        said = "Rely on ✓ alone: order and SMs are what this launch happened to get."
        canvas.put(part.x, part.y + len(verdicts), said, Ink.LOOK)


_NAMES = 15
"""Cells at the left of the table for what its rows are."""


def _first(canvas: Canvas, room: Box, trace: Trace) -> None:
    """The first blocks by number: on which SM each ran, and how long after the first of all it started."""
    shown = range(min(trace.blocks, room.width))
    widest = max(len(str(trace.sms[-1])), *(len(str(trace.start_ns[block])) for block in shown[:32]), 4) + 1
    for y, word in enumerate(("block", "ran on SM", "ns after first"), room.y):
        canvas.put(room.x, y, word, Ink.DIM)
    for block in shown[: max((room.width - _NAMES) // widest, 0)]:
        end = room.x + _NAMES + (block + 1) * widest - 1
        canvas.right(end, room.y, str(block), Ink.STRONG)
        canvas.right(end, room.y + 1, str(trace.sm[block]), Ink.WORK_ALT)
        canvas.right(end, room.y + 2, str(trace.start_ns[block]), Ink.DIM)


LATE, IN_ORDER = "◆", "•"
"""A cell in which some block started out of order, and one in which none did."""
_MARGIN = 9
"""Cells at the left of the chart for a time and its unit."""


def _draw_lateness(canvas: Canvas, box: Box, trace: Trace, now_ns: float) -> None:
    """How long after a block with a higher number each block started: in order would be a flat line at 0."""
    room = titled(canvas, box, "HOW LATE EACH BLOCK STARTED, AFTER ONE WITH A HIGHER NUMBER", "0: in order", rule=True)
    late, step = lateness_ns(trace), trace.step_ns
    entries = (
        (LATE, Ink.LOOK, "out of order"),
        (IN_ORDER, Ink.WORK_ALT, f"in order, or within {time_text(step)}: a step of the timer"),
    )
    legend(canvas, room.x + _MARGIN, room.y, entries, room.right)
    latest = max(range(trace.blocks), key=lambda block: (late[block], -block))
    room = room.inside(top=1)
    rows = Plot(canvas, room, (0, 1), (0, 1), margin=_MARGIN).area.height
    high = top_of_scale(max(late[latest], 2 * step), step, rows)
    plot = Plot(canvas, room, (0, trace.blocks - 1), (0, high), margin=_MARGIN)
    ends = {0, trace.blocks // 2, trace.blocks - 1}
    plot.axes(
        [Tick(block, count_text(block)) for block in sorted(ends)],
        [
            Tick(0, "0"),
            Tick(late[latest] or 2 * step, time_text(late[latest] or 2 * step)),
            Tick(step, time_text(step)),
        ],
        "block",
    )
    for column, row, start_ns, is_late in _dots(trace, plot.area.width, plot.area.height, high):
        if start_ns <= now_ns:
            look = (LATE, Ink.LOOK) if is_late else (IN_ORDER, Ink.WORK_ALT)
            canvas.put(plot.area.x + column, plot.area.bottom - 1 - row, *look)
    if late[latest] > step and trace.start_ns[latest] <= now_ns:
        before = min(range(latest + 1, trace.blocks), key=trace.start_ns.__getitem__)
        said = f"block {count_text(latest)} started {time_text(late[latest])} after block {count_text(before)}"
        plot.mark(latest, late[latest], said, Ink.STRONG)


def top_of_scale(highest: float, step: int, rows: int) -> float:
    """The top of the scale: with a row to spare for the mark, and each step of the timer on a row where they fit.

    Stamps are whole steps; a step between two rows would be drawn now on one, now on the other.
    """
    each = (rows - 2) // max(round(highest / step), 1)
    return (rows - 1) * step / each if each >= 1 else highest * (rows - 1) / max(rows - 2, 1)


@lru_cache(maxsize=16)
def _dots(trace: Trace, columns: int, rows: int, high: float) -> tuple[tuple[int, int, int, bool], ...]:
    """The cells that the dots touch: column, row from below, when their first block started, and if any was late.

    Kept, since a hundred thousand blocks fall onto a few hundred cells and a frame has milliseconds.
    """
    across, up = Scale(0, trace.blocks - 1, max(columns - 1, 1)), Scale(0, high, max(rows - 1, 1))
    first: dict[tuple[int, int], tuple[int, bool]] = {}
    for block, late in enumerate(lateness_ns(trace)):
        cell = round(across.at(block)), round(up.at(late))
        start, is_late = first.get(cell, (trace.start_ns[block], False))
        first[cell] = min(start, trace.start_ns[block]), is_late or late > trace.step_ns
    return tuple((column, row, *found) for (column, row), found in first.items())


def _verdicts(m: Measurement) -> list[tuple[bool, str]]:
    """What may and may not be relied on, each with what this launch did."""
    trace = m.trace("launch")
    unordered, together = int(m.number("launch.unordered")), int(m.number("launch.together"))
    moved = trace.moved
    found = [
        (True, f"Every block ran once, on one SM: {count_text(moved)} moved."),
        (
            True,
            f"A block started only where a place was free: never more than {int(m.number('fit.residents'))} on an SM.",
        ),
    ]
    if trace.blocks > 1:
        latest = time_text(int(m.number("launch.latest")))
        late = f"{_of(unordered, trace.blocks)} started after a higher number, by up to {latest}"
        late = late if unordered else "no block was seen late here, by chance"
        found.append((False, f"In order: {late}."))
        found.append(
            (
                False,
                f"Neighbours on one SM: {_of(together, trace.blocks - 1)} shared it with the next block.",
            )
        )
    if m.has("again.elsewhere"):
        elsewhere = int(m.number("again.elsewhere"))
        found.append((False, f"The same SM next time: launched again, {_of(elsewhere, trace.blocks)} ran on another."))
    return found


def _of(count: int, total: int) -> str:
    """``9 of 3 906``, ``all 3 907`` or ``none of 3 907``."""
    if count == total:
        return f"all {count_text(total)}"
    return f"{count_text(count) if count else 'none'} of {count_text(total)}"
