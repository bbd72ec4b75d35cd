"""A canvas with a place on the screen. A screen is a few tiles that do not overlap."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gpu_explain.scenes.draw.canvas import Canvas


@dataclass(frozen=True)
class Tile:
    """A canvas at a place.

    Attributes:
        x, y: Its upper left corner on the screen.
        canvas: What it shows.
    """

    x: int
    y: int
    canvas: Canvas


def flatten(tiles: Sequence[Tile], width: int, height: int) -> Canvas:
    """All tiles on one canvas: for tests, pictures and what shows behind a dialog."""
    whole = Canvas(width, height)
    for tile in tiles:
        whole.paste(tile.canvas, tile.x, tile.y)
    return whole
