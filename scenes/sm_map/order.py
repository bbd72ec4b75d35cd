"""The step on order: where the first blocks ran, when the others started, and what of it one may rely on."""

from __future__ import annotations

from functools import lru_cache

from gpu_explain.scenes.base import Measurement, Trace
from gpu_explain.scenes.draw.box import Box, titled
from gpu_explain.scenes.draw.canvas import Canvas
from gpu_explain.scenes.draw.ink import Ink
from gpu_explain.scenes.draw.plot import Plot, Tick
from gpu_explain.scenes.draw.scale import Scale, count_text, time_text
from gpu_explain.scenes.sm_map.facts import by_start


def draw_order(m: Measurement, canvas: Canvas, box: Box, now_ns: float, origin: str) -> None:
    """The first blocks as a table, all of them as a curve around their numbers, and what is true of them."""
    trace = m.trace("launch")
    verdicts = _verdicts(m)
    room = titled(canvas, box, "WHERE THE FIRST BLOCKS RAN", origin)
    _first(canvas, room, trace)
    below = len(verdicts) + 2
    chart = Box(box.x, room.y + 3, box.width, max(box.bottom - below - room.y - 3, 0))
    if chart.height >= 6 and trace.blocks > 1:
        _draw_drift(canvas, chart, trace, now_ns)
        y = chart.bottom
    else:
        y = chart.y
    part = titled(
        canvas, Box(box.x, y, box.width, box.bottom - y), "WHAT THIS LAUNCH SHOWS", "✓ rely on it   ✗ do not", rule=True
    )
    for row, (sure, text) in enumerate(verdicts[: part.height]):
        canvas.put(part.x, part.y + row, "✓" if sure else "✗", Ink.GOOD if sure else Ink.BAD)
        canvas.put(part.x + 2, part.y + row, text, Ink.TEXT)


def _first(canvas: Canvas, room: Box, trace: Trace) -> None:
    """The first blocks by number: on which SM each ran, and how long after the first of all it started."""
    widest = max(len(str(trace.sms[-1])), 4) + 1
    for y, word in enumerate(("block", "on SM", "after ns"), room.y):
        canvas.put(room.x, y, word, Ink.DIM)
    for block in range(min(trace.blocks, (room.width - 9) // widest)):
        end = room.x + 9 + (block + 1) * widest - 1
        canvas.right(end, room.y, str(block), Ink.STRONG)
        canvas.right(end, room.y + 1, str(trace.sm[block]), Ink.WORK_ALT)
        canvas.right(end, room.y + 2, str(trace.start_ns[block]), Ink.DIM)


def _draw_drift(canvas: Canvas, box: Box, trace: Trace, now_ns: float) -> None:
    """How far each block's number lies from its place in the order of starts: in order would be a flat line at 0."""
    room = titled(canvas, box, "NUMBER LESS PLACE IN THE ORDER OF STARTS", "flat at 0: in order", rule=True)
    reach = _reach(trace)
    plot = Plot(canvas, room, (0, trace.blocks - 1), (-reach, reach))
    middle = count_text(trace.blocks // 2)
    plot.axes(
        [Tick(0, "1."), Tick(trace.blocks // 2, f"{middle}."), Tick(trace.blocks - 1, f"{count_text(trace.blocks)}.")],
        [Tick(reach, f"+{count_text(reach)}"), Tick(0, "0"), Tick(-reach, f"−{count_text(reach)}")],
        "to start",
    )
    canvas.put(plot.area.x, plot.row(0), "┄" * plot.area.width, Ink.FAINT)
    zero = plot.row(0)
    for column, row, start_ns in _dots(trace, plot.area.width, plot.area.height):
        if start_ns <= now_ns:
            y = plot.area.bottom - 1 - row
            canvas.put(plot.area.x + column, y, "•", Ink.WORK if y == zero else Ink.LOOK)


@lru_cache(maxsize=16)
def _drift(trace: Trace) -> tuple[int, ...]:
    return tuple(block - place for place, block in enumerate(by_start(trace)))


def _reach(trace: Trace) -> int:
    return max(*(abs(off) for off in _drift(trace)), 1)


@lru_cache(maxsize=16)
def _dots(trace: Trace, columns: int, rows: int) -> tuple[tuple[int, int, int], ...]:
    """The cells that the curve touches, as column, row from below, and when the first of their blocks started.

    Kept, since a hundred thousand blocks fall onto a few hundred cells and a frame has milliseconds.
    """
    reach = _reach(trace)
    across, up = Scale(0, trace.blocks - 1, max(columns - 1, 1)), Scale(-reach, reach, max(rows - 1, 1))
    first: dict[tuple[int, int], int] = {}
    for place, (block, off) in enumerate(zip(by_start(trace), _drift(trace), strict=True)):
        first.setdefault((round(across.at(place)), round(up.at(off))), trace.start_ns[block])
    return tuple((column, row, at) for (column, row), at in first.items())


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
        late = f"{count_text(unordered)} of {count_text(trace.blocks)} were late, by up to {latest}"
        late = late if unordered else "true here, by chance"
        found.append((False, f"In the order of their numbers: {late}."))
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
