"""Shows any panel: paints what the panel paints, hands it every key, ends when it says so."""

from __future__ import annotations

from textual import events

from gpu_explain.app.walkthrough.paint.frame import too_small
from gpu_explain.app.walkthrough.paint.layout import SMALLEST
from gpu_explain.app.walkthrough.paint.tile import Tile
from gpu_explain.app.walkthrough.panels import Close, Do, Go, Panel
from gpu_explain.app.walkthrough.screens.keyed import Keyed
from gpu_explain.app.walkthrough.screens.sheet import Sheet


class Dialog(Keyed[Close | Do | Go]):
    """A panel with the whole screen to itself; the result is where to go, or what to do there."""

    def __init__(self, panel: Panel, sheet: Sheet) -> None:
        """A dialog around a panel; ``sheet`` is a fresh one."""
        super().__init__(sheet)
        self.panel = panel

    def on_mount(self) -> None:
        """Paint at once."""
        self._paint()

    def on_resize(self) -> None:
        """Paint for the new size."""
        self._paint()

    async def press(self, key: events.Key) -> None:
        """Every key is the panel's."""
        width, height = self.app.size
        answer = self.panel.key(key.key, width, height)
        if isinstance(answer, (Close, Do, Go)):
            self.dismiss(answer)
            return
        self.panel = answer
        self._paint()

    def _paint(self) -> None:
        width, height = self.app.size
        if width < 40 or height < 8:
            painted = too_small(width, height, SMALLEST, "Esc closes.")
        else:
            painted = self.panel.paint(width, height)
        self._sheet.show([Tile(0, 0, painted)])
