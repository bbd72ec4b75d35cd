"""A recording holds the default, every choice alone, and what the steps use; nothing twice."""

from __future__ import annotations

import pytest

from gpu_explain.app.choices import complete, recorded_combinations
from gpu_explain.scenes.base import Choice, Parameter
from tests.unit.made_up import device, tiny


def test_missing_choices_become_defaults_and_strange_parameters_go() -> None:
    assert complete(tiny(), device(), {}) == {"size": "small", "shade": "red"}
    assert complete(tiny(), device(), {"shade": "blue", "other": "x"}) == {"size": "small", "shade": "blue"}


def test_a_choice_that_is_not_offered_beside_the_others_becomes_the_default() -> None:
    assert complete(tiny(), device(), {"size": "big", "shade": "gold"}) == {"size": "big", "shade": "gold"}
    assert complete(tiny(), device(), {"size": "small", "shade": "gold"}) == {"size": "small", "shade": "red"}


def test_a_typed_number_is_a_choice() -> None:
    assert complete(tiny(), device(), {"size": "=33"})["size"] == "=33"
    assert complete(tiny(), device(), {"size": "=3333"})["size"] == "small"


def test_parameters_that_chase_each_other_are_refused() -> None:
    def circle(on: object, chosen: dict[str, str]) -> tuple[Parameter, ...]:
        other = "b" if chosen.get("x") == "a" else "a"
        return (Parameter("x", "x", (Choice(other),), other),)

    with pytest.raises(ValueError, match="circle"):
        complete(tiny(parameters=circle), device(), {})


def test_a_recording_holds_one_axis_at_a_time_and_the_scenes_own_combinations() -> None:
    scene = tiny(combinations=({"size": "big", "shade": "gold"}, {"size": "big"}))
    assert [tuple(one.values()) for one in recorded_combinations(scene, device())] == [
        ("small", "red"),
        ("big", "red"),
        ("small", "blue"),
        ("big", "gold"),
    ]
