"""Curves on axes: measured points, computed staircases, marks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from gpu_explain.scenes.draw.box import Box
from gpu_explain.scenes.draw.canvas import Canvas
from gpu_explain.scenes.draw.ink import Ink
from gpu_explain.scenes.draw.scale import Scale


@dataclass(frozen=True)
class Tick:
    """A labelled place on an axis."""

    at: float
    label: str


def stair_range(first: float, step: float, highest: float, rows: int) -> tuple[float, float]:
    """A y range for :class:`Plot` on which stairs at ``first``, ``first + step`` … lie exactly on rows.

    Without it a stair may lie between two rows, and a point a hair off it is drawn a whole row away, which reads
    as a misfit. ``rows`` is the height of the plot's area; the range starts within half a row of 0.
    """
    per_step = max(int((rows - 1) / (highest / step)), 1)
    row = step / per_step
    low = first - round(first / row) * row
    return low, low + row * max(rows - 1, 1)


class Plot:
    """Axes drawn into a box, and the means to put curves on them.

    The box holds the labels of the y axis at its left, those of the x axis in its last row.
    """

    def __init__(
        self, canvas: Canvas, box: Box, x: tuple[float, float], y: tuple[float, float], *, margin: int = 7
    ) -> None:
        """Axes over the ranges ``x`` and ``y`` (low, high); ``margin`` cells are kept for the y labels."""
        self.canvas = canvas
        self.area = box.inside(left=margin, bottom=2, right=1)
        self._x = Scale(*x, max(self.area.width - 1, 1))
        self._y = Scale(*y, max(self.area.height - 1, 1))

    def column(self, x: float) -> int:
        """Canvas column of an x value."""
        return self.area.x + round(self._x.at(x))

    def row(self, y: float) -> int:
        """Canvas row of a y value."""
        return self.area.bottom - 1 - round(self._y.at(y))

    def axes(self, x_ticks: Sequence[Tick], y_ticks: Sequence[Tick], x_name: str = "") -> None:
        """Draw both axes. Labels that would run into each other are left out, the first ones stay."""
        area, canvas = self.area, self.canvas
        for y in range(area.y, area.bottom):
            canvas.put(area.x - 1, y, "│", Ink.FAINT)
        canvas.put(area.x - 1, area.bottom, "└" + "─" * area.width, Ink.FAINT)
        taken: set[int] = set()
        for tick in y_ticks:
            row = self.row(tick.at)
            if area.y <= row < area.bottom and row not in taken:
                canvas.right(area.x - 2, row, tick.label, Ink.DIM)
                canvas.put(area.x - 1, row, "┤", Ink.FAINT)
                taken.add(row)
        end = area.right + 1
        if x_name:
            end = canvas.right(end, area.bottom + 1, x_name, Ink.DIM) - 1
        free = area.x - 3
        for tick in x_ticks:
            column = self.column(tick.at)
            left = column - len(tick.label) // 2
            if left < free or left + len(tick.label) > end or column >= area.right:
                continue
            canvas.put(column, area.bottom, "┴", Ink.FAINT)
            free = canvas.put(left, area.bottom + 1, tick.label, Ink.DIM) + 1

    def stairs(self, steps: Sequence[tuple[float, float, float]], ink: Ink) -> None:
        """A staircase of ``(from x, to x, y)``, dotted, with risers where it jumps."""
        before: int | None = None
        for left, right, y in steps:
            row = self.row(y)
            first, last = self.column(left), self.column(right)
            for column in range(first, last + 1):
                self._dot(column, row, "┄", ink)
            if before is not None and before != row:
                for between in range(min(row, before) + 1, max(row, before)):
                    self._dot(first, between, "┊", ink)
                self._dot(first, row, "╭", ink)
                self._dot(first, before, "╯", ink)
            before = row

    def line(self, points: Sequence[tuple[float, float]], ink: Ink) -> None:
        """Straight dotted lines from point to point."""
        for (x0, y0), (x1, y1) in pairwise(points):
            first, last = self.column(x0), self.column(x1)
            before = self.row(y0)
            for column in range(first, last + 1):
                share = (column - first) / (last - first) if last > first else 1.0
                row = self.row(y0 + (y1 - y0) * share)
                for between in range(min(row, before) + 1, max(row, before)):
                    self._dot(column, between, "·", ink)
                self._dot(column, row, "·", ink)
                before = row

    def points(self, points: Sequence[tuple[float, float]], ink: Ink, glyph: str = "●") -> None:
        """One glyph at each ``(x, y)``."""
        for x, y in points:
            self._dot(self.column(x), self.row(y), glyph, ink)

    def mark(self, x: float, y: float, text: str, ink: Ink) -> None:
        """A ``▼`` above a point with words beside it, on the side where they fit."""
        column, row = self.column(x), max(self.row(y) - 1, self.area.y)
        self.canvas.put(column, row, "▼", ink)
        if column + 2 + len(text) <= self.area.right:
            self.canvas.put(column + 2, row, text, ink)
        else:
            self.canvas.right(column - 1, row, text, ink)

    def _dot(self, column: int, row: int, glyph: str, ink: Ink) -> None:
        if self.area.x <= column < self.area.right and self.area.y <= row < self.area.bottom:
            self.canvas.put(column, row, glyph, ink)
