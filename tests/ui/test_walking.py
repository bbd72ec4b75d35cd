"""Walking from step to step and scene to scene."""

from __future__ import annotations

import pytest

from gpu_explain.app.walkthrough.screens.start import StartScreen
from gpu_explain.app.walkthrough.screens.walk import Walk
from gpu_explain.app.walkthrough.state import Focus
from tests.ui import toy
from tests.ui.driving import walking


async def test_a_scene_opens_with_its_question_and_its_picture() -> None:
    async with walking() as it:
        assert "Why does one block more cost a" in it.text
        assert "WHO WORKED WHEN" in it.text
        assert "LIVE · Made-up GPU" in it.text
        assert "1/3" in it.text


@pytest.mark.parametrize("key", ["right", "space", "pagedown"])
async def test_these_keys_step_on(key: str) -> None:
    async with walking() as it:
        await it.press(key)
        assert it.state.step == 1


@pytest.mark.parametrize("key", ["left", "pageup"])
async def test_these_keys_step_back(key: str) -> None:
    async with walking() as it:
        await it.press("right", key)
        assert it.state.step == 0


@pytest.mark.parametrize("focus", [Focus.PARAMETERS, Focus.PICTURE])
async def test_page_keys_step_whatever_has_the_focus(focus: Focus) -> None:
    async with walking() as it:
        while it.state.focus is not focus:
            await it.press("tab")
        await it.press("pagedown")
        assert it.state.step == 1
        await it.press("pageup")
        assert it.state.step == 0


async def test_home_and_end_stay_in_the_picture_that_has_the_focus() -> None:
    async with walking() as it:
        while it.state.focus is not Focus.PICTURE:
            await it.press("tab")
        await it.press("down")
        before = it.state.cursor
        await it.press("end", "home")
        assert (it.state.step, it.state.focus) == (0, Focus.PICTURE)
        assert before
        await it.press("escape", "escape", "end")
        assert it.state.step == 2


async def test_after_the_last_step_comes_the_next_scene_and_back_again() -> None:
    async with walking() as it:
        await it.press("end", "right")
        assert (it.state.scene.id, it.state.step) == ("other", 0)
        await it.press("left")
        assert (it.state.scene.id, it.state.step) == ("toy", 2)


async def test_at_the_very_end_it_stays_and_says_so() -> None:
    async with walking(scene="other") as it:
        await it.press("end", "pagedown")
        assert (it.state.scene.id, it.state.step) == ("other", 2)
        assert "last step" in it.text


async def test_brackets_go_from_scene_to_scene() -> None:
    async with walking() as it:
        await it.press("right_square_bracket")
        assert it.state.scene.id == "other"
        await it.press("left_square_bracket")
        assert it.state.scene.id == "toy"


async def test_a_scene_that_cannot_be_shown_is_passed_over() -> None:
    source = toy.FakeSource(hidden={"other": "there is no recording of it"})
    async with walking(source) as it:
        await it.press("right_square_bracket")
        assert it.state.scene.id == "toy"


async def test_escape_never_quits_and_leads_to_the_start_and_back() -> None:
    async with walking() as it:
        await it.press("right", "escape")
        assert isinstance(it.app.screen, StartScreen)
        await it.press("escape")
        assert isinstance(it.app.screen, Walk)
        assert it.state.step == 1
        assert it.app.is_running


async def test_in_front_of_a_room_escape_stays() -> None:
    async with walking(presenting=True) as it:
        await it.press("escape")
        assert isinstance(it.app.screen, Walk)


async def test_q_quits_and_closes_the_source() -> None:
    source = toy.FakeSource()
    async with walking(source) as it:
        await it.press("q")
    assert it.app.closing is not None
    it.app.closing.join(10)
    assert source.closed
    assert it.app.return_value == 0


async def test_the_index_leads_to_any_step() -> None:
    async with walking() as it:
        await it.press("g")
        assert "The staircase" in it.text
        await it.press("down", "enter")
        assert it.state.step == 1
        assert isinstance(it.app.screen, Walk)


async def test_the_index_finds_a_scene_by_its_number() -> None:
    async with walking() as it:
        await it.press("g", "8", "enter")
        assert it.state.scene.id == "other"


async def test_a_dark_screen_ends_with_any_key_which_does_nothing_else() -> None:
    async with walking() as it:
        await it.press("full_stop")
        assert it.text.strip() == ""
        await it.press("pagedown")
        assert "WHO WORKED WHEN" in it.text
        assert it.state.step == 0


async def test_the_start_screen_shows_the_drivers_facts_and_opens_the_chosen_scene() -> None:
    async with walking(scene=None) as it:
        text = it.text
        for fact in ("Made-up GPU", "40", "9.0", "2 048", "64", "65 536", "228 KB", "40 MB", "40 GB", "1 000 ns", "32"):
            assert fact in text
        assert "Why does one block more cost" in text
        await it.press("down", "enter")
        assert it.state.scene.id == "other"


async def test_the_start_screen_begins_at_the_first_scene_that_can_be_shown() -> None:
    async with walking(toy.recorded(hidden={"toy": "not in here"}), scene=None) as it:
        await it.press("enter")
        assert it.state.scene.id == "other"


async def test_the_start_screen_says_what_cannot_be_shown_and_does_not_open_it() -> None:
    source = toy.recorded(hidden={"other": "this recording does not hold it"})
    async with walking(source, scene=None) as it:
        assert "this recording does not hold it" in it.text
        await it.press("down", "enter")
        assert isinstance(it.app.screen, StartScreen)


async def test_the_command_palette_offers_the_same_actions_and_the_scenes() -> None:
    async with walking() as it:
        await it.press("ctrl+p")
        await it.pilot.pause(0.2)
        await it.press(*"8 Other")
        await it.pilot.pause(0.5)
        await it.press("enter")
        await it.pilot.pause(0.3)
        assert it.state.scene.id == "other"


async def test_control_c_ends_it_as_people_expect() -> None:
    async with walking() as it:
        await it.press("question_mark", "ctrl+c")
    assert it.app.return_value == 0
