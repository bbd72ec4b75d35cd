"""The pictures of ``fusion`` that compare sizes: where it pays, the L2, the roofs."""

from __future__ import annotations

from math import log2

from gpu_explain.scenes.base import Measurement, Series, number_text
from gpu_explain.scenes.draw.bars import Bar, bar, labelled_bars
from gpu_explain.scenes.draw.box import Box, legend, paragraph, titled
from gpu_explain.scenes.draw.canvas import Canvas
from gpu_explain.scenes.draw.ink import Ink
from gpu_explain.scenes.draw.plot import Plot, Tick
from gpu_explain.scenes.fusion.claims import rival
from gpu_explain.scenes.fusion.inks import EAGER, FUSED, OTHER
from gpu_explain.scenes.fusion.measure import EAGER_TRIPS, FUSED_TRIPS, ITEM, share_text
from gpu_explain.scenes.fusion.parameters import NAMES, about


def _ratio(m: Measurement, clock: str, name: str) -> tuple[tuple[float, float], ...]:
    """Points (log2 n, time of eager ÷ time of the fused one) by one of the two clocks."""
    eager, fused = m.one_series(f"{clock}.eager"), m.one_series(f"{clock}.{name}")
    found = ((x, eager.at(x), y) for x, y in zip(fused.x, fused.y, strict=True))
    return tuple((log2(x), e / y) for x, e, y in found if e is not None)


def _logs(series: Series) -> tuple[tuple[float, float], ...]:
    return tuple((log2(x), log2(y)) for x, y in zip(series.x, series.y, strict=True))


def pays(m: Measurement, canvas: Canvas, box: Box, share: float, previous: str) -> None:
    """Speed-up against n by both clocks; above it, where there is room, the two clocks themselves."""
    tall = box.height >= 30 and m.has("call.eager")
    top, below = box.stack((box.height // 2, box.height)) if tall else (Box(0, 0, 0, 0), box)
    if tall:
        _clocks(m, canvas, top, share, previous)
    speedups(m, canvas, below, share, "" if tall else previous, rule=tall)


def _range(m: Measurement) -> tuple[float, float]:
    """The range of log2 n that was swept."""
    swept = m.one_series("gpu.eager").x
    return log2(swept[0]), log2(swept[-1])


def _x_ticks(low: float, high: float) -> list[Tick]:
    return [Tick(k, about(2**k)) for k in range(int(low), int(high) + 1, 2)]


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
    left, right = "GPU waits for Python", "GPU waits for memory"
    if len(left) + 2 > column - plot.area.x:
        left = "host" if column - plot.area.x >= 6 else ""
    plot.canvas.right(column - 1, row, left, Ink.DIM)
    if column + 2 + len(right) <= plot.area.right:
        plot.canvas.put(column + 2, row, right, Ink.DIM)


def _clocks(m: Measurement, canvas: Canvas, box: Box, share: float, previous: str) -> None:
    """Time of a call and time on the GPU for eager, both axes logarithmic."""
    x = _range(m)
    reach = x[0] + share * (x[1] - x[0])
    room = titled(canvas, box, "EAGER BY TWO CLOCKS", previous or "µs, both axes logarithmic")
    entries = [("◆", EAGER, "a call in a loop, by the host"), ("●", Ink.MEASURED, "its time on the GPU")]
    legend(canvas, room.x, room.y, entries, room.right)
    calls, on_gpu = m.one_series("call.eager"), m.one_series("gpu.eager")
    values = [log2(v) for v in (*calls.y, *on_gpu.y)]
    y = (min(values) - 0.3, max(values) + 0.3)
    plot = Plot(canvas, room.inside(top=1), x, y, margin=9)
    ticks = [Tick(log2(t), f"{number_text(t)} µs") for t in (1, 10, 100, 1000, 10_000) if y[0] <= log2(t) <= y[1]]
    plot.axes(_x_ticks(*x), ticks, "n")
    _regions(m, plot, plot.area.y)
    for series, ink, glyph in ((calls, EAGER, "◆"), (on_gpu, Ink.MEASURED, "●")):
        seen = [point for point in _logs(series) if point[0] <= reach + 1e-9]
        plot.line(seen, Ink.FAINT)
        plot.points(seen, ink, glyph)


def speedups(m: Measurement, canvas: Canvas, box: Box, share: float, previous: str = "", *, rule: bool = False) -> None:
    """Time of eager over time of the fused kernel, by the GPU's clock and by the host's."""
    chosen = str(m.value("racer"))
    name = chosen if m.has(f"gpu.{chosen}") else "triton"
    x = _range(m)
    reach = x[0] + share * (x[1] - x[0])
    curves = [("gpu", Ink.MEASURED, "●", "by time on the GPU, L2 emptied")]
    if m.has(f"call.{name}") and m.has("call.eager"):
        curves.insert(0, ("call", EAGER, "◆", "by a call in a loop"))
    origin = previous or f"eager ÷ {NAMES[name]}"
    room = titled(canvas, box, "SPEED-UP AGAINST n", origin, rule=rule)
    entries = [(glyph, ink, meaning) for _, ink, glyph, meaning in curves]
    legend(canvas, room.x, room.y, [*entries, ("┄", Ink.COMPUTED, "bytes allow 5/3")], room.right)
    points = {clock: _ratio(m, clock, name) for clock, *_ in curves}
    highest = max(2.0, *(v for p in points.values() for _, v in p)) * 1.05
    plot = Plot(canvas, room.inside(top=1), x, (0, highest), margin=8)
    allow = m.number("bytes.allow") if m.has("bytes.allow") else 5 / 3
    plot.axes(_x_ticks(*x), [Tick(0, "0"), Tick(1, "equal"), Tick(allow, f"{allow:.2f} ×"), Tick(2, "2 ×")], "n")
    for column in range(plot.area.x, plot.area.right):
        canvas.put(column, plot.row(allow), "┄", Ink.COMPUTED)
        canvas.put(column, plot.row(1), "┄", Ink.FAINT)
    _regions(m, plot, plot.area.bottom - 1)
    for clock, ink, glyph, _ in curves:
        seen = [point for point in points[clock] if point[0] <= reach + 1e-9]
        plot.line(seen, Ink.FAINT)
        plot.points(seen, ink, glyph)


def cache(m: Measurement, canvas: Canvas, box: Box, share: float, previous: str) -> None:
    """For each size of tmp: relu right behind add as a part of relu with an emptied L2."""
    room = titled(canvas, box, "TIME OF RELU RIGHT BEHIND ADD", previous or "100 %: the same relu, L2 emptied")
    if not m.has("cache.behind"):
        paragraph(canvas, room.inside(top=1), f"Not measured: {m.why_missing('cache')}.", Ink.DIM)
        return
    behind, flushed = m.one_series("cache.behind"), m.one_series("cache.flushed")
    l2 = m.number("cache.l2")
    rows = len(behind.x)
    spread = 2 if room.height >= 3 * rows + 8 else 1
    left, said = room.x + 18, 24 if room.width >= 70 else 0
    width = max(int((room.right - left - said - 8) / 1.08), 8)
    canvas.put(room.x, room.y, "tmp", Ink.DIM)
    canvas.put(left, room.y, "time", Ink.DIM)
    canvas.put(left + width, room.y, "100 %", Ink.DIM)
    y = room.y + 1
    walled = False
    for at, part in enumerate(behind.x):
        if y >= room.bottom - 1:
            break
        if part > 1 and not walled:
            canvas.put(room.x, y, f"┄ {l2:.0f} MB: the L2 ends ".ljust(room.width, "┄"), Ink.REPORTED)
            walled, y = True, y + 1
        canvas.put(room.x, y, f"{part * l2:>6.1f} MB", Ink.TEXT)
        canvas.put(room.x + 10, y, share_text(part), Ink.DIM)
        canvas.put(left + width, y, "┊", Ink.DIM)
        ratio = behind.y[at] / flushed.y[at]
        grown = min(ratio, share * 1.0 if share < 1 else ratio)
        ink = Ink.WORK_ALT if part <= 1 else Ink.WORK
        bar(canvas, left, y, min(grown, 1.08) * width, ink)
        if grown >= ratio:
            text = f"{ratio * 100:.0f} %"
            canvas.put(left + int(1.08 * width) + 2, y, text, Ink.STRONG)
            if said:
                times = f"{number_text(behind.y[at])} of {number_text(flushed.y[at])} µs"
                canvas.right(room.right, y, times, Ink.DIM)
        y += spread
    y += spread - 1
    if y < room.bottom:
        entries = [
            ("█", Ink.WORK_ALT, "tmp up to the L2's size"),
            ("█", Ink.WORK, "larger"),
            ("┊", Ink.DIM, "L2 emptied"),
        ]
        legend(canvas, room.x, y, entries, room.right)
    _gain(m, canvas, Box(box.x, y + 1, box.width, max(box.bottom - y - 1, 0)), share)


def _gain(m: Measurement, canvas: Canvas, box: Box, share: float) -> None:
    """What fusion wins at the same sizes, where there is room for it."""
    eager, fused = m.one_series("cache.eager"), m.one_series("cache.triton")
    if box.height < len(eager.x) + 3:
        return
    room = titled(canvas, box, "WHAT FUSION WINS THERE", "eager ÷ Triton, on the GPU, a and b from memory", rule=True)
    gains = [e / f for e, f in zip(eager.y, fused.y, strict=True)]
    bars = [
        Bar(
            f"{share_text(part):>8}".ljust(16),
            gain,
            f"{gain:.2f} ×",
            Ink.WORK_ALT if part <= 1 else Ink.WORK,
        )
        for part, gain in zip(eager.x, gains, strict=True)
    ]
    allow = m.number("bytes.allow") if m.has("bytes.allow") else 5 / 3
    bars.append(Bar("   bytes allow".ljust(16), allow, f"{allow:.2f} × ○", Ink.COMPUTED))
    labelled_bars(
        canvas, room.inside(top=1 if room.height > len(bars) + 1 else 0), bars, max(*gains, allow), played=share
    )


def roof(m: Measurement, canvas: Canvas, box: Box, share: float, previous: str) -> None:
    """Kernels under the roof of their mix."""
    n = about(int(m.number("roof.n")))
    room = titled(canvas, box, "GB/s AGAINST THE ROOF OF ITS MIX", previous or f"n = {n}, L2 emptied before")
    me = rival(m)
    high = max(m.number("roof.2r1w"), m.number("roof.1r1w")) * 1.02
    groups = (
        (
            "READS 2, WRITES 1",
            "2r1w",
            (("add", "torch add", EAGER), ("triton", "Triton", FUSED), ("cuda", "CUDA", FUSED)),
        ),
        ("READS 1, WRITES 1", "1r1w", (("relu", "torch relu", EAGER),)),
    )
    gap = 1 if room.height >= 16 else 0
    y = room.y + gap
    for title, mix, members in groups:
        top = m.number(f"roof.{mix}")
        canvas.put(room.x, y, title, Ink.DIM)
        bars = [Bar("roof".ljust(11), top, f"{number_text(top)}", Ink.COMPUTED)]
        for name, label, ink in members:
            value = m.number(f"roof.{name}")
            shown = OTHER if name in ("triton", "cuda") and name != me and me in ("triton", "cuda") else ink
            bars.append(Bar(label.ljust(11), value, f"{number_text(value)}  {value / top * 100:.1f} %", shown))
        y = labelled_bars(canvas, Box(room.x, y + 1, room.width, max(room.bottom - y - 1, 0)), bars, high, played=share)
        y += 1 + gap
    if y < room.bottom:
        legend(
            canvas,
            room.x,
            y,
            [("█", Ink.COMPUTED, "best pure mover"), ("█", EAGER, "eager's kernels"), ("█", FUSED, "fused")],
            room.right,
        )
        y += 1 + gap
    if room.bottom - y >= 5:
        _reckoning(m, canvas, Box(box.x, y, box.width, 5), share)
        y += 6
    if room.bottom - y >= 14 and m.has("gpu.eager"):
        _reached(m, canvas, Box(box.x, y, box.width, box.bottom - y), share)


def _reached(m: Measurement, canvas: Canvas, box: Box, share: float) -> None:
    """GB/s by n for eager and for a fused kernel, under the roof: what is small never reaches it."""
    room = titled(canvas, box, "GB/s AGAINST n", "● counted bytes ÷ time on the GPU, L2 emptied", rule=True)
    entries = [("◆", EAGER, "eager"), ("●", FUSED, "Triton"), ("┄", Ink.COMPUTED, "roof, 2 reads : 1 write")]
    legend(canvas, room.x, room.y, entries, room.right)
    x, top = _range(m), m.number("roof.2r1w")
    plot = Plot(canvas, room.inside(top=1), x, (0, top * 1.05), margin=8)
    plot.axes(
        _x_ticks(*x), [Tick(0, "0"), Tick(top / 2, number_text(round(top / 2))), Tick(top, number_text(top))], "n"
    )
    for column in range(plot.area.x, plot.area.right):
        canvas.put(column, plot.row(top), "┄", Ink.COMPUTED)
    reach = x[0] + share * (x[1] - x[0])
    for name, trips, ink, glyph in (("eager", EAGER_TRIPS, EAGER, "◆"), ("triton", FUSED_TRIPS, FUSED, "●")):
        series = m.one_series(f"gpu.{name}")
        rates = ((log2(n), trips * ITEM * n / us / 1e3) for n, us in zip(series.x, series.y, strict=True))
        seen = [point for point in rates if point[0] <= reach + 1e-9]
        plot.line(seen, Ink.FAINT)
        plot.points(seen, ink, glyph)


def _reckoning(m: Measurement, canvas: Canvas, box: Box, share: float) -> None:
    """The speed-up that the roofs allow beside the one measured."""
    room = titled(canvas, box, "SO THE SPEED-UP IS ONE OF TRIPS", "eager ÷ Triton at the same n", rule=True)
    speed, allowed = m.number("roof.speedup"), m.number("roof.expected")
    high = max(speed, allowed, 5 / 3)
    bars = [
        Bar("● measured", speed, f"{speed:.2f} ×", Ink.MEASURED),
        Bar("○ roofs allow", allowed, f"{allowed:.2f} ×", Ink.COMPUTED),
        Bar("○ bytes allow", 5 / 3, f"{5 / 3:.2f} × = 5/3", Ink.COMPUTED),
    ]
    labelled_bars(canvas, room, bars, high, played=share)
