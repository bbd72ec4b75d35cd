"""Inks: the few ways a cell can look, by what they mean, and their colours at each colour depth.

Colours are those of Okabe and Ito ("Color Universal Design", 2008), which people with the common
forms of colour blindness can tell apart. In 16 colours orange and vermillion fall together, and so do
green and bluish ones, so that set is chosen by hand. Without colour, weight and reverse video are left:
a picture must never need colour alone, every ink that carries meaning comes with a glyph of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum, auto


class Ink(IntEnum):
    """Style index of a cell, named by meaning."""

    TEXT = 0
    DIM = auto()
    """Less important words, axes."""
    FAINT = auto()
    """Rules, idle places, grids."""
    TITLE = auto()
    """Titles of pictures."""
    STRONG = auto()
    """The words or number to read first."""
    LOOK = auto()
    """What the step's sentence points at: one thing on a screen."""
    MEASURED = auto()
    COMPUTED = auto()
    REPORTED = auto()
    PUBLISHED = auto()
    WORK = auto()
    """Something running: first of the two alternating fills."""
    WORK_ALT = auto()
    """Something running: second of the two alternating fills."""
    TAIL = auto()
    """The one that keeps all others waiting."""
    A = auto()
    """First of the things compared."""
    B = auto()
    """Second of the things compared."""
    C = auto()
    """Third of the things compared."""
    ON_WORK = auto()
    """Text on a WORK bar."""
    ON_WORK_ALT = auto()
    """Text on a WORK_ALT bar."""
    ON_TAIL = auto()
    """Text on a TAIL bar."""
    ON_A = auto()
    ON_B = auto()
    ON_C = auto()
    CURSOR = auto()
    """Where the viewer stands inside the picture."""
    GOOD = auto()
    WARN = auto()
    BAD = auto()
    CODE = auto()
    CODE_KEYWORD = auto()
    CODE_COMMENT = auto()
    CODE_FOCUS = auto()


@dataclass(frozen=True)
class Look:
    """How an ink looks.

    Attributes:
        fg, bg: ``#rrggbb`` or ``""`` for the terminal's own.
        fg16, bg16: Name of one of the sixteen colours (``bright_black`` …) or ``""``.
        bold, dim, reverse: Attributes; the only thing left under NO_COLOR.
    """

    fg: str = ""
    bg: str = ""
    fg16: str = ""
    bg16: str = ""
    bold: bool = False
    dim: bool = False
    reverse: bool = False


# Okabe and Ito's eight, and greys of our own between their black and white.
ORANGE, SKY, GREEN, YELLOW = "#E69F00", "#56B4E9", "#009E73", "#F0E442"
BLUE, VERMILLION, PURPLE = "#0072B2", "#D55E00", "#CC79A7"
PAPER, GROUND, GREY, SHADE = "#E6E6E6", "#101418", "#8C949C", "#4A525A"

LOOKS: dict[Ink, Look] = {
    Ink.TEXT: Look(PAPER, fg16="bright_white"),
    Ink.DIM: Look(GREY, fg16="white"),
    Ink.FAINT: Look(SHADE, fg16="bright_black", dim=True),
    Ink.TITLE: Look(PAPER, fg16="bright_white", bold=True),
    Ink.STRONG: Look("#FFFFFF", fg16="bright_white", bold=True),
    Ink.LOOK: Look(YELLOW, fg16="bright_yellow", bold=True),
    Ink.MEASURED: Look(SKY, fg16="bright_cyan"),
    Ink.COMPUTED: Look(GREY, fg16="white"),
    Ink.REPORTED: Look(GREEN, fg16="bright_green"),
    Ink.PUBLISHED: Look(PURPLE, fg16="bright_magenta"),
    Ink.WORK: Look(BLUE, fg16="bright_blue"),
    Ink.WORK_ALT: Look(SKY, fg16="bright_cyan"),
    Ink.TAIL: Look(ORANGE, fg16="yellow", bold=True),
    Ink.A: Look(SKY, fg16="bright_cyan"),
    Ink.B: Look(ORANGE, fg16="yellow"),
    Ink.C: Look(PURPLE, fg16="bright_magenta"),
    Ink.ON_WORK: Look("#FFFFFF", BLUE, "bright_white", "bright_blue"),
    Ink.ON_WORK_ALT: Look(GROUND, SKY, "black", "bright_cyan"),
    Ink.ON_TAIL: Look(GROUND, ORANGE, "black", "yellow", bold=True),
    Ink.ON_A: Look(GROUND, SKY, "black", "bright_cyan", reverse=True),
    Ink.ON_B: Look(GROUND, ORANGE, "black", "yellow", reverse=True),
    Ink.ON_C: Look(GROUND, PURPLE, "black", "bright_magenta", reverse=True),
    Ink.CURSOR: Look(GROUND, YELLOW, "black", "bright_yellow", bold=True, reverse=True),
    Ink.GOOD: Look(GREEN, fg16="bright_green"),
    Ink.WARN: Look(YELLOW, fg16="bright_yellow", bold=True),
    Ink.BAD: Look(VERMILLION, fg16="bright_red", bold=True),
    Ink.CODE: Look(PAPER, fg16="bright_white"),
    Ink.CODE_KEYWORD: Look(SKY, fg16="bright_cyan", bold=True),
    Ink.CODE_COMMENT: Look(GREY, fg16="white", dim=True),
    Ink.CODE_FOCUS: Look("#FFFFFF", "#26384A", "bright_white", "blue", bold=True),
}
"""How every ink looks. ``tests/unit`` holds that each has one."""
