"""What stands around every screen: the header, a line of keys, a notice, and the sentence for too small a screen."""

from __future__ import annotations

from collections.abc import Collection

from gpu_explain.app.walkthrough.paint.text import Row, bar, clip, length, paragraph, put_row, put_rows
from gpu_explain.scenes.base import Problem
from gpu_explain.scenes.draw.canvas import Canvas
from gpu_explain.scenes.draw.ink import Ink


def label_row(label: str) -> Row:
    """The source's label with its first word in the ink of what it says: ``LIVE`` or ``RECORDED``."""
    word, _, rest = label.partition(" ")
    return ((word, Ink.GOOD if word == "LIVE" else Ink.WARN), (f" {rest}" if rest else "", Ink.DIM))


def header(
    width: int, label: str, trail: tuple[str, ...], progress: tuple[int, int] | None = None, cross: int = -1
) -> Canvas:
    """Two lines: product, trail, progress and the source's label; then a rule.

    The label is always whole; what has to give way first is the product's name, then the chapter.

    Args:
        width: Cells.
        label: The source's label.
        trail: Chapter and scene, outermost first.
        progress: Step (from 1) and number of steps.
        cross: Column where the divider meets the rule, -1 for none.
    """
    canvas = Canvas(width, 2)
    canvas.fill(0, 1, width, 1, "─", Ink.FAINT)
    if 0 <= cross < width:
        canvas.put(cross, 1, "┬", Ink.FAINT)
    where = label_row(label)
    right = width - 1 - length(where)
    put_row(canvas, max(right, 1), 0, where)
    steps: Row = ()
    if progress:
        done, all_ = progress
        cells = "▰" * done + "▱" * (all_ - done) if all_ <= 12 else bar(done / all_, 12)
        full = len(cells.rstrip("▱"))
        steps = ((cells[:full], Ink.LOOK), (cells[full:], Ink.FAINT), (f"  {done}/{all_}", Ink.TEXT))
    room = right - 3 - (length(steps) + 3 if steps else 0)
    row = _trail(trail, room)
    put_row(canvas, 1, 0, row, max(room + 1, 1))
    if steps:
        # In the middle when there is room for it, so that it stands still from scene to scene.
        middle = (width - length(steps)) // 2
        put_row(canvas, min(max(middle, length(row) + 4), right - 3 - length(steps)), 0, steps)
    return canvas


def _trail(trail: tuple[str, ...], room: int) -> Row:
    name: Row = (("gpu-explain", Ink.STRONG),)
    if not trail:
        return name
    outer = "".join(f"{part} › " for part in trail[:-1])
    inner: Row = ((trail[-1], Ink.TITLE),)
    for row in ((*name, ("   ", Ink.DIM), (outer, Ink.DIM), *inner), ((outer, Ink.DIM), *inner), inner):
        if length(row) <= room:
            return row
    return ((clip(trail[-1], max(room, 0)), Ink.TITLE),)


def put_keys(canvas: Canvas, y: int, pairs: list[tuple[str, str]], always: Collection[str] = ()) -> None:
    """Keys and what they do, as many as fit; room is kept for the keys in ``always``, the others give way."""
    x = 1
    kept = sum(len(key) + len(word) + 3 for key, word in pairs if key in always)
    for key, word in pairs:
        cells = len(key) + 1 + len(word)
        if key in always:
            kept -= cells + 2
        if x + cells + kept > canvas.width - 1:
            continue
        x = canvas.put(x, y, key, Ink.STRONG) + 1
        x = canvas.put(x, y, word, Ink.DIM) + 2


def notice(problem: Problem, width: int, cross: int = -1) -> Canvas:
    """A fault in words: what, why, what to do, and how to see more. A rule, in which the divider ends at ``cross``."""
    rows: list[Row] = paragraph(_stop(problem.what), width - 4, Ink.BAD, "✗ ", "  ")
    if problem.why:
        rows += paragraph(_stop(problem.why), width - 4, Ink.TEXT, "  ", "  ")
    rows = rows[:4]
    if problem.remedy:
        rows += paragraph(_stop(problem.remedy), width - 4, Ink.LOOK, "→ ", "  ")[:2]
    canvas = Canvas(width, len(rows) + 1)
    canvas.fill(0, 0, width, 1, "─", Ink.FAINT)
    if cross >= 0:
        canvas.put(cross, 0, "┴", Ink.FAINT)
    canvas.right(width - 2, 0, " i details · Esc closes ", Ink.DIM)
    put_rows(canvas, 2, 1, rows)
    return canvas


def _stop(text: str) -> str:
    text = text.strip()
    return text if text.endswith((".", "?", "!")) else f"{text}."


def too_small(width: int, height: int, least: tuple[int, int], way_out: str = "q quits.") -> Canvas:
    """A screen on which nothing can be shown: as many words as fit, and the way out before all others."""
    canvas = Canvas(width, height)
    x = 1 if width > len(way_out) + 1 else 0
    needs = f"gpu-explain needs at least {least[0]} × {least[1]} characters"
    sayings = (
        f"{needs}; this terminal has {width} × {height}. Make the window larger or the font smaller. {way_out}",
        f"{needs}. {way_out}",
        f"Needs {least[0]} × {least[1]}. {way_out}",
        way_out,
    )
    tried = [paragraph(said, max(width - 2 * x, 1)) for said in sayings]
    rows = next((rows for rows in tried if len(rows) <= height), tried[-1])
    put_rows(canvas, x, max((height - len(rows)) // 2, 0), rows)
    return canvas
