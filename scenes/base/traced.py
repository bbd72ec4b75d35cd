"""Claims that hold of every traced launch, whichever scene traces it."""

from __future__ import annotations

from gpu_explain.scenes.base.claim import Claim, Nature
from gpu_explain.scenes.base.measurement import Measurement


def when_alone(m: Measurement) -> Nature:
    """What other work on the GPU can break is a law only without it."""
    return Nature.EXPECTATION if m.neighbours else Nature.LAW


def blocks_stay(m: Measurement, *traces: str) -> Claim:
    """That in the traces of these names every block ended on the SM on which it started."""
    return Claim(
        "blocks-stay",
        "A block ends on the SM it started on",
        when_alone(m),
        sum(m.trace(name).moved for name in traces),
        None,
        0,
        "blocks",
        "a resident block keeps its SM; only preemption by other work on the GPU can move it",
        likely="another process preempted this one",
        inputs=traces,
        source="kernels/trace.py",
    )
