"""The steps that hold launches against each other: who waits for whom, in which language, on how many SMs."""

from __future__ import annotations

from collections.abc import Sequence

from gpu_explain.scenes.base import Measurement, Trace, View
from gpu_explain.scenes.draw.bars import Bar, labelled_bars
from gpu_explain.scenes.draw.box import Box, paragraph, titled
from gpu_explain.scenes.draw.canvas import Canvas
from gpu_explain.scenes.draw.ink import Ink
from gpu_explain.scenes.draw.map_race import Entries, Panel, draw_race
from gpu_explain.scenes.draw.scale import count_text, time_text
from gpu_explain.scenes.draw.sm_map import FREE, FRESH, RUNNING, Cell, Painter, residents_painter, totals_painter
from gpu_explain.scenes.sm_map.playing import FLAG, SMALLER, TWINS, fresh_ns, now_of, origin_of, pace, traces_of


def _race(m: Measurement, view: View, canvas: Canvas, room: Box, panels: Sequence[Panel], entries: Entries) -> int:
    end = pace(m, view.step).gpu_ns
    return draw_race(canvas, room, panels, now_of(m, view), end, entries, focused=view.focused)


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
            glyph, ink = OUTCOMES[int(outcome[block])] if ended else (RUNNING, Ink.WORK)
            # One mark a block, however wide its place: two would read as two blocks.
            cell += [(glyph, ink)] * (1 if ended else each) + [(" ", Ink.TEXT)] * (each - 1 if ended else 0)
        return cell + [(FREE, Ink.FAINT)] * (width - len(cell))

    return paint


def draw_flag(m: Measurement, view: View, canvas: Canvas, box: Box) -> None:
    """As many as fit beside one more, both on one clock, each block by what became of it."""
    fits, more = traces_of(m, FLAG)
    now, held = now_of(m, view), int(m.number("flag.residents"))
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
    paint = totals_painter(trace) if now >= trace.span_ns else residents_painter(trace, residents, now, fresh_ns(trace))
    return Panel(heading, trace, sms, residents, paint, f"over after {time_text(trace.span_ns)}, {spread} blocks an SM")


_PLAIN_LEGEND: Entries = [
    (RUNNING, Ink.WORK, "running"),
    (FRESH, Ink.LOOK, "just started"),
    (FREE, Ink.FAINT, "free"),
    ("12", Ink.WORK_ALT, "blocks it ran in all"),
]


def draw_twins(m: Measurement, view: View, canvas: Canvas, box: Box) -> None:
    """CUDA and Triton on one clock; below, how long the warps stay that have no element."""
    now, sms = now_of(m, view), int(m.number("fit.sms"))
    cuda, _ = traces_of(m, TWINS)
    room = titled(canvas, box, "THE SAME WORK, WRITTEN TWICE", origin_of(view, cuda))
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
    high = max(m.number(f"twin.{name}.last") for name in ("CUDA", "Triton"))
    labelled_bars(
        canvas,
        part,
        [
            Bar(name, one.number, f"{one.text} of its {m.quantity(f'twin.{name}.last').text}", ink)
            for name, one, ink in zip(("CUDA", "Triton"), idle, (Ink.A, Ink.B), strict=True)
        ],
        high,
    )


def draw_smaller(m: Measurement, view: View, canvas: Canvas, box: Box) -> None:
    """The same launch on fewer and on all SMs, on one clock."""
    traces = traces_of(m, SMALLER)
    origin = "the previous choice" if view.previous else "green contexts, one after the other"
    if not traces:
        room = titled(canvas, box, "THE SAME LAUNCH ON FEWER SMs", origin)
        paragraph(canvas, room.inside(top=1), f"Not measured: {m.why_missing('smaller')}.", Ink.DIM)
        return
    room = titled(canvas, box, f"THE SAME {count_text(traces[0].blocks)} BLOCKS ON FEWER SMs", origin)
    now = now_of(m, view)
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
