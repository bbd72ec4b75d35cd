"""``--run-all`` checks every claim, says what it found, and its exit code can be trusted."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from gpu_explain.app.counting import value_text
from gpu_explain.app.exchange import to_json, to_junit
from gpu_explain.app.exits import Exit
from gpu_explain.app.live import Limits, LiveSource
from gpu_explain.app.replay import open_recording
from gpu_explain.app.report import Printer, claim_kind, header, scene_lines, summary, wanted_text
from gpu_explain.app.shelf import Recorder, open_shelf
from gpu_explain.app.verify import Check, Result, Run, verify
from gpu_explain.scenes.base import (
    Claim,
    Device,
    Kind,
    Measurement,
    Nature,
    Neighbour,
    Outcome,
    Parameter,
    Problem,
    ProblemError,
    Scene,
)
from tests.unit.made_up import claims, device, measurement, parameters, tiny
from tests.unit.test_live import WORKER

LAW, EXPECTATION = Nature.LAW, Nature.EXPECTATION


def claim(
    nature: Nature = LAW, value: float | None = 5.0, *, low: float | None = 1.0, high: float | None = 10.0
) -> Claim:
    unchecked = "" if value is not None else "CUPTI was refused"
    return Claim(
        "c", "It is so", nature, value, low, high, "µs", "arithmetic", unchecked, "a hot day", ("ran",), "x.py"
    )


def result(*found: Claim, others: tuple[Claim, ...] = (), problem: Problem | None = None) -> Result:
    checks = [Check({}, None if problem else measurement(), found, problem)]
    if others:
        checks.append(Check({"size": "big", "shade": "red"}, measurement(size="big"), others))
    return Result(tiny(), tuple(checks), 1.5)


def run_of(*results: Result, **changes: Any) -> Run:
    run = Run(
        live=True,
        device=device(),
        versions={"torch": "2.0", "triton": "3.0"},
        neighbours=(),
        started="2026-11-29T21:40:07+00:00",
        recorded="",
        opening=0.5,
        results=results,
        seconds=2.0,
    )
    return replace(run, **changes)


def text_of(run: Run, *, strict: bool = False) -> str:
    out = io.StringIO()
    printer = Printer(out, out)
    printer.lines(header(run))
    for one in run.results:
        printer.lines(scene_lines(one, strict=strict))
    printer.lines(summary(run, strict=strict))
    return out.getvalue()


HELD, MISSED = claim(), claim(value=11.0)
SURPRISE, UNCHECKED = claim(EXPECTATION, 0.5), claim(value=None)
UNCHECKED_EXPECTATION = claim(EXPECTATION, None)
BROKEN = Problem("worker-died", "The GPU worker died while measuring tiny", "It was killed by SIGKILL", "Run it again")


# ---------------------------------------------------------------- exit codes


@pytest.mark.parametrize(
    ("results", "code", "strict"),
    [
        ((result(HELD),), Exit.OK, Exit.OK),
        ((result(HELD, MISSED),), Exit.FAILED, Exit.FAILED),
        ((result(HELD, SURPRISE),), Exit.OK, Exit.FAILED),
        ((result(HELD, UNCHECKED),), Exit.OK, Exit.FAILED),
        ((result(HELD, UNCHECKED_EXPECTATION),), Exit.OK, Exit.OK),
        ((result(HELD, claim(value=float("nan"))),), Exit.FAILED, Exit.FAILED),
        ((result(HELD), result(problem=BROKEN)), Exit.FAILED, Exit.FAILED),
        ((result(HELD, others=(MISSED,)),), Exit.FAILED, Exit.FAILED),
        ((replace(result(HELD), unrecorded=BROKEN),), Exit.FAILED, Exit.FAILED),
    ],
)
def test_the_exit_code_says_what_held(results: tuple[Result, ...], code: Exit, strict: Exit) -> None:
    run = run_of(*results)
    assert (run.exit(strict=False), run.exit(strict=True)) == (code, strict)


def test_without_a_gpu_the_exit_code_is_three_unless_something_failed() -> None:
    no_gpu = Problem("no-driver", "There is no NVIDIA GPU to be seen here")
    assert run_of(result(HELD), no_gpu=no_gpu).exit(strict=False) == Exit.NO_GPU
    assert run_of(result(MISSED), no_gpu=no_gpu).exit(strict=False) == Exit.FAILED


def test_a_gpu_that_does_not_open_is_a_failure() -> None:
    assert run_of(problem=BROKEN).exit(strict=False) == Exit.FAILED


def test_the_exit_codes_are_the_documented_ones() -> None:
    assert [(code.name, code.value) for code in Exit][:4] == [("OK", 0), ("FAILED", 1), ("USAGE", 2), ("NO_GPU", 3)]


# ---------------------------------------------------------------- the table


def test_the_table_shows_each_claim_with_its_value_and_what_was_wanted() -> None:
    text = text_of(run_of(result(HELD)))
    assert "gpu-explain 0.1.0 · Made-up GPU · driver 999.1 · torch 2.0 · triton 3.0 · 2026-11-29 21:40" in text
    line = next(line for line in text.splitlines() if "It is so" in line)
    assert line.split() == ["✓", "It", "is", "so", "●", "5.00", "µs", "wanted", "1.00", "…", "10.00"]
    assert "1 scene, 1 measurement, 1 claim: 1 held · 2.0 s (0.5 s opening, 0.2 s compiling) · exit 0" in text


def test_what_did_not_hold_comes_with_its_reasons() -> None:
    text = text_of(run_of(result(HELD, MISSED, SURPRISE, UNCHECKED)))
    assert "✗ It is so (law)" in text
    assert "! It is so (expectation)" in text
    assert "most likely: a hot day" in text
    assert "not checked: CUPTI was refused" in text
    assert "Not checked in tiny: c: CUPTI was refused" in text
    assert "wanted because arithmetic" in text
    assert "see x.py" in text
    assert "4 claims: 1 held, 1 failed, 1 surprise, 1 not checked" in text
    assert "exit 1" in text


def test_the_last_line_says_what_strict_would_have_said() -> None:
    assert "exit 0 (1 with --strict)" in text_of(run_of(result(SURPRISE)))
    strictly = text_of(run_of(result(SURPRISE)), strict=True)
    assert "counts as a failure with --strict" in strictly
    assert strictly.rstrip().endswith("exit 1")


def test_other_choices_are_counted_and_only_their_faults_listed() -> None:
    text = text_of(run_of(result(HELD, others=(HELD, MISSED))))
    assert "at 1 other choice: 1 of 2 claims held" in text
    assert "size 64" in text
    assert text.count("✓ It is so") == 1
    assert text.count("✗ It is so (law)") == 1


def test_what_no_choice_changes_is_told_once() -> None:
    text = text_of(run_of(result(SURPRISE, others=(SURPRISE,))))
    assert text.count("wanted because") == 1
    assert "the same again at 1 other choice: size 64: " in " ".join(text.split())
    other = replace(SURPRISE, value=(SURPRISE.value or 0) + 1000)
    assert text_of(run_of(result(SURPRISE, others=(other,)))).count("wanted because") == 2


def test_a_broken_scene_is_one_sentence_and_the_end_of_what_the_worker_wrote() -> None:
    text = text_of(run_of(result(problem=replace(BROKEN, detail="\n".join(f"line {i}" for i in range(30))))))
    assert "✗ broke" in text
    assert BROKEN.sentence in text
    assert "line 0\n" in text
    assert "line 29" in text
    assert "line 15" not in text


def test_a_recording_is_named_with_its_date_and_the_reason() -> None:
    no_gpu = Problem("no-driver", "There is no NVIDIA GPU to be seen here")
    text = text_of(run_of(result(HELD), live=False, recorded="2026-11-29", no_gpu=no_gpu, absent=("other",)))
    assert "RECORDED 2026-11-29" in text
    assert "not this machine" in text
    assert no_gpu.what in text
    assert "Not in this recording: other" in text
    assert "compiling" not in text.splitlines()[-1]


def test_other_work_on_the_gpu_is_said_first() -> None:
    text = text_of(run_of(result(HELD), neighbours=(Neighbour("process", "1 other process holds 3.2 GB"),)))
    assert "1 other process holds 3.2 GB" in text.splitlines()[1]


@pytest.mark.parametrize(
    ("low", "high", "text"), [(1.0, 2.0, "1.00 … 2.00"), (None, 3, "≤ 3"), (1.5, None, "≥ 1.50"), (264, 264, "264")]
)
def test_a_wanted_range_reads_as_one(low: float | None, high: float | None, text: str) -> None:
    assert wanted_text(claim(low=low, high=high)) == text


def test_a_claims_value_carries_the_glyph_of_what_it_was_made_from() -> None:
    m = measurement()
    assert claim_kind(m, claim()) is Kind.MEASURED
    assert claim_kind(m, replace(claim(), inputs=("launch",))) is Kind.MEASURED
    assert claim_kind(m, replace(claim(), inputs=())) is None
    assert claim_kind(m, replace(claim(), inputs=("nothing",))) is None


def test_a_stream_without_unicode_gets_ascii() -> None:
    raw = io.BytesIO()
    out = io.TextIOWrapper(raw, encoding="latin-1", errors="replace")
    Printer(out, out).lines(scene_lines(result(HELD, SURPRISE), strict=False))
    text = raw.getvalue().decode("ascii")
    assert "wanted 1.00 ... 10.00" in text
    assert "?" not in text


class Terminal(io.StringIO):
    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


def test_a_terminal_gets_colour_and_a_pipe_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    shown, piped = Terminal(), io.StringIO()
    for out in (shown, piped):
        Printer(out, piped).lines(scene_lines(result(MISSED), strict=False))
    assert "\x1b[" in shown.getvalue()
    assert "\x1b[" not in piped.getvalue()
    assert "A[row][k]" in _printed(Terminal(), "A[row][k]")


def _printed(out: io.StringIO, text: str) -> str:
    Printer(out, io.StringIO()).lines(iter([[(text, "bold")]]))
    return out.getvalue()


def test_progress_replaces_itself_and_is_gone_before_the_report() -> None:
    out = Terminal()
    printer = Printer(io.StringIO(), out)
    printer.progress("opening the GPU")
    printer.progress("10 waves: tracing")
    printer.lines(iter([[("report", "")]]))
    shown = out.getvalue().split("\r\x1b[2K")
    assert shown == ["", "opening the GPU", "10 waves: tracing", ""]


def test_progress_is_for_terminals_only() -> None:
    out = io.StringIO()
    printer = Printer(out, out)
    printer.progress("opening the GPU")
    printer.quiet()
    assert out.getvalue() == ""


# ---------------------------------------------------------------- JSON and JUnit


def test_json_holds_the_documented_fields() -> None:
    run = run_of(result(HELD, MISSED, SURPRISE, UNCHECKED, others=(HELD,)), result(problem=BROKEN))
    content = json.loads(to_json(run, strict=False))
    assert (content["schema"], content["mode"], content["exit"], content["recorded"]) == (1, "live", 1, None)
    assert content["device"]["sms"] == 40
    assert content["versions"]["torch"] == "2.0"
    assert content["seconds"]["compile"] == pytest.approx(0.5)
    scene, broken = content["scenes"]
    assert [one["outcome"] for one in scene["claims"]] == ["held", "missed", "surprise", "not checked"]
    assert [one["held"] for one in scene["claims"]] == [True, False, False, None]
    assert scene["claims"][0]["wanted"] == {"low": 1.0, "high": 10.0, "why": "arithmetic"}
    assert scene["quantities"][0]["kind"] == "measured"
    assert scene["choices"][0]["chosen"]["size"] == "big"
    assert broken["problems"][0]["id"] == "worker-died"
    assert (scene["failed"], broken["failed"]) == (True, True)


def test_json_of_a_value_that_is_no_number_stays_json() -> None:
    content = json.loads(to_json(run_of(result(claim(value=float("nan")))), strict=False))
    assert content["scenes"][0]["claims"][0]["value"] is None
    assert content["scenes"][0]["claims"][0]["outcome"] == "missed"


def test_junit_has_a_case_a_claim_and_counts_them() -> None:
    run = run_of(result(HELD, MISSED, SURPRISE, UNCHECKED), result(problem=BROKEN))
    root = ET.fromstring(to_junit(run, strict=False))
    assert [root.get(k) for k in ("tests", "failures", "errors", "skipped")] == ["6", "1", "1", "1"]
    suite = root.find("testsuite")
    assert suite is not None
    tags = [[child.tag for child in case] for case in suite.findall("testcase")]
    assert tags == [[], ["system-out"], ["failure"], ["system-out"], ["skipped"]]
    failure = suite.find("testcase/failure")
    assert failure is not None
    assert "law missed: It is so: 11.00 µs, wanted 1.00 … 10.00 (arithmetic)" in (failure.get("message") or "")


def test_junit_says_how_its_cases_are_counted() -> None:
    root = ET.fromstring(to_junit(run_of(result(HELD, MISSED, others=(HELD,))), strict=False))
    assert root.get("name") == "gpu-explain: measurements 2, claims 3"
    assert root.get("tests") == "5"


@pytest.mark.parametrize(
    ("value", "unit", "said"),
    [
        (1, "SMs", "1 SM"),
        (2.0, "kernels", "2 kernels"),
        (1.0, "kernels (the most)", "1 kernel (the most)"),
        (1.0, "of its block's time", "1.00 of its block's time"),
        (2.5, "waves", "2.50 waves"),
        (3.0, "µs", "3.00 µs"),
        (float("nan"), "blocks", "nan blocks"),
    ],
)
def test_counts_are_whole_and_one_is_singular(value: float, unit: str, said: str) -> None:
    assert value_text(value, unit) == said


def test_strict_junit_fails_surprises_and_unchecked_laws() -> None:
    run = run_of(result(HELD, SURPRISE, UNCHECKED, UNCHECKED_EXPECTATION))
    root = ET.fromstring(to_junit(run, strict=True))
    assert [root.get(k) for k in ("failures", "skipped")] == ["2", "1"]


def test_junit_survives_letters_that_xml_cannot_hold() -> None:
    nasty = replace(BROKEN, detail="\x1b[31mboom\x00 <&>", what="it said \x07")
    root = ET.fromstring(to_junit(run_of(result(problem=nasty)), strict=False))
    error = root.find(".//error")
    assert error is not None
    assert error.text == "?[31mboom? <&>"


def test_a_gpu_that_does_not_open_is_an_error_in_junit() -> None:
    root = ET.fromstring(to_junit(run_of(problem=BROKEN, device=None), strict=False))
    assert root.get("errors") == "1"


# ---------------------------------------------------------------- running


Opener = Callable[..., LiveSource]


@pytest.fixture
def open_live() -> Iterator[Opener]:
    opened: list[LiveSource] = []

    def opener(*options: str) -> LiveSource:
        limits = Limits(opening=10.0, first=0.0, leaving=1.0)
        opened.append(LiveSource(command=(*WORKER, *options), limits=limits, retries=0))
        return opened[-1]

    yield opener
    for source in opened:
        source.close()


def test_every_scene_is_measured_and_checked(open_live: Opener) -> None:
    said: list[str] = []
    opened: list[Run] = []
    done: list[Result] = []
    run = verify(open_live(), (tiny(), tiny(id="two")), opened=opened.append, done=done.append, progress=said.append)
    assert [one.scene.id for one in run.results] == ["tiny", "two"] == [one.scene.id for one in done]
    assert run.device == device() == opened[0].device
    assert [one.outcome for one in run.results[1].default.claims][:2] == [Outcome.HELD, Outcome.HELD]
    assert run.exit(strict=False) == Exit.OK
    assert any("99 tiny: measuring" in text for text in said)


def test_a_scene_that_needs_a_fresh_worker_gets_the_first_and_stands_in_its_place(
    open_live: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[object] = []
    begin = LiveSource._open

    def counted(source: LiveSource) -> object:
        started.append(source)
        return begin(source)

    monkeypatch.setattr(LiveSource, "_open", counted)
    done: list[Result] = []
    said: list[str] = []
    scenes = (tiny(), tiny(id="two", fresh_worker=True), tiny(id="three"))
    run = verify(open_live(), scenes, done=done.append, progress=said.append)
    assert [one.scene.id for one in run.results] == ["tiny", "two", "three"] == [one.scene.id for one in done]
    assert next(text.partition(":")[0].split()[1] for text in said if text.startswith("99")) == "two"
    assert len(started) == 1
    assert not any(one.default.problem for one in run.results)


def test_a_scene_that_breaks_does_not_stop_the_others(open_live: Opener, tmp_path: Path) -> None:
    source = open_live("--fault", "crash", "--once", str(tmp_path / "once"))
    run = verify(source, (tiny(), tiny(id="two")))
    broken, fine = run.results
    assert broken.default.problem is not None
    assert "SIGKILL" in broken.default.problem.sentence
    assert fine.default.problem is None
    assert run.exit(strict=False) == Exit.FAILED


def test_a_worker_killed_while_measuring_keeps_what_was_recorded(open_live: Opener, tmp_path: Path) -> None:
    verify(open_live(), (tiny(),), recorder=Recorder(str(tmp_path / "rec")))
    run = verify(open_live("--fault", "crash"), (tiny(id="two"),), recorder=Recorder(str(tmp_path / "rec")))
    assert run.exit(strict=False) == Exit.FAILED
    assert open_shelf(str(tmp_path / "rec")).scenes == ("tiny",)


def test_claims_that_raise_are_a_broken_scene_not_a_traceback(open_live: Opener) -> None:
    def bad(m: Measurement) -> tuple[Claim, ...]:
        raise KeyError("tiny: nothing is called 'x'")

    run = verify(open_live(), (tiny(claims=bad), tiny(id="two")))
    problem = run.results[0].default.problem
    assert problem is not None
    assert "claims could not be checked" in problem.sentence
    assert run.results[1].default.problem is None


def test_a_gpu_that_cannot_be_opened_is_said_once(open_live: Opener) -> None:
    run = verify(open_live("--fault", "unopened"), (tiny(), tiny(id="two")))
    assert run.problem is not None
    assert run.results == ()
    assert text_of(run).count("Another program holds the GPU for itself") == 1
    assert text_of(run).splitlines()[-1].startswith("Nothing was measured")


def test_an_interrupted_recording_keeps_what_was_measured(open_live: Opener, tmp_path: Path) -> None:
    def impatient(doing: str) -> None:
        if doing.startswith("99 two"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        verify(open_live(), (tiny(), tiny(id="two")), recorder=Recorder(str(tmp_path)), progress=impatient)
    assert open_shelf(str(tmp_path)).scenes == ("tiny",)


def test_interrupting_a_scene_keeps_the_choices_that_were_measured(open_live: Opener, tmp_path: Path) -> None:
    said = []

    def impatient(doing: str) -> None:
        said.append(doing)
        if len(said) == 4:  # opening, then one progress a measurement: the third one is cut off
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        verify(open_live(), (tiny(),), recorder=Recorder(str(tmp_path)), progress=impatient)
    assert len(open_shelf(str(tmp_path)).read("tiny").measurements) == 2


def test_recording_measures_the_default_and_every_choice_one_axis_at_a_time(open_live: Opener, tmp_path: Path) -> None:
    recorder = Recorder(str(tmp_path))
    run = verify(open_live(), (tiny(combinations=({"size": "big", "shade": "gold"},)),), recorder=recorder)
    chosen = [dict(check.chosen) for check in run.results[0].checks]
    assert chosen == [
        {"size": "small", "shade": "red"},
        {"size": "big", "shade": "red"},
        {"size": "small", "shade": "blue"},
        {"size": "big", "shade": "gold"},
    ]
    again = verify(open_recording(str(tmp_path)), (tiny(),))
    assert [check.measurement for check in again.results[0].checks] == [
        check.measurement for check in run.results[0].checks
    ]


def test_replaying_checks_the_claims_of_every_recorded_choice(tmp_path: Path) -> None:
    Recorder(str(tmp_path)).write((measurement(), measurement(size="big")))
    run = verify(open_recording(str(tmp_path)), (tiny(), tiny(id="other")))
    assert run.absent == ("other",)
    assert (run.live, run.recorded) == (False, "2026-11-29")
    assert [[one.outcome for one in check.claims] for check in run.results[0].checks] == [
        [Outcome.HELD, Outcome.HELD, Outcome.NOT_CHECKED],
        [Outcome.HELD, Outcome.HELD, Outcome.NOT_CHECKED],
    ]
    assert run.exit(strict=False) == Exit.OK


def test_measurements_that_break_a_law_are_caught_on_replay(tmp_path: Path) -> None:
    quantity = replace(measurement().quantity("ran"), value=7)
    part = replace(measurement().parts["first"], quantities=(quantity,))
    bad = replace(measurement(), parts={**measurement().parts, "first": part})
    Recorder(str(tmp_path)).write((bad,))
    assert verify(open_recording(str(tmp_path)), (tiny(),)).exit(strict=False) == Exit.FAILED


def test_shared_parts_count_their_seconds_once() -> None:
    one = result(HELD, others=(HELD,))
    # `first` differs between small and big (0.25 s each), `second` is shared
    assert one.seconds_in("compile") == pytest.approx(0.5)
    assert one.seconds_in("measure") == pytest.approx(0.5 + 0.5 + 0.25)


def test_a_scene_whose_parameters_break_is_a_broken_scene(open_live: Opener, tmp_path: Path) -> None:
    def bad(on: Device, chosen: Mapping[str, str]) -> tuple[Parameter, ...]:
        if chosen.get("size") == "big":
            raise ZeroDivisionError("division by zero")
        return parameters(on, chosen)

    broken: Scene = tiny(parameters=bad)
    run = verify(open_live(), (broken, tiny(id="two")), recorder=Recorder(str(tmp_path)))
    problem = run.results[0].default.problem
    assert problem is not None
    assert "division by zero" in problem.sentence
    assert open_shelf(str(tmp_path)).scenes == ("two",)


def test_a_full_disk_while_recording_is_said_and_fails(
    open_live: Opener, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorder = Recorder(str(tmp_path))

    def full(measured: object) -> None:
        raise ProblemError(Problem("cannot-write", "tiny was not recorded", "No space left on device"))

    monkeypatch.setattr(recorder, "write", full)
    run = verify(open_live(), (tiny(),), recorder=recorder)
    assert run.exit(strict=False) == Exit.FAILED
    assert "No space left" in text_of(run)


def test_the_made_up_claims_hold_on_the_made_up_measurement() -> None:
    assert [one.outcome for one in claims(measurement())] == [Outcome.HELD, Outcome.HELD, Outcome.NOT_CHECKED]
