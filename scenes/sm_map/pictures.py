"""What ``sm-map`` draws at each step. Everything here comes out of the measurement and the view."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gpu_explain.scenes.base import Cursor, Measurement, Pace, Trace, View
from gpu_explain.scenes.draw.bars import Bar, labelled_bars
from gpu_explain.scenes.draw.box import Box, legend, paragraph, titled
from gpu_explain.scenes.draw.canvas import Canvas
from gpu_explain.scenes.draw.ink import Ink
from gpu_explain.scenes.draw.scale import count_text, time_text
from gpu_explain.scenes.draw.sm_map import (
    FREE,
    FRESH,
    LABEL,
    LINE_LEGEND,
    RUNNING,
    Cell,
    Painter,
    counters,
    draw_cells,
    layout,
    line_of_blocks,
    progress,
    residents_painter,
    sm_ids,
    time_bar,
    totals_painter,
    waiting_chart,
)
from gpu_explain.scenes.draw.timeline import Lanes, residents_chart
from gpu_explain.scenes.sm_map.inside import draw_inside, freeze_ns, move_inside, sm_by_sm
from gpu_explain.scenes.sm_map.order import draw_order

FILL, INSIDE, ORDER, FLAG, TWINS, SMALLER = range(6)
BLOCK_SECONDS = 3.0
"""Seconds on screen that one block lasts, where that does not make the step too long."""
LONGEST_SECONDS = 12.0
FRESH_SHARE = 0.06
"""Blocks count as just started for this share of a block's time: a blink on the screen."""
TICKS = 50
"""Places of the time bar that scrubbing goes through."""


def traces_of(m: Measurement, step: int) -> tuple[Trace, ...]:
    """The traces that a step plays, from a common start."""
    if step == FLAG:
        return m.trace("flag.fits"), m.trace("flag.more")
    if step == TWINS:
        return m.trace("twin.CUDA"), m.trace("twin.Triton")
    if step == SMALLER:
        names = sorted(
            (q.name for q in m.quantities if q.name.startswith("sms.") and q.name.endswith(".seen")),
            key=lambda name: int(name.split(".")[1]),
        )
        return tuple(m.trace(name.replace(".seen", ".trace")) for name in names)
    return (m.trace("launch"),)


def pace(m: Measurement, step: int) -> Pace:
    """Launches play so that a block lasts three seconds, faster where that would take too long.

    The step inside stops half way through the launch, when there is something to look into.
    """
    traces = traces_of(m, step)
    if not traces:
        return Pace(0.0)
    gpu_ns = freeze_ns(traces[0]) if step == INSIDE else float(max(trace.span_ns for trace in traces))
    if step == FLAG:
        return Pace(6.0, gpu_ns, lead=0.6)  # a wait that is felt
    longest = max(*(trace.median_duration_ns for trace in traces), 1.0)
    seconds = min(max(gpu_ns / longest * BLOCK_SECONDS, 2.0), 4.0 if step == INSIDE else LONGEST_SECONDS)
    return Pace(seconds + 0.6, gpu_ns, lead=0.6)


def move(m: Measurement, view: View, key: str) -> Cursor:
    """Inside: from SM to lane. In the other steps arrows scrub the time bar, enter lets it play."""
    if view.step == INSIDE:
        return move_inside(m, view, key)
    if key in ("escape", "enter"):
        return ()
    here = view.cursor[0] if view.cursor else round(_played(m, view) * TICKS)
    by = {"left": -1, "right": 1, "up": -5, "down": 5}.get(key, 0)
    return (min(max(here + by, 0), TICKS),)


def frame(m: Measurement, view: View) -> Canvas:
    """The picture of a step."""
    canvas = Canvas(view.width, view.height)
    box = Box(0, 0, view.width, view.height)
    if view.step == INSIDE:
        draw_inside(m, view, canvas, _now(m, view))
    else:
        draws = {FILL: _fill, ORDER: _order, FLAG: _flag, TWINS: _twins, SMALLER: _smaller}
        draws[view.step](m, view, canvas, box)
    return canvas


def _played(m: Measurement, view: View) -> float:
    """How much of the step's time has been played, 0 … 1."""
    paced = pace(m, view.step)
    return _now(m, view) / paced.gpu_ns if paced.gpu_ns else 1.0


def _now(m: Measurement, view: View) -> float:
    """GPU time shown: where the viewer has scrubbed to, else what the pace says."""
    paced = pace(m, view.step)
    if view.cursor and view.step != INSIDE:
        return view.cursor[0] / TICKS * paced.gpu_ns
    return paced.at(view.seconds) if view.motion else paced.gpu_ns


def _origin(view: View, trace: Trace) -> str:
    return "the previous choice" if view.previous else f"trace of {count_text(trace.blocks)} blocks × {trace.threads}"


def _fill(m: Measurement, view: View, canvas: Canvas, box: Box) -> None:
    """The map with the line of waiting blocks; once drained, what each SM has run."""
    trace, now = m.trace("launch"), _now(m, view)
    sms, residents = int(m.number("fit.sms")), int(m.number("fit.residents"))
    over = now >= trace.span_ns
    title = f"HOW MANY BLOCKS EACH OF {sms} SMs RAN" if over else f"WHAT EACH OF {sms} SMs HOLDS"
    room = titled(canvas, box, title, _origin(view, trace))
    counters(canvas, room.x, room.y, trace, now)
    canvas.put(room.x, room.y + 1, "blocks", Ink.DIM)
    line_of_blocks(canvas, room.x + LABEL, room.y + 1, room.width - LABEL, trace, now)
    ids = sm_ids(trace, sms)
    # Counters, line, a free row, time bar, legend; the rest of the room is for the map and then for charts.
    charts = _charts_height(room.height - 5 - layout(_inner(room, 0), ids, residents).rows)
    area = _inner(room, charts)
    cells = layout(area, ids, residents)
    paint = totals_painter(trace) if over else residents_painter(trace, residents, now, _fresh(trace))
    y = draw_cells(canvas, area, cells, paint)
    bar = Box(room.x, y + 1 if area.bottom > y else y, room.width, 1)
    time_bar(canvas, bar, now, float(trace.span_ns), focused=view.focused)
    if charts:
        _charts(canvas, Box(room.x, bar.y + 1, room.width, charts), trace, residents * sms, now)
        below = bar.y + 1 + charts
        sm_by_sm(canvas, Box(box.x, below, box.width, room.bottom - 1 - below), trace, residents, now)
    entries = [("·", Ink.FAINT, "free"), *LINE_LEGEND]
    if over:
        least, most = (f(len(blocks) for blocks in trace.by_sm.values()) for f in (min, max))
        entries = [
            (f"{most}", Ink.LOOK, "most"),
            (f"{least}", Ink.DIM, "fewest"),
            ("·", Ink.FAINT, "none"),
            LINE_LEGEND[2],
        ]
        if most == least:
            entries = [(f"{most}", Ink.WORK_ALT, "blocks in all"), *entries[2:]]
    else:
        entries[:0] = [(FRESH, Ink.LOOK, "just started")]
    legend(canvas, room.x, room.bottom - 1, entries, room.right)


def _inner(room: Box, charts: int) -> Box:
    """The rows of the map: under counters and line, above time bar, charts and legend."""
    return Box(room.x, room.y + 2, room.width, max(room.height - 4 - charts, 1))


def _charts_height(spare: int) -> int:
    """Rows for the charts: both, the line alone, or none where there is no room; at most eight each."""
    return min(spare, 16) if spare >= 6 else spare if spare >= 3 else 0


def _charts(canvas: Canvas, box: Box, trace: Trace, capacity: int, now: float) -> None:
    """Blocks in line and blocks running over the time of the bar above."""
    waiting, running, _ = progress(trace, now)
    both = box.height >= 6
    top, below = box.stack((box.height // 2 if both else box.height, box.height - box.height // 2 if both else 0))
    canvas.put(top.x + LABEL, top.y, f"IN LINE  {count_text(waiting)}", Ink.DIM)
    waiting_chart(canvas, top.inside(top=1), trace, now, float(trace.span_ns))
    if not both:
        return
    canvas.put(below.x + LABEL, below.y, f"RUNNING  {count_text(running)}", Ink.DIM)
    # The chart of residents ends at its box; the time bar leaves room for its last label.
    width = below.width - len(time_text(trace.span_ns)) - 1
    lanes = Lanes(trace, max(capacity, 1), float(trace.span_ns), now)
    residents_chart(canvas, Box(below.x, below.y + 1, width + 1, below.height - 1), lanes, capacity)


def _fresh(trace: Trace) -> float:
    return max(trace.median_duration_ns * FRESH_SHARE, 1.0)


def _order(m: Measurement, view: View, canvas: Canvas, box: Box) -> None:
    draw_order(m, canvas, box, _now(m, view), _origin(view, m.trace("launch")), focused=view.focused)


# -- races of maps ---------------------------------------------------------------------------------------------------


Entries = Sequence[tuple[str, Ink, str]]


@dataclass(frozen=True)
class Panel:
    """One launch among others: its heading, its map, and what is said of it once it is over."""

    heading: str
    trace: Trace
    sms: int
    residents: int
    paint: Painter
    done: str


def _race(m: Measurement, view: View, canvas: Canvas, room: Box, panels: Sequence[Panel], entries: Entries) -> int:
    """Maps under each other (beside each other where there is room), on one clock; returns the first free row."""
    now, end = _now(m, view), pace(m, view.step).gpu_ns
    beside = room.width >= 110 and len(panels) == 2
    boxes = _boxes(room, panels, beside=beside)
    y = room.y
    for panel, part in zip(panels, boxes, strict=True):
        over = now >= panel.trace.span_ns
        x = canvas.put(part.x, part.y, panel.heading, Ink.STRONG) + 2
        if over:
            canvas.put(x, part.y, panel.done[: max(part.right - x, 0)], Ink.LOOK)
        else:
            counters(canvas, x, part.y, panel.trace, now, clock=False)
        area = part.inside(top=1)
        cells = layout(area, sm_ids(panel.trace, panel.sms), panel.residents)
        y = max(y, draw_cells(canvas, area, cells, panel.paint))
    if y < room.bottom:
        time_bar(canvas, Box(room.x, y, room.width, 1), now, end, focused=view.focused)
        y += 1
    if y < room.bottom:
        legend(canvas, room.x, y, entries, room.right)
        y += 1
    return _areas(canvas, Box(room.x, y, room.width, room.bottom - y), panels, now, end)


def _areas(canvas: Canvas, box: Box, panels: Sequence[Panel], now: float, end: float) -> int:
    """Blocks running over the time of the bar above, one chart a panel, on one scale; returns the first free row."""
    rows = min(box.height // len(panels), 7)
    if rows < 3:
        return box.y
    top = max(panel.sms * panel.residents for panel in panels)
    width = box.width - len(time_text(end))
    for part, panel in zip(box.stack([rows] * len(panels)), panels, strict=True):
        _, running, _ = progress(panel.trace, now)
        canvas.put(part.x + LABEL, part.y, f"RUNNING  {panel.heading}: {count_text(running)} blocks", Ink.DIM)
        lanes = Lanes(panel.trace, top, end, now)
        residents_chart(canvas, Box(part.x, part.y + 1, width, rows - 1), lanes, top)
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


OUTCOMES: dict[int, tuple[str, Ink]] = {0: ("✗", Ink.BAD), 1: ("✓", Ink.GOOD), 2: ("◆", Ink.LOOK)}
"""How a block that has ended looks, by what became of it."""


def _outcome_painter(trace: Trace, outcome: Sequence[float], residents: int, now: float) -> Painter:
    """Cells of blocks in the order of their start: waiting, or what became of them. The last one in a place stays."""

    def paint(sm: int, width: int) -> Cell:
        blocks = [b for b in trace.by_sm.get(sm, ()) if trace.start_ns[b] <= now]
        each = max(width // residents, 1)
        cell: list[tuple[str, Ink]] = []
        for block in blocks[-max(width // each, 1) :]:
            ended = trace.end_ns[block] <= now
            glyph, ink = OUTCOMES[int(outcome[block])] if ended else ("█", Ink.WORK)
            cell += [(glyph, ink)] * each
        return cell + [(FREE, Ink.FAINT)] * (width - len(cell))

    return paint


def _flag(m: Measurement, view: View, canvas: Canvas, box: Box) -> None:
    """As many as fit beside one more, both on one clock, each block by what became of it."""
    fits, more = traces_of(m, FLAG)
    now, held = _now(m, view), int(m.number("flag.residents"))
    origin = "the previous choice" if view.previous else f"blocks of {fits.threads} threads"
    room = titled(canvas, box, "EVERY BLOCK WAITS FOR THE LAST BLOCK'S FLAG", origin)
    panels = []
    for name, trace in (("fits", fits), ("more", more)):
        lost = int(m.number(f"flag.{name}.timed_out"))
        outcome = m.one_series(f"flag.{name}.outcome").y
        said = (
            f"all saw it, over after {time_text(trace.span_ns)}"
            if not lost
            else f"{count_text(lost)} gave up, over after {time_text(trace.span_ns)}"
        )
        panels.append(
            Panel(
                f"{count_text(trace.blocks)} blocks",
                trace,
                int(m.number("flag.capacity")) // held,
                held,
                _outcome_painter(trace, outcome, held, now),
                said,
            )
        )
    entries = [
        (RUNNING, Ink.WORK, "waits for the flag"),
        ("✓", Ink.GOOD, "saw it"),
        ("✗", Ink.BAD, "gave up"),
        ("◆", Ink.LOOK, "the last, set it"),
    ]
    kept = 2 if room.height >= 18 else 0  # for the sentence
    y = _race(m, view, canvas, room.inside(bottom=kept), panels, entries)
    if y + 1 < room.bottom and now >= more.span_ns:
        last = more.blocks - 1
        paragraph(
            canvas,
            Box(room.x, y + 1, room.width, room.bottom - y - 1),
            f"Block {count_text(last)} began only after {time_text(more.start_ns[last])}: "
            "another had to give up its place first.",
            Ink.LOOK,
        )


def _plain_panel(heading: str, trace: Trace, sms: int, residents: int, now: float) -> Panel:
    counts = [len(blocks) for blocks in trace.by_sm.values()]
    spread = str(counts[0]) if min(counts) == max(counts) else f"{min(counts)} … {max(counts)}"
    paint = totals_painter(trace) if now >= trace.span_ns else residents_painter(trace, residents, now, _fresh(trace))
    return Panel(heading, trace, sms, residents, paint, f"over after {time_text(trace.span_ns)}, {spread} blocks an SM")


_PLAIN_LEGEND: Entries = [
    (RUNNING, Ink.WORK, "running"),
    (FRESH, Ink.LOOK, "just started"),
    (FREE, Ink.FAINT, "free"),
    ("12", Ink.WORK_ALT, "blocks it ran in all"),
]


def _twins(m: Measurement, view: View, canvas: Canvas, box: Box) -> None:
    """CUDA and Triton on one clock; below, how long the warps stay that have no element."""
    now, sms = _now(m, view), int(m.number("fit.sms"))
    cuda, _ = traces_of(m, TWINS)
    room = titled(canvas, box, "THE SAME WORK, WRITTEN TWICE", _origin(view, cuda))
    panels = [
        _plain_panel(name, m.trace(f"twin.{name}"), sms, int(m.number(f"twin.{name}.residents")), now)
        for name in ("CUDA", "Triton")
    ]
    idle = [m.quantity(f"twin.{name}.idle") for name in ("CUDA", "Triton")]
    below = 5 if room.height >= 24 and idle[0].n else 0
    y = _race(m, view, canvas, room.inside(bottom=below), panels, _PLAIN_LEGEND)
    if not below:
        return
    part = titled(
        canvas,
        Box(box.x, y, box.width, below),
        f"THE LAST BLOCK: WARPS WITHOUT AN ELEMENT STAY FOR ({idle[0].note})",
        "from their own stamps",
        rule=True,
    )
    high = max(m.number(f"twin.{name}.duration") for name in ("CUDA", "Triton"))
    labelled_bars(
        canvas,
        part,
        [
            Bar(name, one.number, f"{one.text} of a block's {m.quantity(f'twin.{name}.duration').text}", ink)
            for name, one, ink in zip(("CUDA", "Triton"), idle, (Ink.A, Ink.B), strict=True)
        ],
        high,
    )


def _smaller(m: Measurement, view: View, canvas: Canvas, box: Box) -> None:
    """The same launch on fewer and on all SMs, on one clock."""
    traces = traces_of(m, SMALLER)
    origin = "the previous choice" if view.previous else "green contexts, one after the other"
    if not traces:
        room = titled(canvas, box, "THE SAME LAUNCH ON FEWER SMs", origin)
        paragraph(canvas, room.inside(top=1), f"Not measured: {m.why_missing('smaller')}.", Ink.DIM)
        return
    room = titled(canvas, box, f"THE SAME {count_text(traces[0].blocks)} BLOCKS ON FEWER SMs", origin)
    now = _now(m, view)
    panels = []
    for trace in traces:
        sms = int(trace.name.split(".")[1])
        residents = int(m.number(f"sms.{sms}.capacity")) // sms
        panels.append(_plain_panel(f"{sms} SMs", trace, sms, residents, now))
    took = len(panels) + 2 if room.height >= 24 else 0
    y = _race(m, view, canvas, room.inside(bottom=took), panels, _PLAIN_LEGEND)
    if not took:
        return
    part = titled(canvas, Box(box.x, y, box.width, took), "WHAT IT TOOK", "first start to last end", rule=True)
    bars = []
    for panel in panels:
        waves = int(m.number(f"sms.{panel.sms}.rounds"))
        said = f"{time_text(panel.trace.span_ns)}, {'1 wave' if waves == 1 else f'{waves} waves'}"
        bars.append(Bar(panel.heading, float(panel.trace.span_ns), said, Ink.WORK_ALT))
    high = max(bar.value for bar in bars)
    labelled_bars(canvas, part, bars, high, played=now / high)
