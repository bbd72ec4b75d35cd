"""Places on a canvas, and the frame every picture has: a title that says what it shows, and where it is from."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from gpu_explain.scenes.draw.canvas import Canvas
from gpu_explain.scenes.draw.ink import Ink


@dataclass(frozen=True)
class Box:
    """A rectangle of cells; ``x`` and ``y`` are its upper left corner."""

    x: int
    y: int
    width: int
    height: int

    @property
    def right(self) -> int:
        """First column to the right of the box."""
        return self.x + self.width

    @property
    def bottom(self) -> int:
        """First row below the box."""
        return self.y + self.height

    def inside(self, left: int = 0, top: int = 0, right: int = 0, bottom: int = 0) -> Box:
        """The box less margins, never smaller than nothing."""
        return Box(
            self.x + left,
            self.y + top,
            max(0, self.width - left - right),
            max(0, self.height - top - bottom),
        )

    def stack(self, heights: Sequence[int]) -> tuple[Box, ...]:
        """Boxes of these heights from the top down; the last is cut where the room ends."""
        boxes, y = [], self.y
        for height in heights:
            room = max(0, min(height, self.bottom - y))
            boxes.append(Box(self.x, y, self.width, room))
            y += height
        return tuple(boxes)


def titled(canvas: Canvas, box: Box, title: str, origin: str = "", *, rule: bool = False) -> Box:
    """Write a picture's title and, at its right, where it comes from; returns the room below.

    With ``rule`` a line is drawn above, to part the picture from the one before. The origin is left out
    where it would run into the title.
    """
    if rule and box.height:
        canvas.fill(box.x, box.y, box.width, 1, "─", Ink.FAINT)
        box = box.inside(top=1)
    if box.height <= 0:
        return box
    canvas.put(box.x + 1, box.y, title[: max(0, box.width - 2)], Ink.TITLE)
    if origin and len(title) + len(origin) + 5 <= box.width:
        canvas.right(box.right - 1, box.y, origin, Ink.DIM)
    return box.inside(left=1, top=1, right=1)


_BELONGS = re.compile(r"(?<=\d) (?=(?:\d{3}|[×%○●□◇]|[nµm]?s|[KMG]|[KMG]?B(?:/s)?|MHz)(?![\w/]))")
"""The space between a number and its unit, and between the thousands of a number."""
_KEPT = "\ue000"
_SPACE = re.compile(r"[ \t\n]+")


def wrap(text: str, width: int) -> list[str]:
    """Break text at spaces into lines of at most ``width`` cells; words too long are cut.

    A number is not parted from its unit, nor its thousands from each other, nor words with a no-break space between
    them, where a line holds them.
    """
    lines: list[str] = []
    line = ""
    kept = _BELONGS.sub(_KEPT, " ".join(_SPACE.split(text.strip(" \t\n"))))
    words = [part.replace(_KEPT, " ") for word in kept.split(" ") for part in _pieces(word, width)]
    for word in words:
        if line and len(line) + 1 + len(word) > width:
            lines.append(line)
            line = word
        else:
            line = f"{line} {word}" if line else word
    return [*lines, line] if line else lines


def _pieces(word: str, width: int) -> list[str]:
    """A word as pieces that fit into a line."""
    return [word[at : at + width] for at in range(0, len(word), width)] if width > 0 else [word]


def paragraph(canvas: Canvas, box: Box, text: str, ink: Ink = Ink.TEXT) -> int:
    """Write wrapped text into a box; returns the first free row. Text that does not fit ends with ``…``."""
    lines = wrap(text, box.width)
    shown = lines[: box.height]
    if len(shown) < len(lines) and shown:
        shown[-1] = shown[-1][: box.width - 2].rstrip() + " …"
    for row, line in enumerate(shown):
        canvas.put(box.x, box.y + row, line, ink)
    return box.y + min(len(lines), box.height)


def legend(canvas: Canvas, x: int, y: int, entries: Sequence[tuple[str, Ink, str]], end: int) -> int:
    """Write ``glyph meaning`` pairs in a row, as many as fit before column ``end``; returns the next column."""
    for glyph, ink, meaning in entries:
        if x + len(glyph) + 1 + len(meaning) > end:
            break
        canvas.put(x, y, glyph, ink)
        x = canvas.put(x + len(glyph) + 1, y, meaning, Ink.DIM) + 3
    return x
