"""Everything that can be done, by name: type a few letters, press enter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from gpu_explain.app.walkthrough.actions import ACTIONS
from gpu_explain.app.walkthrough.paint.text import put_row
from gpu_explain.app.walkthrough.panels.base import Answer, Close, Do, Go, page, scroll_mark, sheet
from gpu_explain.scenes.base import Scene
from gpu_explain.scenes.draw.canvas import Canvas
from gpu_explain.scenes.draw.ink import Ink


@dataclass(frozen=True)
class Command:
    """One line.

    Attributes:
        name: What is looked through.
        keys: The keys that do the same, empty for a scene.
        help: One sentence.
        answer: What it leads to.
        why_not: Why it cannot be had; empty when it can.
    """

    name: str
    keys: str
    help: str
    answer: Do | Go
    why_not: str = ""


@dataclass(frozen=True)
class Commands:
    """The command palette: the same list of actions as the keys and the help, and every scene.

    The terminal library has one too; it raises on keys that come before its list does, and knows nothing of
    terminals without colours or UTF-8.

    Attributes:
        all: Every command.
        typed: What was typed.
        at: Index of the chosen one among those that fit.
    """

    all: tuple[Command, ...]
    typed: str = ""
    at: int = 0

    @staticmethod
    def of(scenes: Sequence[Scene], why_not: dict[str, str]) -> Commands:
        """Every action that can be asked for by name, then every scene."""
        actions = [Command(a.label, a.shown, a.help, Do(a.id)) for a in ACTIONS if a.palette]
        places = [Command(f"{s.number} {s.title}", "", s.question, Go(s.id), why_not.get(s.id, "")) for s in scenes]
        return Commands((*actions, *places))

    @property
    def found(self) -> tuple[Command, ...]:
        """Those whose name holds every word that was typed."""
        words = self.typed.casefold().split()
        return tuple(c for c in self.all if all(word in c.name.casefold() for word in words))

    def paint(self, width: int, height: int) -> Canvas:
        """The list around the chosen line, under what was typed."""
        keys = [("a…z 0…9", "find"), ("↑↓", "choose"), ("enter", "do it"), ("Esc", "close")]
        canvas = sheet(width, height, f"Do: {self.typed}▏", "", keys)
        lines, found = height - 4, self.found
        column = max(len(c.name) for c in self.all) + 2
        top = min(max(self.at - lines // 2, 0), max(len(found) - lines, 0))
        for index, command in enumerate(found[top : top + lines], start=top):
            y, here = 2 + index - top, index == self.at
            if here:
                canvas.put(1, y, "▸", Ink.LOOK)
            ink = Ink.LOOK if here else Ink.FAINT if command.why_not else Ink.TEXT
            put_row(canvas, 3, y, ((command.name, ink),), width - 2)
            put_row(canvas, 3 + column, y, ((command.keys, Ink.STRONG),), width - 2)
            put_row(canvas, 3 + column + 7, y, ((command.why_not or command.help, Ink.DIM),), width - 2)
        if not found:
            canvas.put(3, 2, "Nothing here has such a name.", Ink.DIM)
        scroll_mark(canvas, width - 1, 2, lines, top, len(found))
        return canvas

    def key(self, key: str, width: int, height: int) -> Answer:
        """Type, choose, do or close."""
        if key in ("escape", "ctrl+p"):
            return Close()
        found = self.found
        if key == "enter":
            chosen = found[self.at] if found else None
            return chosen.answer if chosen and not chosen.why_not else self
        if key == "backspace":
            return replace(self, typed=self.typed[:-1], at=0)
        letter = " " if key == "space" else key
        if len(letter) == 1:
            return replace(self, typed=(self.typed + letter)[:40], at=0)
        at = page(key, self.at, len(found) - 1, height - 4)
        return self if at is None else replace(self, at=at)
