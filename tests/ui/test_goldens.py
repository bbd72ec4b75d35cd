"""What the steps draw and say on a frozen fixture has not changed unread."""

from __future__ import annotations

import pytest

from gpu_explain.scenes.base import Scene
from gpu_explain.scenes.registry import all_scenes
from tests.ui.goldens import FOLDER, fixture, text


@pytest.mark.parametrize("scene", all_scenes(), ids=lambda scene: scene.id)
def test_a_scene_looks_as_its_golden(scene: Scene) -> None:
    """If this change is meant: python -m tests.ui.goldens --write, and read the difference."""
    assert text(scene, fixture(scene)) == (FOLDER / f"{scene.id}.txt").read_text(encoding="utf-8")
