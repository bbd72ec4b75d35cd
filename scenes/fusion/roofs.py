"""The picture of ``fusion``'s last step: every kernel under the roof of its mix, and time as a sum of trips."""

from __future__ import annotations

from math import log2

from gpu_explain.scenes.base import Measurement, number_text
from gpu_explain.scenes.draw.bars import Bar, labelled_bars
from gpu_explain.scenes.draw.box import Box, legend, paragraph, titled, wrap
from gpu_explain.scenes.draw.canvas import Canvas
from gpu_explain.scenes.draw.ink import Ink
from gpu_explain.scenes.draw.pieces import Piece, draw_pieces
from gpu_explain.scenes.draw.plot import Tick
from gpu_explain.scenes.draw.race import clock_text
from gpu_explain.scenes.draw.scale import Scale
from gpu_explain.scenes.fusion.calculations import operands
from gpu_explain.scenes.fusion.claims import rival
from gpu_explain.scenes.fusion.curves import BOTH, draw_curves, n_range, plot_over_n, swept_logs
from gpu_explain.scenes.fusion.inks import EAGER, FILLS, FUSED, OTHER
from gpu_explain.scenes.fusion.measure import EAGER_TRIPS, FUSED_TRIPS, ITEM
from gpu_explain.scenes.fusion.parameters import NAMES, about

GROUPS = (
    ("READS 2 ARRAYS, WRITES 1", "2r1w", (("add", "torch add"), ("triton", "Triton"), ("cuda", "CUDA"))),
    ("READS 1 ARRAY, WRITES 1", "1r1w", (("relu", "torch relu"),)),
)
"""The mixes: what a kernel of it does, its roof's name, its members."""
NEAR = 0.88
"""Part of its roof from which on a kernel counts as near it, as in the claim."""


def roof(m: Measurement, canvas: Canvas, box: Box, share: float, previous: str) -> None:
    """Kernels under the roof of their mix; then what a trip takes, five times and three times."""
    n = about(int(m.number("roof.n")))
    room = titled(canvas, box, "HOW FAST EACH KERNEL MOVES BYTES", previous or f"GB/s, n = {n}, caches emptied first")
    me = _shown(m)
    roofs = {mix: m.number(f"roof.{mix}") for _, mix, _ in GROUPS}
    high = max(*roofs.values(), *(m.number(f"roof.{name}") for *_, members in GROUPS for name, _ in members))
    gap = 1 if room.height >= 26 else 0
    y = room.y + gap
    for title, mix, members in GROUPS:
        top = roofs[mix]
        canvas.put(room.x, y, title, Ink.DIM)
        bars = [_bar("roof".ljust(11), top, f"{number_text(top)}        ", Ink.COMPUTED)]
        for name, label in members:
            value = m.number(f"roof.{name}")
            ink = EAGER if name in ("add", "relu") else FUSED if name == me else OTHER
            text = f"{number_text(value)} = {value / top * 100:.0f} %".ljust(13)
            bars.append(_bar(label.ljust(11), value, text, ink))
        y = labelled_bars(canvas, Box(room.x, y + 1, room.width, max(room.bottom - y - 1, 0)), bars, high, played=share)
        y += gap
    if y < room.bottom:
        key = [
            (FILLS[ink], ink, name)
            for ink, name in (
                (Ink.COMPUTED, "roof: best of 3 kernels that only move"),
                (EAGER, "eager"),
                (FUSED, NAMES[me]),
                (OTHER, NAMES["cuda" if me == "triton" else "triton"]),
            )
        ]
        legend(canvas, room.x, y, key, room.right)
        y += 1 + gap
    if room.bottom - y >= 6:
        y = _trips_in_time(m, canvas, Box(box.x, y, box.width, 6), me, share)
    text = _verdict(m)
    lines = len(wrap(text, room.width))
    if box.bottom - y >= 7 + lines:
        y = _speed_up(m, canvas, Box(box.x, y + 1, box.width, 5), share)
    y += 1 if box.bottom - y > lines else 0
    if share >= 1 and y < box.bottom:
        paragraph(canvas, Box(room.x, y, room.width, box.bottom - y), text, Ink.LOOK)
    y += lines + 1
    if box.bottom - y >= 14 and m.has("gpu.eager"):
        _reached(m, canvas, Box(box.x, y, box.width, box.bottom - y), share)


def _bar(label: str, value: float, text: str, ink: Ink) -> Bar:
    return Bar(label, value, text, ink, FILLS[ink])


def _shown(m: Measurement) -> str:
    """The fused kernel compared: the chosen one where its roof was looked for."""
    return rival(m) if m.has(f"roof.{rival(m)}") else "triton"


def _verdict(m: Measurement) -> str:
    """What is left to win by, where every kernel is near its roof."""
    roofs = {mix: m.number(f"roof.{mix}") for _, mix, _ in GROUPS}
    least = min(m.number(f"roof.{name}") / roofs[mix] for _, mix, members in GROUPS for name, _ in members)
    speed = m.number("roof.speedup")
    if least < NEAR:
        return f"Not every kernel is near its roof; fusion still wins {speed:.2f} × with fewer trips."
    return (
        f"No kernel can be much faster; fewer trips can: {EAGER_TRIPS} ÷ {FUSED_TRIPS}, and Triton wins {speed:.2f} ×."
    )


def _speed_up(m: Measurement, canvas: Canvas, box: Box, share: float) -> int:
    """The speed-up measured, beside what roofs and trips allow. Returns the first free row."""
    room = titled(canvas, box, "SPEED-UP: eager ÷ Triton", "", rule=True)
    speed, allowed, trips = m.number("roof.speedup"), m.number("roof.expected"), EAGER_TRIPS / FUSED_TRIPS
    roofs = [m.number(f"roof.{mix}") for _, mix, _ in GROUPS]
    found = operands(roofs, lambda v: f"{(3 / v[0] + 2 / v[1]) / (3 / v[0]):.2f}", f"{allowed:.2f}")
    division = f" = (3/{found[0]} + 2/{found[1]}) ÷ (3/{found[0]})" if found else ""
    bars = [
        Bar("● measured", speed, f"{speed:.2f} ×", Ink.MEASURED),
        _bar("○ roofs allow", allowed, f"{allowed:.2f} ×{division}", Ink.COMPUTED),
        _bar("○ trips allow", trips, f"{trips:.2f} × = {EAGER_TRIPS} ÷ {FUSED_TRIPS}", Ink.COMPUTED),
    ]
    return labelled_bars(canvas, room, bars, max(speed, allowed, trips), played=share)


def _trips_in_time(m: Measurement, canvas: Canvas, box: Box, me: str, share: float) -> int:
    """Each kernel's time as its trips laid end to end, a trip the array's bytes ÷ the kernel's rate."""
    room = titled(canvas, box, "SO TIME = TRIPS × TIME OF A TRIP", "● an array's bytes ÷ GB/s above", rule=True)
    array = ITEM * m.number("roof.n") / 1e3
    trips = {
        "eager": [("add", "a"), ("add", "b"), ("add", "tmp"), ("relu", "tmp"), ("relu", "c")],
        me: [(me, "a"), (me, "b"), (me, "c")],
    }
    times = {name: [array / m.number(f"roof.{kernel}") for kernel, _ in parts] for name, parts in trips.items()}
    whole = max(sum(parts) for parts in times.values())
    label, said = 12, 10
    scale = Scale(0.0, whole, max(room.width - label - said, EAGER_TRIPS))
    y = room.y
    for name, parts in trips.items():
        pieces, begun = [], 0.0
        for (_, array_name), us in zip(parts, times[name], strict=True):
            ink = Ink.LOOK if array_name == "tmp" else EAGER if name == "eager" else FUSED
            pieces.append(Piece(array_name, us, min(max((share * whole - begun) / us, 0.0), 1.0), ink, FILLS[ink]))
            begun += us
        canvas.put(room.x, y, NAMES[name], Ink.TEXT)
        end = draw_pieces(canvas, room.x + label, y, scale, pieces)
        if share * whole >= begun * (1 - 1e-9):
            canvas.put(end + 1, y, clock_text(begun * 1e3, whole * 1e3), Ink.STRONG)
        y += 2
    return y


def _reached(m: Measurement, canvas: Canvas, box: Box, share: float) -> None:
    """GB/s by n for eager and for a fused kernel, under the roof: what is small never reaches it."""
    room = titled(canvas, box, "GB/s AGAINST n", "● counted bytes ÷ time of the kernels", rule=True)
    entries = [("◆", EAGER, "eager"), ("●", FUSED, "Triton"), (BOTH, Ink.STRONG, "both")]
    remark = ("┄", Ink.COMPUTED, "roof, reads 2, writes 1   higher is not sooner done: eager has more to move")
    legend(canvas, room.x, room.y, [*entries, remark], room.right)
    rates = {
        name: [
            (log2(n), trips * ITEM * n / us / 1e3)
            for n, us in zip(m.one_series(f"gpu.{name}").x, m.one_series(f"gpu.{name}").y, strict=True)
        ]
        for name, trips in (("eager", EAGER_TRIPS), ("triton", FUSED_TRIPS))
    }
    top = m.number("roof.2r1w")
    highest = max(top, *(rate for points in rates.values() for _, rate in points))
    ticks = [Tick(0, "0"), Tick(top / 2, number_text(round(top / 2))), Tick(top, number_text(top))]
    plot = plot_over_n(m, canvas, room.inside(top=1), (0, highest * 1.05), ticks, margin=8)
    for column in range(plot.area.x, plot.area.right):
        canvas.put(column, plot.row(top), "┄", Ink.COMPUTED)
    low, high = n_range(m)
    reach = low + share * (high - low)
    curves = [
        ([point for point in rates[name] if point[0] <= reach + 1e-9], ink, glyph)
        for name, ink, glyph in (("eager", EAGER, "◆"), ("triton", FUSED, "●"))
    ]
    draw_curves(plot, curves, swept_logs(m))
