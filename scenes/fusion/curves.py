"""The pictures of ``fusion`` that compare sizes: where it pays, and what the L2 changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from math import log2

from gpu_explain.scenes.base import Measurement, Series, number_text
from gpu_explain.scenes.draw.bars import FULL, MEDIUM, Bar, bar, labelled_bars
from gpu_explain.scenes.draw.box import Box, legend, paragraph, titled
from gpu_explain.scenes.draw.canvas import Canvas
from gpu_explain.scenes.draw.ink import Ink
from gpu_explain.scenes.draw.plot import Plot, Tick, stair_range
from gpu_explain.scenes.draw.sizes import size_text
from gpu_explain.scenes.fusion.calculations import operands
from gpu_explain.scenes.fusion.claims import FOUND_PERCENT
from gpu_explain.scenes.fusion.inks import FILLS, GPU_CLOCK, HOST_CLOCK, IN_L2, IN_MEMORY
from gpu_explain.scenes.fusion.measure import EAGER_TRIPS, FUSED_TRIPS, WELL_INSIDE, WELL_OUTSIDE, share_text
from gpu_explain.scenes.fusion.parameters import NAMES, about
from gpu_explain.scenes.fusion.remarks import above_hundred, scatter

Point = tuple[float, float]
Curve = tuple[Sequence[Point], Ink, str]
"""Points, their ink and their glyph."""


def swept(m: Measurement) -> str:
    """The fused entrant whose curve is shown: the chosen one if it was swept."""
    chosen = str(m.value("racer"))
    return chosen if m.has(f"gpu.{chosen}") else "triton"


def few_sizes(m: Measurement, name: str) -> int:
    """How many sizes an entrant was measured at where it was not at all of them; else 0."""
    sizes = len(m.one_series(f"gpu.{name}").x)
    return sizes if sizes < len(m.one_series("gpu.eager").x) else 0


def _ratio(m: Measurement, clock: str, name: str) -> tuple[Point, ...]:
    """Points (log2 n, time of eager ÷ time of the fused one) by one of the two clocks."""
    eager, fused = m.one_series(f"{clock}.eager"), m.one_series(f"{clock}.{name}")
    found = ((x, eager.at(x), y) for x, y in zip(fused.x, fused.y, strict=True))
    return tuple((log2(x), e / y) for x, e, y in found if e is not None)


def _logs(series: Series) -> tuple[Point, ...]:
    return tuple((log2(x), log2(y)) for x, y in zip(series.x, series.y, strict=True))


def n_range(m: Measurement) -> tuple[float, float]:
    """The range of log2 n that was swept."""
    sizes = m.one_series("gpu.eager").x
    return log2(sizes[0]), log2(sizes[-1])


def plot_over_n(
    m: Measurement, canvas: Canvas, box: Box, y: tuple[float, float], ticks: Sequence[Tick], *, margin: int
) -> Plot:
    """Axes over the n that were swept, every measured n a tick, the largest one too."""
    low, high = n_range(m)
    # Three cells at the right, so that the largest n can be written under its point.
    plot = Plot(canvas, box.inside(right=3), (low, high), y, margin=margin)
    plot.axes([Tick(k, about(2**k)) for k in range(int(low), int(high) - 1, 2)], ticks)
    last = about(int(m.one_series("gpu.eager").x[-1]))
    canvas.put(plot.column(high), plot.area.bottom, "┴", Ink.FAINT)
    canvas.put(plot.column(high) - len(last) // 2, plot.area.bottom + 1, last, Ink.DIM)
    return plot


def draw_curves(plot: Plot, curves: Sequence[Curve], sweep: Sequence[float]) -> None:
    """Curves as points and dotted lines; where points of two share a cell, one mark says so.

    Lines join only points that are neighbours in ``sweep``, all x that were measured: elsewhere nothing is known.
    """
    for points, _, _ in curves:
        for one, other in _neighbours(points, sweep):
            plot.line((one, other), Ink.FAINT)
    taken: set[tuple[int, int]] = set()
    for points, ink, glyph in curves:
        for x, y in points:
            cell = plot.column(x), plot.row(y)
            plot.points([(x, y)], *((Ink.STRONG, BOTH) if cell in taken else (ink, glyph)))
            taken.add(cell)


def _neighbours(points: Sequence[Point], sweep: Sequence[float]) -> list[tuple[Point, Point]]:
    """Pairs of points between which no x of the sweep lies."""
    return [(a, b) for a, b in pairwise(points) if not any(a[0] < x < b[0] for x in sweep)]


def swept_logs(m: Measurement) -> tuple[float, ...]:
    """log2 of every n that was swept."""
    return tuple(log2(n) for n in m.one_series("gpu.eager").x)


_BINARY = "1 MB = 2^20 bytes here"
BOTH = "◉"
"""Where two curves have a point in the same cell."""
CLOCKS = (("call", HOST_CLOCK, "◆", "calls in a loop"), ("gpu", GPU_CLOCK, "●", "kernels alone"))


def _clock_key(m: Measurement) -> list[tuple[str, Ink, str]]:
    shown = CLOCKS if m.has("call.eager") else CLOCKS[1:]
    both = [(BOTH, Ink.STRONG, "both")] if len(shown) > 1 else []
    return [*((glyph, ink, meaning) for _, ink, glyph, meaning in shown), *both]


_JOINS = ("·", Ink.FAINT, "not measured")
"""The dots that lead the eye from a point to the next one."""


def pays(m: Measurement, canvas: Canvas, box: Box, share: float, previous: str) -> None:
    """Speed-up against n by both clocks; under it, where there is room, the two clocks themselves."""
    said = 2 if box.height >= 18 else 0
    tall = box.height >= 30 and m.has("call.eager")
    curves = box.inside(bottom=said)
    top, below = curves.stack((curves.height // 2, curves.height)) if tall else (curves, Box(0, 0, 0, 0))
    speedups(m, canvas, top, share, previous)
    if tall:
        _clocks(m, canvas, below, share)
    if share >= 1 and said:
        paragraph(canvas, Box(box.x + 1, box.bottom - said, box.width - 2, said), _small_and_large(m), Ink.LOOK)


def _small_and_large(m: Measurement) -> str:
    """The two ends of the speed-up's curve, by the clock of calls where it was read."""
    name = swept(m)
    clock = "call" if m.has(f"call.{name}") and m.has("call.eager") else "gpu"
    points = _ratio(m, clock, name)

    def end(point: Point) -> str:
        x, wins = point
        than = "faster" if wins > 1.005 else "slower" if wins < 0.995 else "as fast as eager"
        return f"{than} ({wins:.2f} ×) at {about(round(2**x))}"

    who = f"By the clock of calls (◆) {NAMES[name]}" if clock == "call" else NAMES[name]
    said = f"{who} is {end(points[0])}, {end(points[-1])}."
    if few_sizes(m, name):
        said += " Between its points nothing was measured."
    elif m.has("calls.edge") and m.number("calls.edge") > m.one_series("gpu.eager").x[0]:
        said += " On the left launches count, on the right bytes."
    return said


def _regions(m: Measurement, plot: Plot, row: int) -> None:
    """A dotted wall where the GPU begins to be busy, and the names of both sides."""
    if not m.has("calls.edge"):
        return
    series = m.one_series("gpu.eager")
    edge = m.number("calls.edge")
    before = [x for x in series.x if x < edge]
    if not before:
        return
    column = plot.column((log2(before[-1]) + log2(edge)) / 2)
    for y in range(plot.area.y, plot.area.bottom):
        plot.canvas.put(column, y, "┊", Ink.DIM)
    right = "eager: GPU busy"
    lefts = ("eager: GPU waits for Python", "eager: GPU waits", "host", "")
    left = next(text for text in lefts if not text or len(text) + 2 <= column - plot.area.x)
    plot.canvas.right(column - 1, row, left, Ink.DIM)
    if column + 2 + len(right) <= plot.area.right:
        plot.canvas.put(column + 2, row, right, Ink.DIM)


def _clocks(m: Measurement, canvas: Canvas, box: Box, share: float) -> None:
    """Time of a call and time on the GPU for eager, both axes logarithmic."""
    low, high = n_range(m)
    reach = low + share * (high - low)
    room = titled(canvas, box, "WHY: EAGER'S TIME BY TWO CLOCKS", "µs against n, both axes logarithmic", rule=True)
    legend(canvas, room.x, room.y, [*_clock_key(m), _JOINS], room.right)
    values = [log2(v) for clock, *_ in CLOCKS for v in m.one_series(f"{clock}.eager").y]
    y = (min(values) - 0.3, max(values) + 0.3)
    ticks = [Tick(log2(t), f"{number_text(t)} µs") for t in (1, 10, 100, 1000, 10_000) if y[0] <= log2(t) <= y[1]]
    plot = plot_over_n(m, canvas, room.inside(top=1), y, ticks, margin=9)
    _regions(m, plot, plot.area.y)
    shown = [(m.one_series(f"{clock}.eager"), ink, glyph) for clock, ink, glyph, _ in CLOCKS]
    curves = [([p for p in _logs(s) if p[0] <= reach + 1e-9], ink, glyph) for s, ink, glyph in shown]
    draw_curves(plot, curves, swept_logs(m))
    top = max(series.y[0] for series, *_ in shown)
    for series, ink, _ in shown:
        _value(plot, _logs(series)[0], f"{number_text(series.y[0])} µs", ink, above=series.y[0] == top)


def _value(plot: Plot, point: Point, text: str, ink: Ink, *, above: bool) -> None:
    """A point's value in words, over it or under it; left out where that is off the plot, the panel has it too."""
    row = plot.row(point[1]) + (-1 if above else 1)
    if plot.area.y <= row < plot.area.bottom:
        plot.canvas.put(plot.column(point[0]) + 1, row, text, ink)


def speedups(m: Measurement, canvas: Canvas, box: Box, share: float, previous: str = "", *, rule: bool = False) -> None:
    """Time of eager over time of the fused kernel, by the GPU's clock and by the host's."""
    name = swept(m)
    low, high = n_range(m)
    reach = low + share * (high - low)
    clocks = [one for one in CLOCKS if m.has(f"{one[0]}.{name}") and m.has(f"{one[0]}.eager")]
    points = {clock: _ratio(m, clock, name) for clock, *_ in clocks}
    sweep = swept_logs(m)
    few = few_sizes(m, name)
    room = titled(
        canvas,
        box,
        f"SPEED-UP AGAINST n: eager ÷ {NAMES[name]}",
        previous or (f"measured at {few} n only" if few else "kernels alone: caches emptied"),
        rule=rule,
    )
    allow = EAGER_TRIPS / FUSED_TRIPS
    key = [*_clock_key(m), ("┄", Ink.COMPUTED, f"bytes {EAGER_TRIPS}/{FUSED_TRIPS}")]
    if any(_neighbours(found, sweep) for found in points.values()):
        key.append(_JOINS)
    legend(canvas, room.x, room.y, key, room.right)
    highest = max(allow, *(v for p in points.values() for _, v in p)) * 1.05
    inner = room.inside(top=1)
    # Rows where "equal" and what the bytes allow lie exactly, or a point a hair off a line is drawn a row away.
    y = stair_range(1.0, allow - 1, highest, max(inner.height - 2, 2))
    ticks = [Tick(1, "equal"), Tick(allow, f"{allow:.2f} ×"), Tick(0, "0"), Tick(2, "2 ×")]
    plot = plot_over_n(m, canvas, inner, y, ticks, margin=8)
    for column in range(plot.area.x, plot.area.right):
        canvas.put(column, plot.row(allow), "┄", Ink.COMPUTED)
        canvas.put(column, plot.row(1), "┄", Ink.FAINT)
    _regions(m, plot, plot.area.bottom - 1)
    drawn = [([p for p in points[clock] if p[0] <= reach + 1e-9], ink, glyph) for clock, ink, glyph, _ in clocks]
    draw_curves(plot, drawn, sweep)
    if plot.area.height >= 8:
        for row, text in ((plot.row(1) - 1, f"▲ {NAMES[name]} faster"), (plot.row(1) + 1, f"▼ {NAMES[name]} slower")):
            start = plot.area.right - len(text)
            if start > plot.area.x and all(canvas.glyph(x, row) in " ·┊" for x in range(start, plot.area.right)):
                canvas.put(start, row, text, Ink.DIM)
    top = max(points[clock][0][1] for clock, *_ in clocks)
    for clock, ink, *_ in clocks:
        first = points[clock][0]
        canvas.put(
            plot.column(first[0]) + 1, plot.row(first[1]) + (-1 if first[1] == top else 1), f"{first[1]:.2f} ×", ink
        )
    if share >= 1:
        _at_the_right(plot, [(glyph, points[clock][-1][1], ink) for clock, ink, glyph, _ in clocks])


def _at_the_right(plot: Plot, ends: Sequence[tuple[str, float, Ink]]) -> None:
    """The last value of each curve over the highest of them, behind the curve's glyph: they may share a cell."""
    end, row = plot.area.right, min(plot.row(value) for _, value, _ in ends) - 1
    start = max(end - sum(len(f"{glyph} {value:.2f} ×") + 2 for glyph, value, _ in ends), plot.area.x)
    # Over any curve that comes down to its end.
    while row > plot.area.y and any(plot.canvas.glyph(x, row) not in " ┊┄" for x in range(start, end)):
        row -= 1
    for glyph, value, ink in reversed(ends):
        end = plot.canvas.right(end, row, f"{glyph} {value:.2f} ×", ink) - 2


def _in_turn(share: float, at: int, count: int) -> float:
    """How much of the bar at place ``at`` of ``count`` is drawn: one after the other, each with its number.

    Bars that grow side by side are equal half-way, and would say so.
    """
    return min(max(share * count - at, 0.0), 1.0)


def _found(behind: float, flushed: float) -> tuple[Ink, str]:
    """Ink and glyph of a size of tmp."""
    return (IN_L2, FULL) if behind / flushed * 100 <= FOUND_PERCENT else (IN_MEMORY, MEDIUM)


def cache(m: Measurement, canvas: Canvas, box: Box, share: float, previous: str) -> None:
    """For each size of tmp: relu right behind add as a part of relu with an emptied L2."""
    room = titled(canvas, box, "TIME OF RELU RIGHT BEHIND ADD", previous or "100 %: same relu, L2 cache emptied first")
    if not m.has("cache.behind"):
        paragraph(canvas, room.inside(top=1), f"Not measured: {m.why_missing('cache')}.", Ink.DIM)
        return
    behind, flushed = m.one_series("cache.behind"), m.one_series("cache.flushed")
    # In powers of two, as caches are described everywhere else; the quantity is in 10⁶ bytes.
    l2 = m.number("cache.l2") * 1e6
    rows = len(behind.x)
    spread = 2 if room.height >= 3 * rows + 14 else 1
    left, said = room.x + 18, 24 if room.width >= 70 else 0
    width = max(int((room.right - left - said - 8) / 1.08), 8)
    canvas.put(room.x, room.y, "size of tmp", Ink.DIM)
    canvas.put(left, room.y, "time", Ink.DIM)
    canvas.put(left + width, room.y, "100 %", Ink.DIM)
    if said:
        canvas.right(room.right, room.y, "behind add ÷ emptied", Ink.DIM)
    y = room.y + 1
    walled = False
    for at, part in enumerate(behind.x):
        if y >= room.bottom - 1:
            break
        if part >= 1 and not walled:
            text = f"┄ from here tmp alone fills the L2 ({size_text(l2)}), and a and b pass through too "
            canvas.put(room.x, y, text.ljust(room.width, "┄")[: room.width], Ink.REPORTED)
            walled, y = True, y + 1
        drawn = _in_turn(share, at, rows)
        canvas.put(room.x, y, f"{size_text(part * l2):>8}", Ink.TEXT)
        canvas.put(room.x + 10, y, share_text(part), Ink.DIM)
        canvas.put(left + width, y, "┊", Ink.DIM)
        ratio = behind.y[at] / flushed.y[at]
        bar(canvas, left, y, min(ratio, 1.08) * drawn * width, *_found(behind.y[at], flushed.y[at]))
        if drawn >= 1:
            canvas.put(left + int(1.08 * width) + 2, y, f"{_percent((behind.y[at], flushed.y[at]))}", Ink.STRONG)
            if said:
                pair = operands((behind.y[at], flushed.y[at]), _percent, _percent((behind.y[at], flushed.y[at])))
                if pair:
                    canvas.right(room.right, y, f"{pair[0]} ÷ {pair[1]} µs", Ink.DIM)
        y += spread
    y = _places(canvas, Box(room.x, y, room.width, max(room.bottom - y, 0)), behind.floor)
    end = _gain(m, canvas, Box(box.x, y, box.width, max(box.bottom - y - 2, 0)), share)
    if share >= 1:
        end += 1 if box.bottom - end >= 3 else 0
        paragraph(canvas, Box(room.x, end, room.width, max(box.bottom - end, 0)), _l2_verdict(m), Ink.LOOK)


def _places(canvas: Canvas, box: Box, floor: float | None) -> int:
    """What the two fills mean, and what a launch has to do with it. Returns the first free row."""
    y = box.y
    if y < box.bottom:
        key = [(FULL, IN_L2, "finds tmp in the L2"), (MEDIUM, IN_MEMORY, "tmp comes from memory")]
        end = legend(canvas, box.x, y, key, box.right)
        if box.right - end > len(_BINARY):
            canvas.right(box.right, y, _BINARY, Ink.DIM)
        y += 1
    if floor and y < box.bottom:
        said = f"An empty launch is {number_text(floor)} µs of each time: a small tmp gains less."
        canvas.put(box.x, y, said[: box.width], Ink.DIM)
        y += 1
    return y


def _percent(values: Sequence[float]) -> str:
    return f"{values[0] / values[1] * 100:.0f} %"


def _l2_verdict(m: Measurement) -> str:
    """What tmp in the L2 does to relu's time and to what fusion wins, at the two sizes that the claims are about."""
    said: list[str] = []
    for where, size in (("inside", WELL_INSIDE), ("outside", WELL_OUTSIDE)):
        if m.has(f"cache.{where}.ratio"):
            ratio, gain = m.number(f"cache.{where}.ratio"), m.number(f"cache.{where}.gain")
            relu, wins = ("", "") if said else ("relu ", "fusion wins ")
            said.append(f"{share_text(size)}: {relu}{ratio:.0f} %, {wins}{gain:.2f} ×")
    verdict = f"tmp of {'; of '.join(said)}." if said else ""
    return " ".join(part for part in (verdict, above_hundred(m), scatter(m)) if part)


def _gain(m: Measurement, canvas: Canvas, box: Box, share: float) -> int:
    """What fusion wins at the same sizes, where there is room for it. Returns the first free row."""
    eager, fused = m.one_series("cache.eager"), m.one_series("cache.triton")
    behind, flushed = m.one_series("cache.behind"), m.one_series("cache.flushed")
    if box.height < len(eager.x) + 3:
        return box.y
    room = titled(canvas, box, "WHAT FUSION WINS THERE", "● time of eager ÷ Triton, a and b from memory", rule=True)
    gains = [e / f for e, f in zip(eager.y, fused.y, strict=True)]
    bars = [
        Bar(f"{share_text(part):>8}".ljust(16), gain, f"{gain:.2f} ×", *_found(b, f))
        for part, gain, b, f in zip(eager.x, gains, behind.y, flushed.y, strict=True)
    ]
    allow = EAGER_TRIPS / FUSED_TRIPS
    text = f"{allow:.2f} × = {EAGER_TRIPS}/{FUSED_TRIPS}"
    bars.append(Bar("   bytes allow".ljust(16), allow, text, Ink.COMPUTED, FILLS[Ink.COMPUTED]))
    high = max(*gains, allow)
    longest = max(len(one.text) for one in bars)
    apart = 2 if box.height >= 2 * len(bars) + 4 else 1
    for at, one in enumerate(bars):
        drawn = _in_turn(share, at, len(bars))
        # The room for the longest text is kept for each, so that all bars have one scale.
        wide = replace(one, value=one.value * drawn, text=(one.text if drawn >= 1 else "").ljust(longest))
        labelled_bars(canvas, Box(room.x, room.y + at * apart, room.width, 1), [wide], high)
    return room.y + (len(bars) - 1) * apart + 1
