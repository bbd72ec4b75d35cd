"""Doctor's report as a table: what is there on few lines, what is wrong with evidence and remedy."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from textwrap import wrap

from gpu_explain import __version__
from gpu_explain.app.doctor.check import Check, Examination, State
from gpu_explain.app.doctor.private import Secrets, at_home
from gpu_explain.app.exits import Exit
from gpu_explain.app.report import Line

_LABEL, _INDENT = 12, 2
_NARROW, _LEAST = 40, 20
"""Below so many columns labels stand on lines of their own; below the least, words would be longer than lines."""
_STOPS, _LIMITS, _GOOD = ("✗", "bold red"), ("!", "bold yellow"), ("✓", "green")
_SIGNS = {State.FOUND: _GOOD, State.NOT_APPLICABLE: ("·", "dim"), State.UNKNOWN: ("?", "yellow")}


def table(examination: Examination, secrets: Secrets, width: int = 100) -> Iterator[Line]:
    """The whole report, home folders as ``~`` where they are evidence; commands keep the real paths.

    Wrapped at ``width`` columns, but not below 20. Paths and commands are never parted.
    """
    width = max(width, _LEAST)
    name = f"gpu-explain {__version__} doctor"
    bold = len(name)
    for text in wrap(f"{name} · {_platform(examination)}", width, break_on_hyphens=False):
        yield [(text[:bold], "bold"), (text[bold:], "dim")]
        bold = max(bold - len(text) - 1, 0)
    for group, checks in groupby(examination.checks, key=lambda check: check.group):
        label = group.value
        if width < _NARROW:
            yield [(label, "bold")]
            for line in _group(list(checks), secrets, width - _INDENT):
                yield [(" " * _INDENT, ""), *line]
            continue
        for line in _group(list(checks), secrets, width - _LABEL):
            yield [(f" {label:<{_LABEL - 1}}", "bold"), *line]
            label = ""
    style = {Exit.OK: "bold green", Exit.NO_GPU: "bold yellow"}.get(examination.exit, "bold red")
    last = f"{examination.verdict}   exit {examination.exit.value}"
    for text in wrap(last, width, break_on_hyphens=False):
        yield [(text, style)]


def _group(checks: list[Check], secrets: Secrets, width: int) -> Iterator[Line]:
    """What is fine comes first, several on a line; then what is not, each with what there is to know."""
    fine = [check for check in checks if check.problem is None]
    yield from _in_rows([check for check in fine if check.state is State.FOUND], secrets, width)
    yield from _in_rows([check for check in fine if check.state is not State.FOUND], secrets, width)
    for check in checks:
        if check.problem is not None:
            yield from _problem(check, secrets, width)


def _in_rows(checks: list[Check], secrets: Secrets, width: int) -> Iterator[Line]:
    row: Line = []
    used = 0
    for check in checks:
        sign, style = _SIGNS[check.state]
        text = f" {at_home(check.text, secrets)}"
        if row and used + 3 + 1 + len(text) > width:
            yield row
            row, used = [], 0
        if row:
            row.append(("   ", ""))
            used += 3
        if 1 + len(text) > width:
            yield from _wrapped(sign, style, text.strip(), width, "dim" if style == "dim" else "")
            continue
        row += [(sign, style), (text, "dim" if style == "dim" else "")]
        used += 1 + len(text)
    if row:
        yield row


def _problem(check: Check, secrets: Secrets, width: int) -> Iterator[Line]:
    problem = check.problem
    assert problem is not None
    sign, style = _STOPS if check.stops else _LIMITS
    yield from _wrapped(sign, style, problem.what, width, "bold")
    if problem.why:
        yield from _wrapped(" ", "", at_home(problem.why, secrets), width, "")
    for one in check.evidence:
        yield from _wrapped(" ", "", at_home(one, secrets), width, "dim")
    if problem.remedy:
        yield from _wrapped("→", "cyan", problem.remedy, width, "cyan", first="  ")


def _wrapped(sign: str, style: str, text: str, width: int, text_style: str, first: str = "") -> Iterator[Line]:
    for line in wrap(text, width - 2 - len(first), break_on_hyphens=False, break_long_words=False):
        yield [(first + sign, style), (f" {line}", text_style)]
        sign = " "


def _platform(examination: Examination) -> str:
    platform = examination.platform
    words = [platform.distribution or platform.system]
    words += ["WSL"] if platform.wsl else []
    words += [f"in {platform.container}"] if platform.container else []
    words += [f"Python {platform.python} ({platform.environment})", f"{examination.seconds:.1f} s"]
    return " · ".join(words)
