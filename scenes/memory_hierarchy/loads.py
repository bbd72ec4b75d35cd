"""Loads timed one by one, as histograms: around one ring, around three, and from every SM."""

from __future__ import annotations

from gpu_explain.scenes.base import Measurement, Series, View
from gpu_explain.scenes.draw.box import Box, legend, titled
from gpu_explain.scenes.draw.canvas import Canvas
from gpu_explain.scenes.draw.histogram import Columns, draw_columns
from gpu_explain.scenes.draw.ink import Ink
from gpu_explain.scenes.draw.plot import Plot, Tick
from gpu_explain.scenes.draw.scale import count_text
from gpu_explain.scenes.draw.sizes import KB, size_text
from gpu_explain.scenes.memory_hierarchy.levels import has_halves
from gpu_explain.scenes.memory_hierarchy.measure import BEYOND, WIDE
from gpu_explain.scenes.memory_hierarchy.playing import origin, played

ROW_OF_LOADS = 256
"""Loads shown in the order in which they were made, where there is room."""


def single(m: Measurement, view: View, canvas: Canvas, box: Box) -> None:
    """The histogram of single loads fills in the order in which the loads were made."""
    latency = m.quantity("single.latency")
    done = round(played(m, view) * latency.n)
    tall = box.height >= 30
    top, below = box.stack((box.height * 3 // 5, box.height)) if tall else (box, Box(0, 0, 0, 0))
    title = f"SINGLE LOADS AROUND A RING OF {size_text(m.number('single.footprint') * KB)}"
    room = titled(canvas, top, title, origin(view, f"{count_text(done)} of {count_text(latency.n)} loads"))
    legend(
        canvas,
        room.x,
        room.y,
        [("█", Ink.A, "how many loads took so long"), ("┊", Ink.LOOK, "the same ring in a chain")],
        room.right,
    )
    room = room.inside(top=1)
    ordered = sorted(latency.samples)
    low, high = ordered[0], ordered[int(len(ordered) * (1 - BEYOND))]
    chain = m.number("single.chain")
    margin = max((high - low) * 0.04, 3)
    columns = Columns.fit(room, min(low, chain) - margin, max(high, chain) + margin)
    whole = columns.counts(latency.samples)
    bars = room.inside(top=2, bottom=2)
    if columns.holds(chain):
        for y in range(bars.y, bars.bottom):
            canvas.put(columns.at(chain), y, "┊", Ink.LOOK)
    draw_columns(canvas, columns, columns.counts(latency.samples[:done]), bars, max(whole), Ink.A)
    columns.axis(canvas, bars.bottom, "cycles")
    if done == latency.n:
        _heaps(m, canvas, columns, room)
    elif done:
        canvas.put(room.x, room.y, f"last load: {latency.samples[done - 1]:.0f} cycles", Ink.DIM)
    if tall:
        _in_order(m, view, canvas, below, done)


def _heaps(m: Measurement, canvas: Canvas, columns: Columns, room: Box) -> None:
    """Each heap's middle and share above it."""
    free = room.x
    for number in range(1, int(m.number("single.heaps")) + 1):
        heap = m.quantity(f"heap.{number}")
        text = f"{heap.number:.0f} cycles, {heap.note.removesuffix(' of the loads')}"
        x = columns.at(heap.number)
        start = max(min(x - len(text) // 2, room.right - len(text)), free)
        if start + len(text) > room.right:
            return
        canvas.put(x, room.y + 1, "▼", Ink.LOOK)
        free = canvas.put(start, room.y, text, Ink.STRONG) + 2


def _in_order(m: Measurement, view: View, canvas: Canvas, box: Box, done: int) -> None:
    """The first loads one after the other: whether near and far come in an order."""
    latency = m.quantity("single.latency")
    count = min(ROW_OF_LOADS, latency.n)
    room = titled(
        canvas,
        box,
        "ONE AFTER THE OTHER",
        origin(view, f"each ●: one load, the first {count}"),
        rule=True,
    )
    ordered = sorted(latency.samples)
    low, high = ordered[0], ordered[int(len(ordered) * (1 - BEYOND))]
    edge = max((high - low) * 0.1, 2)
    plot = Plot(canvas, room, (0, count), (low - edge, high + edge), margin=8)
    middles = [m.number(f"heap.{n}") for n in range(1, int(m.number("single.heaps")) + 1)]
    plot.axes(
        [Tick(k, str(k)) for k in range(0, count + 1, 64)],
        [Tick(y, f"{y:.0f}") for y in middles],
        "load",
    )
    plot.points([(i, y) for i, y in enumerate(latency.samples[: min(done, count)]) if y <= high], Ink.A)


def distance(m: Measurement, view: View, canvas: Canvas, box: Box) -> None:
    """Three rings on one axis; below, how far the L2 is from each SM."""
    rings = [("l2", Ink.A), ("far", Ink.B), ("dram", Ink.C)]
    series = [m.one_series(f"distance.{name}") for name, _ in rings]
    sms = box.height // 3 if box.height >= 26 else 0
    room = titled(
        canvas,
        box.inside(bottom=sms),
        "HOW FAR: THREE RINGS",
        origin(view, "█ single loads, the slowest 5 % lie beyond"),
    )
    low = min(one.x[0] for one in series) - 5 * WIDE
    high = max(one.x[-1] for one in series)
    columns = Columns.fit(room, low, high, grain=WIDE)
    each = max((room.height - 2) // 3, 2)
    now = played(m, view) * 3
    for index, ((name, ink), one) in enumerate(zip(rings, series, strict=True)):
        part = Box(room.x, room.y + index * each, room.width, each)
        _ring(m, canvas, columns, part, (name, one, ink), min(max(now - index, 0.0), 1.0))
    columns.axis(canvas, room.y + 3 * each, "cycles")
    if sms:
        _by_sm(m, view, canvas, Box(box.x, box.bottom - sms, box.width, sms))


def _ring(
    m: Measurement, canvas: Canvas, columns: Columns, box: Box, ring: tuple[str, Series, Ink], share: float
) -> None:
    """One ring's histogram; its columns come from the left, with its median once all are there."""
    name, series, ink = ring
    counts = columns.counts(series.x, series.y)
    shown = [count if cell < share * len(counts) else 0.0 for cell, count in enumerate(counts)]
    draw_columns(canvas, columns, shown, box.inside(top=1), max(counts), ink)
    where = {
        "l2": "a half of the L2 holds it" if has_halves(m) else "an eighth of the L2",
        "far": "only both halves hold it" if has_halves(m) else "almost the whole L2",
        "dram": "the L2 cannot hold it",
    }[name]
    size = series.title.removeprefix("Single loads in ")
    text = f"{size}: {where}"
    if share >= 1:
        text += f", median {m.number(f'distance.{name}'):.0f} cycles"
    canvas.right(box.right, box.y, text, Ink.TEXT)


def _by_sm(m: Measurement, view: View, canvas: Canvas, box: Box) -> None:
    """How many SMs are how far from the L2."""
    series = m.one_series("by_sm")
    room = titled(
        canvas,
        box,
        "HOW FAR THE L2 IS FROM EACH SM",
        origin(view, f"█ how many of {len(series.x)} SMs, each alone"),
        rule=True,
    )
    low, high = min(series.y), max(series.y)
    columns = Columns.fit(room, low - 4, high + 4)
    seen = series.y[: round(played(m, view) * len(series.y))]
    draw_columns(canvas, columns, columns.counts(seen), room.inside(bottom=2), max(columns.counts(series.y)), Ink.A)
    columns.axis(canvas, room.bottom - 2, "cycles")
