"""What the scene on where blocks run says holds on other GPUs too, and falls when the data are bad."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from math import inf
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from gpu_explain.kernels import flag, grid
from gpu_explain.scenes.base import Measurement, Nature, Neighbour, Outcome, Series, Trace, View
from gpu_explain.scenes.draw.scale import time_text
from gpu_explain.scenes.draw.sm_map import Layout, moved
from gpu_explain.scenes.registry import find_scene
from gpu_explain.scenes.sm_map.facts import WARPS_KEPT, handovers, kept_sms, late_starts
from gpu_explain.scenes.sm_map.inside import elements_of, kept_blocks, place_of
from gpu_explain.scenes.sm_map.order import top_of_scale
from gpu_explain.scenes.sm_map.playing import freeze_ns
from tests.simulated.inprocess import measure
from tests.simulated.models import MODELS
from tests.unit import faults, made_up

SM_MAP = find_scene("sm-map")
CHOICES: tuple[dict[str, str], ...] = (
    {},
    {"elements": "one-block"},
    {"elements": "half-the-SMs"},
    {"elements": "=1"},
    {"elements": "=100001"},
    {"threads": "32"},
    {"threads": "1024"},
    {"threads": "1024", "elements": "=1"},
    {"work": "alike"},
    {"language": "Triton"},
)
SIZES = [(79, 20), (82, 36), (150, 55), (40, 8), (1, 1)]


@cache
def measured(model: str, chosen: tuple[tuple[str, str], ...] = ()) -> Measurement:
    return measure("sm-map", model, **dict(chosen))


def outcomes(m: Measurement) -> dict[str, Outcome]:
    return {claim.id: claim.outcome for claim in SM_MAP.claims(m)}


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("chosen", CHOICES, ids=str)
def test_every_law_holds_on_every_made_up_gpu(model: str, chosen: dict[str, str]) -> None:
    m = measured(model, tuple(chosen.items()))
    wrong = [c for c in SM_MAP.claims(m) if c.nature is Nature.LAW and c.outcome is Outcome.MISSED]
    assert not wrong


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("chosen", CHOICES, ids=str)
def test_every_step_is_drawn_and_said_on_every_made_up_gpu(model: str, chosen: dict[str, str]) -> None:
    m = measured(model, tuple(chosen.items()))
    for step in range(len(SM_MAP.steps)):
        words = SM_MAP.words(m, step)
        assert words.paragraph
        assert words.look
        assert all(m.has(name) for name in words.shown if name)
        for width, height in SIZES:
            for seconds in (0.0, 2.2, inf):
                canvas = SM_MAP.frame(m, View(step, width, height, seconds=seconds))
                assert (canvas.width, canvas.height) == (width, height)
                if width > 70:
                    assert canvas.rows()[0].strip()


def test_the_smaller_gpu_itself_is_a_choice() -> None:
    m = measured("sms132", (("sms", "least"),))
    assert m.number("fit.sms") == 8
    assert Outcome.MISSED not in outcomes(m).values()


def test_every_step_has_a_claim_behind_its_sentence() -> None:
    known = set(outcomes(measured("sms132")))
    for step in SM_MAP.steps:
        assert step.claims
        assert set(step.claims) <= known
        assert step.notes


def test_the_first_picture_needs_the_first_part_only() -> None:
    m = measured("sms132")
    early = replace(m, parts={"launch": m.parts["launch"]}, complete=False)
    assert SM_MAP.parts[0].name == "launch"
    for step, described in enumerate(SM_MAP.steps):
        if described.needs == ("launch",):
            assert SM_MAP.words(early, step).look
            assert str(SM_MAP.frame(early, View(step, 82, 36))).strip()


def test_parts_depend_on_what_they_read_and_nothing_else() -> None:
    """Two measurements that differ in a parameter differ in no part that does not name it."""
    base = measured("sms132")
    for chosen in ({"elements": "half-the-SMs"}, {"threads": "1024"}, {"work": "alike"}, {"language": "Triton"}):
        other = measured("sms132", tuple(chosen.items()))
        for part in SM_MAP.parts:
            if not set(part.depends) & set(chosen):
                spans = [[t.span_ns for t in m.parts[part.name].traces] for m in (base, other)]
                assert spans[0] == spans[1], part.name


def test_no_word_belongs_to_one_gpu() -> None:
    """What is said on 40 SMs never names the 132 SMs' numbers."""
    m = measured("sms40")
    said = " ".join(w.paragraph + w.look for w in (SM_MAP.words(m, step) for step in range(len(SM_MAP.steps))))
    drawn = " ".join(str(SM_MAP.frame(m, View(step, 82, 36))) for step in range(len(SM_MAP.steps)))
    for number in ("132", "264", "1 056"):
        assert number not in said
        assert f" {number} " not in drawn


def test_without_green_contexts_the_claims_on_smaller_gpus_say_why() -> None:
    found = {c.id: c for c in SM_MAP.claims(measured("slice24"))}
    for id in SM_MAP.steps[-1].claims:
        assert found[id].outcome is Outcome.NOT_CHECKED
        assert "green context" in found[id].unchecked
    assert "green context" in str(SM_MAP.frame(measured("slice24"), View(5, 82, 36)))


# -- looking inside --------------------------------------------------------------------------------------------------


def walk(m: Measurement, *keys: str, view: View | None = None) -> View:
    view = view or View(1, 82, 36, focused=True)
    for key in keys:
        view = replace(view, cursor=SM_MAP.move(m, view, key))
    return view


def test_one_steps_in_to_a_lane_and_out_again() -> None:
    m = measured("sms132")
    view = walk(m, "enter", "down", "enter", "down", "down", "enter", "right", "down")
    assert len(view.cursor) == 4
    place = place_of(m, view.cursor)
    assert (place.warp, place.lane) == (2, 5)
    threads = int(m.value("threads"))
    element = place.block * threads + 2 * 32 + 5
    assert f"= {element:,}".replace(",", " ") in str(SM_MAP.frame(m, view))
    out = walk(m, "escape", "escape", "escape", view=view)
    assert out.cursor == view.cursor[:1]
    assert walk(m, "escape", view=out).cursor == out.cursor  # nothing left to step out of


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(("width", "height"), SIZES[:3])
def test_every_enter_shows_where_it_leads_and_names_the_level(model: str, width: int, height: int) -> None:
    m = measured(model)
    view, seen = View(1, width, height, focused=True), []
    for level in ("SM", "block", "warp", "lane"):
        picture = str(SM_MAP.frame(m, view))
        assert f"[{level}]" in picture.splitlines()[0]
        seen.append(picture)
        view = walk(m, "enter", view=view)
    assert len(set(seen)) == 4


def test_time_moves_only_for_a_block_that_does_not_run_at_the_stop_and_it_is_said() -> None:
    m = measured("sms132")
    trace = m.trace("launch")
    stopped = freeze_ns(trace)
    view = walk(m, "enter")
    block = place_of(m, view.cursor).block
    assert trace.start_ns[block] <= stopped < trace.end_ns[block]
    first = [SM_MAP.frame(m, one).rows()[0] for one in (View(1, 82, 36, focused=True), view)]
    assert all(f"STOPPED AT {time_text(stopped, like=trace.span_ns)}: " in row for row in first)
    assert "MOVED" not in SM_MAP.frame(m, replace(view, width=79, height=20)).rows()[0]
    later = walk(m, "end", view=view)
    last = place_of(m, later.cursor).block
    assert last == trace.blocks - 1
    middle = time_text((trace.start_ns[last] + trace.end_ns[last]) / 2, like=trace.span_ns)
    assert f"MOVED TO {middle} FOR BLOCK 3 906" in SM_MAP.frame(m, later).rows()[0]
    assert f"MOVED TO {middle}" in SM_MAP.frame(m, replace(later, width=79, height=20)).rows()[0]


def test_home_and_end_choose_the_first_and_the_last_on_every_level() -> None:
    m = measured("sms132")
    trace = m.trace("launch")
    assert place_of(m, walk(m, "home").cursor).sm == trace.sms[0]
    assert place_of(m, walk(m, "end").cursor).sm == trace.sms[-1]
    view = walk(m, "enter", "home")
    assert place_of(m, view.cursor).block == min(trace.by_sm[trace.sm[-1]])
    assert walk(m, "enter", "end", view=view).cursor[2:] == (int(m.number("grid.warps_per_block")) - 1,)
    assert walk(m, "enter", "enter", "end", view=view).cursor[3:] == (31,)
    assert walk(m, "enter", "enter", "end", "home", view=view).cursor[3:] == (0,)
    assert walk(m, "home", view=View(0, 82, 36)).cursor == (0,)


@pytest.mark.parametrize("columns", [1, 5, 14, 132])
def test_up_and_down_stay_in_their_column(columns: int) -> None:
    cells = Layout(tuple(range(132)), 4, columns, -(-132 // columns))
    for sm in range(132):
        down = moved(cells, sm, "down")
        assert down == (sm + columns if sm + columns < 132 else sm % columns)
        assert moved(cells, down, "up") == sm


def test_a_blocks_bars_have_a_scale() -> None:
    m = measured("sms132")
    view = walk(m, "enter", "end")
    block = place_of(m, view.cursor).block
    rows = SM_MAP.frame(m, view).rows()
    lasts = m.trace("launch").end_ns[block] - m.trace("launch").start_ns[block]
    assert any("└" in row and f" {time_text(lasts)}, the block" in row for row in rows)


@pytest.mark.parametrize(
    ("threads", "per_sm", "slots", "residents", "said"),
    [
        ("256", 2048, 32, 8, "(2 048 threads ÷ 256)"),
        ("1024", 1536, 16, 1, "(1 536 threads ÷ 1 024, rounded down)"),
        ("32", 2048, 32, 32, "(the most blocks that it takes)"),
        ("256", 2048, 32, 6, "(registers or shared memory allow no more)"),
    ],
)
def test_what_limits_the_blocks_of_an_sm_is_named(
    threads: str, per_sm: int, slots: int, residents: int, said: str
) -> None:
    m = measured("sms132", (("threads", threads),))
    m = replace(m, device=replace(m.device, threads_per_sm=per_sm, blocks_per_sm=slots))
    m = faults.change(m, "launch", faults.quantity("fit.residents", residents))
    assert said in SM_MAP.words(m, 0).paragraph


def test_a_second_launchs_order_is_said_only_where_it_was_counted_the_same_way() -> None:
    m = measured("sms132")
    assert "again.late" in SM_MAP.words(m, 2).shown
    part = m.parts["again"]
    kept = tuple(q for q in part.quantities if q.name != "again.late")
    older = replace(m, parts={**m.parts, "again": replace(part, quantities=kept)})
    words = SM_MAP.words(older, 2)
    assert "again.late" not in words.shown
    assert "ran on another SM. Rely on neither." in words.look


def test_arrows_go_to_every_sm_that_ran_a_block_and_to_no_other() -> None:
    for chosen in ((), (("elements", "half-the-SMs"),), (("elements", "one-block"),)):
        m = measured("sms132", chosen)
        view, seen = walk(m, "right"), set()
        for _ in range(len(m.trace("launch").sms)):
            view = walk(m, "right", view=view)
            seen.add(place_of(m, view.cursor).sm)
        assert seen == set(m.trace("launch").sms)


def test_a_block_is_reached_over_rows_and_time() -> None:
    m = measured("sms40")
    trace = m.trace("launch")
    view = walk(m, "enter")
    here = place_of(m, view.cursor)
    later = place_of(m, walk(m, "right", view=view).cursor)
    assert later.sm == here.sm
    assert trace.start_ns[later.block] >= trace.end_ns[here.block]
    beside = place_of(m, walk(m, "down", view=view).cursor)
    assert beside.block != here.block
    assert trace.start_ns[beside.block] < trace.end_ns[here.block]


def test_where_warps_times_were_not_kept_their_elements_are_known_and_it_is_said() -> None:
    m = measured("sms132")
    trace, kept = m.trace("launch"), kept_blocks(m)
    sm = next(sm for sm in trace.sms if trace.by_sm[sm][0] not in kept)
    at, block = trace.sms.index(sm), trace.by_sm[sm][0]
    view = View(1, 82, 36, cursor=(at, block), focused=True)
    text = str(SM_MAP.frame(m, view))
    assert "times are kept for SM" in text
    assert f"{block * 256 + 32:,} – {block * 256 + 63:,}".replace(",", " ") in text
    assert len(walk(m, "enter", "enter", view=view).cursor) == 4


def test_what_is_kept_is_bounded_and_has_the_last_block() -> None:
    for model in MODELS:
        for chosen in ((), (("threads", "32"),), (("threads", "1024"),)):
            m = measured(model, chosen)
            trace, per_block = m.trace("launch"), int(m.number("grid.warps_per_block"))
            sms = kept_sms(trace, per_block)
            warps = sum(len(trace.by_sm[sm]) for sm in sms) * per_block
            assert trace.sm[-1] in sms
            assert warps <= WARPS_KEPT or len(sms) == 1
            assert len(m.one_series("warps.start").x) == warps
            assert {trace.sm[b] for b in kept_blocks(m)} == set(sms)


def test_elements_of_the_last_block_end_with_the_last_element() -> None:
    m = measured("sms132")
    last = m.trace("launch").blocks - 1
    assert elements_of(m, 0, 1) == tuple(range(32, 64))
    found = [e for warp in range(8) for e in elements_of(m, last, warp)]
    assert [e for e in found if e is not None] == list(range(last * 256, 1_000_000))
    assert found.count(None) == 192


def test_arrows_scrub_the_time_bar_and_enter_lets_it_play() -> None:
    m = measured("sms132")
    trace = m.trace("launch")
    view = View(0, 82, 36, seconds=inf, focused=True)
    back = walk(m, *["left"] * 25, view=view)
    assert f"t = {trace.span_ns / 2000:.1f}"[:6] in str(SM_MAP.frame(m, back))
    assert "HOW MANY" in str(SM_MAP.frame(m, view))
    assert "PLACES FOR BLOCKS" in str(SM_MAP.frame(m, back))
    assert walk(m, "enter", view=back).cursor == ()
    assert walk(m, *["left"] * 99, view=view).cursor == (0,)


def test_the_map_shows_what_the_trace_says() -> None:
    """Half of the SMs have one block each, of eight that would fit: an eighth of their cells is filled."""
    m = measured("sms132", (("elements", "half-the-SMs"),))
    rows = SM_MAP.frame(m, View(0, 79, 20, seconds=2.0)).rows()
    cells = [cell for row in rows if row.startswith(" SM ") for cell in row[9:].split()]
    assert len(cells) == 132
    assert cells.count("▄···") == 66
    assert cells.count("····") == 66


@pytest.mark.parametrize("model", MODELS)
def test_every_block_that_gave_up_has_its_mark(model: str) -> None:
    m = measured(model)
    rows = [row for row in SM_MAP.frame(m, View(3, 82, 36, seconds=inf)).rows() if row.startswith(" SM ")]
    marks = Counter("".join(rows))
    assert marks["✗"] == m.number("flag.more.timed_out")
    assert marks["✓"] == m.number("flag.capacity") - 1
    assert marks["◆"] == 2


@pytest.mark.parametrize("model", ["sms132", "sms160"])
def test_the_latest_block_is_named_with_the_one_that_overtook_it(model: str) -> None:
    m = measured(model)
    trace = m.trace("launch")
    said = re.search(r"block ([\d ]+) started (\d+) ns after block ([\d ]+)", str(SM_MAP.frame(m, View(2, 82, 36))))
    assert said
    late, ns, before = (int(text.replace(" ", "")) for text in said.groups())
    assert before > late
    assert trace.start_ns[late] - trace.start_ns[before] == ns == m.number("launch.latest")


@pytest.mark.parametrize("rows", [4, 7, 16, 33])
def test_steps_of_the_timer_lie_on_rows_where_they_fit(rows: int) -> None:
    for steps in range(2, rows - 1):
        row = top_of_scale(32.0 * steps, 32, rows) / (rows - 1)
        assert 32 / row == pytest.approx(round(32 / row))
        assert 32 * steps <= row * (rows - 2) + 1e-9


# -- bad data --------------------------------------------------------------------------------------------------------


def _first_moved(t: Trace) -> Trace:
    return replace(t, sm_end=(t.sm_end[0] + 1, *t.sm_end[1:]))


def _all_on_one_sm(t: Trace) -> Trace:
    return replace(t, sm=(0,) * t.blocks, sm_end=(0,) * t.blocks)


def _one_after_the_other(t: Trace) -> Trace:
    starts = tuple(range(0, t.blocks * 1000, 1000))
    return replace(t, start_ns=starts, end_ns=tuple(at + 1000 for at in starts))


def _last_at_once(t: Trace) -> Trace:
    return replace(t, start_ns=(*t.start_ns[:-1], 0))


def _twice(t: Trace) -> Trace:
    return replace(t, ticket=(t.ticket[1], *t.ticket[1:]))


def _scattered(s: Series) -> Series:
    return replace(s, y=tuple(reversed(s.y)), low=tuple(reversed(s.low)), high=tuple(reversed(s.high)))


FAULTS: dict[str, Callable[[Measurement], Measurement]] = {
    "never-above-the-limit": lambda m: faults.change(m, "launch", faults.trace("launch", _all_on_one_sm)),
    "all-places-filled": lambda m: faults.change(m, "launch", faults.trace("launch", _one_after_the_other)),
    "a-free-place-is-taken-at-once": lambda m: faults.change(m, "launch", faults.quantity("launch.gap", 20.0)),
    "every-warp-reported": lambda m: faults.change(m, "launch", faults.quantity("grid.warps", 31_255)),
    "warps-stay-with-their-block": lambda m: faults.change(m, "launch", faults.quantity("grid.astray", 1)),
    "warps-last-as-long-as-their-block": lambda m: faults.change(m, "launch", faults.quantity("grid.shortest", 0.02)),
    "every-element-once": lambda m: faults.change(m, "launch", faults.quantity("grid.signed", 999_999)),
    "a-warp-has-neighbours": lambda m: faults.change(m, "launch", faults.series("lanes", _scattered)),
    "each-block-once": lambda m: faults.change(m, "launch", faults.trace("launch", _twice)),
    "blocks-stay": lambda m: faults.change(m, "launch", faults.trace("launch", _first_moved)),
    "not-in-order": lambda m: faults.change(m, "launch", faults.quantity("launch.unordered", 0)),
    "not-the-same-twice": lambda m: faults.change(m, "again", faults.quantity("again.elsewhere", 0)),
    "who-fits-can-wait": lambda m: faults.change(m, "flag", faults.quantity("flag.fits.timed_out", 1)),
    "one-more-and-all-give-up": lambda m: faults.change(m, "flag", faults.quantity("flag.more.timed_out", 263)),
    "the-awaited-comes-last": lambda m: faults.change(m, "flag", faults.trace("flag.more", _last_at_once)),
    "twins-own-the-same": lambda m: faults.change(m, "twins", faults.quantity("twin.Triton.wrong", 1)),
    "twins-take-the-same-time": lambda m: faults.change(m, "twins", faults.quantity("twin.ratio", 1.5)),
    "surplus-warps-leave-in-cuda": lambda m: faults.change(m, "twins", faults.quantity("twin.CUDA.idle", 26.0)),
    "surplus-warps-stay-in-triton": lambda m: faults.change(m, "twins", faults.quantity("twin.Triton.idle", 0.1)),
    "only-its-own-sms": lambda m: faults.change(m, "smaller", faults.quantity("sms.8.seen", 9)),
    "the-same-result-everywhere": lambda m: faults.change(m, "smaller", faults.quantity("sms.40.wrong", 1)),
    "fewer-sms-more-waves": lambda m: faults.change(m, "smaller", faults.quantity("sms.8.waves", 99.0)),
}


@pytest.mark.parametrize("claim_id", FAULTS)
def test_a_fault_in_the_data_turns_the_claim(claim_id: str) -> None:
    good = measured("sms132")
    assert outcomes(good)[claim_id] is Outcome.HELD
    assert outcomes(FAULTS[claim_id](good))[claim_id] in (Outcome.MISSED, Outcome.SURPRISE)


def test_every_claim_has_its_fault() -> None:
    assert set(outcomes(measured("sms132"))) == set(FAULTS)


def test_words_follow_the_data_when_they_are_surprising() -> None:
    good = measured("sms132")
    lost = faults.change(good, "flag", faults.quantity("flag.fits.timed_out", 3))
    assert "something else had a part of this GPU" in SM_MAP.words(lost, 3).look
    same = faults.change(good, "again", faults.quantity("again.elsewhere", 0))
    same = faults.change(same, "again", faults.quantity("again.late", 0))
    tidy = faults.change(same, "launch", faults.quantity("launch.unordered", 0))
    assert "Nothing promises it" in SM_MAP.words(tidy, 2).look
    slow = faults.change(good, "twins", faults.quantity("twin.ratio", 1.5))
    assert "1.50 times" in SM_MAP.words(slow, 4).look
    astray = faults.change(good, "launch", faults.quantity("grid.strangers", 4))
    assert "not where they belong" in str(SM_MAP.frame(astray, View(1, 82, 36)))


def test_beside_other_work_what_others_can_break_is_no_law() -> None:
    m = replace(measured("sms132"), neighbours=(Neighbour("process", "1 other process"),))
    natures = {c.id: c.nature for c in SM_MAP.claims(m)}
    for id in ("blocks-stay", "all-places-filled", "who-fits-can-wait", "warps-stay-with-their-block"):
        assert natures[id] is Nature.EXPECTATION


def test_a_place_is_free_between_an_end_and_the_next_start() -> None:
    trace = Trace(
        "t", "", "k", "CUDA", 32, 1, sm=(0, 0, 0, 1), sm_end=(0, 0, 0, 1), start_ns=(0, 1, 12, 0),
        end_ns=(10, 30, 25, 9), cycles=(1, 1, 1, 1), ticket=(0, 1, 3, 2),
    )  # fmt: skip
    assert handovers(trace, 2) == [2]
    assert handovers(trace, 1) == [1 - 10, 12 - 25]


def test_late_is_who_starts_clearly_after_a_higher_number() -> None:
    starts = (0, 64, 31, 200, 30)
    trace = Trace(
        "t", "", "k", "CUDA", 32, 32, sm=(0,) * 5, sm_end=(0,) * 5, start_ns=starts, end_ns=(300,) * 5,
        cycles=(1,) * 5, ticket=tuple(range(5)),
    )  # fmt: skip
    assert late_starts(trace) == {1, 3}


# -- what of the launchers needs no GPU ------------------------------------------------------------------------------


def signatures(elements: int, threads: int, warp_size: int = 32) -> Any:
    block, thread = np.divmod(np.arange(elements), threads)
    warp = block * -(-threads // warp_size) + thread // warp_size
    return (warp * warp_size + thread % warp_size).astype(np.int32)


@pytest.mark.parametrize(("elements", "threads"), [(1, 32), (31, 32), (1000, 256), (777, 48), (9_000_001, 48)])
def test_right_signatures_are_counted_as_such(elements: int, threads: int) -> None:
    found = grid.count_owners(signatures(elements, threads), threads=threads, warp_size=32)
    lanes = min(elements, threads, 32)
    assert (found.elements, found.signed, found.strangers) == (elements, elements, 0)
    assert found.lane_low == found.lane_high == (*range(lanes), *(-1,) * (32 - lanes))


def test_wrong_signatures_are_found() -> None:
    owner = signatures(1000, 256)
    owner[5] = -1
    owner[[7, 8]] = owner[[8, 7]]
    found = grid.count_owners(owner, threads=256, warp_size=32)
    assert (found.signed, found.strangers) == (999, 2)
    assert (found.lane_low[7], found.lane_high[7]) == (7, 8)
    assert (found.lane_low[8], found.lane_high[8]) == (7, 8)


GPU: Any = SimpleNamespace(device=made_up.device())


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"language": "cuda"}, "language: one of CUDA, Triton"),
        ({"threads": 0}, "threads: 1 to 1024"),
        ({"threads": 1025}, "threads: 1 to 1024"),
        ({"threads": 96, "language": "Triton"}, "threads: a power of two"),
        ({"elements": 0}, "elements: 1 to"),
        ({"elements": 2**31}, "elements: 1 to"),
        ({"least": 0}, "least: 1 to"),
        ({"least": 10**12}, "least: 1 to"),
        ({"spread": -1}, "spread: 0 to"),
    ],
)
def test_a_wrong_argument_of_the_recorder_is_named(wrong: dict[str, Any], named: str) -> None:
    good: dict[str, Any] = {"language": "CUDA", "elements": 8, "threads": 256, "least": 1000}
    with pytest.raises(ValueError, match=rf"^{named}\b.* expected.*, got "):
        grid.record(GPU, name="t", title="t", **{**good, **wrong})


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"blocks": 0}, "blocks: 1 to"),
        ({"threads": 2048}, "threads: 1 to 1024"),
        ({"limit_ns": 0}, "limit_ns: 1 to"),
        ({"limit_ns": 10**9}, "limit_ns: 1 to"),
    ],
)
def test_a_wrong_argument_of_the_flag_is_named(wrong: dict[str, Any], named: str) -> None:
    good: dict[str, Any] = {"blocks": 8, "threads": 256, "limit_ns": 1000}
    with pytest.raises(ValueError, match=rf"^{named}\b.* expected.*, got "):
        flag.wait_for_the_last(GPU, name="t", title="t", **{**good, **wrong})


@pytest.mark.parametrize("language", grid.LANGUAGES)
def test_the_sources_have_the_lines_that_the_steps_point_at(language: str) -> None:
    focus = {name for text in (*grid.sources(language=language), *flag.sources()) for name in text.focus}
    assert {"kernel", "trace", "flag"} <= focus


def test_one_block_is_no_plural_and_has_no_range() -> None:
    m = measured("sms132", (("elements", "one-block"),))
    shown = [q.text + q.note for name in SM_MAP.words(m, 0).shown if name for q in [m.quantity(name)]]
    drawn = SM_MAP.frame(m, View(0, 150, 55, seconds=inf)).rows()
    assert not [text for text in (*shown, *drawn) if re.search(r"(?<![\d …])\b1 (blocks|SMs)\b|10 … 10", text)]


def test_maps_of_unlike_launches_name_their_own_most_and_fewest() -> None:
    m = measured("sms132")
    (legend,) = [row for row in SM_MAP.frame(m, View(5, 150, 55, seconds=inf)).rows() if "that an SM ran" in row]
    ends = {}
    for sms in (8, 40, 132):
        counts = [len(blocks) for blocks in m.trace(f"sms.{sms}.trace").by_sm.values()]
        ends[sms] = min(counts), max(counts)
    for sms, (least, most) in ends.items():
        assert (f"{most}▴ most on {sms} SMs   {least}▾ fewest" in legend) == (least < most)


def test_waves_differ_without_colour() -> None:
    rows = SM_MAP.frame(measured("sms132"), View(5, 150, 55, seconds=inf)).rows()
    at = next(y for y, row in enumerate(rows) if "ONE SM OF EACH" in row)
    assert "▇ ▒" in rows[at]
    assert all("▇" in row and "▒" in row for row in rows[at + 1 : at + 4])
