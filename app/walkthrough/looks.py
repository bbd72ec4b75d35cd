"""Inks and glyphs as this terminal can show them: colour depth, no colour, no UTF-8."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from functools import cache
from unicodedata import category

from rich.cells import cell_len
from rich.style import Style

from gpu_explain.scenes.draw.ink import GROUND, LOOKS, Ink


class Depth(StrEnum):
    """How many colours there are."""

    FULL = "full"
    """True colour; 256-colour terminals get the nearest of theirs from the terminal library."""
    SIXTEEN = "16"
    NONE = "none"


GROUND_16 = "black"
"""The ground where there are sixteen colours."""


@cache
def style(ink: Ink, depth: Depth) -> Style:
    """The style of an ink.

    The ground is painted too, so that the palette's contrast holds on a light terminal as well: bright yellow and
    white words would be lost on one. Without colour the terminal's own ground and text stay, and reverse video
    stands in for a background.
    """
    look = LOOKS[ink]
    if depth is Depth.FULL:
        return Style(color=look.fg or None, bgcolor=look.bg or GROUND, bold=look.bold)
    if depth is Depth.SIXTEEN:
        return Style(color=look.fg16 or None, bgcolor=look.bg16 or GROUND_16, bold=look.bold)
    return Style(bold=look.bold, dim=look.dim, reverse=look.reverse or bool(look.bg))


def depth_of(color_system: str | None, no_color: bool) -> Depth:
    """The depth for what rich says of the terminal (``truecolor``, ``256``, ``standard``, ``windows``, ``None``)."""
    if no_color or color_system is None:
        return Depth.NONE
    return Depth.FULL if color_system in ("truecolor", "256") else Depth.SIXTEEN


ASCII = str.maketrans(
    {
        **dict.fromkeys("─━┄┈╌╶╴▔", "-"),
        **dict.fromkeys("│┃┊┆╎▏▕❘▐", "|"),
        **dict.fromkeys("┌┐└┘├┤┬┴┼╭╮╯╰╞╡╪", "+"),
        **dict.fromkeys("█▉▊▋▌▀▄▙▟▛▜■▮▬", "#"),
        **dict.fromkeys("▓▍▎▖▗▘▝◧", "%"),
        "▒": "=",
        "░": ":",
        "▚": "&",
        "▞": "&",
        "╱": "/",
        "╲": "\\",
        **dict.fromkeys("▁▂▃", "_"),
        **dict.fromkeys("▅▆▇", "#"),
        **dict.fromkeys("·∙⋅•", "."),
        "●": "*",
        "○": "o",
        "□": "=",
        "◇": "~",
        "◉": "@",
        "◆": "x",
        "▪": "#",
        "▫": ".",
        "◌": "o",
        "▰": "#",
        "▱": ".",
        "▸": ">",
        "▶": ">",
        "›": ">",
        "‹": "<",
        "◂": "<",
        "◀": "<",
        "→": ">",
        "←": "<",
        "↑": "^",
        "↓": "v",
        "▲": "^",
        "▴": "^",
        "▾": "v",
        "▼": "v",
        "△": "^",
        "▽": "v",
        "⇥": ">",
        "⇤": "<",
        "↔": "-",
        "…": ".",
        "⋮": ":",
        "×": "x",
        "÷": "/",
        "±": "+",
        "µ": "u",
        "μ": "u",
        "≈": "~",
        "≤": "<",
        "≥": ">",
        "≠": "!",
        "✓": "v",
        "✗": "X",
        "–": "-",
        "—": "-",
        "−": "-",
        "\u00a0": " ",
        "\u202f": " ",
        "“": '"',
        "”": '"',
        "„": '"',
        "’": "'",
        "‘": "'",
        "¹": "1",
        "²": "2",
        "³": "3",
        "½": "h",
        "°": "o",
    }
)
"""One ASCII character for every glyph the pictures use: cells must stay cells."""


def to_ascii(text: str) -> str:
    """The same number of characters, all ASCII."""
    shown = text.translate(ASCII)
    return shown if shown.isascii() and shown.isprintable() else "".join(c if " " <= c <= "~" else "?" for c in shown)


NOT_SHOWN = "\N{REPLACEMENT CHARACTER}"
"""Stands where a character stood that must not, or cannot, reach the terminal."""


def in_cells(text: str) -> str:
    """The same number of characters, each one cell wide and none that steers the terminal.

    Names, dates and output come from recordings and drivers: an escape character would be obeyed, half a
    surrogate pair cannot be encoded, and what is wider or narrower than a cell pushes its row aside.
    """
    if text.isprintable() and cell_len(text) == len(text):
        return text
    return "".join(c if _is_space(c) or (c.isprintable() and cell_len(c) == 1) else NOT_SHOWN for c in text)


def _is_space(character: str) -> bool:
    return category(character) == "Zs" and character != "\N{IDEOGRAPHIC SPACE}"


def glyphs_for(encoding: str | None) -> Callable[[str], str]:
    """How text reaches a terminal of that encoding: as it is where that is harmless, or in ASCII."""
    name = (encoding or "").lower().replace("-", "").replace("_", "")
    return in_cells if name in ("utf8", "utf16", "utf32", "cp65001") else to_ascii
