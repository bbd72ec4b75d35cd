"""The plain data types that scenes, worker, recordings and the stage share. No GPU, no terminal."""

from gpu_explain.scenes.base.claim import Claim, Nature, Outcome, expectation, law
from gpu_explain.scenes.base.late import late
from gpu_explain.scenes.base.measurement import (
    Capture,
    Device,
    Findings,
    Measurement,
    Neighbour,
    Series,
    SourceText,
)
from gpu_explain.scenes.base.parameter import Choice, Parameter
from gpu_explain.scenes.base.problem import Problem, ProblemError
from gpu_explain.scenes.base.quantity import (
    Kind,
    Quantity,
    Timing,
    computed,
    measured,
    number_text,
    published,
    reported,
)
from gpu_explain.scenes.base.scene import Chosen, Cursor, Gpu, Pace, Part, Scene, Step, View, Words
from gpu_explain.scenes.base.trace import Trace

__all__ = [
    "Capture",
    "Choice",
    "Chosen",
    "Claim",
    "Cursor",
    "Device",
    "Findings",
    "Gpu",
    "Kind",
    "Measurement",
    "Nature",
    "Neighbour",
    "Outcome",
    "Pace",
    "Parameter",
    "Part",
    "Problem",
    "ProblemError",
    "Quantity",
    "Scene",
    "Series",
    "SourceText",
    "Step",
    "Timing",
    "Trace",
    "View",
    "Words",
    "computed",
    "expectation",
    "late",
    "law",
    "measured",
    "number_text",
    "published",
    "reported",
]
