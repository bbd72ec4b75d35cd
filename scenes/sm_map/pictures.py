"""What ``sm-map`` draws at each step. Everything here comes out of the measurement and the view."""

from __future__ import annotations

from gpu_explain.scenes.base import Cursor, Measurement, Trace, View
from gpu_explain.scenes.draw.box import Box, legend, paragraph, titled
from gpu_explain.scenes.draw.canvas import Canvas
from gpu_explain.scenes.draw.ink import Ink
from gpu_explain.scenes.draw.map_race import Entries
from gpu_explain.scenes.draw.scale import count_text, time_text
from gpu_explain.scenes.draw.sm_map import (
    FEWEST,
    FREE,
    FRESH,
    LABEL,
    LINE_LEGEND,
    MOST,
    Layout,
    counters,
    draw_cells,
    full_bar,
    layout,
    line_of_blocks,
    progress,
    queue_chart,
    residents_painter,
    running_chart,
    running_text,
    sm_ids,
    time_bar,
    totals_painter,
)
from gpu_explain.scenes.sm_map.inside import draw_inside, move_inside, sm_by_sm
from gpu_explain.scenes.sm_map.order import draw_order
from gpu_explain.scenes.sm_map.playing import (
    FILL,
    FLAG,
    INSIDE,
    ORDER,
    SMALLER,
    TICKS,
    TWINS,
    fresh_ns,
    now_of,
    origin_of,
    pace,
)
from gpu_explain.scenes.sm_map.races import draw_flag, draw_smaller, draw_twins
from gpu_explain.scenes.sm_map.words import words


def move(m: Measurement, view: View, key: str) -> Cursor:
    """Inside: from SM to lane. In the other steps arrows, Home and End scrub the time bar, enter lets it play."""
    if view.step == INSIDE:
        return move_inside(m, view, key)
    if key in ("escape", "enter"):
        return ()
    if key in ("home", "end"):
        return (0 if key == "home" else TICKS,)
    here = view.cursor[0] if view.cursor else round(_played(m, view) * TICKS)
    by = {"left": -1, "right": 1, "up": -5, "down": 5}.get(key, 0)
    return (min(max(here + by, 0), TICKS),)


def frame(m: Measurement, view: View) -> Canvas:
    """The picture of a step."""
    canvas = Canvas(view.width, view.height)
    box = Box(0, 0, view.width, view.height)
    if view.step == INSIDE:
        draw_inside(m, view, canvas, now_of(m, view))
    else:
        draws = {FILL: _fill, ORDER: _order, FLAG: draw_flag, TWINS: draw_twins, SMALLER: draw_smaller}
        draws[view.step](m, view, canvas, box)
    return canvas


def _played(m: Measurement, view: View) -> float:
    """How much of the step's time has been played, 0 … 1."""
    paced = pace(m, view.step)
    return now_of(m, view) / paced.gpu_ns if paced.gpu_ns else 1.0


def _fill(m: Measurement, view: View, canvas: Canvas, box: Box) -> None:
    """The map with the line of blocks; once drained, what each SM has run."""
    trace, now = m.trace("launch"), now_of(m, view)
    sms, residents = int(m.number("fit.sms")), int(m.number("fit.residents"))
    over = now >= trace.span_ns
    places = "PLACE FOR A BLOCK" if residents == 1 else "PLACES FOR BLOCKS"
    title = (
        f"HOW MANY BLOCKS EACH OF {_sms(sms)} RAN"
        if over
        else f"{_sms(sms)} × {residents} {places} = {count_text(sms * residents)}"
    )
    room = titled(canvas, box, title, origin_of(view, trace))
    counters(canvas, room.x, room.y, trace, now)
    canvas.put(room.x, room.y + 1, "blocks", Ink.DIM)
    line_of_blocks(canvas, room.x + LABEL, room.y + 1, room.width - LABEL, trace, now)
    ids = sm_ids(trace, sms)
    said = 2 if room.height >= 22 else 0  # for the sentence at the end
    # Counters, line, legend, time bar, sentence; the rest of the room is for the map and then for charts.
    charts = _charts_height(room.height - 4 - said - layout(_inner(room, said), ids, residents).rows)
    area = _inner(room, said + charts)
    cells = layout(area, ids, residents)
    paint = totals_painter(trace) if over else residents_painter(trace, residents, now, fresh_ns(trace))
    y = draw_cells(canvas, area, cells, paint)
    legend(canvas, room.x, y, _fill_legend(trace, cells, residents, over=over), room.right)
    time_bar(canvas, Box(room.x, y + 1, room.width, 1), now, float(trace.span_ns), focused=view.focused)
    if charts:
        _charts(canvas, Box(room.x, y + 2, room.width, charts), trace, residents * sms, now)
        below = y + 2 + charts
        sm_by_sm(canvas, Box(box.x, below, box.width, room.bottom - said - below), trace, residents, now)
    if said and over:
        paragraph(canvas, Box(room.x, room.bottom - said, room.width, said), _drained(m), Ink.LOOK)


def _fill_legend(trace: Trace, cells: Layout, residents: int, *, over: bool) -> Entries:
    """While blocks run: the bar of a full SM and the parts of the line. Afterwards: what the numbers mean."""
    name = ("SM", Ink.DIM, "numbers are names, not places on the chip")  # where there is room for it
    if not over:
        return (
            full_bar(cells, residents),
            (FRESH, Ink.LOOK, "just started"),
            (FREE, Ink.DIM, "free"),
            *(LINE_LEGEND[0], LINE_LEGEND[2]),
            name,
        )
    least, most = (f(len(blocks) for blocks in trace.by_sm.values()) for f in (min, max))
    none = (("·", Ink.FAINT, "none"),) if len(trace.by_sm) < len(cells.ids) else ()
    if most == least:
        each = "the block's SM" if trace.blocks == 1 else f"block{'s' * (most > 1)} on each SM that ran any"
        return ((f"{most}", Ink.WORK_ALT, each), *none, name)
    marks = (MOST, FEWEST) if len(str(most)) < cells.width else ("", "")
    return ((f"{most}{marks[0]}", Ink.LOOK, "most"), (f"{least}{marks[1]}", Ink.DIM, "fewest"), *none, name)


def _sms(count: int) -> str:
    return f"{count} SM{'s' * (count > 1)}"


def _drained(m: Measurement) -> str:
    """What the launch has shown once it is over."""
    trace, capacity = m.trace("launch"), int(m.number("fit.capacity"))
    if trace.blocks <= capacity:
        return words(m, FILL).look
    gap, served = m.quantity("launch.gap"), time_text(max(trace.start_ns), like=trace.span_ns)
    taken = f"after {gap.text}" if gap.number > 0 else f"within {time_text(trace.step_ns)}, a step of the timer"
    return (
        f"A place that fell free was taken again {taken}. From {served} on the line was empty: places stayed free, "
        "the map drained."
    )


def _inner(room: Box, charts: int) -> Box:
    """The rows of the map: under counters and line, above legend, time bar, charts and sentence."""
    return Box(room.x, room.y + 2, room.width, max(room.height - 4 - charts, 1))


def _charts_height(spare: int) -> int:
    """Rows for the charts: both, the line alone, or none where there is no room; at most eight each."""
    return min(spare, 16) if spare >= 10 else min(spare, 8) if spare >= 4 else 0


def _charts(canvas: Canvas, box: Box, trace: Trace, capacity: int, now: float) -> None:
    """Blocks in line and blocks running over the time of the bar above."""
    in_line = progress(trace, now)[0]
    queued = trace.peak < trace.blocks  # where nobody ever waits, the line is no curve worth drawing
    both = box.height >= 10 and queued
    top = box.height // 2 if both else box.height if queued else 0
    line, below = box.stack((top, box.height - top))
    if line.height:
        canvas.put(line.x + LABEL, line.y, f"IN LINE  {count_text(in_line)} of {count_text(trace.blocks)}", Ink.DIM)
        queue_chart(canvas, line.inside(top=1), trace, now, float(trace.span_ns))
    if not below.height:
        return
    said = f"RUNNING  {running_text(trace, now)} in {count_text(capacity)} places"
    canvas.put(below.x + LABEL, below.y, said, Ink.DIM)
    running_chart(canvas, below.inside(top=1), trace, now, float(trace.span_ns), capacity)


def _order(m: Measurement, view: View, canvas: Canvas, box: Box) -> None:
    draw_order(m, canvas, box, now_of(m, view), origin_of(view, m.trace("launch")))
