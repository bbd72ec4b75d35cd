"""Go to any scene or step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from gpu_explain.app.walkthrough.paint.text import put_row
from gpu_explain.app.walkthrough.panels.base import CLOSING, Answer, Close, Go, page, scroll_mark, sheet
from gpu_explain.scenes.base import Scene
from gpu_explain.scenes.chapters import CHAPTERS
from gpu_explain.scenes.draw.canvas import Canvas
from gpu_explain.scenes.draw.ink import Ink


@dataclass(frozen=True)
class Place:
    """One line of the index.

    Attributes:
        text: What it says.
        go: Where it leads; ``None`` for a chapter's title.
        depth: How far it is indented.
        why_not: Why it cannot be shown; empty when it can.
    """

    text: str
    go: Go | None
    depth: int
    why_not: str = ""


@dataclass(frozen=True)
class GoTo:
    """The index of all chapters, scenes and steps.

    Attributes:
        places: All lines.
        at: Index of the chosen line.
        typed: Digits of a scene's number typed so far.
    """

    places: tuple[Place, ...]
    at: int
    typed: str = ""

    @staticmethod
    def of(scenes: Sequence[Scene], why_not: dict[str, str], scene: str, step: int) -> GoTo:
        """The index, with the step being shown chosen."""
        places = [Place("Start: the GPU and all scenes", Go(""), 0)]
        at, chapter = 0, 0
        for one in scenes:
            if one.chapter != chapter:
                chapter = one.chapter
                places.append(Place(f"{chapter} {CHAPTERS.get(chapter, '')}".strip(), None, 0))
            no = why_not.get(one.id, "")
            places.append(Place(f"{one.number} {one.title}: {one.question}", Go(one.id, 0), 1, no))
            for index, each in enumerate(one.steps):
                if (one.id, index) == (scene, step):
                    at = len(places)
                places.append(Place(f"{one.number}.{index + 1}  {each.title}", Go(one.id, index), 2, no))
        return GoTo(tuple(places), at)

    def paint(self, width: int, height: int) -> Canvas:
        """The index around the chosen line."""
        keys = [("↑↓", "choose"), ("enter", "go there"), ("0…9", "scene by number"), ("Esc g", "close")]
        canvas = sheet(width, height, "Go to", f"scene {self.typed}" if self.typed else "", keys)
        lines = height - 4
        top = min(max(self.at - lines // 2, 0), max(len(self.places) - lines, 0))
        for y, place in enumerate(self.places[top : top + lines], start=2):
            here = place is self.places[self.at]
            if here:
                canvas.put(1, y, "▸", Ink.LOOK)
            plain = (Ink.DIM, Ink.TITLE, Ink.TEXT)[place.depth] if place.go else Ink.DIM
            ink = Ink.LOOK if here else Ink.FAINT if place.why_not else plain
            end = put_row(canvas, 3 + 3 * place.depth, y, ((place.text, ink),), width - 2)
            if place.why_not:
                put_row(canvas, end + 2, y, ((place.why_not, Ink.DIM),), width - 2)
        scroll_mark(canvas, width - 1, 2, lines, top, len(self.places))
        return canvas

    def key(self, key: str, width: int, height: int) -> Answer:
        """Choose, go or close."""
        if key in (*CLOSING, "g"):
            return Close()
        if key == "enter":
            place = self.places[self.at]
            return place.go if place.go and not place.why_not else self
        if key.isdigit():
            return self._digit(key)
        at = page(key, self.at, len(self.places) - 1, height - 4)
        if at is None:
            return self
        step = 1 if at >= self.at else -1
        while self.places[at].go is None and 0 < at < len(self.places) - 1:
            at += step
        return replace(self, at=at if self.places[at].go else self.at, typed="")

    def _digit(self, key: str) -> GoTo:
        """The scene whose number the digits are, or begin; digits that begin none begin anew."""
        numbers = [(i, p.text.partition(" ")[0]) for i, p in enumerate(self.places) if p.depth == 1]
        for typed in (self.typed + key, key):
            begun = [(number != typed, i) for i, number in numbers if number.startswith(typed)]
            if begun:
                return replace(self, at=min(begun)[1], typed=typed)
        return replace(self, typed="")
