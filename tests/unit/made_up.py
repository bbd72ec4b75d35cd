"""A made-up device, scene and measurement for the tests. Nothing here was ever measured."""

from __future__ import annotations

from collections.abc import Mapping

from gpu_explain.scenes.base import (
    Choice,
    Claim,
    Device,
    Findings,
    Kind,
    Measurement,
    Nature,
    Pace,
    Parameter,
    Part,
    Quantity,
    Scene,
    Series,
    SourceText,
    Step,
    Trace,
    View,
    Words,
)
from gpu_explain.scenes.draw.canvas import Canvas


def device(sms: int = 40, name: str = "Made-up GPU") -> Device:
    return Device(
        name=name,
        compute_capability=(8, 0),
        sms=sms,
        sms_total=sms,
        sm_granularity=8,
        warp_size=32,
        threads_per_sm=2048,
        blocks_per_sm=32,
        warps_per_sm=64,
        threads_per_block=1024,
        registers_per_sm=65536,
        shared_per_sm=167936,
        shared_per_block=166912,
        l2_bytes=41943040,
        memory_bytes=42949672960,
        clock_max_mhz=1500,
        driver="999.1",
        driver_cuda=(13, 0),
        timer_step_ns=1000,
    )


def parameters(on: Device, chosen: Mapping[str, str]) -> tuple[Parameter, ...]:
    """Two parameters; what the second offers follows from the first."""
    sizes = Parameter("size", "size", (Choice("small", 8), Choice("big", 64)), "small", typed=(1, 100))
    shades = ("red", "blue") if chosen.get("size", "small") == "small" else ("red", "blue", "gold")
    return (sizes, Parameter("shade", "shade", tuple(Choice(one, one) for one in shades), "red"))


def findings(ran: int) -> tuple[Findings, Findings]:
    text = SourceText("cuda/made_up.cu", "cuda", "one\ntwo\n" * 200, {"kernel": (1, 2)})
    trace = Trace("launch", "two blocks", "k", "CUDA", 32, 1000, (0, 1), (0, 1), (0, 0), (2000, 3000), (9, 9), (0, 1))
    series = Series("line", "a line", Kind.MEASURED, (1.0, 2.0), (3.0, float(ran)), "blocks", "µs", "made up")
    ran = Quantity("ran", "blocks that ran", ran, "blocks", Kind.MEASURED, "made up")
    return (
        Findings((ran,), traces=(trace,), sources=(text,), seconds={"compile": 0.25, "measure": 0.5}),
        Findings(series=(series,), sources=(text,), missing={"profiler": "made up"}, seconds={"measure": 0.25}),
    )


def measurement(on: Device | None = None, *, size: str = "small", shade: str = "red") -> Measurement:
    on = on or device()
    full = {"size": size, "shade": shade}
    first, second = findings(8)[0] if size == "small" else findings(64)[0], findings(8)[1]
    return Measurement(
        scene="tiny",
        chosen=full,
        parameters=parameters(on, full),
        device=on,
        versions={"gpu_explain": "0.1.0", "torch": "0"},
        when="2026-11-29T21:40:00Z",
        parts={"first": first, "second": second},
    )


def claims(m: Measurement) -> tuple[Claim, ...]:
    return (
        Claim(
            "all-ran", "Every block ran", Nature.LAW, m.quantity("ran").number, 8, 64, "blocks", "so many were launched",
            inputs=("ran",), source="cuda/made_up.cu",
        ),
        Claim(
            "slow", "Two take longer than one", Nature.EXPECTATION, m.one_series("line").y[1], 3.5, None, "µs",
            "one takes 3", likely="the clock moved", inputs=("line",),
        ),
        Claim("seen", "The profiler agrees", Nature.LAW, None, 1, 1, "", "one kernel", unchecked=m.why_missing("profiler")),
    )  # fmt: skip


def tiny(**changes: object) -> Scene:
    """A scene whose measurement is made up from its parameters."""
    described: dict[str, object] = {
        "id": "tiny",
        "chapter": 1,
        "number": 99,
        "title": "Tiny",
        "question": "Does the stage work?",
        "steps": (Step("only", "the only step", ("all-ran",), ""),),
        "parameters": parameters,
        "parts": (
            Part("first", ("size",), lambda gpu, chosen, so_far: findings(int(chosen["size"].value or 0))[0], "first"),
            Part("second", ("shade",), lambda gpu, chosen, so_far: findings(8)[1], "second"),
        ),
        "claims": claims,
        "words": lambda m, step: Words("words", "look", ("ran",)),
        "frame": _frame,
        "pace": lambda m, step: Pace(1.0),
        "limit_s": 5.0,
        **changes,
    }
    return Scene(**described)  # type: ignore[arg-type]


def _frame(m: Measurement, view: View) -> Canvas:
    canvas = Canvas(view.width, view.height)
    canvas.put(0, 0, m.quantity("ran").text)
    return canvas
