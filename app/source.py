"""Where measurements come from: the one interface that everything above asks, live or recorded alike."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from gpu_explain.scenes.base import Device, Neighbour, Problem, Scene
from gpu_explain.scenes.base.protocol import Reply


@dataclass(frozen=True)
class Lost:
    """The worker is gone: it died, hung, or was ended because nobody asked for a long time.

    Attributes:
        problem: What happened, in words; ``idle`` is the id of the harmless one.
        restarting: Whether a new worker is being started now and the open request asked again. When false,
            nothing was being measured, and the next request starts a new worker.
    """

    problem: Problem
    restarting: bool


Event = Reply | Lost
Listener = Callable[[Event], None]
"""Called with every event. A live source calls it from threads of its own, never from the asking one; a
recording calls it inside :meth:`Source.start` and :meth:`Source.ask`."""


class Source(Protocol):
    """A GPU at work, or a recording of one.

    Every request ends in exactly one ``Measured`` with ``complete`` true or one ``Failed``, unless a newer
    request took its place: only the latest is answered.
    """

    @property
    def live(self) -> bool:
        """Whether launches happen now."""

    @property
    def label(self) -> str:
        """For the title bar: ``LIVE · NVIDIA H200`` or ``RECORDED · NVIDIA H200 · 2026-11-29``."""

    @property
    def device(self) -> Device | None:
        """The GPU; ``None`` until the worker is ready."""

    @property
    def versions(self) -> Mapping[str, str]:
        """Versions of what runs (or ran) there; empty until the worker is ready."""

    @property
    def neighbours(self) -> tuple[Neighbour, ...]:
        """Other work seen on the GPU when the worker opened it."""

    def listen(self, listener: Listener) -> None:
        """Have events sent there (one listener, the last one set)."""

    def start(self) -> None:
        """Begin opening; returns at once. ``Ready`` or ``Failed`` with id 0 follows."""

    def offered(self, scene: Scene, chosen: Mapping[str, str]) -> bool:
        """Whether that combination can be shown: live all of them, of a recording those that it holds."""

    def can_show(self, scene: Scene) -> str:
        """Empty when the scene can be shown, else why not, as a sentence fragment."""

    def ask(self, scene: Scene, chosen: Mapping[str, str], *, again: bool = False) -> int:
        """Ask for a measurement; returns the request's id.

        ``chosen`` may leave out parameters, which then take their defaults. ``again`` measures anew even
        what is still known.
        """

    def cancel(self) -> None:
        """Give up the open request; it is answered by ``Failed`` with problem id ``cancelled``."""

    def close(self) -> None:
        """End the worker and release everything. May be called twice."""
