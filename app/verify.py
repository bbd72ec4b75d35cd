"""``--run-all`` without a screen: measure every scene, check every claim, say what came of it.

It asks the same :class:`~gpu_explain.app.source.Source` as the walkthrough, so the two cannot disagree.
"""

from __future__ import annotations

import queue
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from gpu_explain.app.choices import recorded_combinations
from gpu_explain.app.exits import Exit
from gpu_explain.app.replay import RecordedSource
from gpu_explain.app.shelf import Recorder
from gpu_explain.app.source import Event, Lost, Source
from gpu_explain.scenes import registry
from gpu_explain.scenes.base import (
    Claim,
    Device,
    Findings,
    Measurement,
    Nature,
    Neighbour,
    Outcome,
    Problem,
    ProblemError,
    Scene,
)
from gpu_explain.scenes.base.problem import problem
from gpu_explain.scenes.base.protocol import Failed, Measured, Progress, Ready

LOST_WORKER = {"worker-died", "worker-hung", "worker-start"}
"""Ids of the problems after which the rest of a scene is not tried: each further try may cost its time limit."""


@dataclass(frozen=True)
class Check:
    """One choice of a scene's parameters, measured and checked.

    Attributes:
        chosen: The choices asked for; ``{}`` are the defaults.
        measurement: What was measured; ``None`` when that failed.
        claims: The claims over it.
        problem: Why it was not measured, or why its claims could not be checked.
    """

    chosen: Mapping[str, str]
    measurement: Measurement | None = None
    claims: tuple[Claim, ...] = ()
    problem: Problem | None = None


@dataclass(frozen=True)
class Result:
    """What came of one scene.

    Attributes:
        scene: The scene.
        checks: The default choice first, then the others that were measured (for a recording, or from one).
        seconds: How long it took in all.
        unrecorded: Why it could not be written to the recording; ``None`` when it was, or was not asked for.
    """

    scene: Scene
    checks: tuple[Check, ...]
    seconds: float
    unrecorded: Problem | None = None

    @property
    def default(self) -> Check:
        """The default choice."""
        return self.checks[0]

    @property
    def problems(self) -> tuple[Problem, ...]:
        """Everything that broke."""
        found = [check.problem for check in self.checks] + [self.unrecorded]
        return tuple(problem for problem in found if problem is not None)

    def count(self, outcome: Outcome, *, every: bool = False) -> int:
        """Claims with that outcome at the default choice, or at every choice."""
        checks = self.checks if every else self.checks[:1]
        return sum(claim.outcome is outcome for check in checks for claim in check.claims)

    def seconds_in(self, step: str) -> float:
        """Seconds that its parts spent in a step (``compile`` or ``measure``), parts shared by choices once."""
        parts: list[Findings] = []
        for check in self.checks:
            parts += [
                found for found in (check.measurement.parts.values() if check.measurement else ()) if found not in parts
            ]
        return sum(found.seconds.get(step, 0.0) for found in parts)

    def failed(self, *, strict: bool) -> bool:
        """Whether it broke or a law failed; strictly also whether anything surprised or a law went unchecked."""
        return bool(self.problems) or any(
            fails(claim, strict=strict) for check in self.checks for claim in check.claims
        )


@dataclass(frozen=True)
class Run:
    """What came of ``--run-all``.

    Attributes:
        live: Whether launches happened.
        device: The GPU, ``None`` when it could not be opened.
        versions: Versions of what ran.
        neighbours: Other work seen on the GPU.
        started: UTC, ISO 8601.
        recorded: Day of the recording; empty when live.
        opening: Seconds until the GPU was open.
        results: One entry a scene, in walkthrough order.
        absent: Ids of scenes that the recording does not hold. One that it holds and that cannot be read is a result.
        unknown: Names in the recording that are not scenes of this gpu-explain.
        seconds: How long it took in all.
        problem: Why nothing could be measured or checked at all.
        no_gpu: Why the bundled recording was checked instead of a GPU; ``None`` when that was not so.
    """

    live: bool
    device: Device | None
    versions: Mapping[str, str]
    neighbours: tuple[Neighbour, ...]
    started: str
    recorded: str
    opening: float
    results: tuple[Result, ...] = ()
    absent: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    seconds: float = 0.0
    problem: Problem | None = None
    no_gpu: Problem | None = None

    def exit(self, *, strict: bool) -> Exit:
        """The exit code."""
        if self.problem is not None or any(result.failed(strict=strict) for result in self.results):
            return Exit.FAILED
        return Exit.NO_GPU if self.no_gpu is not None else Exit.OK


def fails(claim: Claim, *, strict: bool) -> bool:
    """Whether a claim's outcome makes the run fail."""
    if claim.outcome is Outcome.MISSED:
        return True
    unchecked_law = claim.outcome is Outcome.NOT_CHECKED and claim.nature is Nature.LAW
    return strict and (claim.outcome is Outcome.SURPRISE or unchecked_law)


class Asker:
    """Asks a source and waits for the answer.

    ``progress`` is told what is being done.
    """

    def __init__(self, source: Source, progress: Callable[[str], None]) -> None:
        self._source, self._progress = source, progress
        self._events: queue.SimpleQueue[Event] = queue.SimpleQueue()
        source.listen(self._events.put)

    def open(self) -> None:
        """Open the GPU. Raises :class:`ProblemError` when that fails."""
        self._progress("opening the GPU")
        self._source.start()
        while True:
            event = self._events.get()
            if isinstance(event, Ready):
                return
            if isinstance(event, Failed) or (isinstance(event, Lost) and not event.restarting):
                raise ProblemError(event.problem)

    def measure(self, scene: Scene, chosen: Mapping[str, str]) -> Measurement:
        """A complete measurement. Raises :class:`ProblemError` when the request came to nothing."""
        asked = self._source.ask(scene, chosen)
        while True:
            event = self._events.get()
            if isinstance(event, Progress) and event.id == asked:
                share = "" if event.share is None else f" {event.share:.0%}"
                self._progress(f"{scene.number} {scene.id}: {event.doing}{share}")
            elif isinstance(event, Failed) and event.id == asked:
                raise ProblemError(event.problem)
            elif isinstance(event, Measured) and event.id == asked and event.measurement.complete:
                return event.measurement


def _unheard(_: object) -> None:
    """Nobody wants to be told."""


def verify(
    source: Source,
    scenes: Sequence[Scene],
    *,
    recorder: Recorder | None = None,
    no_gpu: Problem | None = None,
    opened: Callable[[Run], None] = _unheard,
    done: Callable[[Result], None] = _unheard,
    progress: Callable[[str], None] = _unheard,
) -> Run:
    """Measure and check the scenes, each at its defaults; for a recording and from one at every choice it holds.

    A scene that breaks does not stop the others, and what was recorded before stays.

    Args:
        source: Where measurements come from; the caller closes it.
        scenes: The scenes, in walkthrough order.
        recorder: Where measurements are written, if anywhere.
        no_gpu: Why ``source`` is the bundled recording although a GPU was wanted.
        opened: Told once, when the GPU is open (or could not be opened): the run so far, without results.
        done: Told of every scene that was measured and checked, in the order of ``scenes``.
        progress: Told what is being done.
    """
    began = time.monotonic()
    started = datetime.now(UTC).isoformat(timespec="seconds")
    asker = Asker(source, progress)
    fault: Problem | None = None
    try:
        asker.open()
    except ProblemError as error:
        fault = error.problem
    run = Run(
        live=source.live,
        device=source.device,
        versions=dict(source.versions),
        neighbours=source.neighbours,
        started=started,
        recorded=source.date if isinstance(source, RecordedSource) else "",
        opening=time.monotonic() - began,
        absent=absent(source, scenes),
        unknown=_unknown(source, scenes),
        problem=fault,
        no_gpu=no_gpu,
    )
    opened(run)
    found: dict[str, Result] = {}
    results: list[Result] = []
    there = [scene for scene in scenes if scene.id not in run.absent] if fault is None else []
    for scene in _measuring_order(source, there):
        found[scene.id] = _check_scene(asker, source, scene, recorder)
        while len(results) < len(there) and there[len(results)].id in found:
            results.append(found[there[len(results)].id])
            done(results[-1])
    run = replace(run, results=tuple(results), seconds=time.monotonic() - began)
    return run if fault else replace(run, problem=_unproven(run))


def _measuring_order(source: Source, scenes: Sequence[Scene]) -> list[Scene]:
    """Live, a scene that needs a fresh worker goes first: the first worker is fresh, a second one takes 3 s more."""
    fresh = next((scene for scene in scenes if scene.fresh_worker), None) if source.live else None
    return [*filter(None, [fresh]), *(scene for scene in scenes if scene is not fresh)]


def absent(source: Source, scenes: Sequence[Scene]) -> tuple[str, ...]:
    """Scenes without a file. One whose file cannot be read is not absent but broken."""
    if not isinstance(source, RecordedSource):
        return ()
    return tuple(scene.id for scene in scenes if scene.id not in source.shelf.scenes)


def _unknown(source: Source, scenes: Sequence[Scene]) -> tuple[str, ...]:
    """Files of a recording that belong to no scene: those of a newer gpu-explain, or misnamed ones."""
    if not isinstance(source, RecordedSource):
        return ()
    known = {scene.id for scene in (*scenes, *registry.all_scenes())}
    return tuple(id for id in source.shelf.scenes if id not in known)


def _unproven(run: Run) -> Problem | None:
    """What is wrong with a run in which nothing broke and nothing was checked either: it must not be green."""
    checked = any(
        claim.outcome is not Outcome.NOT_CHECKED
        for result in run.results
        for check in result.checks
        for claim in check.claims
    )
    if checked or any(result.problems for result in run.results):
        return None
    if run.results:
        return problem("nothing-checked", evidence="Every claim was left unchecked, each for the reason given above")
    there = f"; it holds {', '.join(run.unknown)}" if run.unknown else ""
    return problem("nothing-checked", evidence=f"None of the scenes asked for is in the recording{there}")


def _check_scene(asker: Asker, source: Source, scene: Scene, recorder: Recorder | None) -> Result:
    began = time.monotonic()
    checks: list[Check] = []
    unrecorded: Problem | None = None
    try:
        checks.extend(_checks(asker, source, scene, recording=recorder is not None))
    finally:
        # Also when interrupted: what was measured is worth keeping.
        measured = tuple(check.measurement for check in checks if check.measurement is not None)
        if recorder is not None and checks and checks[0].measurement is not None:
            try:
                recorder.write(measured)
            except ProblemError as error:
                unrecorded = error.problem
    return Result(scene, tuple(checks), time.monotonic() - began, unrecorded)


def _checks(asker: Asker, source: Source, scene: Scene, *, recording: bool) -> Iterator[Check]:
    try:
        choices = _choices(source, scene, recording=recording)
    except ProblemError as error:
        yield Check({}, problem=error.problem)
        return
    except Exception as error:
        yield Check({}, problem=_scene_problem(source, scene, "its parameters could not be made", error))
        return
    for chosen in choices:
        check = _check(asker, source, scene, chosen)
        yield check
        if check.problem is not None and (check.problem.sticky or check.problem.id in LOST_WORKER):
            return


def _choices(source: Source, scene: Scene, *, recording: bool) -> Sequence[Mapping[str, str]]:
    if isinstance(source, RecordedSource):
        return [m.chosen for m in source.recorded(scene)]
    if recording:
        assert source.device is not None
        return recorded_combinations(scene, source.device)
    return [{}]


def _check(asker: Asker, source: Source, scene: Scene, chosen: Mapping[str, str]) -> Check:
    try:
        measurement = asker.measure(scene, chosen)
    except ProblemError as error:
        return Check(chosen, problem=error.problem)
    try:
        return Check(chosen, measurement, scene.claims(measurement))
    except Exception as error:
        problem = _scene_problem(source, scene, "its claims could not be checked", error)
        return Check(chosen, measurement, problem=problem)


def _scene_problem(source: Source, scene: Scene, what: str, error: Exception) -> Problem:
    why = f"{type(error).__name__}: {error}"
    detail = "".join(traceback.format_exception(error)).rstrip()
    if isinstance(source, RecordedSource):
        return problem("unfit-recording", where=source.shelf.name, what=f"{scene.id}: {what}", why=why, detail=detail)
    return problem("scene-broken", what=f"{scene.id}: {what}", why=why, detail=detail)
