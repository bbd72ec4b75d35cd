"""What ``fusion`` draws at each step. Everything here comes out of the measurement and the view."""

from __future__ import annotations

from gpu_explain.scenes.base import Measurement, Pace, View
from gpu_explain.scenes.draw.box import Box
from gpu_explain.scenes.draw.canvas import Canvas
from gpu_explain.scenes.fusion import curves, lanes, roofs

LONGEST_S = 9.0
"""Seconds on screen that the slowest entrant takes."""
LEAD_S = 0.8


def pace(m: Measurement, step: int) -> Pace:
    """The first three steps play eager's time in nine seconds, whatever it is; curves and bars unroll in four."""
    if step in (0, 1):
        return Pace(LONGEST_S + LEAD_S, lanes.race_end_ns(m), lead=LEAD_S)
    if step == 2 and m.has("ran.eager"):
        return Pace(LONGEST_S + LEAD_S, lanes.recorded_end_ns(m), lead=LEAD_S)
    return Pace(4.0, lead=0.4)


def frame(m: Measurement, view: View) -> Canvas:
    """The picture of a step."""
    canvas = Canvas(view.width, view.height)
    box = Box(0, 0, view.width, view.height)
    share = pace(m, view.step).played(view)
    draw = (lanes.trips, lanes.race, lanes.kernels, curves.pays, curves.cache, roofs.roof)[view.step]
    draw(m, canvas, box, share, view.origin(""))
    return canvas
