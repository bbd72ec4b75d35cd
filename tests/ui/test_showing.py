"""What the screen shows: sizes, faults of a scene, motion, and no work when nothing moves."""

from __future__ import annotations

from typing import Any

import pytest

from gpu_explain.app.walkthrough.looks import Depth
from gpu_explain.app.walkthrough.state import Face
from gpu_explain.scenes.base import Measurement, Neighbour, View, Words
from gpu_explain.scenes.draw.canvas import Canvas
from gpu_explain.scenes.draw.ink import Ink
from tests.ui import toy
from tests.ui.driving import walking


def _raise(*_: Any) -> Any:
    raise IndexError("made up")


async def test_a_picture_that_cannot_be_drawn_is_a_panel_and_the_walk_goes_on() -> None:
    async with walking(scenes=(toy.scene(frame=_raise),)) as it:
        assert "This picture could not be drawn" in it.text
        assert "IndexError: made up" in it.text
        await it.press("right")
        assert it.state.step == 1


@pytest.mark.parametrize("broken", ["words", "claims", "pace", "parameters", "move"])
async def test_no_mistake_in_a_scene_takes_the_screen_down(broken: str) -> None:
    async with walking(scenes=(toy.scene(**{broken: _raise}),)) as it:
        await it.press("right", "i", "escape", "tab", "tab", "down", "enter", "escape", "s", "escape", "left")
        assert it.app.is_running
        assert "Toy" in it.text


async def test_a_small_screen_shows_words_then_the_picture() -> None:
    async with walking(size=(80, 24)) as it:
        assert "v picture" in it.text
        assert "Look at the last bar" in it.text
        assert "WHO WORKED WHEN" not in it.text
        await it.press("v")
        assert "v words" in it.text
        assert "WHO WORKED WHEN" in it.text
        assert "1 s on screen" in it.text
        await it.press("right")
        assert it.state.face is Face.WORDS


async def test_on_a_small_screen_the_focus_brings_its_face() -> None:
    async with walking(size=(80, 24)) as it:
        await it.press("tab", "tab")
        assert "WHO WORKED WHEN" in it.text
        await it.press("tab", "tab")
        assert "PARAMETERS" in it.text


@pytest.mark.parametrize("size", [(59, 24), (80, 17), (20, 5), (3, 2), (1, 1)])
async def test_a_tiny_terminal_gets_one_sentence(size: tuple[int, int]) -> None:
    async with walking(size=size) as it:
        if size[0] >= 20:
            assert "needs at least" in " ".join(it.text.split())
        await it.press("s", "escape", "i", "escape", "question_mark", "escape", "g", "escape", "v", "tab", "right")
        assert it.app.is_running


async def test_words_that_do_not_fit_say_so_and_scroll() -> None:
    def long(m: Measurement, step: int) -> Words:
        return Words("word " * 300, "Look at the end.", ("time",))

    async with walking(scenes=(toy.scene(words=long),)) as it:
        assert "more: ↓" in it.text
        assert "Look at the end." not in it.text
        await it.press(*["down"] * 40)
        assert "Look at the end." in it.text
        assert "▲" in it.text


async def test_other_work_on_the_gpu_is_marked_beside_the_numbers() -> None:
    source = toy.FakeSource(answers=False)
    async with walking(source) as it:
        from dataclasses import replace

        from gpu_explain.scenes.base.protocol import Measured

        m = replace(toy.measurement(), neighbours=(Neighbour("process", "1 other process holds 3.2 GB"),))
        source.say(Measured(1, m))
        await it.pilot.pause()
        assert "Not alone: 1 other process" in it.text


async def test_the_picture_moves_with_the_clock_and_stops_at_its_end() -> None:
    async with walking() as it:
        await it.later(2.0)
        assert "t = 20.00 µs" in it.text
        await it.later(20.0)
        assert "t = 40.00 µs" in it.text


async def test_nothing_is_painted_when_nothing_moves() -> None:
    drawn = []

    def frame(m: Measurement, view: View) -> Canvas:
        drawn.append(view.seconds)
        return toy.frame(m, view)

    async with walking(scenes=(toy.scene(frame=frame),)) as it:
        await it.later(5.0)
        await it.pilot.pause(0.2)
        frames, rows = len(drawn), it.sheet.painted_rows
        await it.pilot.pause(0.5)
        assert (len(drawn), it.sheet.painted_rows) == (frames, rows)


async def test_only_changed_rows_are_painted() -> None:
    async with walking(size=(120, 40)) as it:
        await it.later(5.0)
        before = it.sheet.painted_rows
        await it.press("plus")
        await it.later(0.0)
        await it.later(0.0)
        first = it.sheet.painted_rows - before
        assert first > 0
        tiles = it.sheet.tiles
        before = it.sheet.painted_rows
        it.sheet.show(tiles)
        await it.pilot.pause(0.1)
        assert it.sheet.painted_rows == before


async def test_faster_and_slower_change_the_pace_that_is_written() -> None:
    async with walking() as it:
        assert "1 s on screen = 10 µs" in it.text
        await it.press("minus")
        assert "1 s on screen = 5 µs" in it.text
        await it.press("plus", "plus")
        assert "1 s on screen = 20 µs" in it.text
        await it.later(1.0)
        assert "t = 20.00 µs" in it.text


async def test_without_motion_every_step_shows_its_end() -> None:
    async with walking() as it:
        await it.press("m")
        assert "t = 40.00 µs" in it.text
        await it.press("right")
        assert "t = 40.00 µs" in it.text
        await it.press("m")
        assert "t = 0.00 µs" in it.text


async def test_behind_a_dialog_the_picture_stands_still() -> None:
    async with walking() as it:
        await it.later(1.0)
        await it.press("question_mark")
        await it.later(30.0)
        await it.press("escape")
        assert it.state.seconds(it.clock.now) == 1.0


async def test_the_source_panel_shows_the_file_that_ran_at_the_lines_of_the_step() -> None:
    async with walking() as it:
        await it.press("s")
        assert "cuda/toy.cu" in it.text
        assert "A[blockIdx.x] = 1.0f;   // [red]" in it.text
        assert "[bold]this[/bold]" in it.text
        lit = [row for row in it.text.splitlines() if "▌" in row]
        assert len(lit) == 5
        await it.press("tab")
        assert "return a[0]" in it.text
        await it.press("escape", "right", "s")
        assert "kernels/toy.py" in it.text


async def test_every_number_says_where_it_comes_from() -> None:
    async with walking() as it:
        await it.press("i")
        for said in (
            "Events around the launch",
            "43.75 … 43.85 µs",
            "1 980 MHz, steady",
            "kernels/timing.py",
            "3.50 µs",
        ):
            assert said in it.text
        await it.press("down", "down", "down")
        assert "A book, 2024" in it.text


async def test_every_claim_says_what_came_of_it() -> None:
    async with walking() as it:
        await it.press("i", "down", "down", "down", "down")
        assert "held" in it.text
        assert "exactly 0 blocks" in it.text
        await it.press("down")
        assert "surprise" in it.text
        assert "30 … 40 µs" in it.text or "30.00 … 40.00 µs" in it.text
        assert "it was made up" in it.text
        await it.press("down")
        assert "not checked" in it.text
        assert "no profiler here" in it.text


async def test_speaker_notes() -> None:
    async with walking() as it:
        await it.press("n")
        assert "Say that nothing here was measured." in it.text


async def test_the_legend_is_always_there() -> None:
    async with walking() as it:
        for kind in ("● measured", "○ comp.", "□ driver", "◇ publ."):
            assert kind in it.text


async def test_without_utf8_every_cell_is_ascii() -> None:
    async with walking(encoding="latin-1") as it:
        for strip in it.sheet.render_lines(it.sheet.region):
            assert strip.text.isascii()
            assert strip.cell_length == 120


@pytest.mark.parametrize("depth", list(Depth))
async def test_each_colour_depth_keeps_to_its_colours(depth: Depth) -> None:
    async with walking(depth=depth) as it:
        styles = {segment.style for strip in it.sheet.render_lines(it.sheet.region) for segment in strip}
        colours = {style.color for style in styles if style and style.color}
        if depth is Depth.NONE:
            assert not colours
        elif depth is Depth.SIXTEEN:
            assert all(colour.is_system_defined or colour.is_default for colour in colours)
        else:
            assert all(colour.triplet is not None for colour in colours)


async def test_no_ink_is_painted_outside_the_screen() -> None:
    async with walking(size=(100, 28)) as it:
        assert {len(row) for row in it.canvas.rows()} == {100}
        assert it.canvas.ink(0, 0) in set(Ink)
