"""Races are drawn to scale, trips only while their kernel runs, and a number keeps its unit."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_explain.scenes.draw.box import Box, wrap
from gpu_explain.scenes.draw.canvas import Canvas
from gpu_explain.scenes.draw.ink import Ink
from gpu_explain.scenes.draw.race import Lane, Leg, Race, clock_text, draw_race
from gpu_explain.scenes.draw.trips import Journey, Stop, Trip, draw_journey

ON = {Ink.ON_A, Ink.ON_B, Ink.A, Ink.B}


def lane(name: str, *ends: float) -> Lane:
    starts = (0.0, *ends)
    legs = tuple(Leg(str(at), start, end, Ink.A) for at, (start, end) in enumerate(zip(starts, ends, strict=False)))
    return Lane(name, legs, said=f"{name} done")


def drawn(race: Race, width: int = 80) -> Canvas:
    canvas = Canvas(width, race.rows)
    draw_race(canvas, Box(0, 0, width, race.rows), race)
    return canvas


def filled(canvas: Canvas, y: int) -> int:
    return sum(canvas.ink(x, y) in ON for x in range(canvas.width))


@given(st.floats(1.0, 1e7), st.floats(0.05, 1.0), st.floats(0.0, 1.0))
def test_lengths_are_to_scale(end: float, share: float, played: float) -> None:
    race = Race((lane("slow", end), lane("fast", end * share)), end * played)
    canvas = drawn(race)
    whole = filled(drawn(Race(race.lanes, end)), 0)
    assert filled(canvas, 0) == pytest.approx(whole * played, abs=1)
    assert filled(canvas, 1) == pytest.approx(whole * min(share, played), abs=1)


def test_the_winner_says_so_while_the_loser_runs() -> None:
    rows = drawn(Race((lane("slow", 50.0, 100.0), lane("fast", 60.0)), 70.0)).rows()
    assert "fast done" in rows[1]
    assert "slow done" not in rows[0]
    assert "▲" in rows[2]


def test_two_legs_of_one_ink_are_apart() -> None:
    canvas = drawn(Race((lane("two", 50.0, 100.0),), 100.0))
    inks = [canvas.ink(x, 0) in ON for x in range(canvas.width)]
    first, last = inks.index(True), len(inks) - 1 - inks[::-1].index(True)
    assert inks[first:last].count(False) == 1


@pytest.mark.parametrize(("ns", "high", "text"), [(736_400, 1_242_000, "736.4 µs"), (1_242_000, 1_242_000, "1 242 µs")])
def test_times_that_differ_a_little_read_differently(ns: float, high: float, text: str) -> None:
    assert clock_text(ns, high) == text


def journey() -> Journey:
    add = (Trip("a", True, Ink.A), Trip("tmp", False, Ink.LOOK))
    return Journey((Stop("add", add, 0.0, 60.0), Stop("relu", (Trip("tmp", True, Ink.LOOK, "again"),), 60.0, 100.0)))


def rows_at(now: float, width: int = 80) -> tuple[str, ...]:
    canvas = Canvas(width, 3)
    draw_journey(canvas, Box(0, 0, width, 3), journey(), now, notes=8)
    return canvas.rows()


def test_dots_move_only_while_the_kernel_runs() -> None:
    assert ["■" in row for row in rows_at(30.0)] == [True, True, False]
    assert ["■" in row for row in rows_at(80.0)] == [False, False, True]
    assert ["■" in row for row in rows_at(100.0)] == [False, False, False]


def test_an_array_is_not_there_before_it_was_written() -> None:
    assert ["░" in row for row in rows_at(0.0)] == [True, False, False]
    assert "░" in rows_at(70.0)[2]


def test_what_has_travelled_follows_each_kernels_time() -> None:
    assert [journey().travelled(at) for at in (0.0, 30.0, 60.0, 80.0, 100.0)] == [0.0, 1.0, 2.0, 2.5, 3.0]


def test_a_number_keeps_its_unit() -> None:
    assert wrap("it takes 1 242 µs and wins 1.67 × or 12 % of 268 M", 14) == [
        "it takes",
        "1 242 µs and",
        "wins 1.67 × or",
        "12 % of 268 M",
    ]


@given(st.text("ab 1 %×µs", max_size=60), st.integers(1, 30))
def test_wrapping_loses_nothing_and_never_overflows(text: str, width: int) -> None:
    lines = wrap(text, width)
    assert all(len(line) <= width for line in lines)
    assert "".join("".join(lines).split()) == "".join(text.split())
