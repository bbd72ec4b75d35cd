"""How the time of this scene's loads becomes time on the screen."""

from __future__ import annotations

from gpu_explain.scenes.base import Measurement, Pace, View
from gpu_explain.scenes.memory_hierarchy.parameters import followed

CYCLE_SECONDS = 0.01
"""Seconds on screen that a cycle lasts while a load is followed: DRAM takes as long as one is willing to wait."""

LEAD = 0.6
"""Seconds in which the picture stands still, so that eyes can arrive."""

_UNROLL = 6.0  # seconds in which a curve or a histogram builds up


def pace(m: Measurement, step: int) -> Pace:
    """The ladder plays one load at :data:`CYCLE_SECONDS` a cycle; everything else unrolls in a few seconds."""
    if step == 0:
        level = followed(m)
        seconds = m.number(f"level.{level}") * CYCLE_SECONDS
        return Pace(LEAD + seconds, m.number(f"level.{level}.ns"), lead=LEAD)
    return Pace(_UNROLL, lead=LEAD)


def played(m: Measurement, view: View) -> float:
    """How much of a step has been shown, 0 … 1."""
    return pace(m, view.step).played(view)
