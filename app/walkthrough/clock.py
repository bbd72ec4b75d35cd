"""The playhead: screen time as a function of a clock, never of counted ticks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

Clock = Callable[[], float]
"""Seconds that only grow; where they start does not matter. A constructor argument, so tests can hold it."""

SPEEDS = (0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
"""Speeds that ``+`` and ``-`` step through."""


@dataclass(frozen=True)
class Playhead:
    """Where the picture's own time stands.

    Attributes:
        since: Clock time from which it counts.
        base: Screen seconds at that moment.
        speed: Screen seconds that pass in one second.
        held: Stands still, such as behind a dialog.
    """

    since: float = 0.0
    base: float = 0.0
    speed: float = 1.0
    held: bool = False

    def seconds(self, now: float) -> float:
        """Screen seconds at a clock time."""
        return self.base if self.held else self.base + max(0.0, now - self.since) * self.speed

    def restarted(self, now: float) -> Playhead:
        """From the beginning, at the same speed."""
        return replace(self, since=now, base=0.0)

    def hold(self, now: float, held: bool = True) -> Playhead:
        """Stand still, or go on from where it stood."""
        return replace(self, since=now, base=self.seconds(now), held=held)

    def paced(self, now: float, by: int) -> Playhead:
        """The next faster (``by`` 1) or slower (-1) speed, from where it stands."""
        nearest = min(range(len(SPEEDS)), key=lambda i: abs(SPEEDS[i] - self.speed))
        index = min(max(nearest + by, 0), len(SPEEDS) - 1)
        return replace(self, since=now, base=self.seconds(now), speed=SPEEDS[index])
