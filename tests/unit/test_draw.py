"""What is drawn is what is there: canvas, boxes, bars, plots, lanes."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from gpu_explain.scenes.draw.bars import Bar, bar, labelled_bars
from gpu_explain.scenes.draw.box import Box, legend, paragraph, titled, wrap
from gpu_explain.scenes.draw.canvas import Canvas
from gpu_explain.scenes.draw.ink import LOOKS, Ink
from gpu_explain.scenes.draw.plot import Plot, Tick
from gpu_explain.scenes.draw.scale import time_text
from gpu_explain.scenes.draw.timeline import LABEL, Lanes, residents_chart
from tests.unit.test_trace import trace


@given(st.integers(-30, 30), st.integers(-5, 8), st.text(alphabet="abc█", max_size=40))
def test_drawing_outside_is_cut_off_and_rows_keep_their_width(x: int, y: int, text: str) -> None:
    canvas = Canvas(12, 4)
    assert canvas.put(x, y, text, Ink.LOOK) == x + len(text)
    assert [len(row) for row in canvas.rows()] == [12] * 4
    assert sum(canvas.ink(c, r) is Ink.LOOK for c in range(12) for r in range(4)) == (
        max(0, min(x + len(text), 12) - max(x, 0)) if 0 <= y < 4 else 0
    )


@given(st.integers(0, 20), st.integers(0, 5))
def test_runs_give_a_row_back_whole(width: int, height: int) -> None:
    canvas = Canvas(width, height)
    canvas.put(1, 0, "ab", Ink.LOOK)
    canvas.put(3, 0, "c", Ink.DIM)
    for y in range(height):
        assert "".join(text for text, _, _ in canvas.runs(y)) == canvas.rows()[y]


def test_every_ink_has_a_look() -> None:
    assert set(LOOKS) == set(Ink)


def test_inks_of_things_compared_differ_in_sixteen_colours_too() -> None:
    for one, other in ((Ink.A, Ink.B), (Ink.B, Ink.C), (Ink.WORK, Ink.WORK_ALT), (Ink.WORK_ALT, Ink.TAIL)):
        assert LOOKS[one].fg != LOOKS[other].fg
        assert LOOKS[one].fg16 != LOOKS[other].fg16


def test_a_title_too_long_keeps_its_origin_out() -> None:
    canvas = Canvas(30, 3)
    titled(canvas, Box(0, 0, 30, 3), "WHO WORKED WHEN", "the trace of this launch")
    assert canvas.rows()[0].strip() == "WHO WORKED WHEN"


@given(st.text(alphabet="ab ", max_size=60), st.integers(1, 12))
def test_wrapped_lines_fit_and_lose_nothing(text: str, width: int) -> None:
    lines = wrap(text, width)
    assert all(len(line) <= width for line in lines)
    assert "".join(lines).replace(" ", "") == text.replace(" ", "")


def test_text_cut_short_says_so() -> None:
    canvas = Canvas(10, 2)
    paragraph(canvas, Box(0, 0, 10, 2), "one two three four five six")
    assert canvas.rows()[1].rstrip().endswith("…")


def test_a_small_number_is_not_no_number() -> None:
    canvas = Canvas(5, 1)
    bar(canvas, 0, 0, 0.001, Ink.A)
    assert canvas.rows()[0][0] == "▏"


def test_the_longer_bar_is_still_growing_when_the_shorter_has_arrived() -> None:
    canvas = Canvas(40, 2)
    bars = [Bar("a", 1.0, "one", Ink.A), Bar("b", 2.0, "two", Ink.B)]
    labelled_bars(canvas, Box(0, 0, 40, 2), bars, 2.0, played=0.6)
    assert "one" in canvas.rows()[0]
    assert "two" not in canvas.rows()[1]


def test_a_point_lies_where_its_axis_says() -> None:
    canvas = Canvas(60, 20)
    plot = Plot(canvas, Box(0, 0, 60, 20), (0, 10), (0, 5))
    plot.axes([Tick(0, "0"), Tick(10, "10")], [Tick(0, "0"), Tick(5, "5")])
    plot.points([(10, 5), (0, 0)], Ink.MEASURED)
    rows = canvas.rows()
    assert rows[0].startswith("    5 ┤")
    assert rows[0].rstrip().endswith("●")
    assert rows[17].startswith("    0 ┤●")


def test_a_legend_never_runs_over_its_end() -> None:
    canvas = Canvas(20, 1)
    legend(canvas, 0, 0, [("●", Ink.A, "first"), ("◆", Ink.B, "second thing that is long")], 20)
    assert canvas.rows()[0].rstrip() == "● first"


TWO = trace((0, 0, 100), (0, 0, 50), (1, 0, 100))


def test_a_lane_is_as_high_as_blocks_are_resident() -> None:
    canvas = Canvas(LABEL + 11, 1)
    Lanes(TWO, 2, 100.0, 100.0).lane(canvas, Box(0, 0, LABEL + 11, 1), 0, 0)
    assert canvas.rows()[0][LABEL:].rstrip() == "▇▇▇▇▇▄▄▄▄▄"


def test_nothing_is_drawn_before_its_time() -> None:
    canvas = Canvas(LABEL + 11, 1)
    Lanes(TWO, 2, 100.0, 30.0).lane(canvas, Box(0, 0, LABEL + 11, 1), 0, 1)
    assert canvas.rows()[0][LABEL:].rstrip() == "▄▄▄"


def test_an_unfolded_sm_names_its_blocks_and_says_what_it_hides() -> None:
    canvas = Canvas(LABEL + 31, 4)
    many = trace(*[(0, 0, 100)] * 6)
    end = Lanes(many, 6, 100.0, 100.0).unfolded(canvas, Box(0, 0, LABEL + 31, 4), 0)
    assert end == 4
    assert "block 0" in canvas.rows()[0]
    assert "3 more resident blocks" in canvas.rows()[3]


def test_the_residents_chart_reaches_its_peak_and_no_higher() -> None:
    canvas = Canvas(LABEL + 11, 2)
    residents_chart(canvas, Box(0, 0, LABEL + 11, 2), Lanes(TWO, 2, 100.0, 100.0), 3)
    assert canvas.rows()[0][LABEL:].rstrip() == "█████▃▃▃▃▃"
    assert canvas.rows()[1][LABEL:].rstrip() == "██████████"


def test_times_are_said_in_the_unit_that_suits_them() -> None:
    assert [time_text(t) for t in (640, 20_096, 1_500_000, 2e9)] == ["640 ns", "20.1 µs", "1.5 ms", "2 s"]
    assert time_text(640, like=20_000) == "0.6 µs"


def test_a_trace_that_differs_is_drawn_anew() -> None:
    other = replace(TWO, end_ns=(100, 100, 100))
    rows = []
    for one in (TWO, other):
        canvas = Canvas(LABEL + 11, 1)
        Lanes(one, 2, 100.0, 100.0).lane(canvas, Box(0, 0, LABEL + 11, 1), 0, 0)
        rows.append(canvas.rows())
    assert rows[0] != rows[1]
