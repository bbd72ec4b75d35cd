"""Finds the scenes by listing this folder: a new scene joins with one new file."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache
from itertools import pairwise
from pathlib import Path

from gpu_explain.scenes.base import ProblemError, Scene

_NOT_SCENES = {"base", "chapters", "draw", "recordings", "registry"}


@cache
def all_scenes() -> tuple[Scene, ...]:
    """Every scene, in walkthrough order.

    A scene is a file, or for a long one a folder, that defines ``SCENE``. Raises :class:`ProblemError` when
    one does not, or two share an id or a number, since a walkthrough with a hole is worse than a clear refusal.
    """
    found: list[Scene] = []
    for module in pkgutil.iter_modules([str(Path(__file__).parent)]):
        if module.name in _NOT_SCENES or module.name.startswith("_"):
            continue
        scene = getattr(importlib.import_module(f"gpu_explain.scenes.{module.name}"), "SCENE", None)
        if not isinstance(scene, Scene):
            raise _broken(f"scenes/{module.name} defines no SCENE", "every file in scenes/ is a scene")
        found.append(scene)
    found.sort(key=lambda scene: scene.number)
    for one, other in pairwise(found):
        if one.number == other.number:
            raise _broken(f"scenes {one.id} and {other.id} share number {one.number}")
    if len({scene.id for scene in found}) != len(found):
        raise _broken("two scenes share an id")
    return tuple(found)


def find_scene(id: str) -> Scene:
    """The scene of that id or number. Raises :class:`ProblemError` that lists what there is."""
    for scene in all_scenes():
        if id in (scene.id, str(scene.number)):
            return scene
    known = ", ".join(scene.id for scene in all_scenes())
    from gpu_explain.scenes.base.conditions import problem  # here, since --list has no need of it

    raise ProblemError(problem("unknown-scene", id=repr(id), known=known))


def _broken(what: str, why: str = "") -> ProblemError:
    from gpu_explain.scenes.base.conditions import problem

    return ProblemError(problem("scene-broken", what=what, why=why))
