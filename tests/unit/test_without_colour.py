"""What colours say, glyphs say too; and in sixteen colours what is to be told apart stays apart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from math import inf
from types import ModuleType

import pytest

from gpu_explain.app.walkthrough.looks import Depth, style, to_ascii
from gpu_explain.scenes.base import Scene, Trace, View
from gpu_explain.scenes.draw.box import Box, legend
from gpu_explain.scenes.draw.canvas import Canvas
from gpu_explain.scenes.draw.ink import LOOKS, Ink
from gpu_explain.scenes.draw.ladder import Ladder, Rung, draw_ladder
from gpu_explain.scenes.draw.race import Lane, Leg, Race, draw_race
from gpu_explain.scenes.draw.sm_map import running_text, totals_painter
from gpu_explain.scenes.draw.timeline import BAR, TAIL_BAR, Lanes, notch
from gpu_explain.scenes.registry import all_scenes
from tests.simulated.inprocess import measure
from tests.ui.goldens import fixture

SIZES = ((79, 20), (82, 36), (111, 51), (150, 55))
STEPS = [(scene, index) for scene in all_scenes() for index in range(len(scene.steps))]
Entries = Sequence[tuple[str, Ink, str]]


def modules_with_a_legend() -> Iterator[ModuleType]:
    import sys

    for name, module in list(sys.modules.items()):
        if name.startswith("gpu_explain.scenes.") and getattr(module, "legend", None) is legend:
            yield module


@pytest.fixture
def keys(monkeypatch: pytest.MonkeyPatch) -> list[Entries]:
    """Every key that is drawn from now on."""
    seen: list[Entries] = []

    def heard(canvas: Canvas, x: int, y: int, entries: Entries, end: int) -> int:
        seen.append(tuple(entries))
        return legend(canvas, x, y, entries, end)

    for scene in all_scenes():  # a picture's module is imported when it is first drawn
        m = fixture(scene)
        for step in range(len(scene.steps)):
            scene.frame(m, View(step, *SIZES[1]))
    for module in modules_with_a_legend():
        monkeypatch.setattr(module, "legend", heard)
    return seen


@pytest.mark.parametrize(("scene", "step"), STEPS, ids=[f"{s.id}-{s.steps[i].id}" for s, i in STEPS])
@pytest.mark.parametrize("model", ["sms132", "sms40"])
def test_no_two_entries_of_a_key_share_a_glyph(scene: Scene, step: int, model: str, keys: list[Entries]) -> None:
    m = measure(scene.id, model)
    pace = scene.pace(m, step)
    for size in SIZES:
        for seconds in (pace.lead, (pace.lead + pace.seconds) / 2, inf):
            scene.frame(m, View(step, *size, seconds=seconds))
    for entries in keys:
        for shown in (str, to_ascii):
            twice = [glyph for glyph, count in Counter(shown(glyph) for glyph, _, _ in entries).items() if count > 1]
            assert not twice, (twice, entries)


@pytest.mark.parametrize(("scene", "step"), STEPS, ids=[f"{s.id}-{s.steps[i].id}" for s, i in STEPS])
def test_every_glyph_of_a_picture_has_one_in_ascii(scene: Scene, step: int) -> None:
    m = measure(scene.id, "sms132")
    pace = scene.pace(m, step)
    for seconds in ((pace.lead + pace.seconds) / 2, inf):
        shown = str(scene.frame(m, View(step, 150, 55, seconds=seconds)))
        assert "?" not in to_ascii("".join(sorted(set(shown) - {"?", "\n"})))


def test_a_key_was_looked_at_in_every_scene(keys: list[Entries]) -> None:
    for scene in all_scenes():
        before = len(keys)
        m = fixture(scene)
        for step in range(len(scene.steps)):
            scene.frame(m, View(step, *SIZES[1]))
        assert len(keys) > before


def two_rounds() -> Trace:
    """SM 0 runs three blocks one after the other, SM 1 one."""
    return Trace(
        "launch", "4 blocks", "k", "CUDA", 32, 1,
        sm=(0, 1, 0, 0), sm_end=(0, 1, 0, 0), start_ns=(0, 0, 100, 200), end_ns=(100, 100, 200, 300),
        cycles=(1, 1, 1, 1), ticket=(0, 1, 2, 3),
    )  # fmt: skip


def test_every_round_after_the_first_begins_with_a_notch() -> None:
    canvas = Canvas(38, 2)
    lanes = Lanes(two_rounds(), residents=1, end_ns=300, now_ns=300)
    lanes.lane(canvas, Box(0, 0, 38, 2), 0, 0)
    lanes.lane(canvas, Box(0, 0, 38, 2), 1, 1)
    assert [x - 8 for x, glyph in enumerate(canvas.rows()[0]) if glyph == notch(8)] == [10, 19]
    assert notch(8) not in canvas.rows()[1]
    assert notch(3) != notch(8)


def test_rounds_too_short_to_be_seen_are_not_parted() -> None:
    canvas, box = Canvas(20, 1), Box(0, 0, 20, 1)
    lanes = Lanes(two_rounds(), residents=1, end_ns=300, now_ns=300)
    assert not lanes.parts_rounds(box, 0)
    assert lanes.parts_rounds(box, 1)
    lanes.lane(canvas, box, 0, 0)
    assert notch(8) not in canvas.rows()[0]
    assert {canvas.ink(x, 0) for x in range(8, 19)} == {Ink.WORK}


def test_the_block_that_keeps_all_waiting_is_made_of_another_glyph() -> None:
    canvas = Canvas(68, 1)
    Lanes(two_rounds(), 1, end_ns=300, now_ns=300).unfolded(canvas, Box(0, 0, 68, 1), 0, tail=frozenset({3}))
    row = canvas.rows()[0]
    first = row.index(TAIL_BAR)
    assert BAR in row[:first]
    assert BAR not in row[first:]
    assert "block 3" in row[first:]


def test_the_most_and_the_fewest_are_marked_where_there_is_room() -> None:
    paint = totals_painter(two_rounds())
    assert "".join(glyph for glyph, _ in paint(0, 4)) == "3▴  "
    assert "".join(glyph for glyph, _ in paint(1, 4)) == "1▾  "
    assert "".join(glyph for glyph, _ in paint(0, 1)) == "3"


def test_once_over_a_launch_says_how_many_ran_at_most() -> None:
    assert running_text(two_rounds(), 50) == "2"
    assert running_text(two_rounds(), 300) == "at most 2"


def test_a_bar_that_still_grows_ends_in_an_arrow_and_yours_begins_with_one() -> None:
    rungs = [Rung("thread", "registers", 4, "2 ns"), Rung("chip", "L2", 200, "100 ns"), Rung("", "DRAM", 400, "200 ns")]
    canvas = Canvas(80, 8)
    draw_ladder(canvas, Box(0, 0, 80, 8), Ladder(rungs, followed=2, now=250, end=400))
    rows = [next(row for row in canvas.rows() if rung.name in row) for rung in rungs]
    assert [row.rstrip().endswith("▸") for row in rows] == [False, False, True]
    assert ["▸" + rung.name in row for rung, row in zip(rungs, rows, strict=True)] == [False, False, True]


def test_a_leg_of_another_fill_has_its_label_inside() -> None:
    canvas = Canvas(40, 3)
    draw_race(canvas, Box(0, 0, 40, 3), Race((Lane("x", (Leg("add", 0, 100, Ink.A, "▓"),)),), 100))
    assert canvas.rows()[0].strip().startswith("x ▓ add ▓▓")
    assert "█" not in canvas.rows()[0]


PAIRS = (
    (Ink.LOOK, Ink.TAIL), (Ink.LOOK, Ink.B), (Ink.WORK, Ink.WORK_ALT), (Ink.WORK, Ink.TAIL), (Ink.WORK_ALT, Ink.TAIL),
    (Ink.A, Ink.B), (Ink.A, Ink.C), (Ink.B, Ink.C), (Ink.B, Ink.GOOD), (Ink.GOOD, Ink.BAD), (Ink.TEXT, Ink.DIM),
    (Ink.C, Ink.LOOK), (Ink.C, Ink.WORK), (Ink.A, Ink.WORK), (Ink.A, Ink.LOOK), (Ink.GOOD, Ink.C), (Ink.DIM, Ink.FAINT),
)  # fmt: skip


@pytest.mark.parametrize(("one", "other"), PAIRS)
def test_what_is_told_apart_stays_apart_in_sixteen_colours(one: Ink, other: Ink) -> None:
    assert style(one, Depth.SIXTEEN).color != style(other, Depth.SIXTEEN).color


@pytest.mark.parametrize("ink", list(Ink))
def test_sixteen_colours_are_painted_on_a_ground_of_our_own(ink: Ink) -> None:
    made = style(ink, Depth.SIXTEEN)
    assert made.color is not None
    assert made.bgcolor is not None
    assert made.color != made.bgcolor
    assert LOOKS[ink].fg16
