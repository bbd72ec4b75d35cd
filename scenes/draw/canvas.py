"""A grid of cells: one glyph and one ink each. Everything a scene shows ends up here."""

from __future__ import annotations

from collections.abc import Iterator

from gpu_explain.scenes.draw.ink import Ink


class Canvas:
    """``width`` × ``height`` cells. Drawing outside is cut off silently: a picture may be scrolled or narrow.

    Glyphs are single-cell characters; wide ones (CJK, emoji) are refused by :meth:`put` since one would
    push the rest of its row aside.
    """

    __slots__ = ("_glyphs", "_inks", "height", "width")

    def __init__(self, width: int, height: int) -> None:
        """An empty canvas. Raises ``ValueError`` for a negative size."""
        if width < 0 or height < 0:
            raise ValueError(f"a canvas of {width} × {height} cells")
        self.width, self.height = width, height
        self._glyphs: list[list[str]] = [[" "] * width for _ in range(height)]
        self._inks: list[list[Ink]] = [[Ink.TEXT] * width for _ in range(height)]

    def put(self, x: int, y: int, text: str, ink: Ink = Ink.TEXT) -> int:
        """Write ``text`` from ``(x, y)`` to the right; returns the column after it (also when cut off)."""
        end = x + len(text)
        if 0 <= y < self.height and end > 0 and x < self.width:
            if x < 0:
                text, x = text[-x:], 0
            text = text[: self.width - x]
            self._glyphs[y][x : x + len(text)] = text
            self._inks[y][x : x + len(text)] = [ink] * len(text)
        return end

    def right(self, end: int, y: int, text: str, ink: Ink = Ink.TEXT) -> int:
        """Write ``text`` so that it ends before column ``end``; returns its first column."""
        start = end - len(text)
        self.put(start, y, text, ink)
        return start

    def centre(self, left: int, width: int, y: int, text: str, ink: Ink = Ink.TEXT) -> None:
        """Write ``text`` in the middle of ``width`` cells from ``left``."""
        self.put(left + max(0, (width - len(text)) // 2), y, text, ink)

    def fill(self, x: int, y: int, width: int, height: int = 1, glyph: str = " ", ink: Ink = Ink.TEXT) -> None:
        """Fill a rectangle with one glyph."""
        for row in range(y, y + height):
            self.put(x, row, glyph * max(width, 0), ink)

    def paste(self, other: Canvas, x: int, y: int) -> None:
        """Copy another canvas onto this one, its upper left corner at ``(x, y)``."""
        for row in range(other.height):
            for run, ink, column in other.runs(row):
                self.put(x + column, y + row, run, ink)

    def glyph(self, x: int, y: int) -> str:
        """The glyph of a cell."""
        return self._glyphs[y][x]

    def ink(self, x: int, y: int) -> Ink:
        """The ink of a cell."""
        return self._inks[y][x]

    def key(self, y: int) -> tuple[str, tuple[Ink, ...]]:
        """A row's content as something hashable: equal keys look equal."""
        return "".join(self._glyphs[y]), tuple(self._inks[y])

    def runs(self, y: int) -> Iterator[tuple[str, Ink, int]]:
        """A row as runs of one ink: ``(text, ink, first column)``."""
        glyphs, inks = self._glyphs[y], self._inks[y]
        start = 0
        for x in range(1, self.width + 1):
            if x == self.width or inks[x] != inks[start]:
                yield "".join(glyphs[start:x]), inks[start], start
                start = x

    def rows(self) -> tuple[str, ...]:
        """The text of all rows, as goldens and tests read it."""
        return tuple("".join(row) for row in self._glyphs)

    def __str__(self) -> str:
        """The text, trailing spaces removed."""
        return "\n".join(row.rstrip() for row in self.rows())
