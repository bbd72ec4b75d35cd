"""What the fusion scene says holds on other GPUs too, and falls when the data are bad."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from math import inf

import pytest

from gpu_explain.scenes.base import Findings, Measurement, Nature, Outcome, Quantity, Series, View
from gpu_explain.scenes.draw.canvas import Canvas
from gpu_explain.scenes.fusion.calculations import operands
from gpu_explain.scenes.fusion.claims import rival
from gpu_explain.scenes.fusion.curves import few_sizes
from gpu_explain.scenes.fusion.kernel_names import short_name
from gpu_explain.scenes.fusion.parameters import about
from gpu_explain.scenes.fusion.remarks import above_hundred, other_clock, scatter
from gpu_explain.scenes.registry import find_scene
from tests.simulated import fusion as simulated
from tests.simulated.inprocess import measure
from tests.simulated.models import MODELS

FUSION = find_scene("fusion")
CHOICES: tuple[dict[str, str], ...] = (
    {},
    {"n": "2^20"},
    {"n": "2^24"},
    {"racer": "compile"},
    {"racer": "cuda"},
    {"n": "=1024"},
    {"n": "=1000001"},
)
SIZES = [(79, 20), (82, 36), (150, 55), (40, 8), (1, 1)]


@cache
def measured(model: str, chosen: tuple[tuple[str, str], ...] = ()) -> Measurement:
    return measure("fusion", model, **dict(chosen))


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("chosen", CHOICES, ids=str)
def test_every_law_holds_on_every_made_up_gpu(model: str, chosen: dict[str, str]) -> None:
    m = measured(model, tuple(chosen.items()))
    wrong = [c for c in FUSION.claims(m) if c.nature is Nature.LAW and c.outcome is not Outcome.HELD]
    assert not wrong


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("chosen", CHOICES, ids=str)
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_every_step_is_drawn_and_said_on_every_made_up_gpu(
    model: str, chosen: dict[str, str], size: tuple[int, int]
) -> None:
    m = measured(model, tuple(chosen.items()))
    for step in range(len(FUSION.steps)):
        words = FUSION.words(m, step)
        assert words.paragraph
        assert words.look
        assert all(m.has(name) for name in words.shown if name)
        for seconds in (0.0, 2.2, inf):
            canvas = FUSION.frame(m, View(step, *size, seconds=seconds))
            assert (canvas.width, canvas.height) == size
            if size[0] > 70:
                assert canvas.rows()[0].strip()


def test_every_step_can_be_drawn_as_soon_as_its_parts_are_there() -> None:
    whole = measured("sms132")
    for index, step in enumerate(FUSION.steps):
        last = max(list(whole.parts).index(name) for name in step.needs)
        early = replace(whole, parts=dict(list(whole.parts.items())[: last + 1]), complete=False)
        words = FUSION.words(early, index)
        assert all(early.has(name) for name in words.shown if name)
        assert FUSION.frame(early, View(index, 82, 36)).rows()[0].strip()


def test_every_step_has_a_claim_behind_its_sentence() -> None:
    known = {claim.id for claim in FUSION.claims(measured("sms132"))}
    for step in FUSION.steps:
        assert step.claims
        assert set(step.claims) <= known
        assert step.notes


def test_nothing_that_is_timed_on_the_host_comes_after_the_profiler() -> None:
    names = [part.name for part in FUSION.parts]
    assert FUSION.fresh_worker
    assert names[0] == "race"
    assert names[-1] == "kernels"


def test_changing_who_races_measures_nothing_again() -> None:
    assert not [part.name for part in FUSION.parts if "racer" in part.depends]


def test_the_largest_n_follows_the_memory() -> None:
    small = replace(MODELS["sms132"], memory_bytes=8_000_000_000)
    offered = FUSION.parameters(small, {})[0]
    gpu = type("Gpu", (), {"device": small})()
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(__import__("sys").modules, "gpu_explain.kernels.fusion", simulated)
        patch.setattr("gpu_explain.kernels.fusion", simulated, raising=False)
        resolved = FUSION.resolve(gpu, (offered,), {"n": "largest"})[0]
    assert resolved.choice("largest").value == 2**26
    assert 5 * 4 * 2**26 <= small.memory_bytes / 4 < 5 * 4 * 2**27


def test_no_word_belongs_to_one_gpu() -> None:
    here = [FUSION.words(measured("sms132"), step) for step in range(len(FUSION.steps))]
    there = [FUSION.words(measured("sms40"), step) for step in range(len(FUSION.steps))]
    assert here[1].look != there[1].look
    assert here[5].look != there[5].look


def test_the_loser_still_runs_when_the_winner_has_finished() -> None:
    m = measured("sms132")
    paced = FUSION.pace(m, 1)
    at = paced.lead + (paced.seconds - paced.lead) * 0.8
    rows = FUSION.frame(m, View(1, 79, 20, seconds=at)).rows()
    won, lost = (next(row for row in rows if name in row) for name in ("Triton ", "eager "))
    assert f"{m.number('time.triton'):.1f} µs" in won
    assert "µs" not in lost


def test_a_packet_moves_only_while_its_kernel_runs() -> None:
    m = measured("sms132")
    paced = FUSION.pace(m, 0)

    def packets(share: float) -> dict[str, int]:
        at = paced.lead + (paced.seconds - paced.lead) * share
        rows = FUSION.frame(m, View(0, 82, 36, seconds=at)).rows()
        wanted = [row for row in rows if row.lstrip()[:4].strip().split(" ")[0] in ("a", "b", "tmp", "c")]
        return {f"{at} {row.split()[0]}": row.count("■") for at, row in enumerate(wanted)}

    early, late = packets(0.3), packets(0.9)
    assert [bool(n) for n in early.values()] == [True, True, True, False, False, True, True, True]
    assert [bool(n) for n in late.values()] == [False, False, False, True, True, False, False, False]


@pytest.mark.parametrize("size", [(79, 20), (82, 36), (150, 55)], ids=str)
def test_times_and_names_are_not_cut_at_the_right(size: tuple[int, int]) -> None:
    m = measured("sms132")
    canvas: Canvas = FUSION.frame(m, View(1, *size))
    for name in ("eager", "triton", "cuda", "compile"):
        value = m.number(f"time.{name}")
        text = f"{value:,.0f} µs".replace(",", " ") if value >= 1000 else f"{value:.1f} µs"
        assert text in str(canvas)


def test_kernel_names_lose_only_what_says_nothing() -> None:
    add, relu = simulated.NAMES["eager"]
    assert short_name(add) == "vectorized_elementwise_kernel<4, CUDAFunctor_add<float>, array<char*, 3ul>>"
    assert short_name(relu).startswith("vectorized_elementwise_kernel<4, launch_clamp_scalar(")
    assert short_name("add_relu_kernel") == "add_relu_kernel"


def test_without_colours_every_bar_has_the_glyph_that_its_key_shows() -> None:
    roofs = str(FUSION.frame(measured("sms132"), View(5, 82, 36))).splitlines()
    key = next(line for line in roofs if "eager   " in line and "roof:" in line)
    for row, entry in (("roof  ", "roof:"), ("torch add", "eager"), ("Triton  ", "Triton"), ("CUDA  ", "CUDA")):
        line = next(line for line in roofs if line.strip().startswith(row))
        assert f"{line.strip().removeprefix(row).strip()[0]} {entry}" in key
    assert len(set(key) & set("█▓▒░")) == 4


def test_words_and_picture_say_one_speed_up_by_the_clock_of_calls() -> None:
    m = measured("sms132")
    eager, fused = m.one_series("call.eager"), m.one_series("call.triton")
    said = f"{eager.y[-1] / fused.y[-1]:.2f} ×"
    picture = str(FUSION.frame(m, View(3, 82, 36)))
    assert f"it wins {said}" in FUSION.words(m, 3).look
    assert f"faster ({said})" in picture
    assert f"◆ {said}" in picture


@pytest.mark.parametrize(("n", "text"), [(1000, "1 K"), (1024, "1 K"), (999, "999"), (2**20, "1 M"), (2**28, "268 M")])
def test_counts_in_three_digits(n: int, text: str) -> None:
    assert about(n) == text


def _dots(m: Measurement) -> str:
    """The rows of the speed-up's plot."""
    return "\n".join(FUSION.frame(m, View(3, 82, 28)).rows()[2:-4])


def test_points_are_joined_only_where_nothing_was_left_out_between_them() -> None:
    triton, compiled = measured("sms132"), measured("sms132", (("racer", "compile"),))
    assert few_sizes(triton, "triton") == 0
    assert few_sizes(compiled, "compile") == 3
    assert "·" in _dots(triton)
    assert "·" not in _dots(compiled)
    assert "measured at 3 n only" in str(FUSION.frame(compiled, View(3, 82, 28)))
    assert "(torch.compile: 3 of them)" in FUSION.words(compiled, 3).paragraph


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("chosen", CHOICES, ids=str)
def test_what_is_printed_with_its_operands_comes_out(model: str, chosen: dict[str, str]) -> None:
    m = measured(model, tuple(chosen.items()))
    pattern = re.compile(r"is ([\d.]+) × as fast as eager: ([\d. ]+) ÷ ([\d. ]+) µs")
    divided = pattern.findall(str(FUSION.frame(m, View(1, 79, 20))))
    assert divided or rival(m) == "compile"  # which was timed against an eager of its own round
    for said, eager, fused in divided:
        assert f"{_number(eager) / _number(fused):.2f}" == said
    shares = re.findall(r"(\d+) % +([\d. ]+) ÷ ([\d. ]+) µs", str(FUSION.frame(m, View(4, 82, 36))))
    assert shares
    for ratio, behind, flushed in shares:
        assert f"{_number(behind) / _number(flushed) * 100:.0f}" == ratio
    times = {name: m.quantity(f"time.{name}").text.removesuffix(" µs") for name in ("eager", rival(m))}
    gap = re.search(r"done ([\d. ]+) µs earlier", FUSION.words(m, 1).look)
    assert gap
    said = gap.group(1)
    places = len(said.partition(".")[2])
    assert f"{abs(_number(times['eager']) - _number(times[rival(m)])):.{places}f}" == said.replace(" ", "")


def _number(text: str) -> float:
    return float(text.replace(" ", ""))


def test_a_result_not_made_of_its_operands_is_printed_without_them() -> None:
    def quotient(values: Sequence[float]) -> str:
        return f"{values[0] / values[1]:.2f}"

    assert operands((10.0, 5.0), quotient, "2.00") == ("10.00", "5.00")
    assert operands((10.0, 5.0), quotient, "2.10") is None


def test_every_step_says_which_choices_change_it() -> None:
    compiled, cuda = (measured("sms132", (("racer", who),)) for who in ("compile", "cuda"))
    assert "Neither n nor race changes this step" in FUSION.words(compiled, 4).paragraph
    assert "has no torch.compile: Triton stands in" in FUSION.words(compiled, 5).paragraph
    assert "its speed-up is Triton's" in FUSION.words(cuda, 5).paragraph
    assert "whichever is chosen" in FUSION.words(cuda, 3).paragraph


def test_memory_is_counted_for_the_one_that_races_or_said_to_be_another_ones() -> None:
    m = measured("sms132", (("racer", "compile"),))
    assert "memory.compile" in FUSION.words(m, 0).shown
    assert "not counted" not in str(FUSION.frame(m, View(0, 82, 36)))
    part = m.parts["compiled"]
    older = _part(
        m, "compiled", replace(part, quantities=tuple(q for q in part.quantities if not q.name.startswith("memory.")))
    )
    assert "memory.triton" in FUSION.words(older, 0).shown
    assert "torch.compile not counted: Triton's is shown" in str(FUSION.frame(older, View(0, 82, 36)))


def test_what_torch_compile_costs_a_call_is_said_only_of_torch_compile() -> None:
    assert "guards" in FUSION.words(measured("sms132", (("racer", "compile"),)), 3).look
    assert "guards" not in FUSION.words(measured("sms132"), 3).look


def test_the_profiler_s_times_are_compared_with_the_race_s_before_they_are_explained() -> None:
    large, small = measured("sms132"), measured("sms132", (("n", "2^20"),))
    assert "all agree within 1 %" in other_clock(large)
    assert "All shorter" in other_clock(small)
    slower = _series("kernels", "ran.cuda", _scaled(lambda _: 1.07))(large)
    more = slower.one_series("ran.cuda").y[0] / slower.number("time.cuda") - 1
    assert f"to {more * 100:.0f} % more time" in other_clock(slower)


def test_more_than_a_hundred_percent_and_a_fall_are_explained_only_where_they_are() -> None:
    m = measured("sms132")
    assert not above_hundred(m)
    assert not scatter(m)
    assert "emptying, by reading" in above_hundred(_series("cache", "cache.behind", _scaled(lambda _: 1.5))(m))

    def wide(series: Series) -> Series:
        falls = _scaled(lambda at: 1 - 0.03 * (at == 1))(series)
        return replace(falls, low=tuple(y * 0.8 for y in falls.y), high=tuple(y * 1.2 for y in falls.y))

    assert "no more than samples do" in scatter(_series("cache", "cache.eager", wide)(m))
    narrow = _series("cache", "cache.eager", _scaled(lambda at: 1 - 0.3 * (at == 1)))(m)
    assert not scatter(narrow)


# What is missing is said.


def _part(m: Measurement, part: str, findings: Findings) -> Measurement:
    return replace(m, parts={**m.parts, part: findings})


def _claim(m: Measurement, id: str) -> Outcome:
    return next(c.outcome for c in FUSION.claims(m) if c.id == id)


def test_without_a_profiler_the_kernels_are_not_checked_and_the_step_says_why() -> None:
    why = "CUPTI recorded no kernels: made up"
    m = _part(measured("sms132"), "kernels", Findings(missing={f"ran.{name}": why for name in ("eager", "triton")}))
    assert _claim(m, "eager-runs-two") is Outcome.NOT_CHECKED
    assert _claim(m, "fused-runs-one") is Outcome.NOT_CHECKED
    assert why in FUSION.words(m, 2).look
    assert "made up" in str(FUSION.frame(m, View(2, 79, 20)))


def test_without_torch_compile_triton_stands_in() -> None:
    gone = Findings(missing={"compile": "torch.compile failed here (made up)"})
    m = measured("sms132", (("racer", "compile"),))
    m = _part(_part(m, "compile", gone), "compiled", gone)
    assert "Triton stands in" in FUSION.words(m, 1).paragraph
    assert "made up" in FUSION.words(m, 1).paragraph
    assert "Triton" in FUSION.words(m, 1).look
    for step in range(len(FUSION.steps)):
        FUSION.frame(m, View(step, 82, 36))


def test_call_times_of_a_profiled_process_are_not_shown() -> None:
    m = measured("sms132")
    part = m.parts["calls"]
    bare = replace(
        part,
        series=tuple(s for s in part.series if s.name.startswith("gpu.")),
        quantities=tuple(q for q in part.quantities if q.name == "gpu.small"),
        missing={"calls": "made-up profiler"},
    )
    m = _part(m, "calls", bare)
    assert _claim(m, "small-waits-for-the-host") is Outcome.NOT_CHECKED
    assert "made-up profiler" in FUSION.words(m, 3).look
    assert "◆" not in str(FUSION.frame(m, View(3, 82, 36)))


def test_with_no_room_for_four_times_the_l2_that_claim_is_not_checked() -> None:
    m = measured("sms132")
    part = m.parts["cache"]
    fewer = tuple(q for q in part.quantities if ".outside." not in q.name)
    assert _claim(_part(m, "cache", replace(part, quantities=fewer)), "tmp-from-memory") is Outcome.NOT_CHECKED


# Bad data: for each claim a fault that must turn it.


def _quantity(part: str, name: str, value: float) -> Callable[[Measurement], Measurement]:
    def changed(q: Quantity) -> Quantity:
        return replace(q, value=value) if q.name == name else q

    def fault(m: Measurement) -> Measurement:
        assert m.has(name)
        f = m.parts[part]
        return _part(m, part, replace(f, quantities=tuple(changed(q) for q in f.quantities)))

    return fault


def _series(part: str, name: str, change: Callable[[Series], Series]) -> Callable[[Measurement], Measurement]:
    def fault(m: Measurement) -> Measurement:
        assert m.has(name)
        f = m.parts[part]
        return _part(m, part, replace(f, series=tuple(change(s) if s.name == name else s for s in f.series)))

    return fault


def _scaled(by: Callable[[int], float]) -> Callable[[Series], Series]:
    return lambda s: replace(s, y=tuple(y * by(at) for at, y in enumerate(s.y)))


FAULTS: dict[str, Callable[[Measurement], Measurement]] = {
    "same-result": _quantity("race", "same.cuda", 1),
    "tmp-is-never-made": _quantity("race", "memory.triton", 2.2),
    "fused-wins": _quantity("race", "speedup.triton", 1.0),
    "eager-runs-two": _quantity("kernels", "ran.eager.count", 1),
    "fused-runs-one": _quantity("kernels", "ran.compile.count", 2),
    "small-waits-for-the-host": _series("calls", "gpu.eager", _scaled(lambda _: 4.0)),
    "small-does-not-depend-on-n": _series("calls", "call.eager", _scaled(lambda at: 1 + at)),
    "large-waits-for-memory": _series("calls", "call.eager", _scaled(lambda _: 2.0)),
    "tmp-from-the-l2": _quantity("cache", "cache.inside.ratio", 100.0),
    "tmp-from-memory": _quantity("cache", "cache.outside.ratio", 70.0),
    "less-to-win-in-the-l2": _quantity("cache", "cache.inside.gain", 1.8),
    "speed-up-as-the-roofs-allow": _quantity("roofs", "roof.speedup", 1.4),
    "below-the-roof": _quantity("roofs", "roof.1r1w", 2000.0),
    "all-near-the-roof": _quantity("roofs", "roof.relu", 2000.0),
}


@pytest.mark.parametrize("claim_id", FAULTS)
def test_a_fault_in_the_data_turns_the_claim(claim_id: str) -> None:
    good = measured("sms132")
    assert _claim(good, claim_id) is Outcome.HELD
    assert _claim(FAULTS[claim_id](good), claim_id) in (Outcome.MISSED, Outcome.SURPRISE)


def test_every_claim_has_its_fault() -> None:
    assert {c.id for c in FUSION.claims(measured("sms132"))} == set(FAULTS)
