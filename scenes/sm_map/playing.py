"""How the steps play: which traces, at what pace, and at which moment the viewer looks."""

from __future__ import annotations

from gpu_explain.scenes.base import Measurement, Pace, Trace, View
from gpu_explain.scenes.draw.scale import count_text

FILL, INSIDE, ORDER, FLAG, TWINS, SMALLER = range(6)
BLOCK_SECONDS = 3.0
"""Seconds on screen that one block lasts, where that does not make the step too long."""
LONGEST_SECONDS = 12.0
FRESH_SHARE = 0.06
"""Blocks count as just started for this share of a block's time: a blink on the screen."""
TICKS = 50
"""Places of the time bar that scrubbing goes through."""


def traces_of(m: Measurement, step: int) -> tuple[Trace, ...]:
    """The traces that a step plays, from a common start."""
    if step == FLAG:
        return m.trace("flag.fits"), m.trace("flag.more")
    if step == TWINS:
        return m.trace("twin.CUDA"), m.trace("twin.Triton")
    if step == SMALLER:
        names = sorted(
            (q.name for q in m.quantities if q.name.startswith("sms.") and q.name.endswith(".seen")),
            key=lambda name: int(name.split(".")[1]),
        )
        return tuple(m.trace(name.replace(".seen", ".trace")) for name in names)
    return (m.trace("launch"),)


def freeze_ns(trace: Trace) -> float:
    """The moment at which the map of this step stands still: half way through the block that starts half way.

    Not half of the span: with an even number of waves that would be the moment between two of them.
    """
    middle = trace.in_order[trace.blocks // 2]
    return (trace.start_ns[middle] + trace.end_ns[middle]) / 2


def pace(m: Measurement, step: int) -> Pace:
    """Launches play so that a block lasts three seconds, faster where that would take too long.

    The step inside stops in the middle of the launch, when there is something to look into.
    """
    traces = traces_of(m, step)
    if not traces:
        return Pace(0.0)
    gpu_ns = freeze_ns(traces[0]) if step == INSIDE else float(max(trace.span_ns for trace in traces))
    if step == FLAG:
        return Pace(6.0, gpu_ns, lead=0.6)  # a wait that is felt
    longest = max(*(trace.median_duration_ns for trace in traces), 1.0)
    seconds = min(max(gpu_ns / longest * BLOCK_SECONDS, 2.0), 4.0 if step == INSIDE else LONGEST_SECONDS)
    return Pace(seconds + 0.6, gpu_ns, lead=0.6)


def now_of(m: Measurement, view: View) -> float:
    """GPU time shown: where the viewer has scrubbed to, else what the pace says."""
    paced = pace(m, view.step)
    if view.cursor and view.step != INSIDE:
        return view.cursor[0] / TICKS * paced.gpu_ns
    return paced.at(view.seconds) if view.motion else paced.gpu_ns


def origin_of(view: View, trace: Trace) -> str:
    """Where a picture comes from, for its title."""
    many = "1 block" if trace.blocks == 1 else f"{count_text(trace.blocks)} blocks"
    return view.origin(f"trace of {many} × {count_text(trace.threads)} threads")


def fresh_ns(trace: Trace) -> float:
    """For how long a block counts as just started, in ns."""
    return max(trace.median_duration_ns * FRESH_SHARE, 1.0)
