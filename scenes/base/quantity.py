"""A number that says what it is: rule 1 of the product, as a data type."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from math import isfinite
from typing import Any


class Kind(StrEnum):
    """Where a number comes from. Each kind has one glyph, the same on every screen."""

    MEASURED = "measured"
    COMPUTED = "computed"
    REPORTED = "reported"
    PUBLISHED = "published"

    @property
    def glyph(self) -> str:
        """The sign that stands before every number of this kind."""
        return _GLYPHS[self]


_GLYPHS = {
    Kind.MEASURED: "●",
    Kind.COMPUTED: "○",
    Kind.REPORTED: "□",
    Kind.PUBLISHED: "◇",
}


_MOST = 10**30


@dataclass(frozen=True)
class Quantity:
    """One number (or short fact) with everything needed to question it.

    Attributes:
        name: Stable id inside its measurement, such as ``time.blocks``.
        label: What it is called on the screen, such as ``265 blocks``.
        value: The number in ``unit``; ``None`` when it could not be had (see ``method`` for why).
        unit: ``µs``, ``MHz``, ``blocks``, ``×`` … or ``""`` for a bare count.
        kind: Measured in this run, computed, reported by the driver, or published.
        method: One or two sentences: how this number came about.
        low, high: The 20th and 80th percentile of the samples, in ``unit``.
        minimum: The smallest sample, in ``unit``.
        n: How many samples stand behind it; 0 where the word makes no sense.
        samples: The samples themselves, in ``unit``, in the order they were taken.
        clock_mhz: Lowest and highest SM clock seen during the samples, in MHz.
        floor: What the same method reads for an empty launch, in ``unit`` (shown, never subtracted).
        inputs: Names of the quantities it was computed from.
        source: Code that made it (``kernels/timing.py``) or, when published, the publication.
        note: A few words shown after the number, such as ``+85 %``.
    """

    name: str
    label: str
    value: float | int | str | None
    unit: str
    kind: Kind
    method: str
    low: float | None = None
    high: float | None = None
    minimum: float | None = None
    n: int = 0
    samples: tuple[float, ...] = ()
    clock_mhz: tuple[float, float] | None = None
    floor: float | None = None
    inputs: tuple[str, ...] = ()
    source: str = ""
    note: str = ""

    def __post_init__(self) -> None:
        """Refuse a whole number that is too large to count anything; JSON sets no limit."""
        if isinstance(self.value, int) and abs(self.value) >= _MOST:
            raise ValueError(f"{self.name} is a number of more than {len(str(_MOST)) - 1} digits")

    @property
    def number(self) -> float:
        """The value as a float. Raises ``ValueError`` where there is no number."""
        if isinstance(self.value, (int, float)):
            return float(self.value)
        raise ValueError(f"{self.name} has no number: {self.value!r}")

    @property
    def text(self) -> str:
        """Value and unit as shown, without the glyph: ``23.68 µs``, ``1 056``, ``–``."""
        if self.value is None:
            return "–"
        if isinstance(self.value, str):
            return self.value
        shown = number_text(self.value)
        return f"{shown} {self.unit}" if self.unit else shown

    @property
    def spread_text(self) -> str:
        """Half the distance from the 20th to the 80th percentile, as ``±0.03``; empty if unknown."""
        if self.low is None or self.high is None or self.n < 2:
            return ""
        half = (self.high - self.low) / 2
        decimals = _decimals(self.number)
        if round(half, decimals) == 0:
            return f"±<{10.0**-decimals:.{decimals}f}"
        return f"±{half:.{decimals}f}"


def _decimals(value: float) -> int:
    """Decimals that leave about four significant digits."""
    size = abs(value)
    if size >= 1000:
        return 0
    if size >= 100:
        return 1
    return 2


def number_text(value: float | int) -> str:
    """A number for the screen: thousands apart by a space, about four digits.

    >>> number_text(3907)
    '3 907'
    >>> number_text(23.6812)
    '23.68'
    """
    if isinstance(value, int):
        return f"{value:,}".replace(",", " ")
    if not isfinite(value):
        return str(value)
    return f"{value:,.{_decimals(value)}f}".replace(",", " ")


@dataclass(frozen=True)
class Timing:
    """Repeated times of one launch on the GPU, as the timer hands them over.

    Attributes:
        samples_us: Every sample in µs, in the order taken.
        clock_mhz: SM clock during each sample, in MHz (empty when it could not be read).
        floor_us: The same method around an empty kernel, in µs.
        cold: Whether the L2 was flushed before each sample.
        profiler_us: Median duration by CUPTI, in µs, or ``None``.
        method: One or two sentences for the screen.
    """

    samples_us: tuple[float, ...]
    clock_mhz: tuple[float, ...] = ()
    floor_us: float | None = None
    cold: bool = False
    profiler_us: float | None = None
    method: str = ""

    def at(self, share: float) -> float:
        """The sample below which ``share`` (0 … 1) of the samples lie, in µs, by linear interpolation."""
        ordered = sorted(self.samples_us)
        if not ordered:
            raise ValueError("a timing without samples")
        place = share * (len(ordered) - 1)
        below = int(place)
        above = min(below + 1, len(ordered) - 1)
        return ordered[below] + (ordered[above] - ordered[below]) * (place - below)

    @property
    def median_us(self) -> float:
        """Median of the samples in µs."""
        return self.at(0.5)

    def quantity(self, name: str, label: str, *, note: str = "") -> Quantity:
        """This timing as a measured :class:`Quantity` in µs."""
        return Quantity(
            name=name,
            label=label,
            value=self.median_us,
            unit="µs",
            kind=Kind.MEASURED,
            method=self.method,
            low=self.at(0.2),
            high=self.at(0.8),
            minimum=min(self.samples_us),
            n=len(self.samples_us),
            samples=self.samples_us,
            clock_mhz=(min(self.clock_mhz), max(self.clock_mhz)) if self.clock_mhz else None,
            floor=self.floor_us,
            source="kernels/timing.py",
            note=note,
        )


def measured(name: str, label: str, value: float | int | None, unit: str, method: str, **more: Any) -> Quantity:
    """A measured :class:`Quantity`; ``more`` are its other attributes."""
    return Quantity(name, label, value, unit, Kind.MEASURED, method, **more)


def computed(name: str, label: str, value: float | int | None, unit: str, method: str, **more: Any) -> Quantity:
    """A :class:`Quantity` computed from sizes and limits; ``more`` are its other attributes."""
    return Quantity(name, label, value, unit, Kind.COMPUTED, method, **more)


def reported(name: str, label: str, value: float | int | None, unit: str, method: str, **more: Any) -> Quantity:
    """A :class:`Quantity` that the driver reports; ``more`` are its other attributes."""
    return Quantity(name, label, value, unit, Kind.REPORTED, method, **more)


def published(name: str, label: str, value: float | int | None, unit: str, source: str, method: str = "") -> Quantity:
    """A published :class:`Quantity`; the source is named."""
    return Quantity(name, label, value, unit, Kind.PUBLISHED, method or f"Published: {source}.", source=source)
