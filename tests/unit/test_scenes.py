"""Every scene, as the stage needs it."""

from __future__ import annotations

import importlib
import inspect
import subprocess
import sys

import pytest

from gpu_explain.scenes.base import Scene
from gpu_explain.scenes.chapters import CHAPTERS
from gpu_explain.scenes.registry import all_scenes

FUNCTIONS = ("parameters", "claims", "words", "frame", "pace", "resolve", "move")


@pytest.mark.parametrize("scene", all_scenes(), ids=lambda scene: scene.id)
def test_every_function_named_late_exists(scene: Scene) -> None:
    for function in (*(getattr(scene, name) for name in FUNCTIONS), *(part.measure for part in scene.parts)):
        module = inspect.getclosurevars(function).nonlocals
        if {"package", "module", "function"} <= set(module):
            found = importlib.import_module(f"{module['package']}.{module['module']}")
            assert callable(getattr(found, module["function"]))


@pytest.mark.parametrize("scene", all_scenes(), ids=lambda scene: scene.id)
def test_a_scene_is_whole(scene: Scene) -> None:
    parts = [part.name for part in scene.parts]
    assert scene.chapter in CHAPTERS
    assert scene.question.endswith("?")
    assert 4 <= len(scene.steps) <= 6
    assert len(set(parts)) == len(parts)
    assert len({step.id for step in scene.steps}) == len(scene.steps)
    for step in scene.steps:
        assert step.notes
        assert step.claims
        assert set(step.needs) <= set(parts)


def test_listing_imports_no_scene_beyond_its_description() -> None:
    code = (
        "import sys; from gpu_explain.scenes.registry import all_scenes; all_scenes();"
        "print(*(m for m in sys.modules if m.startswith('gpu_explain.scenes.')"
        " and m.rpartition('.')[2] in ('measure', 'pictures', 'words', 'claims', 'parameters')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
