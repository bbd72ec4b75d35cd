"""Something that went wrong, as a sentence for a person: what, why, and what to do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Problem:
    """A fault in words.

    Attributes:
        id: Stable id of the condition, such as ``cuda-compile`` or ``no-driver``.
        what: One sentence: what does not work.
        why: How we know, and the likely cause.
        remedy: What to do, a command where there is one.
        detail: The original error text (several lines allowed), shown on request.
        sticky: Whether the GPU session cannot go on after it (the worker is restarted).
    """

    id: str
    what: str
    why: str = ""
    remedy: str = ""
    detail: str = ""
    sticky: bool = False

    @property
    def sentence(self) -> str:
        """What, why and remedy on one line."""
        parts = (part.strip() for part in (self.what, self.why, self.remedy))
        return " ".join(part if part.endswith((".", "?", "!")) else part + "." for part in parts if part)


class ProblemError(Exception):
    """Carries a :class:`Problem` up to whoever can show it."""

    def __init__(self, problem: Problem) -> None:
        """Keep the problem; the message is its sentence."""
        super().__init__(problem.sentence)
        self.problem = problem


def problem(id: str, /, **fields: Any) -> Problem:
    """A condition of the catalogue that was met, in words; see :func:`gpu_explain.scenes.base.conditions.problem`.

    The catalogue is imported here and not above: the first picture does not wait for words about what did not happen.
    """
    from gpu_explain.scenes.base import conditions

    return conditions.problem(id, **fields)
