"""The two curves over footprints: latency, which climbs by stairs, and bandwidth, which falls by the same."""

from __future__ import annotations

from collections.abc import Sequence
from math import floor, log10

from gpu_explain.scenes.base import Measurement, View
from gpu_explain.scenes.draw.bars import Bar, labelled_bars
from gpu_explain.scenes.draw.box import Box, legend, paragraph, titled
from gpu_explain.scenes.draw.canvas import Canvas
from gpu_explain.scenes.draw.ink import Ink
from gpu_explain.scenes.draw.logplot import LogPlot, size_ticks
from gpu_explain.scenes.draw.plot import Tick
from gpu_explain.scenes.draw.scale import count_text
from gpu_explain.scenes.draw.sizes import KB, MB, rate_text
from gpu_explain.scenes.memory_hierarchy.figures import bytes_text, operands
from gpu_explain.scenes.memory_hierarchy.levels import CACHED, has_halves, knee_bytes, short
from gpu_explain.scenes.memory_hierarchy.playing import played

KNEES = ("l1", "l2", "far")


def _found(m: Measurement) -> tuple[str, ...]:
    return tuple(level for level in CACHED if m.has(f"plateau.{level}.sure"))


def _end(m: Measurement, level: str) -> float:
    """Where a level's plateau ends, in bytes; the curve's end where it ends nowhere."""
    if m.has(f"knee.{level}"):
        return knee_bytes(m, level)
    return m.one_series("staircase").x[-1]


def staircase(m: Measurement, view: View, canvas: Canvas, box: Box) -> None:
    """Latency against footprint, with the plateaus and their ends."""
    stairs, found = m.one_series("staircase"), _found(m)
    table = len(found) + 2 if box.height >= 30 else 0
    room = titled(
        canvas,
        box.inside(bottom=table),
        "LATENCY AGAINST FOOTPRINT (the ring's bytes)",
        view.origin("each ●: a ring, one thread"),
    )
    legend(
        canvas,
        room.x,
        room.y,
        [
            ("●", Ink.MEASURED, "measured"),
            ("·", Ink.DIM, "between"),
            ("┄", Ink.LOOK, "plateau"),
            ("┊", Ink.LOOK, "its end"),
            ("□", Ink.REPORTED, f"L2, by the driver: {bytes_text(m.number('size.l2') * MB)}"),
        ],
        room.right,
    )
    plot = LogPlot(canvas, room.inside(top=1), (stairs.x[0], stairs.x[-1] * 1.1), (0, max(stairs.y) * 1.1), margin=8)
    heights = [m.number(f"level.{level}") for level in found]
    plot.axes(
        size_ticks(stairs.x[0], stairs.x[-1], cells=plot.area.width),
        [Tick(0, "cycles"), *(Tick(y, count_text(round(y))) for y in heights)],
        "footprint (log)",
    )
    reach = _reach(m.one_series("staircase").x, played(m, view))
    plot.line([(x, y) for x, y in zip(stairs.x, stairs.y, strict=True) if x <= reach], Ink.FAINT)
    for level in found:
        _plateau(m, plot, level, reach)
    plot.points([(x, y) for x, y in zip(stairs.x, stairs.y, strict=True) if x <= reach], Ink.MEASURED)
    for level in found:
        if reach >= _end(m, level):
            _name(m, plot, level)
    canvas.put(plot.column(m.number("size.l2") * MB), plot.area.bottom, "□", Ink.REPORTED)
    if view.cursor:
        _reading(m, view, plot)
    elif played(m, view) >= 1:
        _conclude(m, plot, found)
    if table:
        seen = tuple(level for level in found if reach >= _end(m, level))
        _table(m, canvas, Box(box.x, box.bottom - table, box.width, table), seen)


def _reach(x: Sequence[float], share: float) -> float:
    """The footprint that the unrolling has come to: it goes by doublings, as the axis does."""
    return float(x[0] * (x[-1] / x[0]) ** share) * 1.0001


def _conclude(m: Measurement, plot: LogPlot, found: tuple[str, ...]) -> None:
    """What the stair says, in its upper left, where the curve never is."""
    if not found:
        return
    area, cached = plot.area, [level for level in found if level != "dram"]
    right = min((plot.column(_end(m, level)) for level in cached if level != "l1"), default=area.right) - 10
    bottom = plot.row(max((m.number(f"level.{level}") for level in ("l1", "l2")), default=0)) - 1
    text = "Level while a cache holds the ring; up a stair when the ring outgrows it."
    if has_halves(m):
        text += " near L2: the half on this SM's side of the chip; far L2: the other half."
    paragraph(plot.canvas, Box(area.x + 2, area.y + 1, right - area.x - 2, bottom - area.y - 1), text, Ink.LOOK)


def _plateau(m: Measurement, plot: LogPlot, level: str, reach: float) -> None:
    """A plateau's line, name and end, once the curve has come to its end."""
    start, end, height = m.number(f"plateau.{level}.start") * KB, _end(m, level), m.number(f"level.{level}")
    if reach < end:
        return
    plot.level(start, end, height, Ink.LOOK)
    if not m.has(f"knee.{level}"):
        return
    plot.upright(end, height, Ink.LOOK)
    text, last, low = bytes_text(end), plot.column(end), plot.area.bottom - 1
    if level == "l2":
        plot.canvas.right(last - 1, low, text, Ink.LOOK)
    else:
        plot.canvas.put(last + 2, low, text, Ink.LOOK)


def _name(m: Measurement, plot: LogPlot, level: str) -> None:
    """A plateau's name: left of it, where the curve has not been yet; above it at the left edge."""
    name = short(level, halves=has_halves(m))
    left, row = plot.column(m.number(f"plateau.{level}.start") * KB), plot.row(m.number(f"level.{level}"))
    if left - 1 - len(name) >= plot.area.x:
        plot.canvas.right(left - 1, row, name, Ink.STRONG)
    else:
        plot.canvas.put(max(left, plot.area.x), max(row - 1, plot.area.y), name, Ink.STRONG)


def _reading(m: Measurement, view: View, plot: LogPlot) -> None:
    """The dot under the cursor, in numbers."""
    stairs = m.one_series("staircase")
    at = view.cursor[0] % len(stairs.x)
    plot.points([(stairs.x[at], stairs.y[at])], Ink.CURSOR)
    said = f"{bytes_text(stairs.x[at])}: {stairs.y[at]:.1f} cycles"
    plot.mark(stairs.x[at], stairs.y[at], said, Ink.CURSOR)


def _table(m: Measurement, canvas: Canvas, box: Box, found: tuple[str, ...]) -> None:
    """The plateaus in numbers."""
    room = titled(canvas, box, "THE LEVELS FOUND", "sure: how often found again when laps are redrawn", rule=True)
    for row, level in enumerate(found[: room.height]):
        y = room.y + row
        q, sure = m.quantity(f"level.{level}"), int(m.number(f"plateau.{level}.sure"))
        x = canvas.put(room.x, y, f"{short(level, halves=has_halves(m)):<9}", Ink.TEXT)
        x = canvas.put(x, y, f"{q.number:>6.0f} cycles {q.note.removeprefix('= '):>8}", Ink.MEASURED)
        ends = f"   from {bytes_text(m.number(f'plateau.{level}.start') * KB)}"
        if m.has(f"knee.{level}"):
            ends += f" to {bytes_text(knee_bytes(m, level))}"
            beyond = f" ({m.quantity(f'knee.{level}').note})"
            ends += beyond if x + len(ends) + len(beyond) + 12 < room.right else ""
        canvas.put(x, y, ends, Ink.DIM)
        canvas.right(room.right, y, f"sure {sure:>3} %", Ink.DIM)


def bandwidth(m: Measurement, view: View, canvas: Canvas, box: Box) -> None:
    """Bytes a second against footprint, in CUDA and in Triton; below, the levels as bars."""
    both = {"CUDA": (m.one_series("read.CUDA"), Ink.A, "●"), "Triton": (m.one_series("read.Triton"), Ink.B, "◆")}
    bars = 7 if box.height >= 18 else 0
    room = titled(
        canvas,
        box.inside(bottom=bars),
        "BYTES A SECOND AGAINST FOOTPRINT",
        view.origin("up to the L2's size, each SM reads it all"),
    )
    legend(
        canvas,
        room.x,
        room.y,
        [
            ("●", Ink.A, "CUDA"),
            ("◆", Ink.B, "Triton"),
            ("◉", Ink.STRONG, "both"),
            ("·", Ink.DIM, "between"),
            ("┊", Ink.LOOK, "ends found by latency"),
        ],
        room.right,
    )
    high = max(max(series.y) for series, _, _ in both.values())
    x = both["CUDA"][0].x
    plot = LogPlot(canvas, room.inside(top=1), (x[0] / 2, x[-1] * 1.2), (0, high * 1.15), margin=11)
    plot.axes(size_ticks(x[0], x[-1], cells=plot.area.width), _rate_ticks(high), "footprint (log)")
    reach = _reach(x, played(m, view))
    for level in KNEES:
        if m.has(f"knee.{level}"):
            plot.upright(_end(m, level), high, Ink.FAINT)
            canvas.put(plot.column(_end(m, level)), plot.area.y, "┊", Ink.LOOK)
            canvas.put(plot.column(_end(m, level)), plot.area.bottom, "┊", Ink.LOOK)
    _who(m, plot)
    taken: set[tuple[int, int]] = set()
    for series, _, _ in both.values():
        plot.line([(x, y) for x, y in zip(series.x, series.y, strict=True) if x <= reach], Ink.FAINT)
    for series, ink, glyph in both.values():
        for x_at, y_at in zip(series.x, series.y, strict=True):
            cell = plot.column(x_at), plot.row(y_at)
            if x_at <= reach:
                hides = cell in taken and glyph != "●"
                plot.points([(x_at, y_at)], Ink.STRONG if hides else ink, "◉" if hides else glyph)
                if glyph == "●":
                    taken.add(cell)
    if bars:
        _rates(m, view, canvas, Box(box.x, box.bottom - bars, box.width, bars))


def _rate_ticks(high: float) -> list[Tick]:
    """Round rates up to ``high`` GB/s, three to six of them: a level's own rate would lie between two rows."""
    power = 10.0 ** floor(log10(high))
    step = next(power * k for k in (0.2, 0.5, 1, 2) if high / (power * k) < 6)
    return [Tick(0, "0"), *(Tick(step * k, rate_text(step * k)) for k in range(1, int(high / step) + 1))]


def _who(m: Measurement, plot: LogPlot) -> None:
    """Who holds the footprint, at the top, between the ends that latency found."""
    ends = {"L1s": "l1", "L2": "far" if m.has("knee.far") else "l2"}
    left = plot.area.x
    for name, level in (*ends.items(), ("DRAM", "")):
        if level and not m.has(f"knee.{level}"):
            continue
        right = min(plot.column(_end(m, level)), plot.area.right) if level else plot.area.right
        if right - left > len(name) + 1:
            plot.canvas.put(left + (right - left - len(name)) // 2, plot.area.y, name, Ink.STRONG)
        left = right + 1


def _rates(m: Measurement, view: View, canvas: Canvas, box: Box) -> None:
    room = titled(canvas, box, "WHO DELIVERS HOW MUCH", view.origin("CUDA, all SMs together"), rule=True)
    names = {"l1": "L1s", "l2": "L2", "dram": "DRAM", "host": "host"}
    rates = [(names[level], m.number(f"read.{level}"), m.quantity(f"read.{level}").note) for level in names]
    high = max(rate for _, rate, _ in rates)
    labelled_bars(
        canvas,
        room,
        [Bar(name, rate, f"{rate_text(rate)} {at}", Ink.A) for name, rate, at in rates],
        high,
        played=played(m, view),
    )
    if room.height > len(rates) and played(m, view) >= 1:
        fastest, slowest = rates[0][1], rates[-1][1]
        times = count_text(round(fastest / slowest))
        over, under = operands(fastest, slowest)
        sums = f"{over} / {under} GB/s ≈ {times}"
        said = (
            f"While the host delivers one byte, the L1s deliver {sums}.",
            f"For each byte of the host, the L1s deliver {sums}.",
            f"L1s / host: {sums}.",
        )
        # The longest that fits: what is cut off would be the answer.
        text = next((one for one in said if len(one) <= room.width), f"L1s / host ≈ {times}")
        canvas.put(room.x, room.y + len(rates), text, Ink.LOOK)
