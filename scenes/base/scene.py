"""A scene: a frozen description and pure functions, except ``measure``, which the worker alone calls."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from gpu_explain.scenes.base.claim import Claim
from gpu_explain.scenes.base.measurement import Device, Findings, Measurement
from gpu_explain.scenes.base.parameter import Choice, Parameter
from gpu_explain.scenes.draw.canvas import Canvas

Cursor = tuple[int, ...]
"""Where the viewer stands inside a picture; the scene says what the numbers mean. ``()`` is outside."""

Chosen = Mapping[str, Choice]
"""For each parameter the resolved choice."""


class Gpu(Protocol):
    """What ``measure`` is handed. The worker's session has more; launchers in ``kernels/`` use that."""

    @property
    def device(self) -> Device:
        """The GPU at hand, narrowed to a green context where one is set."""

    def progress(self, doing: str, share: float | None = None) -> None:
        """Say what is being done (and how much of it, 0 … 1). Raises when the request was cancelled."""

    def on_sms(self, sms: int) -> Any:
        """A context manager that hands out a ``Gpu`` of about that many SMs (a green context)."""


@dataclass(frozen=True)
class Part:
    """One piece of a scene's measurement.

    A part is measured again only when a parameter that it depends on has changed.

    Attributes:
        name: Stable id inside the scene.
        depends: Ids of the parameters that it depends on.
        measure: ``(gpu, chosen, so_far) -> Findings``; imports its kernels inside.
        doing: What the progress line says, such as ``tracing the launch``.
    """

    name: str
    depends: tuple[str, ...]
    measure: Callable[[Any, Chosen, Mapping[str, Findings]], Findings]
    doing: str


@dataclass(frozen=True)
class Step:
    """One step of a scene.

    Attributes:
        id: Stable id inside the scene.
        title: A few words for the index.
        claims: Ids of the claims behind the sentence that says what to look at.
        notes: For the speaker: what to say and what people ask.
        focus: Names of line ranges in the sources that this step is about.
        needs: Parts that must be there before this step can be drawn.
    """

    id: str
    title: str
    claims: tuple[str, ...]
    notes: str
    focus: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()


@dataclass(frozen=True)
class Words:
    """What a step says, made from a measurement.

    Attributes:
        paragraph: One short paragraph.
        look: One sentence: what to look at.
        shown: Names of the quantities in the measured strip, in order; ``""`` leaves a line free.
    """

    paragraph: str
    look: str
    shown: tuple[str, ...]


@dataclass(frozen=True)
class Pace:
    """How GPU time becomes time on the screen in one step.

    Attributes:
        seconds: Time on screen until the picture has reached its end state, at speed 1.
        gpu_ns: GPU time that passes in it, in ns; 0 where the picture shows no GPU time.
        lead: Seconds at the start in which the picture stands still, so that eyes can arrive.
    """

    seconds: float
    gpu_ns: float = 0.0
    lead: float = 0.0

    def at(self, seconds: float) -> float:
        """GPU time, in ns, after so many seconds on screen."""
        return self._share(seconds) * self.gpu_ns

    def played(self, view: View) -> float:
        """How much of the step a view has seen, 0 … 1; all of it where nothing moves."""
        return self._share(view.seconds) if view.motion else 1.0

    def _share(self, seconds: float) -> float:
        if self.seconds <= self.lead:
            return 1.0
        return min(max((seconds - self.lead) / (self.seconds - self.lead), 0.0), 1.0)


@dataclass(frozen=True)
class View:
    """How a measurement is being looked at. Frozen: a frame is a function of this and the measurement.

    Attributes:
        step: Index of the step, from 0.
        width, height: Size of the picture in cells.
        seconds: Seconds on screen since the step began, at speed 1, never more than its pace asks.
        cursor: Where the viewer stands inside the picture.
        focused: Whether arrow keys move inside the picture.
        motion: False draws each step's end state.
        previous: True while another choice is being measured and this is the old picture.
    """

    step: int
    width: int
    height: int
    seconds: float = float("inf")
    cursor: Cursor = ()
    focused: bool = False
    motion: bool = True
    previous: bool = False

    def origin(self, text: str) -> str:
        """Where a picture comes from; while another choice is measured, that it is the old one."""
        return "the previous choice" if self.previous else text


def _no_move(m: Measurement, view: View, key: str) -> Cursor:
    return view.cursor


def _nothing_to_resolve(
    gpu: Any, parameters: tuple[Parameter, ...], chosen: Mapping[str, str]
) -> tuple[Parameter, ...]:
    return parameters


@dataclass(frozen=True)
class Scene:
    """Everything the stage needs to know of a scene.

    Attributes:
        id: Stable id, as typed on the command line.
        chapter: Number of the chapter (see ``chapters.py``).
        number: Place in the walkthrough, from 1.
        title: Two or three words.
        question: The question it answers, as a reader would ask it.
        steps: Its steps, in order.
        parameters: ``(device, chosen ids) -> parameters``; pure. Choices follow the device and each other.
        parts: The pieces of its measurement, in the order measured: what the first picture needs first.
        claims: ``(m) -> claims``; pure. Works on a complete measurement.
        words: ``(m, step) -> Words``; pure.
        frame: ``(m, view) -> Canvas``; pure: no clock, no device.
        pace: ``(m, step) -> Pace``; pure.
        resolve: Called in the worker: fills in the values of choices that need the GPU.
        move: ``(m, view, key) -> cursor``; pure. ``key`` is up, down, left, right, home, end, enter
            or escape.
        needs: Ids of scenes whose default measurements it builds on.
        combinations: Choices beyond one axis at a time that a recording must hold.
        limit_s: Time after which a measurement counts as hung, in s.
        fresh_worker: Whether it must be measured in a process that no other scene has used (CUPTI, once attached,
            slows every launch). The process stays while only choices change, so what it times on the host comes
            before what it profiles, and depends on no parameter.
    """

    id: str
    chapter: int
    number: int
    title: str
    question: str
    steps: tuple[Step, ...]
    parameters: Callable[[Device, Mapping[str, str]], tuple[Parameter, ...]]
    parts: tuple[Part, ...]
    claims: Callable[[Measurement], tuple[Claim, ...]]
    words: Callable[[Measurement, int], Words]
    frame: Callable[[Measurement, View], Canvas]
    pace: Callable[[Measurement, int], Pace]
    resolve: Callable[[Any, tuple[Parameter, ...], Mapping[str, str]], tuple[Parameter, ...]] = _nothing_to_resolve
    move: Callable[[Measurement, View, str], Cursor] = _no_move
    needs: tuple[str, ...] = ()
    combinations: tuple[Mapping[str, str], ...] = field(default_factory=tuple)
    limit_s: float = 60.0
    fresh_worker: bool = False
