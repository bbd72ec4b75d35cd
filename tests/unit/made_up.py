"""A made-up device, scene and measurement for the tests. Nothing here was ever measured."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpu_explain.scenes.base import (
    Choice,
    Chosen,
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


def findings(blocks: int) -> tuple[Findings, Findings]:
    text = SourceText("cuda/made_up.cu", "cuda", "one\ntwo\n" * 200, {"kernel": (1, 2)})
    trace = Trace("launch", "two blocks", "k", "CUDA", 32, 1000, (0, 1), (0, 1), (0, 0), (2000, 3000), (9, 9), (0, 1))
    series = Series("line", "a line", Kind.MEASURED, (1.0, 2.0), (3.0, float(blocks)), "blocks", "µs", "made up")
    ran = Quantity("ran", "blocks that ran", blocks, "blocks", Kind.MEASURED, "made up")
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
    least = m.one_series("line").y[1]
    return (
        Claim(
            id="all-ran",
            text="Every block ran",
            nature=Nature.LAW,
            value=m.quantity("ran").number,
            low=8,
            high=64,
            unit="blocks",
            why="so many were launched",
            inputs=("ran",),
            source="cuda/made_up.cu",
        ),
        Claim(
            id="slow",
            text="Two take longer than one",
            nature=Nature.EXPECTATION,
            value=least,
            low=3.5,
            high=None,
            unit="µs",
            why="one takes 3",
            likely="the clock moved",
            inputs=("line",),
        ),
        Claim(
            id="seen",
            text="The profiler agrees",
            nature=Nature.LAW,
            value=None,
            low=1,
            high=1,
            unit="kernels",
            why="one kernel was launched",
            unchecked=m.why_missing("profiler"),
        ),
    )


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
            Part("first", ("size",), _first, "first"),
            Part("second", ("shade",), _second, "second"),
        ),
        "claims": claims,
        "words": lambda *_: Words("words", "look", ("ran",)),
        "frame": _frame,
        "pace": lambda *_: Pace(1.0),
        "limit_s": 5.0,
        **changes,
    }
    return Scene(**described)  # type: ignore[arg-type]


def _first(gpu: Any, chosen: Chosen, so_far: Mapping[str, Findings]) -> Findings:
    return findings(int(chosen["size"].value or 0))[0]


def _second(gpu: Any, chosen: Chosen, so_far: Mapping[str, Findings]) -> Findings:
    return findings(8)[1]


def _frame(m: Measurement, view: View) -> Canvas:
    canvas = Canvas(view.width, view.height)
    canvas.put(0, 0, m.quantity("ran").text)
    return canvas
