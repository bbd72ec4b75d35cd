"""The one list of what keys do. Keys, footer, help and command palette all come from it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Action:
    """Something a key does.

    Attributes:
        id: Name of the method behind it (``action_<name>``), with arguments where it takes any.
        keys: Keys as the terminal library names them.
        shown: Keys as people read them.
        label: A word or two for the footer and the palette.
        help: One sentence.
        group: Heading in the help.
        in_help: Keys as the help names them; pairs are named once, the other one is left out by ``""``.
        footer: Place in the footer, smallest first; 0 leaves it out.
        palette: Whether the command palette offers it.
    """

    id: str
    keys: tuple[str, ...]
    shown: str
    label: str
    help: str
    group: str
    in_help: str | None = None
    footer: int = 0
    palette: bool = True


WALK, CHANGE, ASK, SHOW = "Walk", "Change and measure", "Ask", "Show"

_PAGE = "The next step or the one before, whatever has the focus. Clickers send these."
_ARROWS = "The next step or the one before; in the parameters and the picture they move there."
_UP_DOWN = "Another parameter; in the picture they move there; else the words scroll where they do not fit."
_EDGE = "The first and the last step of the scene; in the picture the first and the last of what is chosen there."
_TAB = "To the parameters, then into the picture, then back to the steps; with shift the other way round."
_ESCAPE = (
    "Steps out, cancels a measurement, closes a notice; with nothing left to step out of it leads to the start, "
    "and from there back (not while presenting). It never quits."
)

ACTIONS: tuple[Action, ...] = (
    Action("step(1)", ("pagedown",), "PgDn", "next step", _PAGE, WALK, "PgDn PgUp"),
    Action("step(-1)", ("pageup",), "PgUp", "previous step", _PAGE, WALK, ""),
    Action("arrow('right')", ("right",), "→", "next", _ARROWS, WALK, "→ ←", footer=1, palette=False),
    Action("arrow('left')", ("left",), "←", "back", _ARROWS, WALK, "", footer=2, palette=False),
    Action("space", ("space",), "space", "next", "The next step.", WALK, palette=False),
    Action("edge(0)", ("home",), "Home", "first step", _EDGE, WALK, "Home End"),
    Action("edge(-1)", ("end",), "End", "last step", "The last step of the scene.", WALK, ""),
    Action("scene(-1)", ("left_square_bracket",), "[", "scene before", "The scene before and the next.", WALK, "[ ]"),
    Action("scene(1)", ("right_square_bracket",), "]", "next scene", "The next scene.", WALK, ""),
    Action("go_to", ("g",), "g", "go to", "Go to any scene or step, or to the start.", WALK, footer=8),
    Action("turn(1)", ("tab",), "⇥", "parameters", _TAB, CHANGE, "tab ⇥", footer=4),
    Action("turn(-1)", ("shift+tab",), "⇤", "focus back", _TAB, CHANGE, "", palette=False),
    Action("arrow('up')", ("up",), "↑", "up", _UP_DOWN, CHANGE, "↑ ↓", palette=False),
    Action("arrow('down')", ("down",), "↓", "down", _UP_DOWN, CHANGE, "", palette=False),
    Action(
        "enter",
        ("enter",),
        "enter",
        "step in",
        "Measures a typed number; steps into the picture.",
        CHANGE,
        palette=False,
    ),
    Action("escape", ("escape",), "Esc", "step out", _ESCAPE, CHANGE, palette=False),
    Action(
        "again", ("r",), "r", "run again", "Launches the kernels again; a recording is played again.", CHANGE, footer=3
    ),
    Action("source", ("s",), "s", "source", "The file that ran, at the lines this step is about.", ASK, footer=5),
    Action("where", ("i",), "i", "where from", "Where every number and claim of this step comes from.", ASK, footer=6),
    Action("notes", ("n",), "n", "notes", "What a speaker says here, and what people ask.", ASK, footer=11),
    Action("app.help", ("question_mark",), "?", "help", "This page.", ASK, footer=9),
    Action("face", ("v",), "v", "words or picture", "Words or picture, where there is no room for both.", SHOW),
    Action(
        "blank", ("b", "full_stop"), ". b", "blank", "A dark screen; any key brings the picture back.", SHOW, footer=7
    ),
    Action("pace(1)", ("plus", "equals_sign"), "+", "faster", "Faster and slower.", SHOW, "+ -"),
    Action("pace(-1)", ("minus",), "-", "slower", "Slower.", SHOW, ""),
    Action("motion", ("m",), "m", "motion", "Motion off: every step shows its end at once. And on again.", SHOW),
    Action("commands", ("ctrl+p",), "^P", "commands", "All of this, and the scenes, by name.", SHOW, palette=False),
    Action("app.sleep", ("ctrl+z",), "^Z", "to the shell", "Back to the shell; fg there brings you back here.", SHOW),
    Action("app.leave", ("q",), "q", "quit", "Quit.", SHOW, footer=10),
)
"""Everything the walkthrough can be asked to do, in the order the help shows it."""


ALWAYS_SHOWN = frozenset({"?", "q", "Esc"})
"""Keys that the footer names however small the screen is, as people read them."""

KEYS: dict[str, str] = {key: action.id for action in ACTIONS for key in action.keys}
"""For each key the action behind it."""


def footer_actions() -> tuple[Action, ...]:
    """What the footer names, in its order."""
    return tuple(sorted((a for a in ACTIONS if a.footer), key=lambda a: a.footer))
