"""The footer of a walk: what is being measured, what a parameter does, and the keys that matter here."""

from __future__ import annotations

from gpu_explain.app.walkthrough.actions import ALWAYS_SHOWN, footer_actions
from gpu_explain.app.walkthrough.paint.frame import put_keys
from gpu_explain.app.walkthrough.paint.layout import Layout, Room
from gpu_explain.app.walkthrough.paint.text import Row, bar, clip, length, put_row
from gpu_explain.app.walkthrough.state import Face, Focus, Offered, State
from gpu_explain.scenes.draw.canvas import Canvas
from gpu_explain.scenes.draw.ink import Ink

_WORTH_SAYING = 12
"""Cells below which the beginning of a parameter's help says nothing."""


def footer(
    state: State, layout: Layout, offered: Offered, now: float, pace: Row = (), presenting: bool = False
) -> Canvas:
    """Two lines: a rule that holds what is being measured, and the keys.

    ``presenting`` says that ``Esc`` does not lead to the start.
    """
    width = layout.width
    canvas = Canvas(width, 2)
    canvas.fill(0, 0, width, 1, "─", Ink.FAINT)
    split = layout.room is Room.BOTH or (layout.room is Room.TURNS and state.face is Face.WORDS)
    if split and state.problem is None:
        canvas.put(layout.left, 0, "┴", Ink.FAINT)
    said = status(state, offered, now, width - 5)
    if said:
        put_row(canvas, 2, 0, ((" ", Ink.TEXT), *said, (" ", Ink.TEXT)), width - 1)
    elif pace:
        put_row(canvas, width - 3 - length(pace), 0, ((" ", Ink.TEXT), *pace, (" ", Ink.TEXT)))
    keys(canvas, 1, state, layout, presenting)
    return canvas


def status(state: State, offered: Offered, now: float, width: int) -> Row:
    """What is being measured and how to stop it, what the last key had to say, or what the parameter does.

    Why a choice is greyed is said whole; the parameter's help gives way to it.
    """
    if state.waiting is not None:
        row: Row = ((state.waiting.said(now), Ink.LOOK),)
        if state.waiting.share is not None:
            row += ((f"  {bar(state.waiting.share, 10)} {state.waiting.share * 100:.0f} %", Ink.LOOK),)
        row += ((" · Esc cancels", Ink.DIM),)
        return (*row, (" · shown: the previous choice", Ink.WARN)) if state.previous else row
    if state.remark:
        return ((state.remark, Ink.WARN),)
    parameter = state.parameter if state.focus is Focus.PARAMETERS else None
    if parameter is None:
        return ()
    if not state.greyed(parameter, offered):
        return ((clip(parameter.help, width), Ink.DIM),) if parameter.help else ()
    why = "( ) this GPU cannot do" if state.live else "( ) not in this recording"
    room = width - len(why) - 3
    if not parameter.help or room < _WORTH_SAYING:
        return ((why, Ink.WARN),)
    return ((clip(parameter.help, room), Ink.DIM), (" · ", Ink.DIM), (why, Ink.WARN))


def keys(canvas: Canvas, y: int, state: State, layout: Layout, presenting: bool = False) -> None:
    """The keys that matter here, as many as fit, help and the way out always; first those of where the focus is."""
    first: list[tuple[str, str]] = []
    if state.focus is Focus.PARAMETERS:
        first = [("↑↓", "parameter"), ("← →", "choice"), ("⇥", "on"), ("Esc", "done")]
    elif state.focus is Focus.PICTURE:
        first = [("←↑↓→", "move"), ("enter", "step in"), ("Esc", "step out")]
    if layout.room is Room.TURNS:
        first.insert(0, ("v", "picture" if state.face is Face.WORDS else "words"))
    skip = set() if state.focus is Focus.STEPS else {"→", "←", "⇥"}
    rest = [(a.shown, a.label) for a in footer_actions() if a.shown not in skip]
    if state.focus is Focus.STEPS and state.waiting is None and state.problem is None and not presenting:
        rest.append(("Esc", "start"))
    put_keys(canvas, y, first + rest, ALWAYS_SHOWN)
