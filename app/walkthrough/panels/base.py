"""What a dialog is, and the frame that every dialog stands in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from gpu_explain.app.walkthrough.paint.frame import put_keys
from gpu_explain.app.walkthrough.paint.text import clip
from gpu_explain.scenes.draw.canvas import Canvas
from gpu_explain.scenes.draw.ink import Ink


@dataclass(frozen=True)
class Close:
    """The dialog is done."""


@dataclass(frozen=True)
class Go:
    """Go somewhere.

    Attributes:
        scene: Id of the scene, or ``""`` for the start.
        step: Index of the step, or ``None`` to stay at the one last seen.
    """

    scene: str
    step: int | None = None


@dataclass(frozen=True)
class Do:
    """Do something on the screen below.

    Attributes:
        action: Id of the action.
    """

    action: str


class Panel(Protocol):
    """A dialog. It owns its keys: everything pressed while it is open goes to :meth:`key`."""

    def paint(self, width: int, height: int) -> Canvas:
        """The dialog on a screen of that size."""

    def key(self, key: str, width: int, height: int) -> Answer:
        """What a key leads to: the dialog in another state, or an end."""


Answer = Panel | Close | Do | Go

CLOSING = ("escape", "q")
"""Keys that close every dialog, beside the one that opened it."""


def sheet(width: int, height: int, title: str, right: str, keys: list[tuple[str, str]]) -> Canvas:
    """An empty dialog: title line, rule, body from line 2 to ``height - 3``, rule, keys."""
    canvas = Canvas(width, height)
    canvas.put(1, 0, clip(title, width - 2), Ink.STRONG)
    if right and len(title) + len(right) + 5 < width:
        canvas.right(width - 1, 0, right, Ink.DIM)
    canvas.fill(0, 1, width, 1, "─", Ink.FAINT)
    canvas.fill(0, height - 2, width, 1, "─", Ink.FAINT)
    put_keys(canvas, height - 1, keys)
    return canvas


def page(key: str, at: int, last: int, lines: int) -> int | None:
    """Where a scrolling key leads: first line shown, between 0 and ``last``; ``None`` for any other key."""
    steps = {
        "up": at - 1,
        "down": at + 1,
        "pageup": at - max(lines - 2, 1),
        "pagedown": at + max(lines - 2, 1),
        "space": at + max(lines - 2, 1),
        "home": 0,
        "end": last,
    }
    return min(max(steps[key], 0), max(last, 0)) if key in steps else None


def scroll_mark(canvas: Canvas, x: int, top: int, lines: int, at: int, total: int) -> None:
    """A thin scroll bar at column ``x``, when there is more than fits."""
    if total <= lines or lines <= 0:
        return
    size = max(1, lines * lines // total)
    start = (lines - size) * at // max(total - lines, 1)
    canvas.fill(x, top, 1, lines, "│", Ink.FAINT)
    canvas.fill(x, top + start, 1, size, "┃", Ink.DIM)
