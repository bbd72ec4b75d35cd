"""The picture: the scene's own frame, or a panel that says why there is none yet."""

from __future__ import annotations

from gpu_explain.app.walkthrough.guard import Guarded
from gpu_explain.app.walkthrough.paint.text import EMPTY, Row, bar, length, paragraph, put_row
from gpu_explain.app.walkthrough.state import State
from gpu_explain.scenes.base import Problem
from gpu_explain.scenes.draw.canvas import Canvas
from gpu_explain.scenes.draw.ink import Ink


def picture(state: State, now: float, width: int, height: int, opening: str = "") -> Canvas:
    """The picture of a moment, always exactly ``width`` × ``height``.

    Args:
        state: What is being shown.
        now: Clock time.
        width: Of the picture, in cells.
        height: Of the picture, in cells.
        opening: What to say while there is neither a measurement nor a request.
    """
    m = state.drawable
    if m is None:
        return _panel(_waiting(state, now, opening, width), width, height)
    made = Guarded(state.scene).frame(m, state.view(now, width, height))
    if isinstance(made, Problem):
        return _panel(fault_rows(made, width - 8), width, height)
    if (made.width, made.height) == (width, height):
        return made
    canvas = Canvas(width, height)
    canvas.paste(made, 0, 0)
    return canvas


def fault_rows(problem: Problem, width: int) -> list[Row]:
    """A problem as rows: what, why, what to do."""
    rows = paragraph(problem.what, width, Ink.BAD, "✗ ", "  ")
    if problem.why:
        rows += [EMPTY, *paragraph(problem.why, width, Ink.TEXT, "  ", "  ")]
    if problem.remedy:
        rows += [EMPTY, *paragraph(problem.remedy, width, Ink.LOOK, "→ ", "  ")]
    return rows


def _waiting(state: State, now: float, opening: str, width: int) -> list[Row]:
    if state.waiting is not None:
        rows: list[Row] = [((f"{state.waiting.said(now)} …", Ink.STRONG),)]
        if state.waiting.share is not None:
            cells = min(30, width - 8)
            rows += [EMPTY, ((bar(state.waiting.share, cells), Ink.LOOK),)]
        return [*rows, EMPTY, (("The picture appears as soon as the launch has been recorded.", Ink.DIM),)]
    if state.shown is not None:
        missing = [part for part in state.now_step.needs if part not in state.shown.parts]
        return paragraph(f"This step needs what has not been measured: {', '.join(missing)}. r measures it.", width - 8)
    if opening:
        return paragraph(opening, width - 8, Ink.STRONG)
    return paragraph("Nothing has been measured yet. r runs the kernels.", width - 8)


def _panel(rows: list[Row], width: int, height: int) -> Canvas:
    """Rows as one block in the middle."""
    canvas = Canvas(width, height)
    widest = max((length(row) for row in rows), default=0)
    x, y = max((width - widest) // 2, 0), max((height - len(rows)) // 2, 0)
    for i, row in enumerate(rows):
        put_row(canvas, x, y + i, row)
    return canvas
