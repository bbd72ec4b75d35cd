"""Whether the walkthrough can be shown on these streams."""

from __future__ import annotations

import codecs
from collections.abc import Mapping
from typing import TextIO

from gpu_explain.scenes.base.problem import Problem

_HEADLESS = "gpu-explain --run-all needs no terminal"


def why_not_here(environ: Mapping[str, str], stdin: TextIO, stdout: TextIO, stderr: TextIO) -> Problem | None:
    """``None`` when a screen can be drawn, else why not and what to do instead.

    Keys are read from standard input and Textual draws on standard error, so those must be terminals;
    standard output must be one since whoever pipes it wants text.
    """
    for name, stream in (("input", stdin), ("output", stdout), ("error", stderr)):
        if not stream.isatty():
            return Problem("no-terminal", "The walkthrough needs a terminal", f"Standard {name} is not one", _HEADLESS)
    if environ.get("TERM", "") in {"", "dumb", "unknown"}:
        why = f"TERM is {environ.get('TERM', '')!r}: it cannot place letters on the screen"
        return Problem("dumb-terminal", "The walkthrough cannot be drawn on this terminal", why, _HEADLESS)
    if not _is_utf8(stdout.encoding):
        return Problem(
            "no-utf8",
            "The walkthrough needs a UTF-8 terminal",
            f"This one is set to {stdout.encoding}",
            "Run it as: LC_ALL=C.UTF-8 gpu-explain",
        )
    return None


def _is_utf8(encoding: str | None) -> bool:
    try:
        return codecs.lookup(encoding or "ascii").name == "utf-8"
    except LookupError:
        return False
