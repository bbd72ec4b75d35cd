"""Rows of inked text: wrapping, clipping and laying them onto a canvas. Text is never parsed for markup."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gpu_explain.scenes.base import Kind
from gpu_explain.scenes.draw.box import wrap as wrap_one
from gpu_explain.scenes.draw.canvas import Canvas
from gpu_explain.scenes.draw.ink import Ink

Span = tuple[str, Ink]
Row = tuple[Span, ...]
"""One line as runs of one ink each."""

KIND_INKS = {
    Kind.MEASURED: Ink.MEASURED,
    Kind.COMPUTED: Ink.COMPUTED,
    Kind.REPORTED: Ink.REPORTED,
    Kind.PUBLISHED: Ink.PUBLISHED,
}
"""The ink of each kind's glyph."""

EMPTY: Row = ()


def wrap(text: str, width: int) -> list[str]:
    """Lines of at most ``width`` cells; a number keeps its unit, no-break spaces hold, longer words are cut."""
    lines: list[str] = []
    for paragraph in text.split("\n"):
        lines += wrap_one(paragraph, max(width, 1)) or [""]
    return lines


def clip(text: str, width: int) -> str:
    """At most ``width`` cells; what is lost is marked with an ellipsis."""
    if len(text) <= width:
        return text
    return text[: max(width - 1, 0)] + "…" if width > 0 else ""


def paragraph(
    text: str, width: int, ink: Ink = Ink.TEXT, first: str = "", rest: str = "", mark: Ink | None = None
) -> list[Row]:
    """A wrapped text as rows, the first after ``first`` (inked ``mark``), the others after ``rest``."""
    lines = wrap(text, width - max(len(first), len(rest)))
    return [((rest if i else first, mark or ink), (line, ink)) for i, line in enumerate(lines)]


def length(row: Row) -> int:
    """Cells of a row."""
    return sum(len(text) for text, _ in row)


def put_row(canvas: Canvas, x: int, y: int, row: Iterable[Span], limit: int | None = None) -> int:
    """Write a row from ``(x, y)``, cut off before column ``limit``; returns the column after it."""
    end = canvas.width if limit is None else min(limit, canvas.width)
    for text, ink in row:
        if x + len(text) > end:
            text = clip(text, end - x)
        x = canvas.put(x, y, text, ink)
        if x >= end:
            break
    return x


def put_rows(canvas: Canvas, x: int, y: int, rows: Sequence[Row], limit: int | None = None) -> int:
    """Write rows one below the other; returns the line after them."""
    for row in rows:
        put_row(canvas, x, y, row, limit)
        y += 1
    return y


def bar(share: float, cells: int) -> str:
    """A progress bar of ``cells`` cells."""
    full = round(min(max(share, 0.0), 1.0) * cells)
    return "▰" * full + "▱" * (cells - full)


def rounded(value: float, digits: int = 2) -> str:
    """Two significant digits or so many, thousands apart: ``170 000``, ``6``, ``0.35``."""
    if value <= 0 or value != value:
        return "0"
    digits -= 1
    power = 0
    while value >= 10 ** (power + 1):
        power += 1
    while value < 10.0**power:
        power -= 1
    step = 10.0 ** (power - digits)
    number = round(value / step) * step
    if number >= 10:
        return f"{round(number):,}".replace(",", "\u00a0")
    return f"{number:.{max(0, digits - power)}f}".rstrip("0").rstrip(".")


def duration(ns: float, digits: int = 2) -> str:
    """A time span with the unit that suits it: ``6 µs``, ``350 ns``, ``1.2 ms``; two significant digits or so many."""
    for size, unit in ((1e9, "s"), (1e6, "ms"), (1e3, "µs")):
        if ns >= size:
            return f"{rounded(ns / size, digits)} {unit}"
    return f"{rounded(ns, digits)} ns"


def size(count: float) -> str:
    """A size in bytes, in binary units as the driver counts: ``228 KB``, ``60 MB``, ``140 GB``."""
    for power, unit in ((30, "GB"), (20, "MB"), (10, "KB")):
        if count >= 1 << power:
            value = count / (1 << power)
            return f"{value:.0f} {unit}" if value >= 10 else f"{value:.1f} {unit}".replace(".0 ", " ")
    return f"{count:.0f} B"
