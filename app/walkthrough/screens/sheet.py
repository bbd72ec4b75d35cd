"""The one widget: shows tiles of cells and repaints only the rows that changed."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rich.segment import Segment
from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget

from gpu_explain.app.walkthrough.looks import Depth, in_cells, style
from gpu_explain.app.walkthrough.paint.tile import Tile
from gpu_explain.scenes.draw.canvas import Canvas
from gpu_explain.scenes.draw.ink import Ink

Key = tuple[str, tuple[Ink, ...]]

_KEPT = 2048
"""Row strips kept: several screens full; beyond that the cache starts anew."""


class Sheet(Widget):
    """Cells on a screen.

    ``render_lines`` is overridden since neither ``Static`` (a whole rich render a frame) nor ``render_line``
    (styles, padding and caching a line) comes near thirty frames a second at this size.
    """

    DEFAULT_CSS = "Sheet { width: 100%; height: 100%; }"

    def __init__(self, depth: Depth, glyphs: Callable[[str], str] = in_cells) -> None:
        """An empty sheet.

        Args:
            depth: Colours of the terminal.
            glyphs: How text reaches the terminal (see ``looks.glyphs_for``).
        """
        super().__init__()
        self._depth = depth
        self._glyphs = glyphs
        self._tiles: tuple[Tile, ...] = ()
        self._keys: list[list[Key]] = []
        self._strips: dict[Key, Strip] = {}
        self.painted_rows = 0
        """Rows handed out for repainting so far, for tests and benchmarks."""

    @property
    def tiles(self) -> tuple[Tile, ...]:
        """What is shown."""
        return self._tiles

    def show(self, tiles: Sequence[Tile]) -> None:
        """Show these tiles from the next frame on; only rows whose content changed are repainted."""
        old, old_keys = self._tiles, self._keys
        self._tiles = tuple(tiles)
        if [_place(tile) for tile in old] != [_place(tile) for tile in tiles]:
            self._keys = [_row_keys(tile.canvas) for tile in tiles]
            self.refresh()
            return
        self._keys = []
        dirty: list[Region] = []
        for tile, before, keys in zip(tiles, old, old_keys, strict=True):
            if tile.canvas is before.canvas:
                self._keys.append(keys)
                continue
            fresh = _row_keys(tile.canvas)
            self._keys.append(fresh)
            dirty += _bands(tile, keys, fresh)
        if dirty:
            self.refresh(*dirty)

    def render_lines(self, crop: Region) -> list[Strip]:
        """The rows of a region, as Textual asks for them."""
        self.painted_rows += crop.height
        filters = self.get_line_filters()
        strips = []
        for y in range(crop.y, crop.bottom):
            strip = self._row(y).crop(crop.x, crop.right)
            for line_filter in filters:
                strip = strip.apply_filter(line_filter, self.background_colors[1])
            strips.append(strip)
        return strips

    def _row(self, y: int) -> Strip:
        """One row of the screen, its tiles side by side."""
        width = self.size.width
        pieces: list[Strip] = []
        x = 0
        for tile, keys in zip(self._tiles, self._keys, strict=True):
            if not tile.y <= y < tile.y + tile.canvas.height or tile.x < x:
                continue
            if tile.x > x:
                pieces.append(self._blank(tile.x - x))
            pieces.append(self._strip(tile.canvas, y - tile.y, keys[y - tile.y]))
            x = tile.x + tile.canvas.width
        if x < width:
            pieces.append(self._blank(width - x))
        return pieces[0] if len(pieces) == 1 else Strip.join(pieces)

    def _blank(self, cells: int) -> Strip:
        return Strip([Segment(" " * cells, style(Ink.TEXT, self._depth))], cells)

    def _strip(self, canvas: Canvas, y: int, key: Key) -> Strip:
        strip = self._strips.get(key)
        if strip is None:
            if len(self._strips) >= _KEPT:
                self._strips.clear()
            glyphs, depth = self._glyphs, self._depth
            segments = [Segment(glyphs(text), style(ink, depth)) for text, ink, _ in canvas.runs(y)]
            strip = self._strips[key] = Strip(segments, canvas.width)
        return strip


def _place(tile: Tile) -> tuple[int, int, int, int]:
    return tile.x, tile.y, tile.canvas.width, tile.canvas.height


def _row_keys(canvas: Canvas) -> list[Key]:
    return [canvas.key(y) for y in range(canvas.height)]


def _bands(tile: Tile, before: list[Key], after: list[Key]) -> list[Region]:
    """Changed rows of a tile, neighbours joined: few regions cost less than exact ones."""
    bands: list[Region] = []
    for y, (one, other) in enumerate(zip(before, after, strict=True)):
        if one == other:
            continue
        row = tile.y + y
        if bands and bands[-1].bottom == row:
            last = bands[-1]
            bands[-1] = Region(last.x, last.y, last.width, last.height + 1)
        else:
            bands.append(Region(tile.x, row, tile.canvas.width, 1))
    return bands
