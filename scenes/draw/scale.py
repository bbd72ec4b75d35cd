"""Numbers onto cells, and words for times."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Scale:
    """A linear map from ``low … high`` onto ``cells`` cells.

    ``at(low)`` is 0 and ``at(high)`` is ``cells``, as a fraction of cells; a scale of no extent maps to 0.
    """

    low: float
    high: float
    cells: int

    def at(self, value: float) -> float:
        """Where a value lies, in cells from the start."""
        return (value - self.low) / (self.high - self.low) * self.cells if self.high > self.low else 0.0

    def cell(self, value: float) -> int:
        """The cell a value falls into, kept inside the scale."""
        return min(max(int(self.at(value)), 0), max(self.cells - 1, 0))


def time_text(ns: float, *, like: float | None = None) -> str:
    """A duration in the unit that suits it (or ``like``, another duration of the same axis).

    >>> time_text(20_096)
    '20.1 µs'
    >>> time_text(640)
    '640 ns'
    """
    size = abs(ns if like is None else like)
    if size >= 1e9:
        return f"{_short(ns / 1e9)} s"
    if size >= 1e6:
        return f"{_short(ns / 1e6)} ms"
    if size >= 1e3:
        return f"{_short(ns / 1e3)} µs"
    return f"{ns:.0f} ns"


def _short(value: float) -> str:
    """One decimal below 1000, none above, and none for a whole number."""
    if abs(value) >= 1000:
        return f"{value:,.0f}".replace(",", " ")
    text = f"{value:.1f}"
    return text.removesuffix(".0")


def count_text(value: int) -> str:
    """A whole number with its thousands apart: ``3 907``."""
    return f"{value:,}".replace(",", " ")


def some_text(count: int, noun: str) -> str:
    """A count and what is counted: ``1 block``, ``3 907 blocks``."""
    return f"{count_text(count)} {noun}{'s' * (count != 1)}"
