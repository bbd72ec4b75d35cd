"""A condition: one thing that can be wrong, in the words that every part of the program uses for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class Group(StrEnum):
    """What a condition is about; doctor's table and the troubleshooting page go in this order."""

    DRIVER = "driver"
    GPU = "GPU"
    NEIGHBOURS = "neighbours"
    PACKAGES = "packages"
    COMPILER = "compiler"
    CACHES = "caches"
    VARIABLES = "variables"
    PROFILER = "profiler"
    TERMINAL = "terminal"
    KERNELS = "kernels"
    WORKER = "worker"
    RECORDINGS = "recordings"
    USAGE = "usage"


class Effect(StrEnum):
    """What a condition means for ``doctor``'s exit code."""

    STOPS = "stops live mode"
    """A GPU is here and this stops us: exit code 1."""
    NO_GPU = "no GPU"
    """There is nothing to go live with: exit code 3, or 1 when the hardware is seen all the same."""
    LIMITS = "limits"
    """Live mode works, with something missing or slower: exit code 0."""
    REQUEST = "one request"
    """It ends what was asked for and nothing else; ``doctor`` does not look for it."""


@dataclass(frozen=True)
class Condition:
    """An entry of the catalogue.

    ``what``, ``why`` and the remedies are templates for ``str.format_map``. Fields are the evidence that whoever
    meets the condition hands over, and those of the platform (see ``Platform.words``). An entry with ``codes`` or
    ``signs`` can be met as a raw error, so it asks for no other evidence than ``{evidence}`` and ``{doing}``.

    Attributes:
        id: Stable id.
        group: What it is about.
        effect: What it means for live mode.
        detected: How it is known, for the troubleshooting page.
        what: One sentence: what does not work.
        why: How we know, and the likely cause.
        remedy: What to do, by the tag of a platform; the first key that fits is taken, ``""`` fits everywhere.
        sticky: Whether the GPU session cannot go on after it.
        codes: Numbers of the CUDA errors that mean it; their names and texts are in ``codes.py``.
        signs: Regular expressions that find it in the text of other raw errors, tried in the catalogue's order.
    """

    id: str
    group: Group
    effect: Effect
    detected: str
    what: str
    why: str = ""
    remedy: Mapping[str, str] = field(default_factory=dict)
    sticky: bool = False
    codes: tuple[int, ...] = ()
    signs: tuple[str, ...] = ()

    @property
    def templates(self) -> tuple[str, ...]:
        """Every template of it."""
        return (self.what, self.why, *self.remedy.values())
