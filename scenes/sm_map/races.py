"""The steps that hold launches against each other: who waits for whom, in which language, on how many SMs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gpu_explain.scenes.base import Measurement, Trace, View
from gpu_explain.scenes.draw.bars import Bar, labelled_bars
from gpu_explain.scenes.draw.box import Box, paragraph, titled, wrap
from gpu_explain.scenes.draw.canvas import Canvas
from gpu_explain.scenes.draw.ink import Ink
from gpu_explain.scenes.draw.map_race import Entries, Panel, draw_race, draw_running
from gpu_explain.scenes.draw.scale import count_text, some_text, time_text
from gpu_explain.scenes.draw.sm_map import FREE, LABEL, RUNNING, Cell, Painter, residents_painter, totals_painter
from gpu_explain.scenes.draw.timeline import Lanes
from gpu_explain.scenes.sm_map.playing import FLAG, SMALLER, TWINS, fresh_ns, now_of, origin_of, pace, traces_of


def _race(
    m: Measurement, view: View, canvas: Canvas, room: Box, panels: Sequence[Panel], entries: Entries | None = None
) -> int:
    end = pace(m, view.step).gpu_ns
    return draw_race(canvas, room, panels, now_of(m, view), end, entries, focused=view.focused)


def _conclude(canvas: Canvas, box: Box, text: str) -> None:
    """The sentence under a picture that has been played to its end, a free row above it where there is one."""
    rows = len(wrap(text, box.width))
    paragraph(canvas, box.inside(top=1 if box.height > rows else 0), text, Ink.LOOK)


OUTCOMES: dict[int, tuple[str, Ink]] = {0: ("✗", Ink.BAD), 1: ("✓", Ink.GOOD), 2: ("◆", Ink.LOOK)}
"""How a block that has ended looks, by what became of it."""


def _outcome_painter(trace: Trace, outcome: Sequence[float], residents: int, now: float) -> Painter:
    """Cells of blocks in the order of their start: waiting for the flag, or what became of them.

    A block that came when another gave up its place stands beside that one's mark; in narrow cells it replaces it.
    """

    def paint(sm: int, width: int) -> Cell:
        blocks = [b for b in trace.by_sm.get(sm, ()) if trace.start_ns[b] <= now]
        each = max(width // residents, 1)
        first, later = blocks[:residents], blocks[residents:]
        cell = [(FREE, Ink.DIM)] * width
        # Which place a late one took is not recorded: it takes the first.
        for at, block in enumerate((*first, *later) if each == 1 else first):
            ended = trace.end_ns[block] <= now
            glyph, ink = OUTCOMES[int(outcome[block])] if ended else (RUNNING, Ink.WORK)
            # One mark a block, however wide its place: two would read as two blocks.
            place = [(glyph, ink)] * (1 if ended else each) + [(" ", Ink.TEXT)] * (each - 1 if ended else 0)
            left = at % residents * each
            cell[left : left + each] = place
        for at, block in enumerate(later if each > 1 else ()):
            ended = trace.end_ns[block] <= now
            cell[at % residents * each + 1] = OUTCOMES[int(outcome[block])] if ended else (RUNNING, Ink.WORK)
        return cell[:width]

    return paint


def draw_flag(m: Measurement, view: View, canvas: Canvas, box: Box) -> None:
    """As many as fit beside one more, both on one clock, each block by what became of it."""
    fits, more = traces_of(m, FLAG)
    now, held, capacity = now_of(m, view), int(m.number("flag.residents")), int(m.number("flag.capacity"))
    limit, sms = m.quantity("flag.limit").text, int(m.number("flag.capacity")) // int(m.number("flag.residents"))
    origin = view.origin(f"blocks of {count_text(fits.threads)} threads")
    room = titled(canvas, box, "EVERY BLOCK WAITS FOR THE LAST BLOCK'S FLAG", origin)
    panels, bars = [], []
    derived = f"{some_text(sms, 'SM')} × {held} place{'s' * (held > 1)}"
    for name, trace, how in (("fits", fits, f" = {derived}"), ("more", more, ", one more than fits")):
        lost, took = int(m.number(f"flag.{name}.timed_out")), time_text(trace.span_ns)
        outcome = m.one_series(f"flag.{name}.outcome").y
        said = f"✗ {count_text(lost)} gave up at the limit, {limit}" if lost else f"✓ all saw it, over after {took}"
        many = some_text(trace.blocks, "block")
        paint = _outcome_painter(trace, outcome, held, now)
        panels.append(Panel(f"{many}{how}:", trace, sms, held, paint, said))
        ended = f"{took}, the limit set here" if lost else took
        bars.append(Bar(many, float(trace.span_ns), ended, Ink.BAD if lost else Ink.GOOD))
    entries = [
        (RUNNING, Ink.WORK, "waits for the flag"),
        ("✓", Ink.GOOD, "saw it"),
        ("✗", Ink.BAD, "gave up"),
        ("◆", Ink.LOOK, "the last block, sets it"),
    ]
    took_rows = len(bars) + 2 if room.height >= 28 else 0
    kept = 3 if room.height >= 28 else 2 if room.height >= 18 else 0  # for the sentence
    y = _race(m, view, canvas, room.inside(bottom=took_rows + kept), panels, entries)
    charts = [replace(p, heading=f"launch of {count_text(p.trace.blocks)}") for p in panels]
    below = Box(room.x, y, room.width, max(room.bottom - took_rows - kept - y, 0))
    y = draw_running(canvas, below, charts, now, float(more.span_ns))
    if took_rows:
        part = titled(
            canvas, Box(box.x, y, box.width, took_rows), "UNTIL ALL BLOCKS ARE DONE", "shorter: faster", rule=True
        )
        y = labelled_bars(canvas, part, bars, float(more.span_ns), played=now / more.span_ns)
    if now < more.span_ns:
        return
    last, lost = more.blocks - 1, int(m.number("flag.more.timed_out"))
    said = f"Block {count_text(last)}, the last, began only after {time_text(more.start_ns[last])}: "
    said += (
        f"the blocks that wait for it held all {count_text(capacity)} places. Without the limit this launch hangs."
        if lost == capacity
        else "another had to give up its place first."
    )
    _conclude(canvas, Box(room.x, y, room.width, max(room.bottom - y, 0)), said)


def _skipped(trace: Trace) -> str:
    """``SM 0 … 49, 42 skipped``: said where the SMs of a launch are not numbered without gaps."""
    gaps = trace.sms[-1] - trace.sms[0] + 1 - len(trace.sms)
    return f"SM {trace.sms[0]} … {trace.sms[-1]}, {gaps} skipped" if gaps else ""


def _plain_panel(heading: str, trace: Trace, sms: int, residents: int, now: float) -> Panel:
    counts = [len(blocks) for blocks in trace.by_sm.values()]
    spread = "" if min(counts) == max(counts) else f"{min(counts)} … "
    done = f"over after {time_text(trace.span_ns)}, {spread}{some_text(max(counts), 'block')} an SM"
    paint = totals_painter(trace) if now >= trace.span_ns else residents_painter(trace, residents, now, fresh_ns(trace))
    return Panel(heading, trace, sms, residents, paint, done, _skipped(trace))


def draw_twins(m: Measurement, view: View, canvas: Canvas, box: Box) -> None:
    """CUDA and Triton on one clock; below, how long the warps stay that have no element."""
    now, sms = now_of(m, view), int(m.number("fit.sms"))
    cuda, triton = traces_of(m, TWINS)
    room = titled(canvas, box, "THE SAME WORK, WRITTEN TWICE", origin_of(view, cuda))
    panels = [
        _plain_panel(name, m.trace(f"twin.{name}"), sms, int(m.number(f"twin.{name}.residents")), now)
        for name in ("CUDA", "Triton")
    ]
    idle = [m.quantity(f"twin.{name}.idle") for name in ("CUDA", "Triton")]
    below = 4 if room.height >= 24 and idle[0].n else 0
    kept = 3 if room.height >= 24 else 2 if room.height >= 18 else 0  # for the sentence
    y = _race(m, view, canvas, room.inside(bottom=below + kept), panels)
    end = pace(m, view.step).gpu_ns
    y = draw_running(canvas, Box(room.x, y, room.width, room.bottom - below - kept - y), panels, now, end)
    if below:
        part = titled(
            canvas,
            Box(box.x, y, box.width, below),
            f"LAST BLOCK: HOW LONG ITS WARPS WITHOUT AN ELEMENT STAY ({idle[0].note})",
            "their own stamps",
            rule=True,
        )
        lasts = [m.quantity(f"twin.{name}.last") for name in ("CUDA", "Triton")]
        bars = [
            Bar(name, one.number, f"{one.text} of the block's {last.text}", ink)
            for name, one, last, ink in zip(("CUDA", "Triton"), idle, lasts, (Ink.A, Ink.B), strict=True)
        ]
        y = labelled_bars(canvas, part, bars, max(last.number for last in lasts))
    if kept and now >= end:
        alike = 0.9 <= m.number("twin.ratio") <= 1.1
        took = f"CUDA {time_text(cuda.span_ns)}, Triton {time_text(triton.span_ns)}"
        said = f"{took}: {'the same time in all' if alike else 'not the same time'}."
        if below and alike:
            said += " A block lasts until its last warp is done, so warps that stay without work do not lengthen it."
        elif idle[0].n:
            stay = " and ".join(f"{one.text} in {name}" for name, one in zip(("CUDA", "Triton"), idle, strict=True))
            said += f" In the last block, {idle[0].note} have no element and stay {stay}."
        _conclude(canvas, Box(room.x, y, room.width, room.bottom - y), said)


def draw_smaller(m: Measurement, view: View, canvas: Canvas, box: Box) -> None:
    """The same launch on fewer and on all SMs, on one clock."""
    traces = traces_of(m, SMALLER)
    origin = view.origin("launched one by one, shown together")
    if not traces:
        room = titled(canvas, box, "THE SAME LAUNCH ON FEWER SMs", origin)
        paragraph(canvas, room.inside(top=1), f"Not measured: {m.why_missing('smaller')}.", Ink.DIM)
        return
    room = titled(canvas, box, f"THE SAME {count_text(traces[0].blocks)} BLOCKS ON FEWER SMs", origin)
    now, end = now_of(m, view), pace(m, view.step).gpu_ns
    panels = []
    for trace in traces:
        sms = int(trace.name.split(".")[1])
        residents = int(m.number(f"sms.{sms}.capacity")) // sms
        panels.append(_plain_panel(some_text(sms, "SM"), trace, sms, residents, now))
    took = len(panels) + 2 if room.height >= 24 else 0
    kept = 3 if room.height >= 28 else 2 if room.height >= 18 else 0  # for the sentence
    y = _race(m, view, canvas, room.inside(bottom=took + kept), panels)
    if took:
        part = titled(
            canvas, Box(box.x, y, box.width, took), "FROM FIRST START TO LAST END", "shorter: faster", rule=True
        )
        high = float(max(trace.span_ns for trace in traces))
        bars = [Bar(p.heading, float(p.trace.span_ns), _waves_said(m, p), Ink.WORK_ALT) for p in panels]
        y = labelled_bars(canvas, part, bars, high, played=now / high)
        y = _waves(canvas, Box(box.x, y, box.width, room.bottom - kept - y), panels, now, end)
        y = draw_running(canvas, Box(room.x, y, room.width, room.bottom - kept - y), panels, now, end)
    if kept and now >= end:
        few, all_ = panels[0], panels[-1]
        on = [some_text(one.sms, "SM") for one in (few, all_)]
        longer = "and more time" if few.trace.span_ns > all_.trace.span_ns else "but no more time"
        said = (
            f"The same blocks on {on[0]} need {_waves_of(m, few)}, on {on[1]} {_waves_of(m, all_)}: "
            f"fewer places at once, more waves {longer}."
        )
        if not any(m.number(f"sms.{p.sms}.wrong") for p in panels):
            said += " The result is the same."
        _conclude(canvas, Box(room.x, y, room.width, room.bottom - y), said)


def _waves_of(m: Measurement, panel: Panel) -> str:
    waves = int(m.number(f"sms.{panel.sms}.rounds"))
    return "1 wave" if waves == 1 else f"{waves} waves"


def _waves_said(m: Measurement, panel: Panel) -> str:
    """``882.4 µs, 528 ÷ (8 × 2) = 33 waves``: what a launch took, and why."""
    blocks, capacity = panel.trace.blocks, panel.sms * panel.residents
    equals = "=" if blocks % capacity == 0 else f"= {blocks / capacity:.1f} →"
    took = time_text(panel.trace.span_ns)
    return f"{took}, {count_text(blocks)} ÷ ({panel.sms} × {panel.residents}) {equals} {_waves_of(m, panel)}"


WAVES = ("▇", "▒")
"""One wave and the next, told apart without colour."""


def _waves(canvas: Canvas, box: Box, panels: Sequence[Panel], now: float, end: float) -> int:
    """One SM of each launch over the time of the bar above, its waves in two glyphs by turns; the first free row."""
    if box.height < len(panels) + 2:
        return box.y
    room = titled(
        canvas,
        Box(box.x, box.y, box.width, len(panels) + 2),
        "ONE SM OF EACH, OVER TIME",
        f"{WAVES[0]} {WAVES[1]} by turns: a wave, all places filled once",
        rule=True,
    )
    # As wide as the time bar above, which leaves room for its last label.
    lane_box = Box(room.x, room.y, room.width - len(time_text(end)), 1)
    for y, panel in enumerate(panels, room.y):
        lanes = Lanes(panel.trace, panel.residents, end, now)
        lanes.lane(canvas, lane_box, y, panel.trace.sms[0], turns=WAVES)
        canvas.put(room.x, y, f"of {panel.sms}".ljust(LABEL), Ink.DIM)
    return room.bottom
