"""Launches side by side: the map of each, on one clock, and below the blocks that each has running over time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gpu_explain.scenes.base import Trace
from gpu_explain.scenes.draw.box import Box, legend
from gpu_explain.scenes.draw.canvas import Canvas
from gpu_explain.scenes.draw.ink import Ink
from gpu_explain.scenes.draw.sm_map import (
    FEWEST,
    FREE,
    FRESH,
    LABEL,
    MOST,
    Layout,
    Painter,
    counters,
    draw_cells,
    full_bar,
    layout,
    running_chart,
    running_text,
    sm_ids,
    time_bar,
)

Entries = Sequence[tuple[str, Ink, str]]
"""A legend: glyph, ink, meaning."""


@dataclass(frozen=True)
class Panel:
    """One launch among others: its heading, its map, what is said of it once it is over, and of its SMs' numbers."""

    heading: str
    trace: Trace
    sms: int
    residents: int
    paint: Painter
    done: str
    note: str = ""


def draw_race(
    canvas: Canvas,
    room: Box,
    panels: Sequence[Panel],
    now: float,
    end: float,
    entries: Entries | None = None,
    *,
    focused: bool = False,
) -> int:
    """Maps under each other (two beside each other where there is room) at the time ``now`` of ``end``, in ns.

    ``entries`` is the legend, by default that of maps that fill and, once over, tell what each SM ran. Returns the
    first free row.
    """
    beside = room.width >= 110 and len(panels) == 2
    boxes = _boxes(room, panels, beside=beside)
    y, first = room.y, None
    for panel, part in zip(panels, boxes, strict=True):
        over = now >= panel.trace.span_ns
        x = canvas.put(part.x, part.y, panel.heading, Ink.STRONG) + 2
        if over:
            x = canvas.put(x, part.y, panel.done[: max(part.right - x, 0)], Ink.TEXT)
        else:
            x = counters(canvas, x, part.y, panel.trace, now, clock=False)
        if panel.note and x + 2 + len(panel.note) <= part.right:
            canvas.right(part.right, part.y, panel.note, Ink.DIM)
        area = part.inside(top=1)
        cells = layout(area, sm_ids(panel.trace, panel.sms), panel.residents)
        first = first or cells
        y = max(y, draw_cells(canvas, area, cells, panel.paint))
    if y < room.bottom:
        time_bar(canvas, Box(room.x, y, room.width, 1), now, end, focused=focused)
        y += 1
    if y < room.bottom and first:
        shown = _legend(panels, first, now) if entries is None else entries
        legend(canvas, room.x, y, shown, room.right)
        y += 1
    return y


def _legend(panels: Sequence[Panel], cells: Layout, now: float) -> Entries:
    """What blocks look like while a launch runs, and what the numbers mean where one is over."""
    entries: list[tuple[str, Ink, str]] = []
    over = [panel for panel in panels if now >= panel.trace.span_ns]
    if len(over) < len(panels):
        entries += [
            full_bar(cells, panels[0].residents),
            (FRESH, Ink.LOOK, "just started"),
            (FREE, Ink.DIM, "free"),
        ]
    if over:
        ran = [sorted({len(blocks) for blocks in panel.trace.by_sm.values()}) for panel in over]
        entries.append(("number", Ink.WORK_ALT, "blocks that an SM ran"))
        ends = {(counts[0], counts[-1]) for counts in ran}
        for panel, (least, *_, most) in ((p, c) for p, c in zip(over, ran, strict=True) if len(c) > 1):
            where = f" on {panel.heading}" if len(ends) > 1 else ""  # unlike maps have ends of their own
            marks = (MOST, FEWEST) if len(str(most)) < cells.width else ("", "")
            entries += [(f"{most}{marks[0]}", Ink.LOOK, f"most{where}"), (f"{least}{marks[1]}", Ink.DIM, "fewest")]
            if not where:
                break
    return entries


def draw_running(canvas: Canvas, box: Box, panels: Sequence[Panel], now: float, end: float) -> int:
    """Blocks running over the time of the bar above, one chart a panel, on one scale; returns the first free row.

    Nothing where the charts would be so low that a row stands for more than a quarter of the scale.
    """
    rows = min(box.height // len(panels), 10)
    if rows < 5:
        return box.y
    top = max(panel.sms * panel.residents for panel in panels)
    for part, panel in zip(box.stack([rows] * len(panels)), panels, strict=True):
        canvas.put(
            part.x + LABEL, part.y, f"RUNNING  {panel.heading}: {running_text(panel.trace, now)} blocks", Ink.DIM
        )
        running_chart(canvas, part.inside(top=1), panel.trace, now, end, top)
    return box.y + rows * len(panels)


def _boxes(room: Box, panels: Sequence[Panel], *, beside: bool) -> tuple[Box, ...]:
    """Rooms for the panels: as tall as their maps need with cells as wide as all of them can have."""
    if beside:
        half = room.width // 2 - 1
        tall = room.height - 2
        return Box(room.x, room.y, half, tall), Box(room.x + half + 2, room.y, half, tall)
    spare = room.height - 2 - len(panels)
    for gap in (1, 0):
        for width in (8, 4, 2, 1):
            columns = max((room.width - LABEL + 1) // (width + 1), 1)
            rows = [-(-panel.sms // columns) for panel in panels]
            widest = max(max(4, min(8, panel.residents)) for panel in panels)
            if width <= widest and sum(rows) + gap * (len(panels) - 1) <= spare:
                heights = [1 + count + (gap if at < len(rows) - 1 else 0) for at, count in enumerate(rows)]
                return tuple(
                    Box(part.x, part.y, part.width, 1 + count)
                    for part, count in zip(room.stack(heights), rows, strict=True)
                )
    return room.stack([max((room.height - 2) // len(panels), 1)] * len(panels))
