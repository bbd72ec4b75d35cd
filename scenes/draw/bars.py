"""Bars with ends finer than a cell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gpu_explain.scenes.draw.box import Box
from gpu_explain.scenes.draw.canvas import Canvas
from gpu_explain.scenes.draw.ink import Ink

LEFT_EIGHTHS = " ▏▎▍▌▋▊▉█"
LOWER_EIGHTHS = " ▁▂▃▄▅▆▇█"
FULL, DARK, MEDIUM, LIGHT, HATCHED = "█▓▒░▚"
"""Fills that tell bars apart where there is no colour. Only :data:`FULL` has ends finer than a cell."""


def bar(canvas: Canvas, x: int, y: int, cells: float, ink: Ink, fill: str = FULL) -> int:
    """A horizontal bar ``cells`` long (in eighths of a cell); returns the column after it.

    Another ``fill`` than a full block tells bars apart without colour; it comes in whole cells.
    Anything above nothing shows at least the thinnest sliver: a small number is not no number.
    """
    eighths = max(round(cells * 8), 1 if cells > 0 else 0)
    whole, rest = divmod(eighths, 8)
    if fill != FULL:
        whole = max(round(cells), 1 if cells > 0 else 0)
        canvas.put(x, y, fill * whole, ink)
        return x + whole
    canvas.put(x, y, "█" * whole + (LEFT_EIGHTHS[rest] if rest else ""), ink)
    return x + whole + bool(rest)


def column(canvas: Canvas, x: int, bottom: int, cells: float, ink: Ink) -> None:
    """A vertical bar standing on row ``bottom``, ``cells`` high (in eighths of a cell)."""
    eighths = max(round(cells * 8), 1 if cells > 0 else 0)
    whole, rest = divmod(eighths, 8)
    for up in range(whole):
        canvas.put(x, bottom - up, "█", ink)
    if rest:
        canvas.put(x, bottom - whole, LOWER_EIGHTHS[rest], ink)


@dataclass(frozen=True)
class Bar:
    """One labelled bar: its name, its length as a value, what stands after it, its ink and its glyph."""

    label: str
    value: float
    text: str
    ink: Ink
    fill: str = FULL


def labelled_bars(canvas: Canvas, box: Box, bars: Sequence[Bar], high: float, *, played: float = 1.0) -> int:
    """Bars one under the other on a common scale from 0 to ``high``; returns the first free row.

    ``played`` (0 … 1) is how much of the scale time has reached: longer bars are still growing, and their
    text comes when they have arrived.
    """
    if not bars:
        return box.y
    left = box.x + max(len(b.label) for b in bars) + 1
    room = max(box.right - left - max(len(b.text) for b in bars) - 1, 1)
    for row, one in enumerate(bars[: box.height]):
        y = box.y + row
        canvas.put(box.x, y, one.label, Ink.TEXT)
        now = min(one.value, played * high)
        end = bar(canvas, left, y, now / high * room if high > 0 else 0.0, one.ink, one.fill)
        if now >= one.value:
            canvas.put(end + 1, y, one.text, Ink.STRONG)
    return box.y + min(len(bars), box.height)
