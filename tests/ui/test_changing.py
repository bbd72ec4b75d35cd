"""Parameters: what a change asks for, what stays on the screen meanwhile, and how to stop it."""

from __future__ import annotations

from gpu_explain.app.walkthrough.state import Focus
from gpu_explain.scenes.base import Problem
from tests.ui import toy
from tests.ui.driving import walking


async def test_tab_reaches_the_parameters_then_the_picture_then_the_steps() -> None:
    async with walking() as it:
        seen = []
        for _ in range(3):
            await it.press("tab")
            seen.append(it.state.focus)
        assert seen == [Focus.PARAMETERS, Focus.PICTURE, Focus.STEPS]


async def test_a_change_is_asked_for_at_once_and_only_the_last_of_many() -> None:
    source = toy.FakeSource()
    async with walking(source) as it:
        await it.press("tab", "left", "left")
        await it.settle()
        assert [chosen["blocks"] for _, chosen, _ in source.asked] == ["fits+1", "fits-1"]
        assert it.state.shown is not None
        assert it.state.shown.value("blocks") == 79
        assert "79 were launched" in it.text.replace("\n", " ") or "‹79›" in it.text


async def test_the_old_picture_stays_and_says_that_it_is_the_previous_choice() -> None:
    source = toy.FakeSource()
    async with walking(source) as it:
        source.answers = False
        await it.press("tab", "right")
        await it.settle()
        source.progress("tracing the launch", 0.4)
        await it.pilot.pause()
        assert "previous choice" in it.text
        assert "tracing the launch" in it.text
        assert "40 %" in it.text
        assert "WHO WORKED WHEN" in it.text
        source.measured()
        await it.pilot.pause()
        assert "previous choice" not in it.text
        assert it.state.waiting is None


async def test_the_new_picture_comes_as_soon_as_the_step_has_the_parts_it_needs() -> None:
    source = toy.FakeSource()
    async with walking(source) as it:
        source.answers = False
        await it.press("tab", "right")
        await it.settle()
        source.measured(complete=False)
        await it.pilot.pause()
        assert it.state.shown is not None
        assert it.state.shown.value("blocks") == 160
        assert it.state.waiting is not None
        await it.press("pagedown")
        assert "stairs" in it.text or "measuring" in it.text
        source.measured()
        await it.pilot.pause()
        assert it.state.drawable is not None


async def test_a_later_part_does_not_start_the_picture_again() -> None:
    source = toy.FakeSource()
    async with walking(source) as it:
        source.answers = False
        await it.press("r")
        source.measured(complete=False)
        await it.pilot.pause()
        await it.later(2.0)
        source.measured()
        await it.pilot.pause()
        assert it.state.seconds(it.clock.now) == 2.0


async def test_escape_cancels_and_goes_back_to_the_choice_of_the_picture() -> None:
    source = toy.FakeSource()
    async with walking(source) as it:
        source.answers = False
        await it.press("tab", "right")
        await it.settle()
        await it.press("escape")
        assert source.cancelled == 1
        assert it.state.chosen["blocks"] == "fits+1"
        assert it.state.problem is None
        assert it.state.focus is Focus.PARAMETERS


async def test_an_answer_to_an_older_question_changes_nothing() -> None:
    source = toy.FakeSource()
    async with walking(source) as it:
        source.answers = False
        await it.press("tab", "right")
        await it.settle()
        await it.press("left", "left")
        source.measured()
        await it.pilot.pause()
        assert it.state.chosen["blocks"] == "fits"


async def test_what_the_source_does_not_have_is_passed_over_and_the_reason_is_said() -> None:
    source = toy.recorded(refused={("blocks", "fits")})
    async with walking(source) as it:
        await it.press("tab")
        assert "not in this recording" in it.text
        await it.press("left")
        assert it.state.chosen["blocks"] == "fits-1"


async def test_where_a_recording_has_nothing_further_it_says_so() -> None:
    source = toy.recorded(refused={("blocks", "2fits")})
    async with walking(source) as it:
        await it.press("tab", "right")
        assert it.state.chosen["blocks"] == "fits+1"
        assert "no further choice" in it.text


async def test_a_number_is_typed_and_measured() -> None:
    source = toy.FakeSource()
    async with walking(source) as it:
        await it.press("tab", "3", "0", "5", "backspace")
        assert "‹30▁›" in it.text
        await it.press("enter")
        await it.settle()
        assert source.asked[-1][1]["blocks"] == "=30"
        assert "‹30›" in it.text


async def test_a_typed_number_that_is_a_choice_is_that_choice() -> None:
    source = toy.FakeSource()
    async with walking(source) as it:
        await it.press("tab", "8", "0", "enter")
        await it.settle()
        assert source.asked[-1][1]["blocks"] == "fits"


async def test_a_number_out_of_range_is_refused_with_the_range() -> None:
    source = toy.FakeSource()
    async with walking(source) as it:
        await it.press("tab", "9", "9", "9", "9", "enter")
        assert "blocks can be 1 to 4 000" in it.text
        assert len(source.asked) == 1


async def test_an_arrow_goes_on_from_a_typed_number() -> None:
    async with walking() as it:
        await it.press("tab", "1", "0", "0", "enter")
        await it.settle()
        await it.press("right")
        assert it.state.chosen["blocks"] == "2fits"
        await it.press("left")
        assert it.state.chosen["blocks"] == "fits+1"


async def test_a_recording_cannot_measure_a_typed_number_and_says_so() -> None:
    async with walking(toy.recorded()) as it:
        await it.press("tab", "3")
        assert it.state.typed == ""
        assert "recording" in it.text.splitlines()[-2]


async def test_digits_do_nothing_outside_the_parameters() -> None:
    async with walking() as it:
        await it.press("3")
        assert it.state.typed == ""


async def test_run_again_asks_again_when_live_and_plays_again_when_recorded() -> None:
    source = toy.FakeSource()
    async with walking(source) as it:
        await it.press("r")
        assert source.asked[-1][2] is True
    source = toy.recorded()
    async with walking(source) as it:
        await it.later(3.0)
        await it.press("r")
        assert len(source.asked) == 1
        assert it.state.seconds(it.clock.now) == 0.0


async def test_the_picture_is_walked_in_with_the_arrows() -> None:
    async with walking() as it:
        await it.press("tab", "tab", "down", "down", "up")
        seen = [(it.state.cursor, it.state.focus)]
        for _ in range(2):
            await it.press("escape")
            seen.append((it.state.cursor, it.state.focus))
        assert seen == [((1,), Focus.PICTURE), ((), Focus.PICTURE), ((), Focus.STEPS)]


async def test_a_failed_measurement_is_a_notice_with_a_way_on() -> None:
    source = toy.FakeSource()
    async with walking(source) as it:
        source.answers = False
        await it.press("tab", "right")
        await it.settle()
        source.failed(
            Problem("memory", "There is not enough memory", "2 GB are free", "Try fewer elements", "CUDA error 2")
        )
        await it.pilot.pause()
        for said in ("There is not enough memory.", "2 GB are free.", "Try fewer elements."):
            assert said in it.text
        assert it.state.chosen["blocks"] == "fits+1"
        await it.press("i")
        assert "CUDA error 2" in it.text
        await it.press("escape", "escape")
        assert "There is not enough memory" not in it.text


async def test_a_lost_session_is_a_notice_and_the_picture_stays() -> None:
    source = toy.FakeSource()
    async with walking(source) as it:
        source.lost(Problem("crashed", "The GPU session ended", "signal 9", "r starts it again"), restarting=False)
        await it.pilot.pause()
        assert "The GPU session ended." in it.text
        assert "WHO WORKED WHEN" in it.text
        await it.press("r")
        assert source.asked[-1][2] is True
        assert "The GPU session ended." not in it.text


async def test_a_session_lost_while_measuring_is_said_and_its_answer_still_counts() -> None:
    source = toy.FakeSource()
    async with walking(source) as it:
        source.answers = False
        await it.press("tab", "right")
        await it.settle()
        source.lost(Problem("hung", "The GPU session hung", "no answer for 60 s", "It is being started again"))
        await it.pilot.pause()
        assert "The GPU session hung." in it.text
        assert "starting the GPU worker again" in it.text
        source.measured()
        await it.pilot.pause()
        assert it.state.shown is not None
        assert it.state.shown.value("blocks") == 160


async def test_a_long_wait_is_counted() -> None:
    source = toy.FakeSource(answers=False)
    async with walking(source) as it:
        source.progress("tracing the launch")
        it.clock.now += 7.5
        await it.pilot.pause(1.1)
        assert "tracing the launch, 7 s" in it.text


async def test_a_session_ended_for_idleness_is_no_fault() -> None:
    source = toy.FakeSource()
    async with walking(source) as it:
        source.lost(Problem("idle", "The GPU session was ended", "nothing for 15 minutes"), restarting=False)
        await it.pilot.pause()
        assert it.state.problem is None
        assert "r runs the kernels again" in it.text


async def test_before_the_gpu_is_open_the_walkthrough_is_there_already() -> None:
    source = toy.FakeSource(ready=False, answers=False)
    async with walking(source) as it:
        assert "Why does one block more" in it.text
        source.ready = True
        source.start()
        source.measured()
        await it.pilot.pause()
        assert "WHO WORKED WHEN" in it.text


async def test_a_gpu_that_does_not_open_is_said_on_the_start_screen() -> None:
    source = toy.FakeSource(ready=False)
    async with walking(source, scene=None) as it:
        assert "Opening the GPU" in it.text
        source.lost(Problem("no-driver", "The GPU could not be opened", "error 803", "Reboot"), restarting=False)
        await it.pilot.pause()
        assert "The GPU could not be opened" in it.text
        assert "Reboot" in it.text
