"""The parts that know no terminal: the playhead, sentences about pace, text, colours, the list of actions."""

from __future__ import annotations

import unicodedata
from itertools import combinations

import pytest
from rich.cells import cell_len
from rich.color import Color, ColorSystem

from gpu_explain.app.walkthrough.actions import ACTIONS, footer_actions
from gpu_explain.app.walkthrough.application import Walkthrough
from gpu_explain.app.walkthrough.clock import SPEEDS, Playhead
from gpu_explain.app.walkthrough.looks import Depth, depth_of, glyphs_for, style, to_ascii
from gpu_explain.app.walkthrough.paint.column import pace_text
from gpu_explain.app.walkthrough.paint.frame import header, too_small
from gpu_explain.app.walkthrough.paint.layout import SMALLEST
from gpu_explain.app.walkthrough.paint.start import sm_rows
from gpu_explain.app.walkthrough.paint.text import clip, duration, length, rounded, size, wrap
from gpu_explain.app.walkthrough.panels.code import highlighted
from gpu_explain.app.walkthrough.screens.walk import Walk
from gpu_explain.scenes.base import Pace
from gpu_explain.scenes.draw.ink import GROUND, LOOKS, Ink
from tests.ui import toy


def test_screen_time_follows_the_clock_at_the_speed_that_was_set() -> None:
    play = Playhead(since=10.0)
    assert play.seconds(12.0) == 2.0
    faster = play.paced(12.0, 1)
    assert faster.seconds(13.0) == 4.0
    held = faster.hold(13.0)
    assert held.seconds(99.0) == 4.0
    assert held.hold(99.0, held=False).seconds(100.0) == 6.0


def test_speed_stays_within_its_ends() -> None:
    play = Playhead()
    for _ in range(20):
        play = play.paced(0.0, -1)
    assert play.speed == SPEEDS[0]
    for _ in range(20):
        play = play.paced(0.0, 1)
    assert play.speed == SPEEDS[-1]


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (6.0, "6"),
        (166_667, "170\u00a0000"),
        (0.347, "0.35"),
        (9.96, "10"),
        (99.9, "100"),
        (1.04, "1"),
        (0.0, "0"),
        (123, "120"),
    ],
)
def test_two_significant_digits(value: float, said: str) -> None:
    assert rounded(value) == said


@pytest.mark.parametrize(
    ("ns", "said"), [(6000, "6 µs"), (350, "350 ns"), (1.2e6, "1.2 ms"), (2e9, "2 s"), (0.5, "0.5 ns")]
)
def test_time_spans_have_the_unit_that_suits_them(ns: float, said: str) -> None:
    assert duration(ns) == said


def test_the_pace_ties_screen_time_to_gpu_time() -> None:
    pace = Pace(seconds=8.0, gpu_ns=42_000, lead=1.0)
    assert pace_text(pace, 1.0) == ("1 s on screen = 6 µs on the GPU", "(170\u00a0000 × slower)")
    assert pace_text(pace, 2.0) == ("1 s on screen = 12 µs on the GPU", "(83\u00a0000 × slower)")
    assert pace_text(Pace(seconds=1.0, gpu_ns=4e9), 1.0) == ("1 s on screen = 4 s on the GPU", "(4 × faster)")
    assert pace_text(Pace(9.8, gpu_ns=1_237_248, lead=0.8), 1.0) == (
        "1 s on screen = 137 µs on the GPU",
        "(7\u00a0300 × slower)",
    )
    assert pace_text(Pace(3.0), 1.0) is None


def test_sizes_are_said_as_the_driver_counts() -> None:
    assert [size(n) for n in (233_472, 62_914_560, 150_000_000_000, 512)] == ["228 KB", "60 MB", "140 GB", "512 B"]


def test_text_is_wrapped_and_clipped_to_its_width() -> None:
    text = "A[row][k] costs 170\u00a0000 cycles"
    assert all(len(line) <= 10 for line in wrap(text, 10))
    # A number holds together, whatever kind of space keeps its thousands apart.
    assert "170 000" in [line.replace("\u00a0", " ") for line in wrap(text, 10)]
    assert clip("something", 4) == "som…"
    assert [len(clip("something", n)) for n in range(12)] == [min(n, 9) for n in range(12)]


@pytest.mark.parametrize("sms", [1, 7, 16, 24, 108, 114, 132, 142, 160])
@pytest.mark.parametrize("width", [20, 31, 56])
def test_there_is_one_square_for_each_sm(sms: int, width: int) -> None:
    rows = sm_rows(sms, width)
    assert sum(text.count("■") for row in rows for text, _ in row) == sms
    assert all(length(row) <= width for row in rows)


@pytest.mark.parametrize("width", [60, 80, 120, 200])
def test_the_label_that_says_live_or_recorded_is_always_whole(width: int) -> None:
    label = "RECORDED · NVIDIA H200 · 2026-11-29"
    canvas = header(width, label, ("3 Blocks on SMs", "10 Where the blocks of a launch run"), (3, 5))
    assert label in str(canvas)
    assert "3/5" in str(canvas)


def test_every_action_has_a_method_and_no_key_has_two() -> None:
    keys = [key for action in ACTIONS for key in action.keys]
    assert len(keys) == len(set(keys))
    for action in ACTIONS:
        name = action.id.removeprefix("app.").split("(")[0]
        assert callable(getattr(Walkthrough if action.id.startswith("app.") else Walk, f"action_{name}"))


def test_the_keys_are_those_of_the_design() -> None:
    keys = {key for action in ACTIONS for key in action.keys}
    assert keys >= {
        "pagedown", "pageup", "right", "left", "space", "tab", "enter", "escape", "left_square_bracket",
        "right_square_bracket", "g", "r", "s", "i", "v", "full_stop", "b", "plus", "minus", "m", "question_mark", "q",
    }  # fmt: skip


def test_the_footer_comes_from_the_same_list() -> None:
    assert [action.shown for action in footer_actions()][:4] == ["→", "←", "r", "⇥"]


@pytest.mark.parametrize("ink", list(Ink))
@pytest.mark.parametrize("depth", list(Depth))
def test_every_ink_has_a_style_at_every_depth(ink: Ink, depth: Depth) -> None:
    made = style(ink, depth)
    assert (made.color is None) or depth is not Depth.NONE


def _light(name: str) -> float:
    """Relative luminance by WCAG 2."""

    def linear(c: float) -> float:
        return c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4

    red, green, blue = (linear(c / 255) for c in Color.parse(name).get_truecolor())
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("ink", [ink for ink in Ink if ink not in (Ink.FAINT, Ink.WORK)])
def test_words_stand_out_from_their_ground(ink: Ink) -> None:
    look = LOOKS[ink]
    dark, light = sorted((_light(look.fg or "#E6E6E6"), _light(look.bg or GROUND)))
    # WCAG 2 asks for 4.5 in text; vermillion, which is a fault's first word beside its glyph, has 4.6.
    assert (light + 0.05) / (dark + 0.05) >= 4.5


def test_what_is_compared_differs_in_256_and_in_16_colours() -> None:
    compared = (Ink.A, Ink.B, Ink.C, Ink.WORK, Ink.LOOK, Ink.GOOD, Ink.BAD, Ink.TEXT)
    eight_bit = [Color.parse(LOOKS[ink].fg).downgrade(ColorSystem.EIGHT_BIT).number for ink in compared]
    assert len(set(eight_bit)) == len(compared)
    for one, other in combinations((Ink.A, Ink.B, Ink.C, Ink.WORK, Ink.GOOD, Ink.BAD), 2):
        assert LOOKS[one].fg16 != LOOKS[other].fg16


def test_the_depth_follows_the_terminal() -> None:
    assert depth_of("truecolor", no_color=False) is Depth.FULL
    assert depth_of("256", no_color=False) is Depth.FULL
    assert depth_of("standard", no_color=False) is Depth.SIXTEEN
    assert depth_of("truecolor", no_color=True) is Depth.NONE
    assert depth_of(None, no_color=False) is Depth.NONE


def test_ascii_keeps_every_cell() -> None:
    text = "SM 29 ▐█▌ ● ○ □ ◇ ▰▱ 10 µs × 2 → … ┤ 中"
    assert len(to_ascii(text)) == len(text)
    assert to_ascii(text).isascii()
    assert glyphs_for("UTF-8")(text[:-1]) == text[:-1]
    assert glyphs_for(None)(text) == to_ascii(text)


@pytest.mark.parametrize("language", ["cuda", "python", "triton", "no such language"])
def test_highlighting_changes_no_character(language: str) -> None:
    lines = highlighted(toy.CODE, language)
    assert "\n".join("".join(text for text, _ in line) for line in lines) == toy.CODE.rstrip("\n")


@pytest.mark.parametrize("width", [8, 9, 10, 12, 20, 33, 59])
@pytest.mark.parametrize("height", range(1, 18))
def test_the_way_out_is_never_cut_off_however_small_the_screen(width: int, height: int) -> None:
    said = " ".join(str(too_small(width, height, SMALLEST)).split())
    assert said.endswith("q quits.")
    if (width, height) == (20, 5):
        assert "60 × 18" in said


HOSTILE = "\x1b[2J\x1b]0;t\x07\r\n\t\x00\x7f\x9b31m\u202e\u200b\u2028\ud800e\u0301\u4e2d\U0001f525"


@pytest.mark.parametrize("encoding", ["utf-8", "ascii", "iso-8859-1"])
def test_nothing_that_steers_a_terminal_reaches_it(encoding: str) -> None:
    shown = glyphs_for(encoding)(f"NVIDIA{HOSTILE} ○ 1\u00a0024 µs")
    assert shown.encode(encoding)
    assert not [c for c in shown if unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp", "Mn")]
    assert cell_len(shown) == len(shown) == len(f"NVIDIA{HOSTILE} ○ 1\u00a0024 µs")
    assert shown.startswith("NVIDIA")
