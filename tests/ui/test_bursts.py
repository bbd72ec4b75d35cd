"""Keys that come at once: held down, pasted, or typed while a screen is still being put up or taken away."""

from __future__ import annotations

import random

import pytest

from gpu_explain.app.walkthrough.actions import ACTIONS
from gpu_explain.app.walkthrough.screens.walk import Walk
from tests.ui.driving import Driven, walking

OPENING = ("full_stop", "b", "g", "s", "i", "n", "question_mark", "ctrl+p", "escape")
"""Keys that put a screen above the walk."""


def depth(it: Driven) -> int:
    """Screens above the walk."""
    stack = it.app.screen_stack
    return len(stack) - 1 - next(i for i, screen in enumerate(stack) if isinstance(screen, Walk))


@pytest.mark.parametrize("key", ["full_stop", "b"])
@pytest.mark.parametrize("times", [2, 3, 6])
async def test_a_dark_screen_comes_and_goes_with_every_other_key(key: str, times: int) -> None:
    async with walking() as it:
        await it.burst(*[key] * times)
        assert depth(it) == times % 2
        assert (it.text.strip() == "") == bool(times % 2)


async def test_a_key_in_the_dark_does_nothing_else_however_soon_it_comes() -> None:
    async with walking() as it:
        await it.burst("b", "pagedown", "b", "tab", "pagedown")
        assert it.state.step == 1
        assert it.state.focus == "steps"


@pytest.mark.parametrize("key", OPENING)
@pytest.mark.parametrize("closing", ["escape", "pagedown"])
async def test_every_screen_above_the_walk_owns_the_keys_behind_the_one_that_opened_it(key: str, closing: str) -> None:
    async with walking() as it:
        await it.burst(key, closing, key, closing, key, closing, "escape", "escape")
        assert it.app.is_running
        one_by_one = it.state
    async with walking() as it:
        await it.press(key, closing, key, closing, key, closing, "escape", "escape")
        assert (it.state.scene.id, it.state.step, it.state.focus) == (
            one_by_one.scene.id, one_by_one.step, one_by_one.focus,
        )  # fmt: skip


@pytest.mark.parametrize("key", ["pagedown", "pageup", "end", "enter", "escape", "backspace"])
async def test_the_palette_takes_any_key_right_behind_the_one_that_opens_it(key: str) -> None:
    async with walking() as it:
        await it.burst("ctrl+p", key)
        assert it.app.is_running
        if key not in ("enter", "escape"):
            assert depth(it) == 1
            assert it.state.step == 0


async def test_page_keys_move_in_the_palette_and_not_in_the_scene() -> None:
    async with walking(size=(80, 24)) as it:
        await it.press("ctrl+p")
        first = it.text
        await it.press("pagedown")
        assert it.state.step == 0
        assert it.text != first
        await it.press("pageup")
        assert it.text == first


async def test_what_is_typed_into_the_palette_at_once_is_found() -> None:
    async with walking() as it:
        await it.burst("ctrl+p", *"other", "enter")
        assert it.state.scene.id == "other"
        await it.burst("ctrl+p", *"last", "space", *"st", "enter", "ctrl+p", *"nothing", "enter")
        assert it.state.step == len(it.state.scene.steps) - 1
        assert "Nothing here has such a name" in it.text


@pytest.mark.parametrize("scene", ["toy", None])
@pytest.mark.parametrize("seed", [0, 3, 4])
async def test_whatever_is_typed_and_whatever_size_it_is_nothing_breaks(seed: int, scene: str | None) -> None:
    dice = random.Random(seed)
    keys = [key for action in ACTIONS for key in action.keys if key not in ("q", "ctrl+z")]
    keys += [*OPENING, *"0123456789akz", "ctrl+p", "ctrl+p", "backspace", "f1", "delete"]
    sizes = [(120, 40), (80, 24), (20, 5), (1, 1), (60, 18), (39, 8), (200, 60)]
    async with walking(scene=scene) as it:
        for _ in range(12):
            await it.burst(*dice.choices(keys, k=dice.randint(1, 12)))
            if dice.random() < 0.5:
                await it.pilot.resize_terminal(*dice.choice(sizes))
        assert it.app.is_running
        assert it.app.fault is None
