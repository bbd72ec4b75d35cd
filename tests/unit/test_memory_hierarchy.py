"""What the memory-hierarchy scene says holds on other GPUs too, and falls when the data are bad."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from math import inf

import pytest
from hypothesis import given
from hypothesis.strategies import floats

from gpu_explain.scenes.base import Findings, Measurement, Nature, Outcome, View
from gpu_explain.scenes.memory_hierarchy.figures import bytes_text, operands, share_text
from gpu_explain.scenes.memory_hierarchy.levels import footprints, present, read_footprints
from gpu_explain.scenes.memory_hierarchy.parameters import FOLLOWED, followed
from gpu_explain.scenes.memory_hierarchy.words import as_seconds
from gpu_explain.scenes.registry import find_scene
from tests.simulated.inprocess import measure
from tests.simulated.models import MODELS
from tests.unit import faults

SCENE = find_scene("memory-hierarchy")
CHOICES: tuple[dict[str, str], ...] = (
    {},
    {"level": "l1"},
    {"level": "far"},
    {"level": "host"},
    {"footprint": "l1"},
    {"footprint": "far"},
    {"footprint": "dram"},
    {"footprint": "=1"},
    {"footprint": "=30000"},
)


@cache
def measured(model: str = "sms132", chosen: tuple[tuple[str, str], ...] = ()) -> Measurement:
    return measure("memory-hierarchy", model, **dict(chosen))


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("chosen", CHOICES, ids=str)
def test_every_law_holds_on_every_made_up_gpu(model: str, chosen: dict[str, str]) -> None:
    m = measured(model, tuple(chosen.items()))
    wrong = [c for c in SCENE.claims(m) if c.nature is Nature.LAW and c.outcome is not Outcome.HELD]
    assert not wrong


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("chosen", CHOICES, ids=str)
@pytest.mark.parametrize("size", [(79, 20), (82, 36), (150, 55), (40, 8), (1, 1)], ids=str)
def test_every_step_is_drawn_and_said_on_every_made_up_gpu(
    model: str, chosen: dict[str, str], size: tuple[int, int]
) -> None:
    m = measured(model, tuple(chosen.items()))
    for step in range(len(SCENE.steps)):
        words = SCENE.words(m, step)
        assert words.paragraph
        assert words.look
        assert all(m.has(name) for name in words.shown if name)
        for seconds in (0.0, 1.7, inf):
            canvas = SCENE.frame(m, View(step, *size, seconds=seconds))
            assert (canvas.width, canvas.height) == size
            if size[0] > 70:
                assert canvas.rows()[0].strip()


def test_every_step_has_a_claim_behind_its_sentence() -> None:
    known = {c.id for chosen in CHOICES for c in SCENE.claims(measured("sms132", tuple(chosen.items())))}
    for step in SCENE.steps:
        assert step.claims
        assert set(step.claims) <= known
        assert step.notes
    assert {claim for step in SCENE.steps for claim in step.claims} == known


def test_every_step_needs_only_parts_that_come_before_it_is_shown() -> None:
    names = [part.name for part in SCENE.parts]
    for step in SCENE.steps:
        assert set(step.needs) <= set(names)
        found = {name: measured().parts[name] for name in step.needs}
        partial = replace(measured(), parts=found, complete=False)
        index = SCENE.steps.index(step)
        assert SCENE.words(partial, index).look
        SCENE.frame(partial, View(index, 82, 36))


def test_focus_names_lines_of_the_sources() -> None:
    for step in SCENE.steps:
        known = {name for part in step.needs for s in measured().parts[part].sources for name in s.focus}
        assert set(step.focus) <= known


def test_following_another_level_measures_nothing_anew() -> None:
    assert all("level" not in part.depends for part in SCENE.parts)
    assert [part.name for part in SCENE.parts if "footprint" in part.depends] == ["single"]
    assert [part.name for part in SCENE.parts[:2]] == ["chains", "staircase"]


def test_a_cycle_lasts_ten_milliseconds_on_the_screen() -> None:
    for level in ("shared", "l1", "l2", "far", "dram", "host"):
        m = measured("sms132", (("level", level),))
        paced = SCENE.pace(m, 0)
        assert paced.seconds - paced.lead == pytest.approx(m.number(f"level.{level}") * 0.01)
        assert paced.gpu_ns == m.number(f"level.{level}.ns")


def test_the_dot_is_down_half_way_and_back_at_the_end() -> None:
    m = measured()
    paced = SCENE.pace(m, 0)

    def row(seconds: float) -> int:
        rows = SCENE.frame(m, View(0, 82, 36, seconds=seconds)).rows()
        return next((y for y, text in enumerate(rows) if "◉" in text), -1)

    half = paced.lead + (paced.seconds - paced.lead) / 2
    dram = next(y for y, text in enumerate(SCENE.frame(m, View(0, 82, 36)).rows()) if "DRAM" in text)
    assert row(0) == -1
    assert row(half) == dram
    assert row(inf) < row(half)
    assert "100" not in str(SCENE.frame(m, View(0, 82, 36, seconds=paced.lead)))


def test_without_a_far_half_the_scene_speaks_of_one_l2() -> None:
    m = measured("slice24", (("level", "far"),))
    assert not m.has("level.far")
    said = " ".join(SCENE.words(m, step).paragraph + SCENE.words(m, step).look for step in range(len(SCENE.steps)))
    assert "near L2" not in said
    assert "two halves" not in said
    assert "shows no far half" in said
    drawn = "\n".join(str(SCENE.frame(m, View(step, 82, 36))) for step in range(len(SCENE.steps)))
    assert "near half" not in drawn
    claim = next(c for c in SCENE.claims(m) if c.id == "far-half-answers-later")
    assert claim.outcome is Outcome.NOT_CHECKED
    assert "one plateau" in claim.unchecked


def test_a_few_sms_of_many_are_not_asked_for_more_than_dram_gives() -> None:
    m = measured()
    few = replace(m, device=replace(m.device, sms=m.device.sms // 4))
    claim = next(c for c in SCENE.claims(few) if c.id == "l2-wider-than-dram")
    assert claim.outcome is Outcome.NOT_CHECKED
    assert f"of {m.device.sms} SMs" in claim.unchecked


def test_with_two_halves_both_are_named() -> None:
    drawn = str(SCENE.frame(measured(), View(1, 82, 36)))
    for name in ("near L2", "far L2", "DRAM", "L1"):
        assert name in drawn


def test_no_word_belongs_to_one_gpu() -> None:
    """What is said follows the device: another size of L2 and of shared memory, other knees."""
    device = replace(MODELS["sms40"], l2_bytes=40 << 20, shared_per_sm=100 << 10)
    sizes = footprints(device)
    assert sizes[-1] == 4 * device.l2_bytes
    assert sum(size <= 1.4 * device.shared_per_sm for size in sizes) >= 12
    assert sum(0.6 * device.l2_bytes <= size <= device.l2_bytes for size in sizes) >= 6
    assert all(size % 128 == 0 for size in sizes)
    reads = read_footprints(device, 16 << 10)
    assert all(size % (16 << 10) == 0 for size in reads)
    assert min(reads) < device.shared_per_sm
    assert max(reads) == 16 * device.l2_bytes


def test_the_cursor_reads_the_dots() -> None:
    m = measured()
    view = View(1, 82, 36, focused=True)
    here = SCENE.move(m, view, "right")
    for key in ("right", "right", "up", "up", "left"):
        here = SCENE.move(m, replace(view, cursor=here), key)
    stairs = m.one_series("staircase")
    start = stairs.x.index(m.number("plateau.far.start") * 1024)
    assert here == (start - 1,)
    assert f"{stairs.y[here[0]]:.1f} cycles" in str(SCENE.frame(m, replace(view, cursor=here)))
    assert SCENE.move(m, replace(view, cursor=here), "escape") == ()
    assert SCENE.move(m, View(0, 82, 36), "right") == ()


def test_seconds_become_minutes() -> None:
    assert as_seconds(32.4) == "32 seconds"
    assert as_seconds(658) == "11 minutes"
    assert as_seconds(7200) == "2.0 hours"


@pytest.mark.parametrize(
    ("mean", "chain", "sum_holds"), [(297.8, 290.7, True), (39.0, 32.0, True), (536.3, 535.8, False)]
)
def test_a_sum_is_shown_only_where_it_holds(mean: float, chain: float, sum_holds: bool) -> None:
    m = faults.change(measured(), "single", faults.quantity("single.mean", mean))
    m = faults.change(m, "single", faults.quantity("single.floor", 6.0))
    m = faults.change(m, "single", faults.quantity("single.chain", chain))
    drawn = " ".join(str(SCENE.frame(m, View(2, 79, 20))).split())
    assert f"{mean:.0f} − 6 (clock) = {round(mean) - 6}" in drawn
    assert ("A chain shows only the mean" in drawn) is sum_holds
    assert (f"(clock) = {round(mean) - 6}; in the chain {chain:.0f}, 6 more" in drawn) is not sum_holds
    assert (f"in the chain's own laps {chain:.0f}." in drawn) is (sum_holds and round(mean) - 6 != round(chain))


def _number(text: str) -> float:
    return float(text.replace(" ", ""))


QUOTIENT = re.compile(r"(\d[\d .]*) / (\d[\d .]*?)(?: GB/s)? ≈ (\d[\d ]*\d|\d)")


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("level", FOLLOWED)
def test_a_quotient_comes_out_of_the_operands_beside_it(model: str, level: str) -> None:
    m = measured(model, (("level", level),))
    for step in (0, 4):
        found = QUOTIENT.search(" ".join(str(SCENE.frame(m, View(step, 82, 36))).split()))
        assert found
        over, under, quotient = (_number(one) for one in found.groups())
        assert round(over / under) == quotient


@given(floats(1, 1e5), floats(0.5, 1e4))
def test_operands_are_shown_with_the_digits_that_the_quotient_needs(over: float, under: float) -> None:
    a, b = (_number(one) for one in operands(over, under))
    assert round(a / b) == round(over / under)
    assert a == pytest.approx(over, abs=0.51)
    assert b == pytest.approx(under, abs=0.51)


def test_how_much_farther_dram_is_comes_out_of_the_rates_beside_it() -> None:
    m = faults.change(measured(), "bandwidth", faults.quantity("read.l2", 9030.0))
    m = faults.change(m, "bandwidth", faults.quantity("read.dram", 4014.0))
    look = SCENE.words(m, 4).look
    assert "9.03 TB/s from the L2" in look
    assert "2.3 times what DRAM delivers (4.01 TB/s)" in look  # 9.03 / 4.01 is 2.252, 9030 / 4014 is 2.2496


def test_loads_in_heaps_too_small_to_count_are_not_passed_over() -> None:
    m = measured("sms132", (("footprint", "far"),))
    count = m.quantity("single.latency").n

    def with_heaps(*shares: int) -> str:
        def heaps(f: Findings) -> Findings:
            one = next(q for q in f.quantities if q.name == "heap.1")
            rest = tuple(q for q in f.quantities if not q.name.startswith("heap.") and q.name != "single.heaps")
            made = tuple(
                replace(one, name=f"heap.{n}", n=share * count // 100, note=f"{share} % of the loads")
                for n, share in enumerate(shares, 1)
            )
            number = replace(m.quantity("single.heaps"), value=len(shares))
            return replace(f, quantities=(*rest, number, *made))

        return SCENE.words(faults.change(m, "single", heaps), 2).look

    assert "and 10 % into smaller ones" in with_heaps(50, 40)
    assert "and 5 % into smaller ones" in with_heaps(30, 30, 35)
    assert "smaller" not in with_heaps(50, 50)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("level", FOLLOWED)
def test_the_ladder_ends_with_the_load_that_is_followed_and_says_so(model: str, level: str) -> None:
    m = measured(model, (("level", level),))
    far = [m.number(f"level.{one}") for one in present(m)]
    behind = sum(one > m.number(f"level.{followed(m)}") for one in far)
    drawn = " ".join(str(SCENE.frame(m, View(0, 79, 20, motion=False))).split())
    assert (f"This step ends with your load; {behind} others are still under way." in drawn) is (behind > 1)
    assert ("is still under way." in drawn) is (behind == 1)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("step", range(6))
def test_each_step_says_which_parameter_matters(model: str, step: int) -> None:
    said = {0: "only follow matters", 2: "only ring matters"}.get(step, "No parameter changes this step.")
    base, others = measured(model), ({"level": "host"}, {"footprint": "l1"})
    assert said in SCENE.words(base, step).paragraph
    for chosen, matters in zip(others, (step == 0, step == 2), strict=True):
        other = measured(model, tuple(chosen.items()))
        # What does not depend on the parameter, as it was: two runs of it differ by noise.
        same = replace(other, parts={**base.parts, "single": other.parts["single"]})
        changes = str(SCENE.frame(same, View(step, 82, 36))) != str(SCENE.frame(base, View(step, 82, 36)))
        assert changes is matters


@pytest.mark.parametrize("model", MODELS)
def test_sizes_have_the_digits_of_the_measured_column(model: str) -> None:
    m = measured(model)
    for level in ("l1", "l2", "far"):
        if m.has(f"knee.{level}"):
            q = m.quantity(f"knee.{level}")
            size = bytes_text(q.number * {"KB": 1 << 10, "MB": 1 << 20}[q.unit])
            assert float(size.split()[0]) == q.number
            assert size in SCENE.words(m, 1).look
            assert size in str(SCENE.frame(m, View(1, 82, 36)))


@pytest.mark.parametrize("share", [99.96, 100.0, 0.3, 0.0, 51.2])
def test_all_is_said_only_of_all(share: float) -> None:
    assert (share_text(share) == "100 %") is (share == 100)
    assert (share_text(share) == "0 %") is (share == 0)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("width", [60, 70, 79, 110])
def test_how_much_more_the_l1s_deliver_is_never_cut_off(model: str, width: int) -> None:
    m = measured(model)
    times = f"{round(m.number('read.l1') / m.number('read.host')):,}".replace(",", " ")
    assert f"≈ {times}" in str(SCENE.frame(m, View(4, width, 20)))


def test_the_order_of_the_levels_is_said_to_be_the_same_only_where_it_is() -> None:
    assert "the order is the same" in SCENE.words(measured(), 5).look
    wrong = faults.change(measured(), "staircase", faults.quantity("level.dram", 300.0))
    assert "the order is the same" not in SCENE.words(wrong, 5).look


def test_one_sm_is_no_plural() -> None:
    series = measured().one_series("by_sm")
    one = faults.change(measured(), "distance", faults.series("by_sm", lambda s: replace(s, x=s.x[:1], y=s.y[:1])))
    assert f"█ of {len(series.x)} SMs, tallest: " in str(SCENE.frame(measured(), View(3, 82, 36)))
    assert "█ of 1 SM, tallest: 1; " in str(SCENE.frame(one, View(3, 82, 36)))


# Bad data: for each claim a fault that must turn it.


def _quick(f: Findings) -> Findings:
    """Every single load as quick as one from the L1."""
    return replace(
        f,
        quantities=tuple(replace(q, samples=(40.0,) * q.n) if q.name == "single.latency" else q for q in f.quantities),
    )


def _ragged(f: Findings) -> Findings:
    """Single loads of all lengths."""
    return replace(
        f,
        quantities=tuple(
            replace(q, samples=tuple(float(i) for i in range(q.n))) if q.name == "single.latency" else q
            for q in f.quantities
        ),
    )


L1, FAR = (("footprint", "l1"),), (("footprint", "far"),)
FAULTS: dict[str, tuple[tuple[tuple[str, str], ...], Callable[[Measurement], Measurement]]] = {
    "registers-nearest": ((), lambda m: faults.change(m, "chains", faults.quantity("level.registers", 30.0))),
    "addition-takes-few-cycles": ((), lambda m: faults.change(m, "chains", faults.quantity("level.registers", 8.0))),
    "levels-rise": ((), lambda m: faults.change(m, "staircase", faults.quantity("level.dram", 480.0))),
    "dram-is-far": ((), lambda m: faults.change(m, "staircase", faults.quantity("level.dram", 300.0))),
    "host-is-farthest": ((), lambda m: faults.change(m, "chains", faults.quantity("level.host", 660.0))),
    "l1-ends-where-it-should": ((), lambda m: faults.change(m, "staircase", faults.quantity("knee.l1", 96.0))),
    "l2-ends-where-it-should": ((), lambda m: faults.change(m, "staircase", faults.quantity("knee.far", 6.0))),
    "plateaus-are-sure": ((), lambda m: faults.change(m, "staircase", faults.quantity("plateau.l2.sure", 55))),
    "singles-agree-with-the-chain": ((), lambda m: faults.change(m, "single", faults.quantity("single.mean", 17.0))),
    "l2-answers-differ": ((), lambda m: faults.change(m, "single", _quick)),
    "l1-answers-alike": (L1, lambda m: faults.change(m, "single", _ragged)),
    "a-miss-shows": (FAR, lambda m: faults.change(m, "single", _quick)),
    "far-half-answers-later": (
        (),
        lambda m: faults.change(
            m, "distance", faults.series("distance.far", lambda s: replace(s, x=tuple(x / 3 for x in s.x)))
        ),
    ),
    "dram-answers-last": ((), lambda m: faults.change(m, "distance", faults.quantity("distance.dram", 250.0))),
    "sms-differ": ((), lambda m: faults.change(m, "distance", faults.quantity("by_sm.most", 265.0))),
    "nearer-is-wider": ((), lambda m: faults.change(m, "bandwidth", faults.quantity("read.l2", 1000.0))),
    "no-wider-than-the-lanes": ((), lambda m: faults.change(m, "bandwidth", faults.quantity("read.l1", 90_000.0))),
    "l2-wider-than-dram": ((), lambda m: faults.change(m, "bandwidth", faults.quantity("read.dram", 8000.0))),
    "triton-reads-alike": (
        (),
        lambda m: faults.change(
            m, "bandwidth", faults.series("read.Triton", lambda s: replace(s, y=tuple(y / 2 for y in s.y)))
        ),
    ),
    "as-others-found": ((), lambda m: faults.change(m, "staircase", faults.quantity("level.l1", 80.0))),
}


@pytest.mark.parametrize("claim_id", FAULTS)
def test_a_fault_in_the_data_turns_the_claim(claim_id: str) -> None:
    chosen, fault = FAULTS[claim_id]
    good = measured("sms132", chosen)
    before = {c.id: c for c in SCENE.claims(good)}
    after = {c.id: c for c in SCENE.claims(fault(good))}
    assert before[claim_id].outcome is Outcome.HELD
    assert after[claim_id].outcome in (Outcome.MISSED, Outcome.SURPRISE)


def test_every_claim_has_its_fault() -> None:
    assert {c.id for chosen in CHOICES for c in SCENE.claims(measured("sms132", tuple(chosen.items())))} == set(FAULTS)
