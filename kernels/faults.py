"""Turns whatever went wrong in the worker into a sentence."""

from __future__ import annotations

import re
import traceback
from collections.abc import Callable
from pathlib import Path

from gpu_explain.scenes.base import Problem, ProblemError

_ROOT = Path(__file__).parent.parent

# Errors after which a CUDA context answers every call with the same error (cudaError_t / CUresult numbers).
_STICKY = {
    "illegal memory access": 700,
    "ILLEGAL_ADDRESS": 700,
    "launch timed out": 702,
    "LAUNCH_TIMEOUT": 702,
    "device-side assert": 710,
    "ERROR_ASSERT": 710,
    "illegal instruction": 715,
    "ILLEGAL_INSTRUCTION": 715,
    "misaligned address": 716,
    "MISALIGNED_ADDRESS": 716,
    "invalid program counter": 718,
    "INVALID_PC": 718,
    "unspecified launch failure": 719,
    "LAUNCH_FAILED": 719,
    "uncorrectable ECC": 214,
    "ECC_UNCORRECTABLE": 214,
}
_MEANING = {
    700: "A kernel read or wrote memory that is not its own",
    702: "A kernel ran longer than the display's watchdog allows",
    214: "The GPU reported a memory error that it cannot correct",
}


def problem_of(error: BaseException, *, doing: str, alive: Callable[[], object]) -> Problem:
    """The problem behind an exception.

    ``doing`` says what was being done, in words. ``alive`` is called to find out whether the GPU still answers: when
    it raises, the problem is sticky, whatever the exception said.
    """
    detail = "".join(traceback.format_exception(error)).rstrip()
    if isinstance(error, ProblemError):
        return error.problem
    text = str(error)
    code = next((number for phrase, number in _STICKY.items() if phrase in text), None)
    dead = _raises(alive)
    if code is None and dead is not None:
        code = next((number for phrase, number in _STICKY.items() if phrase in dead), 719)
    if code is not None:
        return Problem(
            "gpu-session-lost",
            f"The GPU session was lost while {doing}",
            f"{_MEANING.get(code, 'A kernel failed')} (CUDA error {code})",
            "It is being restarted; run the scene again",
            detail=detail,
            sticky=True,
        )
    if type(error).__name__ == "OutOfMemoryError" or "out of memory" in text.lower():
        return Problem(
            "gpu-memory",
            f"The GPU ran out of memory while {doing}",
            "other programs hold it, or the size is too large for this GPU",
            "Choose a smaller size, or end what else holds GPU memory (nvidia-smi lists it)",
            detail=detail,
        )
    return Problem(
        "scene-broken",
        f"Something is broken: {doing} stopped at {place_of(error)}",
        f"{type(error).__name__}: {_one_line(text)}" if text else type(error).__name__,
        "This is a fault in gpu-explain; please report it with the details",
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


def _raises(alive: Callable[[], object]) -> str | None:
    try:
        alive()
    except Exception as error:
        return str(error) or type(error).__name__
    return None


def _one_line(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()[:200]
