"""Whether the walkthrough can be shown on these streams."""

from __future__ import annotations

import codecs
import importlib.util
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TextIO

from gpu_explain.scenes.base.problem import Problem, problem

CANNOT_PLACE = {"", "dumb", "unknown"}
"""Values of TERM for terminals that cannot place letters on a screen."""

COLOURS = ("auto", "standard", "256", "truecolor", "windows")
"""Values of TEXTUAL_COLOR_SYSTEM that rich knows."""


def why_not_here(
    environ: Mapping[str, str], stdin: TextIO | None, stdout: TextIO | None, stderr: TextIO | None
) -> Problem | None:
    """``None`` when a screen can be drawn, else why not and what to do instead.

    Keys are read from standard input and Textual draws on standard error, so those must be terminals;
    standard output must be one since whoever pipes it wants text. A stream that is closed is ``None``.
    """
    for name, stream in (("input", stdin), ("output", stdout), ("error", stderr)):
        if stream is None or not stream.isatty():
            state = "is closed" if stream is None else "is not one"
            return problem("no-terminal", evidence=f"Standard {name} {state}")
    if environ.get("TERM", "") in CANNOT_PLACE:
        return problem("dumb-terminal", evidence=f"TERM is {environ.get('TERM', '')!r}")
    encoding = stdout.encoding if stdout is not None else None
    if not is_utf8(encoding):
        return no_utf8(environ, encoding)
    return _unusable_variable(environ)


def no_utf8(environ: Mapping[str, str], encoding: str | None) -> Problem:
    """That a stream of that encoding is not UTF-8, and the variable that made it so.

    PYTHONIOENCODING goes before the locale, so that no LC_ALL helps where it is set.
    """
    met = problem("no-utf8", evidence=f"This one is set to {encoding or 'nothing'}")
    asked = environ.get("PYTHONIOENCODING", "").partition(":")[0]
    if not asked or is_utf8(asked):
        return met
    return replace(met, why=f"{met.why} by PYTHONIOENCODING", remedy="unset PYTHONIOENCODING")


def _unusable_variable(environ: Mapping[str, str]) -> Problem | None:
    """A variable of Textual's that it takes at its word, and raises on."""
    checks = (("TEXTUAL_COLOR_SYSTEM", _no_colours), ("TEXTUAL_DRIVER", _no_driver), ("TEXTUAL_LOG", _no_log))
    for name, check in checks:
        why = check(environ[name]) if name in environ else ""
        if why:
            return problem("terminal-variable", name=name, evidence=why)
    return None


def _no_colours(value: str) -> str:
    return "" if value in COLOURS else f"It is {value!r}, not one of {', '.join(COLOURS)}"


def _no_driver(value: str) -> str:
    try:
        found = bool(value) and importlib.util.find_spec(value.partition(":")[0]) is not None
    except (ImportError, ValueError):
        found = False
    return "" if found else f"It is {value!r}, and there is no such driver"


def _no_log(value: str) -> str:
    if not value:
        return ""
    try:
        with Path(value).open("a", encoding="utf-8"):
            return ""
    except OSError as error:
        return f"{value} cannot be written: {error.strerror or error}"


def is_utf8(encoding: str | None) -> bool:
    """Whether a stream of that encoding can write every letter."""
    try:
        return codecs.lookup(encoding or "ascii").name == "utf-8"
    except LookupError:
        return False
