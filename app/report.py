"""The report of ``--run-all`` as text: lines of styled pieces, made by pure functions, and their printer.

Plain text where the stream is piped; through rich, in colour, where it is a terminal. A sign always says
what a colour says.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from textwrap import wrap
from typing import TextIO

from gpu_explain import __version__
from gpu_explain.app.counting import value_text
from gpu_explain.app.verify import Check, Result, Run, fails
from gpu_explain.scenes.base import Claim, Device, Kind, Measurement, Outcome, Problem, number_text
from gpu_explain.scenes.base.plain import visible

Line = list[tuple[str, str]]
"""Pieces of text, each with the name of a rich style."""

_STYLES = {
    Outcome.HELD: "green",
    Outcome.MISSED: "bold red",
    Outcome.SURPRISE: "bold yellow",
    Outcome.NOT_CHECKED: "dim",
}
_TEXT, _VALUE = 60, 20
"""Columns of a claim's text, which wraps, and of its value: with the wanted range a line fits 120 columns."""

_ENDS = 6
"""Lines shown of each end of a long error text."""

_ASCII = str.maketrans(
    {
        **dict(zip("✓✗●○□◇–·µ×", "+x*o#^-|ux", strict=True)),
        "…": "...",
        "→": "->",
        "≥": ">=",
        "≤": "<=",
        "±": "+-",
    }
)
"""For a stream that cannot write more than ASCII; any other letter becomes ``?`` there."""


class Printer:
    """Writes lines, and one passing line of progress, to a stream.

    Args:
        stream: Where the report goes.
        progress: Where progress goes when it is a terminal; piped progress is noise and is not written.
    """

    def __init__(self, stream: TextIO, progress: TextIO) -> None:
        """Look at the streams: terminal or not, which letters they can write."""
        self._stream, self._progress = stream, progress
        self._moves = progress.isatty()
        self._shown = False
        self._unicode = _can_write(stream)
        self._colour = stream.isatty() and self._unicode and find_spec("rich") is not None

    def lines(self, lines: Iterator[Line]) -> None:
        """Write lines at once."""
        self.quiet()
        for line in lines:
            pieces = [(_one_line(text if self._unicode else text.translate(_ASCII)), style) for text, style in line]
            if self._colour:
                _print_rich(self._stream, pieces)
            else:
                self._stream.write("".join(text for text, _ in pieces).rstrip() + "\n")
        self._stream.flush()

    def progress(self, doing: str) -> None:
        """Show what is being done, in place of what was shown before."""
        if self._moves:
            text = _one_line(doing if _can_write(self._progress) else doing.translate(_ASCII))
            self._progress.write(f"\r\x1b[2K{text[:78]}")
            self._progress.flush()
            self._shown = True

    def quiet(self) -> None:
        """Take the progress away."""
        if self._shown:
            self._progress.write("\r\x1b[2K")
            self._progress.flush()
            self._shown = False


def header(run: Run) -> Iterator[Line]:
    """What runs on what: the first lines of the report."""
    names = [f"gpu-explain {__version__}"]
    if run.device is not None:
        names += [_device_text(run.device), f"driver {run.device.driver}"]
    names += [f"{name} {run.versions[name]}" for name in ("torch", "triton") if run.versions.get(name)]
    names.append(f"RECORDED {run.recorded}" if run.recorded else run.started[:16].replace("T", " "))
    yield [(" · ".join(names), "bold")]
    if run.no_gpu is not None:
        yield [("Checking the bundled recording, not this machine. ", "bold yellow"), (run.no_gpu.sentence, "")]
    for neighbour in run.neighbours:
        yield [("! measured beside other work: ", "bold yellow"), (neighbour.text, "")]
    if run.problem is not None and run.problem.id != "nothing-checked":  # which is known, and said, at the end
        yield from _problem_lines(run.problem)


def scene_lines(result: Result, *, strict: bool) -> Iterator[Line]:
    """A scene: one line in sum, one line a claim, and more where something did not hold."""
    check, scene = result.default, result.scene
    outcome = _worst(result)
    compiling = result.seconds_in("compile")
    # 0.05 s would round to nothing worth saying.
    took = f"{result.seconds:.1f} s" + (f" ({compiling:.1f} compiling)" if compiling >= 0.05 else "")
    yield [
        (f"{scene.number:2} {scene.id:<18}{_found(check.measurement):<26}", "bold"),
        (f"{outcome.glyph} {_sum(result):<44}", _STYLES[outcome]),
        (f"{took:>24}", "dim"),
    ]
    if check.problem is not None:
        yield from _problem_lines(check.problem)
    for claim in check.claims:
        yield from _claim_lines(check, claim, strict=strict)
    yield from _other_lines(result, strict=strict)
    if result.unrecorded is not None:
        yield from _problem_lines(result.unrecorded)


def summary(run: Run, *, strict: bool) -> Iterator[Line]:
    """The last line: counts, time, exit code."""
    if run.problem is not None:
        if run.problem.id == "nothing-checked":
            yield from _problem_lines(run.problem)
        yield [
            ("Nothing was checked" if run.results or not run.live else "Nothing was measured", "bold red"),
            (f" · {run.seconds:.1f} s · exit {run.exit(strict=strict).value}", ""),
        ]
        return
    if run.absent:
        yield [(f"Not in this recording: {', '.join(run.absent)}", "dim")]
    if run.unknown:
        yield [(f"In this recording, but no scenes of this gpu-explain: {', '.join(run.unknown)}", "bold yellow")]
    yield from _unchecked_lines(run)
    claims = sum(len(check.claims) for result in run.results for check in result.checks)
    measurements = sum(len(result.checks) for result in run.results)
    counts = {outcome: sum(result.count(outcome, every=True) for result in run.results) for outcome in Outcome}
    said = [f"{counts[Outcome.HELD]} held"]
    said += [f"{counts[o]} {_name(o, counts[o])}" for o in Outcome if o is not Outcome.HELD and counts[o]]
    broke = sum(bool(result.problems) for result in run.results)
    said += [f"{_count(broke, 'scene')} broke"] if broke else []
    code, strictly = run.exit(strict=strict), run.exit(strict=True)
    compiling = sum(result.seconds_in("compile") for result in run.results)
    # What a recording says about compiling happened elsewhere and earlier.
    spent = f" ({run.opening:.1f} s opening, {compiling:.1f} s compiling)" if run.live else ""
    remark = f" ({strictly.value} with --strict)" if strictly != code else ""
    counted = ((len(run.results), "scene"), (measurements, "measurement"), (claims, "claim"))
    yield [
        (f"{', '.join(_count(number, thing) for number, thing in counted)}: {', '.join(said)}", "bold"),
        (f" · {run.seconds:.1f} s{spent} · exit {code.value}{remark}", ""),
    ]


def wanted_text(claim: Claim) -> str:
    """The wanted range: ``18.10 … 22.10``, ``≥ 1.30``, ``264``."""
    low, high = claim.low, claim.high
    if low is None:
        return f"≤ {number_text(high or 0)}"
    if high is None:
        return f"≥ {number_text(low)}"
    if low == high:
        return number_text(low)
    ends = number_text(low), number_text(high)
    return " … ".join(ends if ends[0] != ends[1] else (f"{low:g}", f"{high:g}"))


def claim_kind(m: Measurement | None, claim: Claim) -> Kind | None:
    """Kind of a claim's value: measured as soon as one of its inputs is, ``None`` when nothing says so.

    Arithmetic on measured times and counts in a trace are measured, as everywhere.
    """
    if m is None:
        return None
    kinds = {q.name: q.kind for q in m.quantities}
    for part in m.parts.values():
        kinds |= {series.name: series.kind for series in part.series}
        kinds |= {trace.name: Kind.MEASURED for trace in part.traces}
        kinds |= {capture.name: Kind.MEASURED for capture in part.captures}
    found = {kinds[name] for name in claim.inputs if name in kinds}
    if Kind.MEASURED in found:
        return Kind.MEASURED
    return next(iter(found)) if len(found) == 1 else (Kind.COMPUTED if found else None)


def _claim_lines(check: Check, claim: Claim, *, strict: bool, indent: str = "     ") -> Iterator[Line]:
    outcome = claim.outcome
    kind = claim_kind(check.measurement, claim)
    value = "–" if claim.value is None else value_text(claim.value, claim.unit)
    glyph = f"{kind.glyph} " if kind and claim.value is not None else "  "
    nature = "" if outcome is Outcome.HELD else f" ({claim.nature.value})"
    style = "" if outcome is Outcome.HELD else _STYLES[outcome]
    first, *more = wrap(claim.text + nature, _TEXT) or [""]
    yield [
        (f"{indent}{outcome.glyph} ", _STYLES[outcome]),
        (f"{first:<{_TEXT}} ", style),
        (f"{glyph}{value:<{_VALUE}}", ""),
        (f" wanted {wanted_text(claim)}", "dim"),
    ]
    for line in more:
        yield [(f"{indent}  {line}", style)]
    if outcome is Outcome.HELD:
        return
    yield [(f"{indent}    wanted because {claim.why}", "dim")]
    if claim.unchecked:
        yield [(f"{indent}    not checked: {claim.unchecked}", "dim")]
    if claim.likely and outcome is not Outcome.NOT_CHECKED:
        yield [(f"{indent}    most likely: {claim.likely}", "")]
    if claim.source:
        yield [(f"{indent}    see {claim.source}", "dim")]
    if strict and outcome is not Outcome.MISSED and fails(claim, strict=True):
        yield [(f"{indent}    counts as a failure with --strict", "bold red")]


def _other_lines(result: Result, *, strict: bool) -> Iterator[Line]:
    """The choices beside the default: a count, and only what did not hold."""
    others = result.checks[1:]
    if not others:
        return
    claims = [claim for check in others for claim in check.claims]
    counts = {outcome: sum(claim.outcome is outcome for claim in claims) for outcome in Outcome}
    said = [f"{counts[Outcome.HELD]} of {_count(len(claims), 'claim')} held"]
    said += [f"{counts[o]} {_name(o, counts[o])}" for o in Outcome if o is not Outcome.HELD and counts[o]]
    yield [(f"     at {_count(len(others), 'other choice')}: {', '.join(said)}", "dim")]
    # A claim that no choice changes is the same claim at all of them: it is told once.
    told = {_same(claim) for claim in result.default.claims}
    again: dict[str, list[str]] = {}
    for check in others:
        wrong = [claim for claim in check.claims if claim.outcome in {Outcome.MISSED, Outcome.SURPRISE}]
        for claim in wrong:
            if _same(claim) in told:
                again.setdefault(claim.text, []).append(_difference(result.default, check))
        new = [claim for claim in wrong if _same(claim) not in told]
        told |= {_same(claim) for claim in new}
        if not new and check.problem is None:
            continue
        yield [(f"       {_difference(result.default, check)}", "")]
        if check.problem is not None:
            yield from _problem_lines(check.problem)
        for claim in new:
            yield from _claim_lines(check, claim, strict=strict, indent="       ")
    for text, choices in again.items():
        where = f"at {_count(len(choices), 'other choice')}: {'; '.join(choices)}"
        for line in wrap(f"the same measurement, so the same again {where}: {text}", _TEXT + _VALUE + 30):
            yield [(f"       {line}", "dim")]


def _same(claim: Claim) -> tuple[object, ...]:
    """What makes two claims the same one: to the last digit of the value."""
    return claim.id, claim.text, claim.value, claim.low, claim.high, claim.outcome


def _unchecked_lines(run: Run) -> Iterator[Line]:
    """Which claims were not checked, at any choice, and how often: those with the same reason on one line."""
    found: dict[tuple[str, str], Counter[str]] = {}
    for result in run.results:
        for claim in (claim for check in result.checks for claim in check.claims):
            if claim.outcome is Outcome.NOT_CHECKED:
                found.setdefault((result.scene.id, claim.unchecked), Counter())[claim.id] += 1
    for (scene, why), ids in found.items():
        named = ", ".join(f"{id} ({count} ×)" if count > 1 else id for id, count in ids.items())
        yield [(f"Not checked in {scene}: {named}: {why}", "dim")]


def _difference(default: Check, check: Check) -> str:
    """The choices that differ from the default ones, as the screen calls them: ``blocks 265``."""
    usual: Mapping[str, str] = default.measurement.chosen if default.measurement else default.chosen
    parameters = {one.id: one for one in check.measurement.parameters} if check.measurement else {}
    said = []
    for name, choice in check.chosen.items():
        if usual.get(name) != choice:
            known = parameters.get(name)
            labels = {one.id: one.text for one in known.choices} if known else {}
            said.append(f"{known.label if known else name} {labels.get(choice, choice)}")
    return ", ".join(said) or "default"


def _problem_lines(problem: Problem) -> Iterator[Line]:
    yield [("     ✗ ", "bold red"), (problem.sentence, "")]
    detail = problem.detail.splitlines()
    if len(detail) > 2 * _ENDS:
        # A compiler says first what is wrong, a traceback last.
        detail = [*detail[:_ENDS], "…", *detail[-_ENDS:]]
    for line in detail:
        yield [(f"         {line}", "dim")]


def _worst(result: Result) -> Outcome:
    """What the scene's line is marked with."""
    if result.problems or result.count(Outcome.MISSED, every=True):
        return Outcome.MISSED
    for outcome in (Outcome.SURPRISE, Outcome.NOT_CHECKED):
        if result.count(outcome):
            return outcome
    return Outcome.HELD


def _sum(result: Result) -> str:
    if result.default.problem is not None:
        return "broke"
    others = [o for o in Outcome if o is not Outcome.HELD and result.count(o)]
    said = [f"{result.count(Outcome.HELD)} of {_count(len(result.default.claims), 'claim')}"]
    said += [f"{result.count(o)} {_name(o, result.count(o))}" for o in others]
    return ", ".join(said)


def _found(m: Measurement | None) -> str:
    """What a measurement holds, in a few words: ``1 trace, 19 points``."""
    if m is None:
        return ""
    traces = sum(len(part.traces) for part in m.parts.values())
    points = sum(len(series.x) for part in m.parts.values() for series in part.series if series.kind is Kind.MEASURED)
    numbers = sum(q.kind is Kind.MEASURED for q in m.quantities)
    said = [_count(traces, "trace")] if traces else []
    said += [_count(points, "point")] if points else []
    return ", ".join(said) or (_count(numbers, "number") if numbers else "")


def _device_text(device: Device) -> str:
    return device.name if device.sms == device.sms_total else f"{device.name} · {device.sms} of {device.sms_total} SMs"


def _name(outcome: Outcome, count: int) -> str:
    return {"missed": "failed", "surprise": "surprise" if count == 1 else "surprises"}.get(outcome.value, outcome.value)


def _count(number: int, thing: str) -> str:
    return f"{number_text(number)} {thing}{'' if number == 1 else 's'}"


def _one_line(text: str) -> str:
    """Nothing that steers a terminal, whoever wrote it: names from a recording, errors of a compiler."""
    return visible(text).replace("\n", " ")


def _can_write(stream: TextIO) -> bool:
    try:
        "✓●○□◇…≥µ×".encode(stream.encoding or "utf-8")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def _print_rich(stream: TextIO, pieces: Line) -> None:
    from rich.console import Console
    from rich.text import Text

    console = Console(file=stream, markup=False, highlight=False, emoji=False)
    console.print(Text.assemble(*pieces), soft_wrap=True)
