"""What the waves scene says holds on other GPUs too, and falls when the data are bad."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from math import inf

import pytest

from gpu_explain.scenes.base import Measurement, Nature, Neighbour, Outcome, Series, Trace, View
from gpu_explain.scenes.registry import find_scene
from tests.simulated.inprocess import measure
from tests.simulated.models import MODELS
from tests.unit import faults

WAVES = find_scene("waves")
CHOICES: tuple[dict[str, str], ...] = (
    {},
    {"blocks": "sms"},
    {"blocks": "fits"},
    {"blocks": "2fits+1"},
    {"threads": "256"},
    {"work": "compute"},
    {"work": "compute", "threads": "256", "blocks": "4fits+1"},
    {"language": "Triton"},
    {"blocks": "=1"},
    {"blocks": "=777"},
)


@cache
def measured(model: str, chosen: tuple[tuple[str, str], ...]) -> Measurement:
    return measure("waves", model, **dict(chosen))


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("chosen", CHOICES, ids=str)
def test_every_law_holds_on_every_made_up_gpu(model: str, chosen: dict[str, str]) -> None:
    m = measured(model, tuple(chosen.items()))
    wrong = [c for c in WAVES.claims(m) if c.nature is Nature.LAW and c.outcome is Outcome.MISSED]
    assert not wrong


@pytest.mark.parametrize("blocks", ["fits+1", "2fits+1", "4fits+1"])
def test_only_what_keeps_all_others_waiting_looks_like_the_last_to_end(blocks: str) -> None:
    m = measured("sms132", (("blocks", blocks),))
    trace = m.trace("launch")
    last = max(range(trace.blocks), key=trace.end_ns.__getitem__)
    drawn = "\n".join(WAVES.frame(m, View(1, 150, 55)).rows())
    assert re.findall(r"▓ (?:block )?([\d ]*\d) ", drawn) == [f"{last:,}".replace(",", " ")]


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("chosen", CHOICES, ids=str)
@pytest.mark.parametrize("size", [(79, 20), (82, 36), (150, 55), (40, 8), (1, 1)], ids=str)
def test_every_step_is_drawn_and_said_on_every_made_up_gpu(
    model: str, chosen: dict[str, str], size: tuple[int, int]
) -> None:
    m = measured(model, tuple(chosen.items()))
    for step in range(len(WAVES.steps)):
        words = WAVES.words(m, step)
        assert words.paragraph
        assert words.look
        assert all(m.has(name) for name in words.shown if name)
        for seconds in (0.0, 1.7, inf):
            canvas = WAVES.frame(m, View(step, *size, seconds=seconds))
            assert (canvas.width, canvas.height) == size
            if size[0] > 70:
                assert canvas.rows()[0].strip()


def test_every_step_has_a_claim_behind_its_sentence() -> None:
    m = measured("sms132", ())
    known = {claim.id for claim in WAVES.claims(m)} | {
        c.id for c in WAVES.claims(measured("sms132", (("work", "compute"),)))
    }
    for step in WAVES.steps:
        assert step.claims
        assert set(step.claims) <= known
        assert step.notes


def test_block_counts_follow_the_gpu() -> None:
    assert measured("sms132", ()).value("blocks") == 132 * 2 + 1
    assert measured("sms40", ()).value("blocks") == 40 * 2 + 1
    assert measured("sms160", ()).value("blocks") == 160 + 1
    assert measured("sms160", (("threads", "256"),)).value("blocks") == 160 * 6 + 1


def test_traced_blocks_last_fifty_steps_of_the_timer() -> None:
    for model in MODELS:
        trace = measured(model, ()).trace("launch")
        assert trace.median_duration_ns >= 50 * trace.step_ns


def test_no_word_belongs_to_one_gpu() -> None:
    """What is said on 40 SMs never names the 132 SMs' numbers."""
    said = " ".join(
        words.paragraph + words.look
        for step in range(len(WAVES.steps))
        for words in [WAVES.words(measured("sms40", ()), step)]
    )
    assert "132" not in said
    assert "264" not in said


def test_without_green_contexts_the_last_claim_says_why() -> None:
    claim = next(c for c in WAVES.claims(measured("slice24", ())) if c.id == "smaller-gpus-step-too")
    assert claim.outcome is Outcome.NOT_CHECKED
    assert "green context" in claim.unchecked


def test_changing_only_the_blocks_leaves_the_staircase_alone() -> None:
    by_name = {part.name: part for part in WAVES.parts}
    assert [part.name for part in WAVES.parts if "blocks" in part.depends] == ["launch"]
    assert WAVES.parts[0].name == "launch"
    assert "work" not in by_name["staircase"].depends


def _half_of_them_early(t: Trace) -> Trace:
    """On every SM the block with the lowest number ends halfway."""
    early = {min(blocks) for blocks in t.by_sm.values()}
    return replace(t, end_ns=tuple(end // 2 if b in early else end for b, end in enumerate(t.end_ns)))


def test_what_is_said_of_one_wave_follows_its_trace() -> None:
    even = measured("sms132", (("work", "compute"),))
    uneven = faults.change(even, "edge", faults.trace("fits", _half_of_them_early))
    assert "from start to end" in WAVES.words(even, 0).look
    assert "all places taken" in str(WAVES.frame(even, View(0, 82, 36)))
    look, picture = WAVES.words(uneven, 0).look, str(WAVES.frame(uneven, View(0, 82, 36)))
    half = sorted(uneven.trace("fits").end_ns)[131] / 1000
    assert f"half of the 264 blocks ended after {half:.2f} µs" in look
    assert "on 132 of 132 the block with the lowest number ended first" in look
    assert f"half had ended after {half:.1f} µs" in picture
    assert "all places taken" not in picture


def test_nothing_is_said_of_shares_where_blocks_only_wait() -> None:
    m = faults.change(measured("sms132", ()), "edge", faults.trace("fits", _half_of_them_early))
    assert "evenly" not in WAVES.words(m, 0).look


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("chosen", CHOICES, ids=str)
def test_the_trace_and_what_timing_adds_sum_up_as_printed(model: str, chosen: dict[str, str]) -> None:
    m = measured(model, tuple(chosen.items()))
    printed = [float(n.replace(" ", "")) for n in re.findall(r"([\d ]+\.\d\d) µs", WAVES.words(m, 0).look)]
    added, whole = printed[-2:]
    assert round(whole - added, 2) in printed[:-2]
    assert whole == round(m.number("time.fits"), 2)


def test_a_percentage_says_of_what() -> None:
    m = measured("sms132", ())
    fits, step = m.quantity("time.fits"), m.quantity("time.step")
    assert (
        f"It adds {step.text} to a full wave's {fits.text} (with launch): {step.note}." in WAVES.words(m, 1).paragraph
    )


def test_the_list_of_sms_begins_with_the_first_unless_one_keeps_the_others_waiting() -> None:
    m = measured("sms132", ())
    begins = [re.search(r"SM +(\d+)", str(WAVES.frame(m, View(step, 82, 36)))) for step in (0, 1)]
    found = [int(match[1]) for match in begins if match]
    assert found == [m.trace("fits").sms[0], m.trace("launch").last_sm]


# Bad data: for each claim a fault that must turn it.


def _first_moved(t: Trace) -> Trace:
    return replace(t, sm_end=(t.sm_end[0] + 1, *t.sm_end[1:]))


def _last_at_once(t: Trace) -> Trace:
    late = max(range(t.blocks), key=t.ticket.__getitem__)
    starts, ends = list(t.start_ns), list(t.end_ns)
    length = ends[late] - starts[late]
    starts[late], ends[late] = 0, length
    return replace(t, start_ns=tuple(starts), end_ns=tuple(ends))


def _crowded(t: Trace) -> Trace:
    """Every block moved to one SM: more residents than there are places."""
    return replace(t, sm=(0,) * t.blocks, sm_end=(0,) * t.blocks)


def _one_after_the_other(t: Trace) -> Trace:
    lasts = 1000
    return replace(
        t,
        start_ns=tuple(range(0, t.blocks * lasts, lasts)),
        end_ns=tuple(range(lasts, t.blocks * lasts + 1, lasts)),
    )


def _all_at_once(t: Trace) -> Trace:
    return replace(t, start_ns=(0,) * t.blocks, end_ns=(20_000,) * t.blocks)


def _straight(s: Series) -> Series:
    """No stairs: time grows with every block."""
    return replace(s, y=tuple(10 + x for x in s.x))


FAULTS: dict[str, Callable[[Measurement], Measurement]] = {
    "residents-as-computed": lambda m: faults.change(m, "edge", faults.trace("fits", _crowded)),
    "all-at-once": lambda m: faults.change(m, "edge", faults.trace("fits", _one_after_the_other)),
    "tracing-changes-nothing": lambda m: faults.change(m, "launch", faults.quantity("fit.traced", 1)),
    "blocks-stay": lambda m: faults.change(m, "launch", faults.trace("launch", _first_moved)),
    "one-more-costs-a-round": lambda m: faults.change(m, "edge", faults.quantity("time.step", 0.4)),
    "the-one-more-waits": lambda m: faults.change(m, "edge", faults.trace("more", _last_at_once)),
    "one-sm-works-on": lambda m: faults.change(m, "edge", faults.trace("more", _all_at_once)),
    "every-step-is-a-block": lambda m: faults.change(m, "staircase", faults.series("staircase", _straight)),
    "flat-between": lambda m: faults.change(m, "staircase", faults.series("staircase", _straight)),
    "computing-costs-far-less": lambda m: faults.change(
        m, "competition", faults.quantity("compete.compute.step", 95.0)
    ),
    "half-a-wave-is-cheaper": lambda m: faults.change(
        m, "competition", faults.series("compete.compute", lambda s: replace(s, y=(1.0,) * len(s.y)))
    ),
    "never-above-the-limit": lambda m: faults.change(m, "million", faults.trace("million", _all_at_once)),
    "best-is-not-reached": lambda m: faults.change(m, "million", faults.quantity("million.waves", 1.0)),
    "smaller-gpus-step-too": lambda m: faults.change(m, "smaller", faults.quantity("sms.8.step", 0.1)),
}


@pytest.mark.parametrize("claim_id", FAULTS)
def test_a_fault_in_the_data_turns_the_claim(claim_id: str) -> None:
    good = measured("sms132", ())
    before = {c.id: c for c in WAVES.claims(good)}
    after = {c.id: c for c in WAVES.claims(FAULTS[claim_id](good))}
    assert before[claim_id].outcome is Outcome.HELD
    assert after[claim_id].outcome in (Outcome.MISSED, Outcome.SURPRISE)


def test_every_claim_has_its_fault() -> None:
    ids = {c.id for c in WAVES.claims(measured("sms132", ()))}
    assert ids == set(FAULTS)


def test_a_computing_block_more_that_costs_a_round_is_a_surprise() -> None:
    m = faults.change(
        measured("sms132", (("work", "compute"), ("threads", "256"))), "edge", faults.quantity("time.step", 1e6)
    )
    assert {c.id: c for c in WAVES.claims(m)}["one-more-shares"].outcome is Outcome.SURPRISE


def test_beside_other_work_a_moved_block_is_no_law_any_more() -> None:
    m = replace(measured("sms132", ()), neighbours=(Neighbour("process", "1 other process"),))
    assert {c.id: c for c in WAVES.claims(m)}["blocks-stay"].nature is Nature.EXPECTATION


def test_the_cursor_walks_through_the_sms() -> None:
    m = measured("sms132", ())
    view = View(1, 82, 36)
    down = WAVES.move(m, view, "down")
    assert WAVES.move(m, replace(view, cursor=down), "up") == (m.trace("launch").sms.index(m.trace("launch").last_sm),)
    unfolded = str(WAVES.frame(m, replace(view, cursor=down, focused=True)))
    assert f"▸SM{m.trace('launch').sms[down[0]]:>3}" in unfolded
