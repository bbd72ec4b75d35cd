"""One traced launch as a picture: counters, one SM unfolded, the other SMs as lanes, time, residents."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from gpu_explain.scenes.base.trace import Trace
from gpu_explain.scenes.draw.box import Box, legend, titled
from gpu_explain.scenes.draw.canvas import Canvas
from gpu_explain.scenes.draw.ink import Ink
from gpu_explain.scenes.draw.scale import count_text, time_text
from gpu_explain.scenes.draw.timeline import BAR, LABEL, TAIL_BAR, Lanes, notch, residents_chart


@dataclass(frozen=True)
class Launch:
    """What of a launch is shown, and how.

    Attributes:
        lanes: The trace in time.
        capacity: Blocks that fit on the GPU at once: the top of the residents chart.
        sms: SMs the launch could use; more than the trace saw when some stayed without a block.
        focus: The SM that is unfolded.
        focused: Whether the viewer's cursor is in the picture.
        tail: Blocks that keep the others waiting, which look different.
        marks_ns: Times to be marked on the axis, in ns.
        title, origin: The picture's title, and where it comes from.
        over: What is said right of the launch's end, where the time scale goes on.
    """

    lanes: Lanes
    capacity: int
    sms: int
    focus: int
    focused: bool = False
    tail: frozenset[int] = frozenset()
    marks_ns: tuple[float, ...] = ()
    title: str = "WHO WORKED WHEN"
    origin: str = "the trace of this launch"
    over: str = ""


def draw_launch(canvas: Canvas, box: Box, launch: Launch, *, rule: bool = False) -> None:
    """Draw a launch into a box of at least 8 rows; more rows show more SMs, not bigger ones.

    On a small GPU, where every SM has room for its rows, all are unfolded.
    """
    trace, now = launch.lanes.trace, launch.lanes.now_ns
    room = titled(canvas, box, launch.title, launch.origin, rule=rule)
    _counters(canvas, room, launch)
    room = room.inside(top=1)
    chart_rows = 0 if room.height < 14 else 3 if room.height < 30 else 5
    if room.height >= 9:
        _legend(canvas, room, launch)
        room = room.inside(bottom=1)
    room = room.inside(bottom=2 + (chart_rows + 1 if chart_rows else 0))
    y = launch.lanes.unfolded(
        canvas, Box(room.x, room.y, room.width, max(room.height - 3, 1)), launch.focus, tail=launch.tail
    )
    if launch.focused:
        canvas.put(room.x, room.y, f"▸SM{launch.focus:>3} ", Ink.CURSOR)
    if launch.over and now >= trace.span_ns:
        column = room.x + LABEL + round(launch.lanes.scale(room).at(trace.span_ns)) + 2
        if column + len(launch.over) <= room.right:
            canvas.put(column, room.y, launch.over, Ink.DIM)
    start = trace.sms.index(launch.focus)
    others = (*trace.sms[start + 1 :], *trace.sms[:start])
    lanes = others if len(others) <= room.bottom - y else others[: max(room.bottom - y - 1, 0)]
    unfold = sum(len(trace.rows(sm)) for sm in others) <= room.bottom - y
    for sm in lanes:
        if unfold:
            here = Box(room.x, y, room.width, room.bottom - y)
            y = launch.lanes.unfolded(canvas, here, sm, tail=launch.tail, ink=Ink.DIM)
        else:
            launch.lanes.lane(canvas, room, y, sm)
            y += 1
    hidden = len(others) - len(lanes)
    if hidden and y < room.bottom:
        canvas.put(room.x + 2, y, "⋮", Ink.DIM)
        canvas.put(room.x + LABEL, y, f"and {hidden} more SMs", Ink.DIM)
        y += 1
    unused = launch.sms - len(trace.sms)
    if unused > 0 and y < room.bottom:
        canvas.put(room.x + LABEL, y, f"{unused} SMs never got a block", Ink.DIM)
        y += 1
    launch.lanes.axis(canvas, room, y, launch.marks_ns)
    if chart_rows:
        chart = Box(room.x, y + 2, room.width, chart_rows + 1)
        over = now >= trace.span_ns
        said = f"at most {count_text(trace.peak)}" if over else f"{count_text(trace.resident_at(now))} now"
        canvas.put(chart.x + LABEL, chart.y, f"RESIDENT BLOCKS  {said}", Ink.DIM)
        residents_chart(canvas, chart.inside(top=1), launch.lanes, launch.capacity)
        middle = trace.span_ns - trace.tail_ns / 2
        if launch.tail and over:
            left = trace.resident_at(middle)
            at = chart.x + LABEL + round(launch.lanes.scale(room).at(middle))
            canvas.put(at, chart.bottom - 2, f"{count_text(left)} block{'s' if left > 1 else ''}", Ink.TAIL)


def _legend(canvas: Canvas, room: Box, launch: Launch) -> None:
    """The last row: what the glyphs and inks mean."""
    holds = launch.lanes.residents
    entries = [(BAR, Ink.WORK, "blocks, from 0")]
    if _rounds(launch.lanes.trace, launch.tail):
        entries = [(BAR * 2, Ink.WORK, "a round of blocks"), (notch(8) + BAR, Ink.WORK_ALT, "the next")]
        if not any(launch.lanes.parts_rounds(room, sm) for sm in launch.lanes.trace.sms):
            entries = [(BAR, Ink.WORK, "blocks, in rounds too short to part")]
    if launch.tail:
        entries.append((TAIL_BAR, Ink.TAIL, "the last to end"))
    if holds > 1:
        entries.append(("▇▃", Ink.DIM, f"height: full is {holds} on the SM"))
    entries.append(("·", Ink.DIM, "no block"))
    legend(canvas, room.x, room.bottom - 1, entries, room.right)


@lru_cache(maxsize=64)
def _rounds(trace: Trace, tail: frozenset[int]) -> bool:
    """Whether any SM ran more than one round of blocks besides those in the tail."""
    return any(len([block for block in row if block not in tail]) > 1 for sm in trace.sms for row in trace.rows(sm))


def _counters(canvas: Canvas, room: Box, launch: Launch) -> None:
    """The line of queued, running and finished blocks at the time played."""
    trace, now = launch.lanes.trace, launch.lanes.now_ns
    started, ended = trace.started_by(now), trace.ended_by(now)
    waiting = trace.blocks - started
    x = canvas.put(room.x, room.y, f"t = {time_text(now, like=launch.lanes.end_ns)}", Ink.STRONG)
    x = canvas.put(max(x + 2, room.x + LABEL + 6), room.y, "in line ", Ink.DIM)
    x = canvas.put(x, room.y, count_text(waiting), Ink.TAIL if waiting else Ink.DIM) + 1
    x = canvas.put(x + 1, room.y, "running ", Ink.DIM)
    x = canvas.put(x, room.y, count_text(started - ended), Ink.WORK_ALT)
    x = canvas.put(x + 2, room.y, "done ", Ink.DIM)
    canvas.put(x, room.y, count_text(ended), Ink.TEXT)
