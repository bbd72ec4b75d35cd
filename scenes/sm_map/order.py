"""The step on order: who arrived when, beside the numbers, and what of it one may rely on."""

from __future__ import annotations

from gpu_explain.scenes.base import Measurement, Trace
from gpu_explain.scenes.draw.box import Box, legend, titled
from gpu_explain.scenes.draw.canvas import Canvas
from gpu_explain.scenes.draw.ink import Ink
from gpu_explain.scenes.draw.plot import Plot, Tick
from gpu_explain.scenes.draw.scale import count_text

LATE = "↓"


def draw_order(m: Measurement, canvas: Canvas, box: Box, now_ns: float, origin: str, *, focused: bool) -> None:
    """The first arrivals as a table, all of them as a curve around their numbers, and what is true of them."""
    trace = m.trace("launch")
    verdicts = _verdicts(m)
    room = titled(canvas, box, "THE FIRST TO ARRIVE", origin)
    _first(canvas, room, trace)
    below = len(verdicts) + 2
    chart = Box(box.x, room.y + 4, box.width, max(box.bottom - below - room.y - 4, 0))
    if chart.height >= 6 and trace.blocks > 1:
        _drift(canvas, chart, trace, now_ns)
        y = chart.bottom
    else:
        y = chart.y
    part = titled(
        canvas, Box(box.x, y, box.width, box.bottom - y), "WHAT THIS LAUNCH SHOWS", "✓ rely on it   ✗ do not", rule=True
    )
    for row, (sure, text) in enumerate(verdicts[: part.height]):
        canvas.put(part.x, part.y + row, "✓" if sure else "✗", Ink.GOOD if sure else Ink.BAD)
        canvas.put(part.x + 2, part.y + row, text, Ink.TEXT)


def arrivals(trace: Trace) -> tuple[int, ...]:
    """Blocks in the order of their tickets."""
    return tuple(sorted(range(trace.blocks), key=trace.ticket.__getitem__))


def _first(canvas: Canvas, room: Box, trace: Trace) -> None:
    """Place, block and SM of the first to arrive, as many as fit."""
    order = arrivals(trace)
    widest = max(len(str(trace.blocks)), 4) + 1
    shown = order[: max((room.width - 8) // widest, 0)]
    for y, word in enumerate(("arrived", "block", "on SM"), room.y):
        canvas.put(room.x, y, word, Ink.DIM)
    highest = -1
    for place, block in enumerate(shown):
        end = room.x + 8 + (place + 1) * widest - 1
        late = block < highest
        highest = max(highest, block)
        canvas.right(end, room.y, f"{place + 1}.", Ink.DIM)
        canvas.right(end, room.y + 1, f"{LATE if late else ''}{block}", Ink.LOOK if late else Ink.STRONG)
        canvas.right(end, room.y + 2, str(trace.sm[block]), Ink.WORK_ALT)
    legend(canvas, room.x + 8, room.y + 3, [(LATE, Ink.LOOK, "late: after a block with a higher number")], room.right)


def _drift(canvas: Canvas, box: Box, trace: Trace, now_ns: float) -> None:
    """How far each arrival's block number lies from its place in the line: in order would be a flat line at 0."""
    room = titled(canvas, box, "BLOCK NUMBER LESS PLACE OF ARRIVAL", "flat at 0: in order", rule=True)
    order = arrivals(trace)
    drift = [block - place for place, block in enumerate(order)]
    reach = max(*(abs(off) for off in drift), 1)
    plot = Plot(canvas, room, (0, trace.blocks - 1), (-reach, reach))
    middle = count_text(trace.blocks // 2)
    plot.axes(
        [Tick(0, "1."), Tick(trace.blocks // 2, f"{middle}."), Tick(trace.blocks - 1, f"{count_text(trace.blocks)}.")],
        [Tick(reach, f"+{count_text(reach)}"), Tick(0, "0"), Tick(-reach, f"−{count_text(reach)}")],
        "to arrive",
    )
    canvas.put(plot.area.x, plot.row(0), "┄" * plot.area.width, Ink.FAINT)
    seen = [(place, off) for place, off in enumerate(drift) if trace.start_ns[order[place]] <= now_ns]
    plot.points([(place, off) for place, off in seen if not off], Ink.WORK, "•")
    plot.points([(place, off) for place, off in seen if off], Ink.LOOK, "•")


def _verdicts(m: Measurement) -> list[tuple[bool, str]]:
    """What may and may not be relied on, each with what this launch did."""
    trace = m.trace("launch")
    unordered, together = trace.out_of_order, int(m.number("launch.together"))
    moved = trace.moved
    found = [
        (True, f"Every block ran once, on one SM: {count_text(moved)} moved."),
        (
            True,
            f"A block started only where a place was free: never more than {int(m.number('fit.residents'))} on an SM.",
        ),
        (
            False,
            f"In the order of their numbers: {count_text(unordered)} of {count_text(trace.blocks)} were late.",
        ),
    ]
    if trace.blocks > 1:
        found.append(
            (
                False,
                f"Neighbours share an SM: {count_text(together)} of {count_text(trace.blocks - 1)} with the next one.",
            )
        )
    if m.has("again.elsewhere"):
        elsewhere = int(m.number("again.elsewhere"))
        found.append((False, f"The same again next time: {count_text(elsewhere)} ran on another SM the second time."))
    return found
