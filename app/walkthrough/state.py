"""What one scene's walk looks like at one moment, frozen, and the pure steps from one moment to the next.

The terminal derives everything it shows from a :class:`State`; nothing else holds a decision. No terminal
library is imported here, so every rule of the walkthrough can be tried without a screen.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property

from gpu_explain.app.choices import complete
from gpu_explain.app.walkthrough.clock import Playhead
from gpu_explain.app.walkthrough.guard import Guarded
from gpu_explain.scenes.base import Cursor, Device, Measurement, Pace, Parameter, Problem, Scene, Step, View
from gpu_explain.scenes.base.protocol import Failed, Measured, Progress

Offered = Callable[[Mapping[str, str]], bool]
"""Whether the source has (or can make) a measurement of these choices."""


class Focus(StrEnum):
    """What the arrow keys move."""

    STEPS = "steps"
    PARAMETERS = "parameters"
    PICTURE = "picture"


class Face(StrEnum):
    """What a small screen shows."""

    WORDS = "words"
    PICTURE = "picture"


@dataclass(frozen=True)
class Waiting:
    """A request in progress.

    Attributes:
        id: Number of the request; answers to other numbers are of no interest.
        doing: What is being done, in words.
        share: How much of it is done, 0 … 1, or ``None``.
        shown: Whether its picture has come already, while later parts are still being measured.
        since: Clock time at which it was asked for.
    """

    id: int
    doing: str = ""
    share: float | None = None
    shown: bool = False
    since: float = 0.0

    def said(self, now: float) -> str:
        """What is being done, and for how long once that is long."""
        seconds = int(now - self.since)
        doing = self.doing or "measuring"
        return f"{doing}, {seconds} s" if self.id and seconds >= 2 else doing


@dataclass(frozen=True)
class State:
    """One scene being walked through.

    Attributes:
        scene: The scene.
        step: Index of the step, from 0.
        device: The GPU, or ``None`` until the source knows it.
        live: Whether choices are measured when asked for.
        chosen: For every parameter the id of the choice asked for.
        shown: The measurement on the screen; of an older choice while a newer one is being measured.
        waiting: The request in progress.
        problem: What went wrong last, until it is closed.
        remark: A few words that answer the last key; gone with the next.
        focus: What the arrow keys move.
        row: Which parameter is being changed.
        typed: Digits typed so far for that parameter.
        cursor: Where the viewer stands inside the picture.
        play: The playhead of the step.
        motion: Whether pictures move.
        face: Words or picture, where there is no room for both.
        scroll: First row of words shown, where they do not fit.
    """

    scene: Scene
    step: int = 0
    device: Device | None = None
    live: bool = False
    chosen: Mapping[str, str] = field(default_factory=dict)
    shown: Measurement | None = None
    waiting: Waiting | None = None
    problem: Problem | None = None
    remark: str = ""
    focus: Focus = Focus.STEPS
    row: int = 0
    typed: str = ""
    cursor: Cursor = ()
    play: Playhead = field(default_factory=Playhead)
    motion: bool = True
    face: Face = Face.WORDS
    scroll: int = 0

    @property
    def now_step(self) -> Step:
        """The step being shown."""
        return self.scene.steps[self.step]

    @property
    def drawable(self) -> Measurement | None:
        """The measurement, if it has the parts that this step needs."""
        return self.shown if self.shown is not None and has_parts(self.shown, self.now_step) else None

    @property
    def previous(self) -> bool:
        """Whether the picture is of an older choice than the one asked for."""
        return self.shown is not None and dict(self.shown.chosen) != dict(self.chosen)

    @cached_property
    def pace(self) -> Pace:
        """The pace of this step; none while there is nothing to draw."""
        m = self.drawable
        return Guarded(self.scene).pace(m, self.step) if m is not None else Pace(0.0)

    @property
    def can_enter(self) -> bool:
        """Whether the picture has an inside to move in."""
        return self.scene.move is not type(self.scene).__dataclass_fields__["move"].default

    def seconds(self, now: float) -> float:
        """Screen seconds of the step, never more than its pace asks."""
        end = self.pace.seconds
        return min(self.play.seconds(now), end) if self.motion else end

    def moving(self, now: float) -> bool:
        """Whether the next frame can differ from this one."""
        return self.motion and not self.play.held and self.play.seconds(now) < self.pace.seconds

    def view(self, now: float, width: int, height: int) -> View:
        """How the picture is looked at."""
        return View(
            step=self.step,
            width=width,
            height=height,
            seconds=self.seconds(now),
            cursor=self.cursor,
            focused=self.focus is Focus.PICTURE,
            motion=self.motion,
            previous=self.previous,
        )

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        """The parameters as far as they are resolved.

        A choice's value may follow the *other* choices (one block more than fits is 265 only for one block
        size), so a measured value is used for a parameter only when all others stand as they were measured.
        """
        if self.device is None:
            return ()
        plain = Guarded(self.scene).parameters(self.device, self.chosen)
        if self.shown is None:
            return plain
        known = {p.id: p for p in self.shown.parameters}
        same = {p.id: self.shown.chosen.get(p.id) == self.chosen.get(p.id) for p in plain}
        return tuple(
            known[p.id] if p.id in known and all(same[o.id] for o in plain if o is not p) else p for p in plain
        )

    @property
    def parameter(self) -> Parameter | None:
        """The parameter that the arrows change when the parameters have the focus."""
        return self.parameters[min(self.row, len(self.parameters) - 1)] if self.parameters else None

    def greyed(self, parameter: Parameter, offered: Offered) -> tuple[str, ...]:
        """Ids of the choices that the source cannot show beside the other choices."""
        now = self.chosen.get(parameter.id, parameter.default)
        others = (choice.id for choice in parameter.choices if choice.id != now)
        return tuple(id for id in others if not offered({**self.chosen, parameter.id: id}))


def has_parts(m: Measurement, step: Step) -> bool:
    """Whether a measurement has what a step needs."""
    return all(part in m.parts for part in step.needs)


def settled(scene: Scene, device: Device, chosen: Mapping[str, str]) -> dict[str, str]:
    """A full and valid set of choices; as they were when the scene cannot say."""
    try:
        return complete(scene, device, chosen)
    except Exception:
        return dict(chosen)


def met(state: State, device: Device | None) -> State:
    """The source has said which GPU it is."""
    if device is None or device == state.device:
        return state
    return replace(state, device=device, chosen=settled(state.scene, device, state.chosen))


def to_step(state: State, step: int, now: float) -> State:
    """Show another step from its beginning; numbers beyond the ends stay at the ends."""
    step = min(max(step, 0), len(state.scene.steps) - 1)
    return replace(
        state,
        step=step,
        cursor=(),
        typed="",
        scroll=0,
        face=Face.WORDS,
        remark="",
        focus=Focus.STEPS if state.focus is Focus.PICTURE else state.focus,
        play=state.play.restarted(now),
    )


def next_focus(state: State, by: int = 1) -> State:
    """What ``tab`` reaches next: the steps, the parameters, the picture; what has no inside is passed over."""
    order = [Focus.STEPS]
    if state.parameters:
        order.append(Focus.PARAMETERS)
    if state.can_enter and state.drawable is not None:
        order.append(Focus.PICTURE)
    here = order.index(state.focus) if state.focus in order else 0
    return focused(state, order[(here + by) % len(order)])


def focused(state: State, focus: Focus) -> State:
    """Move the focus; on a small screen the face that holds it comes to the front."""
    face = {Focus.PICTURE: Face.PICTURE, Focus.PARAMETERS: Face.WORDS}.get(focus, state.face)
    return replace(state, focus=focus, typed="", remark="", face=face)


def to_row(state: State, by: int) -> State:
    """Another parameter."""
    last = max(len(state.parameters) - 1, 0)
    return replace(state, row=min(max(state.row + by, 0), last), typed="", remark="")


def choose(state: State, by: int, offered: Offered) -> State:
    """The next choice to the right (1) or left (-1) that the source offers."""
    parameter = state.parameter
    if parameter is None:
        return state
    ids = [choice.id for choice in parameter.choices]
    here = state.chosen.get(parameter.id, parameter.default)
    index = ids.index(here) if here in ids else _place_of_typed(parameter, here, by)
    index += by
    while 0 <= index < len(ids):
        wanted = {**state.chosen, parameter.id: ids[index]}
        if offered(wanted):
            return _with_choice(state, wanted)
        index += by
    return replace(state, typed="", remark="" if state.live else "this recording holds no further choice here")


def _place_of_typed(parameter: Parameter, id: str, by: int) -> int:
    """Where a typed number lies among the choices, so that an arrow goes on from it."""
    number = int(id[1:]) if id[1:].isdigit() else 0
    below = sum(isinstance(c.value, int) and c.value < number for c in parameter.choices)
    return below - 1 if by > 0 else below


def _with_choice(state: State, wanted: Mapping[str, str]) -> State:
    chosen = settled(state.scene, state.device, wanted) if state.device else dict(wanted)
    # Waiting for number 0, which no answer bears: what was asked before must not undo the new choice.
    return replace(state, chosen=chosen, typed="", remark="", waiting=Waiting(0))


def type_digit(state: State, digit: str) -> State:
    """A digit typed while a parameter has the focus."""
    parameter = state.parameter
    if state.focus is not Focus.PARAMETERS or parameter is None:
        return state
    if parameter.typed is None:
        return replace(state, remark=f"{parameter.label} is chosen with ← →, not typed")
    if not state.live:
        return replace(state, remark="a typed number has to be measured: this is a recording")
    return replace(state, typed=(state.typed + digit)[:12], remark="enter measures it")


def erase_digit(state: State) -> State:
    """Backspace while typing."""
    return replace(state, typed=state.typed[:-1], remark="enter measures it" if len(state.typed) > 1 else "")


def commit_typed(state: State) -> State:
    """Enter after typing: the number becomes the choice, or the remark says what would be allowed."""
    parameter = state.parameter
    if not state.typed or parameter is None:
        return state
    low, high = parameter.typed or (0, 0)
    number = int(state.typed)
    if not low <= number <= high:
        between = f"{low:,} to {high:,}".replace(",", " ")
        return replace(state, typed="", remark=f"{parameter.label} can be {between}")
    same = next((c.id for c in parameter.choices if c.value == number), f"={number}")
    return _with_choice(state, {**state.chosen, parameter.id: same})


def asked(state: State, id: int, now: float) -> State:
    """A request has been sent; what was asked before is of no interest any more."""
    return replace(state, waiting=Waiting(id, since=now), problem=None, remark="")


def cancelled(state: State) -> State:
    """Give up the request: the choices go back to those of the picture on the screen."""
    chosen = state.chosen if state.shown is None else dict(state.shown.chosen)
    return replace(state, waiting=None, chosen=chosen, typed="", remark="cancelled")


def heard(state: State, reply: Progress | Measured | Failed, now: float) -> State:
    """An answer to the request in progress; any other is ignored."""
    waiting = state.waiting
    if waiting is None or reply.id != waiting.id:
        return state
    if isinstance(reply, Progress):
        return replace(state, waiting=replace(waiting, doing=reply.doing, share=reply.share))
    if isinstance(reply, Failed):
        kept = cancelled(state)
        return replace(kept, remark="", problem=None if reply.problem.id == "cancelled" else reply.problem)
    m = reply.measurement
    ready = m.complete or has_parts(m, state.now_step)
    if not ready:
        return state
    first = not waiting.shown
    after = replace(
        state,
        shown=m,
        chosen=dict(m.chosen),
        device=m.device,
        waiting=None if m.complete else replace(waiting, shown=True),
    )
    return replace(after, play=state.play.restarted(now), cursor=()) if first else after


def broken(state: State, problem: Problem) -> State:
    """The request, or the session behind it, came to nothing."""
    return replace(cancelled(state), remark="", problem=problem)


def lost(state: State, problem: Problem, restarting: bool) -> State:
    """The session behind the source is gone; what was asked is asked again by itself when it is ``restarting``."""
    if problem.id == "idle":
        return replace(state, remark="the GPU was given back after a long rest; r runs the kernels again")
    if state.waiting is not None and restarting:
        # The source asks the same of the next worker: the answer still comes.
        waiting = Waiting(state.waiting.id, "starting the GPU worker again", since=state.waiting.since)
        return replace(state, problem=problem, waiting=waiting)
    if state.waiting is not None and state.waiting.id == 0:
        return replace(state, problem=problem)
    return broken(state, problem)


def paced(state: State, by: int, now: float) -> State:
    """Faster or slower; a step that has ended is played again at the new speed."""
    ended = not state.moving(now)
    play = state.play.paced(now, by)
    return replace(state, play=play.restarted(now) if ended else play, remark="")
