"""Bars that differ by glyph as well as by ink, so that a screen without colours tells them apart."""

from __future__ import annotations

from collections.abc import Sequence

from gpu_explain.scenes.draw.bars import Bar, bar, labelled_bars
from gpu_explain.scenes.draw.box import Box
from gpu_explain.scenes.draw.canvas import Canvas
from gpu_explain.scenes.draw.ink import Ink

FULL, DARK, MEDIUM, LIGHT = "█", "▓", "▒", "░"


def textured_bar(canvas: Canvas, x: int, y: int, cells: float, ink: Ink, glyph: str) -> int:
    """A horizontal bar ``cells`` long whose whole cells are ``glyph``; returns the column after it."""
    end = bar(canvas, x, y, cells, ink)
    _retexture(canvas, x, end, y, ink, glyph)
    return end


def textured_bars(
    canvas: Canvas, box: Box, bars: Sequence[tuple[Bar, str]], high: float, *, played: float = 1.0
) -> int:
    """:func:`labelled_bars` of ``(bar, glyph)`` pairs; returns the first free row."""
    free = labelled_bars(canvas, box, [one for one, _ in bars], high, played=played)
    for row, (one, glyph) in enumerate(bars[: box.height]):
        _retexture(canvas, box.x, box.right, box.y + row, one.ink, glyph)
    return free


def _retexture(canvas: Canvas, start: int, end: int, y: int, ink: Ink, glyph: str) -> None:
    for x in range(start, end):
        if canvas.glyph(x, y) == FULL:
            canvas.put(x, y, glyph, ink)
