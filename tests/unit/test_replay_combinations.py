"""Which combinations a recording can show."""

from __future__ import annotations

from gpu_explain.app.replay import open_recording
from gpu_explain.scenes.registry import find_scene


def test_a_choice_that_measures_nothing_goes_with_every_other() -> None:
    source, scene = open_recording(), find_scene("memory-hierarchy")
    assert "level" not in {name for part in scene.parts for name in part.depends}
    default = source.recorded(scene)[0]
    levels, rings = (
        [c.id for p in default.parameters if p.id == name for c in p.choices] for name in ("level", "footprint")
    )
    for level in levels:
        for ring in rings:
            assert source.offered(scene, {"level": level, "footprint": ring})


def test_a_combination_that_was_not_measured_is_not_made_up() -> None:
    source, scene = open_recording(), find_scene("waves")
    assert source.offered(scene, {"threads": "256"})
    assert not source.offered(scene, {"threads": "256", "language": "Triton"})
