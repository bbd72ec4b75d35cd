"""Bars made of pieces laid end to end: a sum that shows what it is a sum of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gpu_explain.scenes.draw.bars import FULL
from gpu_explain.scenes.draw.canvas import Canvas
from gpu_explain.scenes.draw.ink import Ink
from gpu_explain.scenes.draw.scale import Scale


@dataclass(frozen=True)
class Piece:
    """One part of a bar.

    Attributes:
        label: Written under it where it fits.
        length: In the unit of the bar's scale.
        share: How much of it is there already, 0 … 1.
        ink: Its ink.
        fill: What it is made of.
    """

    label: str
    length: float
    share: float
    ink: Ink
    fill: str = FULL


def draw_pieces(canvas: Canvas, x: int, y: int, scale: Scale, pieces: Sequence[Piece], *, labels: bool = True) -> int:
    """Pieces in row ``y`` from column ``x``, their labels in the row below; returns the column after the last.

    A cell is left free between two, or neighbours of one ink would look like one. What is not there yet is a dotted
    line.
    """
    at, end = 0.0, x
    for piece in pieces:
        first = x + round(scale.at(at))
        at += piece.length
        end = x + round(scale.at(at))
        cells = max(end - first - 1, 1)
        canvas.put(first, y, "┄" * cells, Ink.FAINT)
        canvas.put(first, y, piece.fill * round(piece.share * cells), piece.ink)
        if labels and len(piece.label) <= cells:
            canvas.put(first, y + 1, piece.label, piece.ink if piece.share > 0 else Ink.DIM)
    return end
