"""What ``waves`` draws at each step. Everything here comes out of the measurement and the view."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gpu_explain.scenes.base import Cursor, Measurement, Pace, Trace, View, number_text
from gpu_explain.scenes.draw.bars import Bar, labelled_bars
from gpu_explain.scenes.draw.box import Box, legend, paragraph, titled, wrap
from gpu_explain.scenes.draw.canvas import Canvas
from gpu_explain.scenes.draw.ink import Ink
from gpu_explain.scenes.draw.launch import Launch, draw_launch
from gpu_explain.scenes.draw.plot import Plot, Tick, stair_range
from gpu_explain.scenes.draw.scale import count_text, time_text
from gpu_explain.scenes.draw.timeline import Lanes
from gpu_explain.scenes.waves.measure import SMALL_BLOCK
from gpu_explain.scenes.waves.together import end_together, half_ended_ns, has_tail, shown_first

BLOCK_SECONDS = 3.2
"""Seconds on screen that one block lasts: long enough to read its number."""
LONGEST_SECONDS = 10.0
_WAVES = (("█", Ink.WORK), ("▓", Ink.WORK_ALT), ("▒", Ink.TAIL))
"""How launches of one, two and three waves look, with and without colour."""
TRACES = {0: "fits", 1: "launch", 4: "million"}
"""Which trace a step plays; the other steps show curves."""


def pace(m: Measurement, step: int) -> Pace:
    """Traces play at one rate in all steps, faster only where they would last too long; curves unroll in 5 s."""
    if step in TRACES:
        trace = m.trace(TRACES[step])
        seconds = trace.span_ns / max(trace.median_duration_ns, 1) * BLOCK_SECONDS
        return Pace(min(seconds, LONGEST_SECONDS) + 0.6, float(trace.span_ns), lead=0.6)
    return Pace(5.0, lead=0.4)


def move(m: Measurement, view: View, key: str) -> Cursor:
    """The cursor is a place in the list of SMs: up and down unfold the neighbour, escape the last to end."""
    if view.step not in TRACES:
        return ()
    trace = m.trace(TRACES[view.step])
    if key == "escape":
        return ()
    here = view.cursor[0] if view.cursor else trace.sms.index(shown_first(trace))
    by = {"up": -1, "down": 1, "left": -10, "right": 10}.get(key, 0)
    return ((here + by) % len(trace.sms),)


def frame(m: Measurement, view: View) -> Canvas:
    """The picture of a step."""
    canvas = Canvas(view.width, view.height)
    box = Box(0, 0, view.width, view.height)
    (_one_wave, _one_more, _staircase, _competition, _million, _smaller)[view.step](m, view, canvas, box)
    return canvas


def _played(m: Measurement, view: View) -> float:
    """How much of a step's unrolling has been shown, 0 … 1."""
    return pace(m, view.step).played(view)


def _now(m: Measurement, view: View) -> float:
    paced = pace(m, view.step)
    return paced.at(view.seconds) if view.motion else paced.gpu_ns


def _launch(m: Measurement, view: View, trace: Trace, residents: int, end_ns: float, now: float, title: str) -> Launch:
    focus = trace.sms[view.cursor[0] % len(trace.sms)] if view.cursor else shown_first(trace)
    # Blocks that still run when most SMs have ended, and that had to wait for their place.
    first_end, late = min(trace.end_ns), trace.span_ns - trace.tail_ns / 2
    tail = frozenset(
        b
        for b in trace.by_sm[trace.last_sm]
        if trace.tail_ns and trace.start_ns[b] >= first_end - trace.step_ns and trace.end_ns[b] > late
    )
    few = has_tail(trace)
    return Launch(
        lanes=Lanes(trace, residents, end_ns, now),
        capacity=int(m.number("fit.sms")) * residents,
        sms=int(m.number("fit.sms")),
        focus=focus,
        focused=view.focused,
        tail=tail if few else frozenset(),
        marks_ns=(trace.span_ns - trace.tail_ns,) if few else (trace.span_ns,) if end_ns > trace.span_ns else (),
        title=title,
        origin=view.origin(f"trace of {count_text(trace.blocks)} blocks of {trace.threads} threads"),
        over="all done (scale of the next step)" if end_ns > trace.span_ns else "",
    )


def _one_wave(m: Measurement, view: View, canvas: Canvas, box: Box) -> None:
    trace, residents = m.trace("fits"), int(m.number("fit.residents"))
    # The same scale as the next step, where that does not make this picture too small to read.
    more = m.trace("more").span_ns
    end = more if more <= 3 * trace.span_ns else trace.span_ns
    drawn = _launch(m, view, trace, residents, float(end), _now(m, view), _one_wave_title(m))
    draw_launch(canvas, _with_conclusion(canvas, box, _wave_conclusion(m, view, trace)), drawn)


def _one_wave_title(m: Measurement) -> str:
    sms, residents, capacity = (int(m.number(f"fit.{name}")) for name in ("sms", "residents", "capacity"))
    return f"ONE WAVE: {sms} SMs × {residents} = {count_text(capacity)} BLOCKS"


def _wave_conclusion(m: Measurement, view: View, trace: Trace) -> str:
    if _now(m, view) < trace.span_ns:
        return ""
    said = f"{count_text(trace.blocks)} blocks, one wave, {time_text(trace.span_ns)}"
    if end_together(trace):
        return f"{said}: all places taken, nobody waits."
    return f"{said}; half had ended after {time_text(half_ended_ns(trace))}."


def _one_more(m: Measurement, view: View, canvas: Canvas, box: Box) -> None:
    trace, residents = m.trace("launch"), int(m.number("fit.residents"))
    drawn = _launch(m, view, trace, residents, float(trace.span_ns), _now(m, view), _title(trace))
    sms = int(m.number("fit.sms"))
    working = trace.working_at(trace.span_ns - trace.tail_ns / 2)
    said = ""
    if _now(m, view) >= trace.span_ns:
        idle = m.number("launch.idle")
        span = time_text(trace.span_ns)
        said = f"{count_text(trace.blocks)} blocks, {span}; {idle:.0f} % of the SMs' time had no block in it."
        if has_tail(trace) and working < sms / 2:
            verb = "works" if working == 1 else "work"
            who = "The tail"
            if trace.blocks == int(m.number("fit.capacity")) + 1:
                who = "One too many"
            said = f"{who}: {working} of {sms} SMs {verb} on through the last {time_text(trace.tail_ns)} of {span}."
    draw_launch(canvas, _with_conclusion(canvas, box, said), drawn)


def _title(trace: Trace) -> str:
    return f"{count_text(trace.blocks)} BLOCK{'S' if trace.blocks > 1 else ''}: WHO WORKED WHEN"


def _with_conclusion(canvas: Canvas, box: Box, text: str) -> Box:
    """Keep the last rows for a sentence that comes when the eye has seen it; returns the room above."""
    if box.height < 14:
        return box
    paragraph(canvas, Box(box.x + 1, box.bottom - 1, box.width - 2, 1), text, Ink.LOOK)
    return box.inside(bottom=2)


def _staircase(m: Measurement, view: View, canvas: Canvas, box: Box) -> None:
    stairs, one = m.one_series("staircase"), m.number("stair.duration")
    capacity = int(m.number("stair.capacity"))
    origin = view.origin(f"each ●: median of {stairs.n} launches")
    tall = box.height >= 34
    if not tall:
        said = f"From stair to stair: one block's time, {number_text(one)} µs. Between: free."
        box = _with_conclusion(canvas, box, said if _played(m, view) >= 1 else "")
    top, below = box.stack((box.height * 3 // 5, box.height)) if tall else (box, Box(0, 0, 0, 0))
    room = titled(canvas, top, "TIME AGAINST NUMBER OF BLOCKS", origin)
    legend(
        canvas, room.x, room.y,
        [("●", Ink.MEASURED, "measured: blocks that wait"), ("┄", Ink.COMPUTED, "computed: waves × a block + launch")],
        room.right,
    )  # fmt: skip
    played = _played(m, view)
    waves = m.one_series("waves")
    highest = max(*stairs.y, *waves.y)
    floor = waves.y[0] - one
    rows = room.inside(top=1, bottom=2).height
    plot = Plot(
        canvas, room.inside(top=1), (0, max(stairs.x) * 1.02), stair_range(floor + one, one, highest * 1.02, rows)
    )
    last = -(-int(max(stairs.x)) // capacity)
    steps = [(max(k * capacity, 1), min((k + 1) * capacity, max(stairs.x)), floor + (k + 1) * one) for k in range(last)]
    plot.axes(
        [Tick(0, "0"), *(Tick(k * capacity, count_text(k * capacity)) for k in range(1, last + 1))],
        [Tick(0, "0"), *(Tick(y, f"{y:.0f} µs") for _, _, y in steps)],
        "blocks",
    )
    plot.stairs(steps, Ink.COMPUTED)
    seen = [(x, y) for x, y in zip(stairs.x, stairs.y, strict=True) if x <= played * max(stairs.x)]
    plot.points(seen, Ink.MEASURED)
    here = m.trace("launch")
    if m.value("work") == "wait" and here.blocks <= max(stairs.x) and played >= 1:
        at = floor + -(-here.blocks // capacity) * one
        plot.mark(here.blocks, at, f"your {count_text(here.blocks)} blocks", Ink.LOOK)
    if tall:
        residents = int(m.number("fit.residents"))
        drawn = _launch(m, view, here, residents, float(here.span_ns), float(here.span_ns), _title(here))
        draw_launch(canvas, below, drawn, rule=True)


def _competition(m: Measurement, view: View, canvas: Canvas, box: Box) -> None:
    waiting, computing = m.one_series("compete.wait"), m.one_series("compete.compute")
    capacity = m.number("compete.wait.capacity")
    title = f"TIME AGAINST BLOCKS; A FULL WAVE ({count_text(int(capacity))} BLOCKS) = 1"
    box = _with_conclusion(canvas, box, _cost_conclusion(m) if _played(m, view) >= 1 else "")
    room = titled(canvas, box, title, view.origin(f"blocks of {SMALL_BLOCK} threads"))
    legend(
        canvas,
        room.x,
        room.y,
        [("●", Ink.A, "blocks that wait"), ("◆", Ink.B, "blocks that compute"), ("··", Ink.FAINT, "joined")],
        room.right,
    )
    below = 6 if room.height >= 16 else 3
    high = max(*waiting.y, *computing.y)
    plot = Plot(canvas, room.inside(top=1, bottom=below), (0, max(*waiting.x, *computing.x) * 1.02), (0, high * 1.05))
    plot.axes(
        [Tick(0, "0"), *(Tick(k * capacity / 2, count_text(int(k * capacity / 2))) for k in range(1, 5))],
        [Tick(0, "0"), Tick(1, "1 wave"), Tick(2, "2"), Tick(3, "3")],
        "blocks",
    )
    played = _played(m, view)
    reach = played * max(*waiting.x, *computing.x)
    for series, ink, glyph in ((waiting, Ink.A, "●"), (computing, Ink.B, "◆")):
        seen = [(x, y) for x, y in zip(series.x, series.y, strict=True) if x <= reach]
        plot.line(seen, Ink.FAINT)
        plot.points(seen, ink, glyph)
    bars = Box(room.x, room.bottom - below, room.width, below)
    if below > 3:
        canvas.fill(box.x, bars.y, box.width, 1, "─", Ink.FAINT)
        titled(
            canvas,
            Box(box.x, bars.y + 1, box.width, 1),
            "ONE BLOCK MORE THAN FITS COSTS",
            "% of their full wave, with launch",
        )
        bars = bars.inside(top=3)
    costs = [(m.number(f"compete.{work}.step"), work, ink) for work, ink in (("wait", Ink.A), ("compute", Ink.B))]
    labelled_bars(
        canvas,
        bars,
        [Bar(f"blocks that {work}", max(cost, 0.0), f"{cost:+.0f} %", ink) for cost, work, ink in costs],
        max(100.0, *(cost for cost, _, _ in costs)),
        played=played,
    )


def _cost_conclusion(m: Measurement) -> str:
    waiting, computing = m.number("compete.wait.step"), m.number("compete.compute.step")
    if computing < waiting / 2:
        return f"Where blocks compute, one more costs {computing:+.0f} % of their full wave, not {waiting:+.0f} %."
    return f"One block more costs {computing:+.0f} % of their full wave where blocks compute: not far less."


def _million(m: Measurement, view: View, canvas: Canvas, box: Box) -> None:
    trace, capacity = m.trace("million"), int(m.number("million.capacity"))
    theirs = int(m.number("million.theirs"))
    sms = int(m.number("fit.sms"))
    residents = capacity // sms
    drawn = _launch(
        m, view, trace, residents, float(trace.span_ns), _now(m, view), "A MILLION ELEMENTS: WHO WORKED WHEN"
    )
    drawn = replace(drawn, capacity=capacity)
    arithmetic = 6 if box.height >= 24 else 0
    over = _now(m, view) >= trace.span_ns
    draw_launch(canvas, box.inside(bottom=arithmetic), drawn)
    if not arithmetic:
        return
    room = Box(box.x, box.bottom - arithmetic, box.width, arithmetic)
    room = titled(canvas, room, "THE ARITHMETIC: WAVE BY WAVE, AT BEST", "○ blocks ÷ blocks that fit", rule=True)
    scale = max(trace.blocks / capacity, trace.blocks / theirs)
    took = f"; a begun wave lasts as long as a full one: it took {m.number('million.waves'):.2f}" if over else ""
    rows = (
        (m.device.name.removeprefix("NVIDIA "), capacity, f"{trace.blocks / capacity:.2f} waves at best{took}"),
        (
            "L40S",
            theirs,
            f"{trace.blocks / theirs:.2f} waves at best on another GPU, an L40S, by its published sizes ◇",
        ),
    )
    left = room.x + max(len(name) for name, _, _ in rows) + 1
    width = room.right - left
    y = room.y
    for name, fits, said in rows:
        canvas.put(room.x, y, name, Ink.TEXT)
        cell = width / -(-scale // 1)
        for wave in range(-(-trace.blocks // fits)):
            blocks = min(fits, trace.blocks - wave * fits)
            start, end = round(wave * cell), round((wave + blocks / fits) * cell)
            cells = max(end - start - 1, 1)
            ink = Ink.ON_WORK_ALT if wave % 2 else Ink.ON_WORK
            canvas.put(left + start, y, f" {count_text(blocks)}".ljust(cells)[:cells], ink)
        canvas.put(left, y + 1, said, Ink.LOOK if took and y == room.y else Ink.DIM)
        y += 2


def _smaller(m: Measurement, view: View, canvas: Canvas, box: Box) -> None:
    origin = view.origin("launches kept to some of the SMs (green contexts)")
    room = titled(canvas, box, "THE SAME KERNEL ON A SMALLER GPU", origin)
    counts = sorted(
        int(q.name.split(".")[1]) for q in m.quantities if q.name.startswith("sms.") and q.name.endswith(".step")
    )
    if not counts:
        paragraph(canvas, room.inside(top=1), f"Not measured: {m.why_missing('smaller')}.", Ink.DIM)
        return
    all_series = [m.one_series(f"sms.{n}") for n in counts]
    high = max(max(s.y) for s in all_series)
    gap = 1 if room.height >= len(counts) * 7 + 1 else 0
    y = room.y + gap
    played = _played(m, view)
    if gap and played < 1:
        canvas.put(room.x, room.y, f"t = {number_text(played * high)} µs", Ink.STRONG)
    for sms, series in zip(counts, all_series, strict=True):
        capacity = int(m.number(f"sms.{sms}.capacity"))
        canvas.put(room.x, y, f"{sms} SMs", Ink.STRONG)
        canvas.put(room.x + 9, y, f"hold {count_text(capacity)} blocks", Ink.DIM)
        bars = [
            Bar(
                f"{count_text(int(x)):>6} blocks",
                t,
                f"{number_text(t)} µs",
                ink,
                fill,
            )
            for x, t in zip(series.x, series.y, strict=True)
            for fill, ink in [_WAVES[min(-(-int(x) // capacity) - 1, 2)]]
        ]
        y = labelled_bars(
            canvas, Box(room.x, y + 1, room.width, max(room.bottom - y - 1, 0)), bars, high, played=played
        )
        y += gap
    if y + 2 < room.bottom:
        costs = ", ".join(f"{m.number(f'sms.{n}.step'):.2f} on {n}" for n in counts)
        said = f"One block more than fits, in times of one traced block: {costs} SMs."
        below = Box(room.x, y + 2, room.width, room.bottom - y - 2)
        if played >= 1:
            paragraph(canvas, below, said, Ink.LOOK)
        rows = len(wrap(said, room.width)) + 1
        _same_stairs(m, canvas, Box(box.x, below.y + rows, box.width, below.height - rows), counts, played)
    if y < room.bottom:
        legend(
            canvas,
            room.x,
            y,
            [
                (_WAVES[k][0], _WAVES[k][1], f"{name} wave{'s' if k else ''}")
                for k, name in enumerate(("one", "two", "three"))
            ],
            room.right,
        )


_SIZES = (("●", Ink.A), ("◆", Ink.B), ("▴", Ink.C))
"""How the launches on the smallest, the middle and the largest number of SMs look."""


def _same_stairs(m: Measurement, canvas: Canvas, box: Box, counts: Sequence[int], played: float) -> None:
    """Where there is room: the same times against blocks counted in full waves, in which all sizes jump alike."""
    if box.height < 14 or len(counts) > len(_SIZES):
        return
    room = titled(
        canvas, box, "THE SAME TIMES AGAINST BLOCKS COUNTED IN FULL WAVES", "blocks ÷ blocks that fit", rule=True
    )
    several = ("◉", Ink.STRONG, "several sizes")
    key = [(glyph, ink, f"{sms} SMs") for (glyph, ink), sms in zip(_SIZES, counts, strict=False)]
    legend(canvas, room.x, room.y, [*key, several], room.right)
    curves = []
    for sms in counts:
        series, capacity = m.one_series(f"sms.{sms}"), m.number(f"sms.{sms}.capacity")
        curves.append([(x / capacity, t) for x, t in zip(series.x, series.y, strict=True)])
    high = max(t for curve in curves for _, t in curve)
    reach = max(x for curve in curves for x, _ in curve)
    first, second = (next(t for x, t in curves[-1] if x >= waves) for waves in (1, 2))
    inner = room.inside(top=1)
    step = max(second - first, high * 0.1)
    plot = Plot(canvas, inner, (0, reach * 1.2), stair_range(first, step, high * 1.02, inner.height - 2))
    plot.axes(
        [Tick(k, str(k)) for k in range(int(reach) + 1)],
        [Tick(0, "0"), *(Tick(t, f"{t:.0f} µs") for t in (first, second, curves[-1][-1][1]))],
        "full waves",
    )
    seen = [[(x, t) for x, t in curve if x <= played * reach] for curve in curves]
    for curve in seen:
        plot.line(curve, Ink.FAINT)
    taken: dict[tuple[int, int], int] = {}
    for size, curve in enumerate(seen):
        for x, t in curve:
            cell = plot.column(x), plot.row(t)
            other = taken.setdefault(cell, size) != size
            plot.points([(x, t)], several[1] if other else _SIZES[size][1], several[0] if other else _SIZES[size][0])
