"""Turns whatever went wrong in the worker into a sentence of the catalogue (``scenes/base/conditions``)."""

from __future__ import annotations

import re
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path

from gpu_explain.scenes.base import Problem, ProblemError
from gpu_explain.scenes.base.conditions import Condition, code_in, condition, problem, recognise
from gpu_explain.scenes.base.places import python_include

_ROOT = Path(__file__).parent.parent


def problem_of(error: BaseException, *, doing: str, alive: Callable[[], object]) -> Problem:
    """The problem behind an exception.

    ``doing`` says what was being done, in words. ``alive`` is called to find out whether the GPU still answers: when
    it raises, the problem is sticky, whatever the exception said. An error that is none of the known ones shows its
    own text and where it happened.
    """
    detail = "".join(traceback.format_exception(error)).rstrip()
    if isinstance(error, ProblemError):
        return error.problem
    met, said = _recognised(error)
    if met is None or not met.sticky:
        dead = _raises(alive)
        if dead is not None:
            met, said = recognise(dead), dead
            if met is None or not met.sticky:
                met = condition("gpu-session-lost")
    if met is not None and met.id == "compiler-fails" and not (python_include() / "Python.h").is_file():
        # The compiler says so on standard error, which its exception does not carry.
        return problem("no-python-headers", evidence=f"looked in {python_include()}", detail=detail)
    if met is not None:
        return problem(met.id, doing=doing, evidence=_numbered(said), detail=detail)
    text = _one_line(str(error))
    return problem(
        "scene-broken",
        what=f"{doing} stopped at {place_of(error)}",
        why=f"{type(error).__name__}: {text}" if text else type(error).__name__,
        detail=detail,
    )


def place_of(error: BaseException) -> str:
    """File and line of the innermost frame that is ours, such as ``scenes/waves.py:120``."""
    place = "an unknown place"
    for frame in traceback.extract_tb(error.__traceback__):
        path = Path(frame.filename)
        for root in (_ROOT, _ROOT.parent):
            if path.is_relative_to(root):
                place = f"{path.relative_to(root)}:{frame.lineno}"
                break
    return place


def _recognised(error: BaseException) -> tuple[Condition | None, str]:
    """The condition behind an error or behind one that caused it, and the text that says so.

    The outermost is asked first; compilers wrap what they met in errors of their own, which say nothing.
    """
    for one in _chain(error):
        said = f"{type(one).__name__}: {one}"
        met = recognise(said)
        if met is not None:
            return met, said
    return None, ""


def _chain(error: BaseException) -> Iterator[BaseException]:
    one: BaseException | None = error
    while one is not None:
        yield one
        one = one.__cause__  # and not its context: what happened to be handled at the time need not be the reason


def _numbered(said: str) -> str:
    """A raw text on one line, its number in front where CUDA has one for it."""
    code = code_in(said)
    return f"CUDA error {code}: {_one_line(said)}" if code else _one_line(said)


def _raises(alive: Callable[[], object]) -> str | None:
    try:
        alive()
    except Exception as error:
        return str(error) or type(error).__name__
    return None


def _one_line(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()[:200]
