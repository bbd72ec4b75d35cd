"""Where things stand on a screen of a given size."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

SMALLEST = (60, 18)
"""Below this width or height there is no room for a picture worth looking at."""

SIDE_BY_SIDE = (100, 28)
"""From this width and height on, words and picture stand side by side; below they take turns."""


class Room(StrEnum):
    """How much room there is."""

    NONE = "none"
    TURNS = "turns"
    BOTH = "both"


@dataclass(frozen=True)
class Layout:
    """A screen divided.

    Attributes:
        width, height: Size of the screen in cells.
        room: Whether words and picture fit side by side.
        left: Width of the words' column; the divider stands right of it.
        top, bottom: First line of the body, and the line after it.
    """

    width: int
    height: int
    room: Room
    left: int
    top: int
    bottom: int

    @property
    def body(self) -> int:
        """Height of the body."""
        return self.bottom - self.top

    @property
    def picture(self) -> tuple[int, int, int]:
        """Left edge, width and height of the picture: one cell of air beside the divider."""
        x = self.left + 2 if self.room is Room.BOTH else 1
        return x, self.width - x - 1, self.body


def divide(width: int, height: int, notice: int = 0) -> Layout:
    """Divide a screen; ``notice`` lines above the footer are taken by a notice."""
    if width < SMALLEST[0] or height < SMALLEST[1]:
        room, left = Room.NONE, 0
    elif width < SIDE_BY_SIDE[0] or height < SIDE_BY_SIDE[1]:
        # Words alone use two columns: what is said on the left, what was measured on the right.
        room, left = Room.TURNS, (width - 1) * 11 // 20
    else:
        room, left = Room.BOTH, min(max(37, width * 27 // 100), 56)
    return Layout(width, height, room, left, 2, max(height - 2 - notice, 2))
