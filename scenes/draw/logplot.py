"""Curves over sizes: a plot whose x axis goes by doublings."""

from __future__ import annotations

from math import ceil, floor, log2

from gpu_explain.scenes.draw.box import Box
from gpu_explain.scenes.draw.canvas import Canvas
from gpu_explain.scenes.draw.ink import Ink
from gpu_explain.scenes.draw.plot import Plot, Tick
from gpu_explain.scenes.draw.sizes import size_text


class LogPlot(Plot):
    """A :class:`Plot` on which equal ratios of x lie equally far apart. All x must be positive."""

    def __init__(
        self, canvas: Canvas, box: Box, x: tuple[float, float], y: tuple[float, float], *, margin: int = 7
    ) -> None:
        """Axes over the ranges ``x`` and ``y`` (low, high); ``margin`` cells are kept for the y labels."""
        super().__init__(canvas, box, (log2(x[0]), log2(x[1])), y, margin=margin)

    def column(self, x: float) -> int:
        """Canvas column of an x value."""
        return super().column(log2(x))

    def level(self, left: float, right: float, y: float, ink: Ink) -> None:
        """A level dotted line at height ``y`` from one x to another."""
        row = self.row(y)
        for column in range(self.column(left), self.column(right) + 1):
            self._dot(column, row, "┄", ink)

    def upright(self, x: float, y: float, ink: Ink) -> None:
        """A dotted line from the x axis up to height ``y``."""
        for row in range(self.row(y), self.area.bottom):
            self._dot(self.column(x), row, "┊", ink)


def size_ticks(low: float, high: float, *, cells: int) -> tuple[Tick, ...]:
    """Round sizes between two sizes, every so many doublings that their labels stand well apart in ``cells``."""
    doublings = max(log2(high / low), 1.0)
    every = next(step for step in (1, 2, 4, 8, 16, 64) if cells / doublings * step >= 10 or step == 64)
    first = ceil(log2(low) / every) * every
    return tuple(Tick(2.0**k, size_text(2**k)) for k in range(first, floor(log2(high)) + 1, every))
