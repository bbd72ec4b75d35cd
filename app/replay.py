"""A recording as a source of measurements."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from gpu_explain.app.choices import complete
from gpu_explain.app.recording import SceneRecording, refuse
from gpu_explain.app.shelf import Shelf, bundled, open_shelf
from gpu_explain.app.source import Event, Listener
from gpu_explain.scenes.base import Device, Measurement, Neighbour, Problem, ProblemError, Scene
from gpu_explain.scenes.base.problem import problem
from gpu_explain.scenes.base.protocol import Failed, Measured, Ready


class RecordedSource:
    """Answers from a recording, at once and inside :meth:`ask`. Files are read when their scene is asked for."""

    def __init__(self, shelf: Shelf) -> None:
        """Read one scene, for the device and the date.

        Raises:
            ProblemError: When not one scene of the recording can be read.
        """
        self.shelf = shelf
        self._read: dict[str, SceneRecording | Problem] = {}
        self._listener: Listener = _nobody
        self._asked = 0
        self._first = self._any()

    live = False

    @property
    def label(self) -> str:
        """``RECORDED · <gpu> · <date>``."""
        return f"RECORDED · {self._first.device.name} · {self._first.date}"

    @property
    def date(self) -> str:
        """Day of the recording, ``2026-11-29`` (UTC)."""
        return self._first.date

    @property
    def device(self) -> Device:
        """The GPU that was recorded."""
        return self._first.device

    @property
    def versions(self) -> Mapping[str, str]:
        """Versions of what ran."""
        return self._first.measurements[0].versions

    @property
    def neighbours(self) -> tuple[Neighbour, ...]:
        """Other work seen on the GPU when the recording began."""
        return self._first.measurements[0].neighbours

    def listen(self, listener: Listener) -> None:
        """Have events sent there."""
        self._listener = listener

    def start(self) -> None:
        """Say that the recording is open."""
        self._listener(Ready(self.device, self.versions, self.neighbours))

    def recorded(self, scene: Scene) -> tuple[Measurement, ...]:
        """All measurements of a scene, the default first. Raises ``ProblemError``."""
        found = self._scene(scene.id)
        if isinstance(found, Problem):
            raise ProblemError(found)
        names = {part.name for part in scene.parts}
        if any(set(m.parts) != names for m in found.measurements):
            refuse(
                f"{self.shelf.name}: {scene.id}",
                f"It was recorded by gpu-explain {found.gpu_explain}, whose scene had other parts",
                "older-recording",
            )
        default = found.find(complete(scene, found.device, {}))
        if default is None:
            refuse(f"{self.shelf.name}: {scene.id}", "It does not hold the scene's own choice of parameters")
        return (default, *(m for m in found.measurements if m is not default))

    def offered(self, scene: Scene, chosen: Mapping[str, str]) -> bool:
        """Whether this combination was recorded, as far as anything measured depends on it."""
        return self._find(scene, chosen) is not None

    def can_show(self, scene: Scene) -> str:
        """Empty when there is a recording of the scene and, as far as it was read, a sound one."""
        if scene.id not in self.shelf.scenes:
            return "not in this recording"
        found = self._read.get(scene.id)
        return found.why if isinstance(found, Problem) else ""

    def ask(self, scene: Scene, chosen: Mapping[str, str], *, again: bool = False) -> int:
        """Answer from the recording. ``again`` changes nothing: a recording says the same every time."""
        self._asked += 1
        self._listener(self._answer(self._asked, scene, chosen))
        return self._asked

    def cancel(self) -> None:
        """Nothing to do: every request was answered when it was made."""

    def close(self) -> None:
        """Nothing to release."""

    def _answer(self, id: int, scene: Scene, chosen: Mapping[str, str]) -> Event:
        try:
            self.recorded(scene)
        except ProblemError as error:
            return Failed(id, error.problem)
        measurement = self._find(scene, chosen)
        if measurement is None:
            return Failed(
                id,
                problem("not-recorded"),
            )
        return Measured(id, measurement)

    def _find(self, scene: Scene, chosen: Mapping[str, str]) -> Measurement | None:
        found = self._scene(scene.id)
        if isinstance(found, Problem):
            return None
        wanted = complete(scene, found.device, chosen)
        exact = found.find(wanted)
        if exact is not None:
            return exact
        # A parameter that no part depends on changes what is shown of a measurement, not what was measured.
        matters = {name for part in scene.parts for name in part.depends}
        for m in found.measurements:
            if all(m.chosen.get(name) == choice for name, choice in wanted.items() if name in matters):
                return replace(m, chosen=wanted)
        return None

    def _scene(self, id: str) -> SceneRecording | Problem:
        if id not in self._read:
            self._read[id] = self._load(id)
        return self._read[id]

    def _load(self, id: str) -> SceneRecording | Problem:
        if id not in self.shelf.scenes:
            return problem("scene-not-recorded", scene=id)
        try:
            found = self.shelf.read(id)
            if found.device.name != self._first.device.name:
                why = f"It was made on {found.device.name}, the rest of the recording on {self._first.device.name}"
                refuse(f"{self.shelf.name}: {id}", why)
        except ProblemError as error:
            return error.problem
        return found

    def _any(self) -> SceneRecording:
        """The first scene that can be read."""
        fault: ProblemError | None = None
        for scene in self.shelf.scenes:
            try:
                self._read[scene] = found = self.shelf.read(scene)
            except ProblemError as error:
                self._read[scene] = error.problem
                fault = fault or error
            else:
                return found
        raise fault or ProblemError(problem("bad-recording", where=self.shelf.name, why="It holds no recording"))


def open_recording(path: str | None = None) -> RecordedSource:
    """The recording at a path, or the bundled one. Raises ``ProblemError`` when there is none that can be read."""
    if path is not None:
        return RecordedSource(open_shelf(path))
    shelf = bundled()
    if shelf is None:
        raise ProblemError(problem("no-recording"))
    return RecordedSource(shelf)


def _nobody(event: Event) -> None:
    """Events before anybody listens are for nobody."""
