"""The source panel: the files that ran, as they were when they ran, at the lines the step is about."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache

from gpu_explain.app.walkthrough.paint.text import paragraph, put_row, put_rows
from gpu_explain.app.walkthrough.panels.base import CLOSING, Answer, Close, page, scroll_mark, sheet
from gpu_explain.app.walkthrough.state import State
from gpu_explain.scenes.base import SourceText
from gpu_explain.scenes.draw.canvas import Canvas
from gpu_explain.scenes.draw.ink import Ink

Line = tuple[tuple[str, Ink], ...]


@dataclass(frozen=True)
class Code:
    """The source panel.

    Attributes:
        sources: The files of the measurement on the screen.
        focus: Names of the line ranges that the step is about.
        file: Index of the file being shown.
        top: First line shown, from 0; ``None`` until someone scrolls: then the focus is in view.
        across: First column shown.
    """

    sources: tuple[SourceText, ...]
    focus: tuple[str, ...]
    file: int = 0
    top: int | None = None
    across: int = 0

    @staticmethod
    def of(state: State) -> Code:
        """The sources of the measurement on the screen, first the one that has a range the step names."""
        sources = state.shown.sources if state.shown else ()
        focus = state.now_step.focus
        first = (i for i, source in enumerate(sources) if any(name in source.focus for name in focus))
        return Code(sources, focus, next(first, 0))

    def paint(self, width: int, height: int) -> Canvas:
        """The file with line numbers; the focus is lit, the rest is dimmed."""
        keys = [("↑↓ PgUp PgDn", "scroll"), ("← →", "across"), ("Esc s", "close")]
        if not self.sources:
            canvas = sheet(width, height, "Source", "", keys[-1:])
            put_rows(canvas, 3, 3, paragraph("No source came with this measurement.", width - 6))
            return canvas
        source = self.sources[self.file]
        if len(self.sources) > 1:
            keys.insert(0, ("⇥", "next file"))
        lines = height - 4
        tabs = f"file {self.file + 1} of {len(self.sources)} · {source.language} · as it ran"
        canvas = sheet(width, height, source.path, tabs, keys)
        text = highlighted(source.text, source.language)
        lit = self._lit(source)
        top = self._top(lines)
        digits = len(str(len(text)))
        for y, number in enumerate(range(top, min(top + lines, len(text))), start=2):
            on = number + 1 in lit
            canvas.put(1, y, f"{number + 1:>{digits}}", Ink.STRONG if on else Ink.FAINT)
            canvas.put(digits + 2, y, "▌" if on else " ", Ink.LOOK)
            spans = _from_column(text[number], self.across)
            if lit and not on:
                spans = tuple((piece, Ink.DIM) for piece, _ in spans)
            put_row(canvas, digits + 4, y, spans, width - 2)
        scroll_mark(canvas, width - 1, 2, lines, top, len(text))
        return canvas

    def key(self, key: str, width: int, height: int) -> Answer:
        """Scroll, another file, or close."""
        if key in (*CLOSING, "s", "enter"):
            return Close()
        if not self.sources:
            return self
        if key in ("tab", "shift+tab"):
            by = 1 if key == "tab" else -1
            return replace(self, file=(self.file + by) % len(self.sources), top=None, across=0)
        if key in ("right", "left"):
            return replace(self, across=max(self.across + (8 if key == "right" else -8), 0))
        lines = height - 4
        total = len(self.sources[self.file].text.splitlines())
        top = page(key, self._top(lines), total - lines, lines)
        return self if top is None else replace(self, top=top)

    def _lit(self, source: SourceText) -> frozenset[int]:
        ranges = [source.focus[name] for name in self.focus if name in source.focus]
        return frozenset(n for first, last in ranges for n in range(first, last + 1))

    def _top(self, lines: int) -> int:
        source = self.sources[self.file]
        last = max(len(source.text.splitlines()) - lines, 0)
        if self.top is not None:
            return min(self.top, last)
        lit = self._lit(source)
        # A few lines above the focus, so that it is met and not collided with.
        return min(max(min(lit) - 1 - max(lines // 6, 1), 0), last) if lit else 0


def _from_column(line: Line, column: int) -> Line:
    spans = []
    for text, ink in line:
        if column >= len(text):
            column -= len(text)
            continue
        spans.append((text[column:], ink))
        column = 0
    return tuple(spans)


@lru_cache(maxsize=16)
def highlighted(text: str, language: str) -> tuple[Line, ...]:
    """A file as inked lines. Only the lexer looks at the text: nothing in it is markup, whatever it holds."""
    plain = text.expandtabs(4)
    lines: list[list[tuple[str, Ink]]] = [[]]
    for piece, ink in _tokens(plain, language):
        first, *others = piece.split("\n")
        lines[-1].append((first, ink))
        lines += [[(other, ink)] for other in others]
    wanted = len(plain.splitlines())
    return tuple(tuple((t, i) for t, i in line if t) for line in lines[:wanted])


def _tokens(text: str, language: str) -> Iterable[tuple[str, Ink]]:
    """Pieces of a text and their inks; all plain when the language is not known."""
    try:
        from pygments.lexers import get_lexer_by_name
        from pygments.token import Comment, Keyword, Name, String, _TokenType
        from pygments.util import ClassNotFound
    except ImportError:
        return [(text, Ink.CODE)]
    names = {"triton": "python", "cuda": "cuda", "c++": "cpp"}
    try:
        lexer = get_lexer_by_name(names.get(language.lower(), language.lower()), stripnl=False, ensurenl=False)
    except ClassNotFound:
        return [(text, Ink.CODE)]
    inks: dict[_TokenType, Ink] = {
        Comment: Ink.CODE_COMMENT,
        String.Doc: Ink.CODE_COMMENT,
        Keyword: Ink.CODE_KEYWORD,
        Name.Decorator: Ink.CODE_KEYWORD,
        Name.Builtin.Pseudo: Ink.CODE_KEYWORD,
    }

    def ink(kind: _TokenType) -> Ink:
        """The ink of a token, or of the nearest kind above it that has one."""
        return inks[kind] if kind in inks else ink(kind.parent) if kind.parent else Ink.CODE

    return [(piece, ink(kind)) for kind, piece in lexer.get_tokens(text)]
