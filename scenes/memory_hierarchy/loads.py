"""Loads timed one by one, as histograms: around one ring, around three, and from every SM."""

from __future__ import annotations

from gpu_explain.scenes.base import Measurement, Series, View
from gpu_explain.scenes.draw.box import Box, legend, paragraph, titled
from gpu_explain.scenes.draw.canvas import Canvas
from gpu_explain.scenes.draw.histogram import Columns, draw_columns
from gpu_explain.scenes.draw.ink import Ink
from gpu_explain.scenes.draw.plot import Plot, Tick
from gpu_explain.scenes.draw.scale import count_text
from gpu_explain.scenes.draw.sizes import KB
from gpu_explain.scenes.memory_hierarchy.figures import bytes_text
from gpu_explain.scenes.memory_hierarchy.levels import has_halves, sms_text
from gpu_explain.scenes.memory_hierarchy.measure import BEYOND, WIDE
from gpu_explain.scenes.memory_hierarchy.playing import played

_MARGIN = 8  # cells for the labels of the y axis

_TENTH = 10  # per cent

ROW_OF_LOADS = 256
"""Loads shown in the order in which they were made, where there is room."""


def single(m: Measurement, view: View, canvas: Canvas, box: Box) -> None:
    """The histogram of single loads fills in the order in which the loads were made."""
    latency = m.quantity("single.latency")
    done = round(played(m, view) * latency.n)
    tall = box.height >= 30
    top, below = box.stack((box.height * 3 // 5, box.height)) if tall else (box, Box(0, 0, 0, 0))
    title = f"SINGLE LOADS AROUND A RING OF {bytes_text(m.number('single.footprint') * KB)}"
    room = titled(canvas, top, title, view.origin(f"{count_text(done)} of {count_text(latency.n)} loads"))
    legend(
        canvas,
        room.x,
        room.y,
        [
            ("█", Ink.A, "loads that took so many cycles"),
            ("┊", Ink.LOOK, f"the same ring in a chain: {m.number('single.chain'):.0f}"),
        ],
        room.right,
    )
    said = 3 if room.height >= 16 else 0
    if done == latency.n:
        paragraph(canvas, Box(room.x, room.bottom - said, room.width, said), _what(m), Ink.LOOK)
    room = room.inside(top=1, bottom=said)
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
    tallest = f"tallest █: {max(whole):.0f} loads"
    if len(tallest) + 70 <= room.width:
        canvas.right(room.right, top.y + 1, tallest, Ink.DIM)
    if done == latency.n:
        _heaps(m, canvas, columns, room)
    elif done:
        canvas.put(room.x, room.y, f"last load: {latency.samples[done - 1]:.0f} cycles", Ink.DIM)
    if tall:
        _in_order(m, view, canvas, below, done)


def _what(m: Measurement) -> str:
    """What the heaps are, and why a chain shows another number than any of them."""
    chain, mean, floor = (m.number(f"single.{name}") for name in ("chain", "mean", "floor"))
    heaps = [m.number(f"heap.{n}") for n in range(1, int(m.number("single.heaps")) + 1)]
    l1, l2 = m.number("level.l1"), m.number("level.l2")
    text = ""
    if (l1 + l2) / 2 <= chain < 1.15 * l2 and len(heaps) > 1:
        within = "near half of the L2" if has_halves(m) else "L2"
        text = f"All in the {within}: slices closer to this SM answer in {heaps[0]:.0f} cycles, others in "
        text += f"{' or '.join(f'{one:.0f}' for one in heaps[1:])}. "
    # Rounded as they are shown: a sum that the reader checks must hold.
    alone, expected = round(mean) - round(floor), round(chain)
    off = expected - alone
    if abs(off) <= 1:
        text += f"A chain shows only the mean: {mean:.0f} − {floor:.0f} (clock) = {alone}"
        return text + ("." if not off else f", in the chain's own laps {expected}.")
    text += f"Mean {mean:.0f} − {floor:.0f} (clock) = {alone}; in the chain {expected}, {abs(off)} "
    text += f"{'more' if off > 0 else 'fewer'}. "
    likely = "one was interrupted" if chain < 1.15 * l2 else "other lines were still near, or more loads had to wait"
    return text + f"They are different laps; likely {likely}."


def _heaps(m: Measurement, canvas: Canvas, columns: Columns, room: Box) -> None:
    """Each heap's middle and share above it."""
    free = room.x
    for number in range(1, int(m.number("single.heaps")) + 1):
        heap = m.quantity(f"heap.{number}")
        text = f"{heap.number:.0f} cycles: {heap.note}"
        x = columns.at(heap.number)
        start = max(min(x - len(text) // 2, room.right - len(text)), free)
        if start + len(text) > room.right:
            return
        canvas.put(x, room.y + 1, "▼", Ink.LOOK)
        free = canvas.put(start, room.y, text, Ink.STRONG) + 2


def _in_order(m: Measurement, view: View, canvas: Canvas, box: Box, done: int) -> None:
    """The first loads one after the other: whether near and far come in an order."""
    latency = m.quantity("single.latency")
    # A column a load, so that no dot hides another.
    count = min(ROW_OF_LOADS, latency.n, max(box.width - 2 - _MARGIN - 1, 2))
    first = latency.samples[:count]
    ordered = sorted(latency.samples)
    low, high = ordered[0], ordered[int(len(ordered) * (1 - BEYOND))]
    if ordered[-1] - low <= 2 * (high - low):
        high = ordered[-1]  # nothing so far off that showing it would flatten the rest
    slower = ", ▴ off the scale" if max(first) > high else ""
    room = titled(
        canvas,
        box,
        "ONE AFTER THE OTHER",
        view.origin(f"each ●: one load, the first {count}{slower}"),
        rule=True,
    )
    edge = max((high - low) * 0.1, 2)
    plot = Plot(canvas, room, (0, count - 1), (low - edge, high + edge), margin=_MARGIN)
    middles = [m.number(f"heap.{n}") for n in range(1, int(m.number("single.heaps")) + 1)]
    plot.axes(
        [Tick(k, str(k)) for k in range(0, count + 1, 16)],
        [Tick(low - edge, "cycles"), *(Tick(y, f"{y:.0f}") for y in middles)],
        "load",
    )
    seen = first[: min(done, count)]
    plot.points([(i, y) for i, y in enumerate(seen) if y <= high], Ink.A)
    plot.points([(i, high + edge) for i, y in enumerate(seen) if y > high], Ink.DIM, "▴")


def distance(m: Measurement, view: View, canvas: Canvas, box: Box) -> None:
    """Three rings on one axis; below, how far the L2 is from each SM."""
    rings = [("l2", Ink.A), ("far", Ink.B), ("dram", Ink.C)]
    series = [m.one_series(f"distance.{name}") for name, _ in rings]
    sms = box.height // 3 if box.height >= 26 else 0
    room = titled(
        canvas,
        box.inside(bottom=sms),
        "SINGLE LOADS FROM THREE RINGS",
        view.origin(f"█ share of loads, the slowest {BEYOND * 100:.0f} % not drawn"),
    )
    low = min(one.x[0] for one in series) - 5 * WIDE
    high = max(one.x[-1] for one in series)
    columns = Columns.fit(room, low, high, grain=WIDE)
    each = max((room.height - 3) // 3, 2)
    now = played(m, view) * 3
    for index, ((name, ink), one) in enumerate(zip(rings, series, strict=True)):
        part = Box(room.x, room.y + index * each, room.width, each)
        _ring(m, canvas, columns, part, (name, one, ink), min(max(now - index, 0.0), 1.0))
    columns.axis(canvas, room.y + 3 * each, "cycles")
    if now >= 3 and room.bottom > room.y + 3 * each + 2:
        halves = has_halves(m)
        why = "the larger the ring, the longer its loads take." if halves else "only what the L2 misses moves there."
        canvas.put(room.x, room.y + 3 * each + 2, f"Farther right is later: {why}", Ink.LOOK)
    if sms:
        _by_sm(m, view, canvas, Box(box.x, box.bottom - sms, box.width, sms))


def _ring(
    m: Measurement, canvas: Canvas, columns: Columns, box: Box, ring: tuple[str, Series, Ink], share: float
) -> None:
    """One ring's histogram; its columns come from the left, with where most loads lie once all are there."""
    name, series, ink = ring
    counts = columns.counts(series.x, series.y)
    shown = [count if cell < share * len(counts) else 0.0 for cell, count in enumerate(counts)]
    draw_columns(canvas, columns, shown, box.inside(top=1), max(counts), ink)
    where = {
        "l2": "the near half of the L2 holds it" if has_halves(m) else "an eighth of the L2",
        "far": "too large for the near half" if has_halves(m) else "almost the whole L2",
        "dram": "the L2 cannot hold it",
    }[name]
    size = series.title.removeprefix("Single loads in ")
    text = f"{size}: {where}"
    if share >= 1:
        least, most = middle(series)
        text += f"; 8 loads in 10: {least:.0f} to {most:.0f} cycles"
    # Over its heap, or another ring's heap may lie nearer to it.
    first = next(cell for cell, count in enumerate(counts) if count)
    start = min(columns.left + first * columns.wide, box.right - len(text))
    canvas.put(max(start, box.x), box.y, text, Ink.TEXT)


def middle(series: Series) -> tuple[float, float]:
    """From where to where, in cycles, a histogram's loads lie when the fastest and the slowest tenth are left out.

    A median would fall between the heaps, where no load is. Of all loads, those beyond the histogram are the slowest.
    """
    total, least, most = 0.0, series.x[0], series.x[-1] + WIDE
    for x, share in zip(series.x, series.y, strict=True):
        if total < _TENTH:
            least = x
        total += share
        if total >= 100 - _TENTH:
            return least, x + WIDE
    return least, most


def _by_sm(m: Measurement, view: View, canvas: Canvas, box: Box) -> None:
    """How many SMs are how far from the L2."""
    series = m.one_series("by_sm")
    low, high = min(series.y), max(series.y)
    columns = Columns.fit(box.inside(left=1, right=1), low - 4, high + 4)
    room = titled(
        canvas,
        box,
        "HOW FAR THE L2 IS FROM EACH SM",
        view.origin(
            f"█ of {sms_text(len(series.x))}, tallest: {max(columns.counts(series.y)):.0f};"
            f" ring of {bytes_text(m.device.l2_bytes // 16)}"
        ),
        rule=True,
    )
    seen = series.y[: round(played(m, view) * len(series.y))]
    if len(seen) == len(series.y) and room.height >= 6:
        text = f"The same ring: {low:.0f} cycles a load from the nearest SM, {high:.0f} from the farthest."
        canvas.put(room.x, room.bottom - 1, text, Ink.LOOK)
    room = room.inside(bottom=1 if room.height >= 6 else 0)
    draw_columns(canvas, columns, columns.counts(seen), room.inside(bottom=2), max(columns.counts(series.y)), Ink.A)
    columns.axis(canvas, room.bottom - 2, "cycles")
