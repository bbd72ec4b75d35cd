"""Whether the walkthrough can be shown on these streams."""

from __future__ import annotations

import codecs
from collections.abc import Mapping
from typing import TextIO

from gpu_explain.scenes.base.problem import Problem, problem

CANNOT_PLACE = {"", "dumb", "unknown"}
"""Values of TERM for terminals that cannot place letters on a screen."""


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
        return problem("no-utf8", evidence=f"This one is set to {encoding}")
    return None


def is_utf8(encoding: str | None) -> bool:
    """Whether a stream of that encoding can write every letter."""
    try:
        return codecs.lookup(encoding or "ascii").name == "utf-8"
    except LookupError:
        return False
