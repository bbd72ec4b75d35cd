"""A scene's pure functions behind a guard: what they raise becomes a :class:`Problem`, never a crash."""

from __future__ import annotations

import traceback
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from gpu_explain.scenes.base import Claim, Cursor, Device, Measurement, Pace, Parameter, Problem, Scene, View, Words
from gpu_explain.scenes.base.problem import problem
from gpu_explain.scenes.draw.canvas import Canvas


@dataclass(frozen=True)
class Guarded:
    """A scene whose mistakes cannot take the screen down.

    Attributes:
        scene: The scene.
    """

    scene: Scene

    def frame(self, m: Measurement, view: View) -> Canvas | Problem:
        """The picture, or why there is none."""
        try:
            return self.scene.frame(m, view)
        except Exception as error:
            return scene_problem(error, "This picture could not be drawn")

    def words(self, m: Measurement, step: int) -> Words | Problem:
        """The words of a step, or why there are none."""
        try:
            return self.scene.words(m, step)
        except Exception as error:
            return scene_problem(error, "The words of this step could not be made")

    def claims(self, m: Measurement) -> tuple[Claim, ...] | Problem:
        """The claims, or why they could not be checked."""
        try:
            return self.scene.claims(m)
        except Exception as error:
            return scene_problem(error, "The claims could not be checked")

    def pace(self, m: Measurement, step: int) -> Pace:
        """The pace; a step whose pace cannot be had stands at its end."""
        try:
            return self.scene.pace(m, step)
        except Exception:
            return Pace(0.0)

    def parameters(self, device: Device, chosen: Mapping[str, str]) -> tuple[Parameter, ...]:
        """The parameters; none when they cannot be had."""
        try:
            return self.scene.parameters(device, chosen)
        except Exception:
            return ()

    def move(self, m: Measurement, view: View, key: str) -> Cursor:
        """Where a key leads inside the picture; nowhere when that cannot be told."""
        try:
            return self.scene.move(m, view, key)
        except Exception:
            return view.cursor


def scene_problem(error: Exception, what: str) -> Problem:
    """A mistake in a scene, in words: what, which error and where."""
    frames = traceback.extract_tb(error.__traceback__)
    place = f"{Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else "an unknown place"
    detail = "".join(traceback.format_exception(error))
    return problem("step-broken", what=what, why=f"{type(error).__name__}: {error} (at {place})", detail=detail)
