"""How often each value was met: columns over an axis, each cell a whole number of units wide."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

from gpu_explain.scenes.draw.bars import column
from gpu_explain.scenes.draw.box import Box
from gpu_explain.scenes.draw.canvas import Canvas
from gpu_explain.scenes.draw.ink import Ink
from gpu_explain.scenes.draw.scale import count_text


@dataclass(frozen=True)
class Columns:
    """The axis of a histogram: ``count`` columns of ``per`` units each, from ``low`` on, each ``wide`` cells wide.

    Whole units and whole cells, since a cell of 2.5 units would hold two whole values here and three there and make a
    comb of a smooth heap.
    """

    left: int
    count: int
    low: int
    per: int
    wide: int

    @staticmethod
    def fit(box: Box, low: float, high: float, *, grain: int = 1) -> Columns:
        """An axis over ``low … high`` that uses the width of a box; ``grain`` is the width of what is counted."""
        cells = max(box.width, 1)
        grains = max(ceil((high - low + 1) / grain), 1)
        wide = max(cells // grains, 1)
        per = max(ceil(grains / cells), 1) * grain
        return Columns(box.x, cells // wide, int(low) // grain * grain, per, wide)

    @property
    def cells(self) -> int:
        """Cells from the first column to the end of the last."""
        return self.count * self.wide

    def column(self, value: float) -> int:
        """The column of a value, which may lie outside the axis."""
        return int((value - self.low) // self.per)

    def at(self, value: float) -> int:
        """Canvas column of the middle of a value's column."""
        return self.left + self.column(value) * self.wide + self.wide // 2

    def holds(self, value: float) -> bool:
        """Whether a value lies on the axis."""
        return 0 <= self.column(value) < self.count

    def counts(self, values: Sequence[float], weights: Sequence[float] | None = None) -> list[float]:
        """Values (or their weights) by column; those outside the axis are left out."""
        found = [0.0] * self.count
        for number, value in enumerate(values):
            if self.holds(value):
                found[self.column(value)] += 1.0 if weights is None else weights[number]
        return found

    def axis(self, canvas: Canvas, y: int, unit: str, *, every: int = 10) -> None:
        """A line at row ``y`` and numbers below it."""
        canvas.put(self.left, y, "─" * self.cells, Ink.FAINT)
        end = canvas.right(self.left + self.cells, y + 1, unit, Ink.DIM) - 1
        step = _round_step(self.per * max(every / self.wide, 1))
        value, free = ceil(self.low / step) * step, self.left
        while self.holds(value):
            label, x = count_text(value), self.at(value)
            start = max(x - len(label) // 2, self.left)
            if start >= free and start + len(label) <= end:
                canvas.put(x, y, "┴", Ink.FAINT)
                free = canvas.put(start, y + 1, label, Ink.DIM) + 1
            value += step


def _round_step(least: float) -> int:
    """The smallest of 1, 2, 5, 10, 20, 50 … that is at least ``least``."""
    power = 1
    while True:
        for step in (1, 2, 5):
            if step * power >= least:
                return step * power
        power *= 10


def draw_columns(canvas: Canvas, columns: Columns, counts: Sequence[float], box: Box, high: float, ink: Ink) -> None:
    """Counts as columns that stand on the last row of a box; ``high`` fills its height."""
    if high <= 0 or box.height <= 0:
        return
    for number, count in enumerate(counts):
        for cell in range(columns.wide):
            x = columns.left + number * columns.wide + cell
            column(canvas, x, box.bottom - 1, min(count / high, 1.0) * box.height, ink)
