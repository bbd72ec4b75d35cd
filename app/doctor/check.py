"""What doctor finds: one :class:`Check` for each thing that it looks at."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from gpu_explain.app.exits import Exit
from gpu_explain.scenes.base import Problem
from gpu_explain.scenes.base.conditions import Effect, Group, Platform, condition


class State(StrEnum):
    """What became of a check."""

    FOUND = "found"
    """It is there and as it should be."""
    NOT_FOUND = "not found"
    """It is not there, or not as it should be: see the problem."""
    NOT_APPLICABLE = "not applicable"
    """It makes no difference on this machine."""
    UNKNOWN = "could not check"
    """It could not be found out."""


@dataclass(frozen=True)
class Check:
    """One thing that was looked at.

    Attributes:
        id: Stable id.
        group: What it belongs to.
        state: What became of it.
        text: What is there, in a few words.
        evidence: How we know: paths, versions, variables, error codes.
        problem: What is wrong, in the words of the catalogue.
        fatal: Whether live mode will not work because of it, whatever its problem means elsewhere: a kernel that was
            tried and failed.
    """

    id: str
    group: Group
    state: State
    text: str
    evidence: tuple[str, ...] = ()
    problem: Problem | None = None
    fatal: bool = False

    @property
    def effect(self) -> Effect | None:
        """What its problem means for live mode; ``None`` without one."""
        return condition(self.problem.id).effect if self.problem else None

    @property
    def stops(self) -> bool:
        """Whether live mode will not work because of it."""
        return self.fatal or self.effect in {Effect.STOPS, Effect.NO_GPU}

    def spared(self, why: str) -> Check:
        """The same on a machine where it makes no difference."""
        if self.problem is None:
            return replace(self, state=State.NOT_APPLICABLE) if self.state is State.UNKNOWN else self
        what = self.problem.what
        return replace(self, state=State.NOT_APPLICABLE, text=f"{what[0].lower()}{what[1:]}: {why}", problem=None)


def found(id: str, group: Group, text: str, *evidence: str) -> Check:
    """Something that is there and as it should be."""
    return Check(id, group, State.FOUND, text, evidence)


def wrong(id: str, group: Group, problem: Problem, *evidence: str) -> Check:
    """Something that is not there, or not as it should be."""
    return Check(id, group, State.NOT_FOUND, problem.what, evidence, problem)


def beside(id: str, group: Group, text: str, *evidence: str) -> Check:
    """Something that makes no difference here."""
    return Check(id, group, State.NOT_APPLICABLE, text, evidence)


def unknown(id: str, group: Group, text: str, *evidence: str, problem: Problem | None = None) -> Check:
    """Something that could not be found out."""
    return Check(id, group, State.UNKNOWN, text, evidence, problem)


@dataclass(frozen=True)
class Examination:
    """All that doctor found.

    Attributes:
        checks: In the order of the table.
        gpu_here: Whether there is an NVIDIA GPU, usable or not.
        seconds: How long it took.
        deep: Whether kernels were launched.
        platform: The machine, as remedies see it.
        gpus: Name, compute capability and memory of each GPU that CUDA counts.
    """

    checks: tuple[Check, ...]
    gpu_here: bool
    seconds: float
    platform: Platform
    deep: bool = False
    gpus: tuple[tuple[str, str, int], ...] = ()

    @property
    def exit(self) -> Exit:
        """What the shell is told."""
        if not self.gpu_here:
            return Exit.NO_GPU
        return Exit.FAILED if any(check.stops for check in self.checks) else Exit.OK

    @property
    def verdict(self) -> str:
        """What it comes to, in a sentence or two."""
        if self.exit is Exit.NO_GPU:
            return "There is no GPU to go live with. The recording plays: gpu-explain --replay"
        if self.exit is Exit.FAILED:
            return "Live mode will not work until the ✗ is mended. Replay works: gpu-explain --replay"
        if self.deep:
            return "Live mode works: kernels were compiled, launched and checked."
        return "Live mode should work; --deep compiles and launches kernels to be sure."
