"""The whole screen of a walk: header, words, divider, picture, notice and footer as tiles."""

from __future__ import annotations

from dataclasses import dataclass

from gpu_explain.app.walkthrough.paint.column import Column, column, pace_text, two_columns
from gpu_explain.app.walkthrough.paint.footer import footer
from gpu_explain.app.walkthrough.paint.frame import header, notice, too_small
from gpu_explain.app.walkthrough.paint.layout import SMALLEST, Layout, Room, divide
from gpu_explain.app.walkthrough.paint.picture import picture
from gpu_explain.app.walkthrough.paint.text import Row
from gpu_explain.app.walkthrough.paint.tile import Tile
from gpu_explain.app.walkthrough.state import Face, Offered, State
from gpu_explain.scenes.chapters import CHAPTERS
from gpu_explain.scenes.draw.canvas import Canvas
from gpu_explain.scenes.draw.ink import Ink


@dataclass(frozen=True)
class Stage:
    """What the screen knows beside the scene's state.

    Attributes:
        scene: Id of the scene.
        label: The source's label.
        opening: What to say while there is no GPU yet.
        offered: Whether the source offers a set of choices for this scene.
        presenting: Whether ``Esc`` stays in the scene.
    """

    scene: str
    label: str
    opening: str
    offered: Offered
    presenting: bool = False


def layout_of(state: State, width: int, height: int) -> Layout:
    """How the screen is divided: a notice takes its lines from the body."""
    lines = notice(state.problem, width).height if state.problem is not None else 0
    return divide(width, height, lines)


def still_tiles(state: State, stage: Stage, now: float, width: int, height: int) -> tuple[tuple[Tile, ...], int]:
    """Everything but the picture, and how many rows of words are hidden. Changes with the state and whole seconds."""
    layout = layout_of(state, width, height)
    if layout.room is Room.NONE:
        return (Tile(0, 0, too_small(width, height, SMALLEST)),), 0
    split = layout.room is Room.BOTH or state.face is Face.WORDS
    progress = (state.step + 1, len(state.scene.steps))
    cross = layout.left if split else -1
    tiles = [Tile(0, 0, header(width, stage.label, _trail_of(state), progress, cross))]
    words: Column | None = None
    if layout.room is Room.BOTH:
        words = column(state, stage.offered, layout.left, layout.body)
        divider = Canvas(1, layout.body)
        divider.fill(0, 0, 1, layout.body, "│", Ink.FAINT)
        _join(divider, words.canvas)
        tiles += [Tile(0, layout.top, words.canvas), Tile(layout.left, layout.top, divider)]
    elif state.face is Face.WORDS:
        words = two_columns(state, stage.offered, layout.left, width, layout.body)
        tiles.append(Tile(0, layout.top, words.canvas))
    if state.problem is not None:
        tiles.append(Tile(0, layout.bottom, notice(state.problem, width, cross)))
    pace = _pace_row(state, layout)
    tiles.append(Tile(0, height - 2, footer(state, layout, stage.offered, now, pace, stage.presenting)))
    return tuple(tiles), words.hidden if words else 0


def _join(divider: Canvas, words: Canvas) -> None:
    """Where a rule of the words meets the divider, make it a join."""
    for y in range(divider.height):
        if words.width and words.glyph(words.width - 1, y) == "─":
            divider.put(0, y, "┤", Ink.FAINT)


def _pace_row(state: State, layout: Layout) -> Row:
    """On a small screen that shows the picture, the pace stands in the footer's rule."""
    said = pace_text(state.pace, state.play.speed)
    if layout.room is not Room.TURNS or state.face is Face.WORDS or said is None or not state.motion:
        return ()
    return ((f"{said[0]} {said[1]}", Ink.DIM),)


def picture_tile(state: State, stage: Stage, now: float, width: int, height: int) -> Tile | None:
    """The picture's tile, or ``None`` where the words have the screen."""
    layout = layout_of(state, width, height)
    if layout.room is Room.NONE or (layout.room is Room.TURNS and state.face is Face.WORDS):
        return None
    x, wide, high = layout.picture
    return Tile(x, layout.top, picture(state, now, wide, high, stage.opening))


def _trail_of(state: State) -> tuple[str, ...]:
    """Chapter and scene as the header names them."""
    scene = state.scene
    chapter = CHAPTERS.get(scene.chapter)
    return (*((f"{scene.chapter} {chapter}",) if chapter else ()), f"{scene.number} {scene.title}")
