"""Statements that can fail: what a scene teaches, held against what was measured."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class Nature(StrEnum):
    """A law holds on every correct GPU; an expectation is typical."""

    LAW = "law"
    EXPECTATION = "expectation"


class Outcome(StrEnum):
    """What became of a claim."""

    HELD = "held"
    MISSED = "missed"
    SURPRISE = "surprise"
    NOT_CHECKED = "not checked"

    @property
    def glyph(self) -> str:
        """The sign before the claim in the report."""
        return {"held": "✓", "missed": "✗", "surprise": "!", "not checked": "–"}[self.value]


@dataclass(frozen=True)
class Claim:
    """One statement with the value measured, the range wanted and the reason for the range.

    Attributes:
        id: Stable id inside its scene, such as ``tail-costs-a-round``.
        text: The statement, in words that stay true whatever the outcome.
        nature: Law or expectation.
        value: What was measured or counted; ``None`` when it could not be checked.
        low, high: The wanted range, both ends included; ``None`` is open.
        unit: Unit of ``value``, ``low`` and ``high``.
        why: Why the range is what it is.
        unchecked: Why there is no value (only when ``value`` is ``None``).
        likely: For a surprise: the most likely reason, for the reader.
        inputs: Names of the quantities, series and traces it looks at.
        source: Code that made the value.
    """

    id: str
    text: str
    nature: Nature
    value: float | int | None
    low: float | int | None
    high: float | int | None
    unit: str
    why: str
    unchecked: str = ""
    likely: str = ""
    inputs: tuple[str, ...] = ()
    source: str = ""

    def __post_init__(self) -> None:
        """A claim with no range cannot fail and one with no value needs a reason: refuse both."""
        if self.low is None and self.high is None:
            raise ValueError(f"claim {self.id} cannot fail: it has no range")
        if self.value is None and not self.unchecked:
            raise ValueError(f"claim {self.id} has neither a value nor a reason for its absence")

    @property
    def outcome(self) -> Outcome:
        """Held, missed (a law), surprise (an expectation) or not checked. NaN never holds."""
        if self.value is None:
            return Outcome.NOT_CHECKED
        above = self.low is None or self.value >= self.low
        below = self.high is None or self.value <= self.high
        if above and below and self.value == self.value:
            return Outcome.HELD
        return Outcome.MISSED if self.nature is Nature.LAW else Outcome.SURPRISE


def law(
    id: str,
    text: str,
    value: float | int | None,
    wanted: tuple[float | None, float | None],
    unit: str,
    why: str,
    **more: Any,
) -> Claim:
    """A :class:`Claim` that must hold on any correct GPU; ``wanted`` is ``(low, high)``."""
    return Claim(id, text, Nature.LAW, value, *wanted, unit, why, **more)


def expectation(
    id: str,
    text: str,
    value: float | int | None,
    wanted: tuple[float | None, float | None],
    unit: str,
    why: str,
    **more: Any,
) -> Claim:
    """A :class:`Claim` that is typical; a miss is a surprise, and ``likely`` should say why it may be."""
    return Claim(id, text, Nature.EXPECTATION, value, *wanted, unit, why, **more)
