"""Dialogs that are read from top to bottom: the help and the speaker's notes."""

from __future__ import annotations

from dataclasses import dataclass, replace

from gpu_explain.app.walkthrough.actions import ACTIONS
from gpu_explain.app.walkthrough.paint.text import EMPTY, KIND_INKS, Row, paragraph, put_rows
from gpu_explain.app.walkthrough.panels.base import CLOSING, Answer, Close, page, scroll_mark, sheet
from gpu_explain.app.walkthrough.state import State
from gpu_explain.scenes.base import Kind
from gpu_explain.scenes.draw.canvas import Canvas
from gpu_explain.scenes.draw.ink import Ink


@dataclass(frozen=True)
class Help:
    """Every key, and what the glyphs mean.

    Attributes:
        top: First line shown.
    """

    top: int = 0

    def paint(self, width: int, height: int) -> Canvas:
        """The help."""
        return _paged("Keys", "gpu-explain", self._rows(min(width - 4, 92)), self.top, width, height, "?")

    def key(self, key: str, width: int, height: int) -> Answer:
        """Scroll or close."""
        if key in (*CLOSING, "question_mark", "enter"):
            return Close()
        lines = height - 4
        top = page(key, self.top, len(self._rows(min(width - 4, 92))) - lines, lines)
        return self if top is None else replace(self, top=top)

    def _rows(self, width: int) -> list[Row]:
        rows: list[Row] = []
        group = ""
        for action in ACTIONS:
            keys = action.shown if action.in_help is None else action.in_help
            if not keys:
                continue
            if action.group != group:
                group = action.group
                rows += [EMPTY] if rows else []
                rows.append(((group.upper(), Ink.DIM),))
            said = paragraph(action.help, width, Ink.TEXT, f"  {keys:<11}", " " * 13, Ink.STRONG)
            rows += said
        rows += [EMPTY, (("WHAT THE GLYPHS SAY", Ink.DIM),)]
        for kind, text in GLYPHS.items():
            rows += paragraph(text, width, Ink.TEXT, f"  {kind.glyph:<11}", " " * 13, KIND_INKS[kind])
        for marks, text in CHOICES.items():
            rows += paragraph(text, width, Ink.TEXT, f"  {marks:<11}", " " * 13, Ink.STRONG)
        return rows


GLYPHS = {
    Kind.MEASURED: "Measured in the run shown, or arithmetic on measured times with counted bytes.",
    Kind.COMPUTED: "Computed from sizes and limits.",
    Kind.REPORTED: "Reported by the driver.",
    Kind.PUBLISHED: "Published elsewhere; the source is named.",
}
"""What each kind of number is, in one sentence."""


CHOICES = {
    "‹ ›": "The choice of a parameter that is shown.",
    "( )": "A choice that cannot be had beside the others: this recording does not hold it, or this GPU cannot do it.",
}
"""What the marks around a parameter's choices mean, in one sentence."""


@dataclass(frozen=True)
class Notes:
    """The speaker's notes of a step.

    Attributes:
        title: Scene and step.
        text: The notes.
        top: First line shown.
    """

    title: str
    text: str
    top: int = 0

    @staticmethod
    def of(state: State) -> Notes:
        """The notes of the step being shown."""
        step = state.now_step
        title = f"{state.scene.title}, step {state.step + 1}: {step.title}"
        return Notes(title, step.notes or "There are no notes for this step.")

    def paint(self, width: int, height: int) -> Canvas:
        """The notes."""
        return _paged(self.title, "speaker notes", self._rows(width), self.top, width, height, "n")

    def key(self, key: str, width: int, height: int) -> Answer:
        """Scroll or close."""
        if key in (*CLOSING, "n", "enter"):
            return Close()
        lines = height - 4
        top = page(key, self.top, len(self._rows(width)) - lines, lines)
        return self if top is None else replace(self, top=top)

    def _rows(self, width: int) -> list[Row]:
        return [EMPTY, *paragraph(self.text, min(width - 6, 76))]


def _paged(title: str, right: str, rows: list[Row], top: int, width: int, height: int, key: str) -> Canvas:
    lines = height - 4
    scrolls = len(rows) > lines
    keys = ([("↑↓", "scroll")] if scrolls else []) + [(f"Esc {key}", "close")]
    canvas = sheet(width, height, title, right, keys)
    top = min(top, max(len(rows) - lines, 0))
    put_rows(canvas, 3, 2, rows[top : top + lines])
    scroll_mark(canvas, width - 1, 2, lines, top, len(rows))
    return canvas
