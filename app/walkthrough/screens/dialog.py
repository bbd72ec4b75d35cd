"""Shows any panel: paints what the panel paints, hands it every key, ends when it says so."""

from __future__ import annotations

from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.screen import Screen

from gpu_explain.app.walkthrough.paint.frame import too_small
from gpu_explain.app.walkthrough.paint.layout import SMALLEST
from gpu_explain.app.walkthrough.paint.tile import Tile
from gpu_explain.app.walkthrough.panels import Close, Go, Panel
from gpu_explain.app.walkthrough.screens.sheet import Sheet

Ended = Close | Go


class Dialog(Screen[Ended]):
    """A panel with the whole screen to itself; the result is where to go."""

    # The base class has its own bindings for these; a dialog gets them as keys instead.
    BINDINGS: ClassVar[list[BindingType]] = [
        (key, f"press('{key}')", "")
        for key in (
            "tab",
            "shift+tab",
            "up",
            "down",
            "left",
            "right",
            "pageup",
            "pagedown",
            "home",
            "end",
            "enter",
            "escape",
            "space",
        )
    ]

    def __init__(self, panel: Panel, sheet: Sheet) -> None:
        """A dialog around a panel; ``sheet`` is a fresh one."""
        super().__init__()
        self.panel = panel
        self._sheet = sheet

    def compose(self) -> ComposeResult:
        """The sheet, and nothing else."""
        yield self._sheet

    def on_mount(self) -> None:
        """Paint at once."""
        self._paint()

    def on_resize(self) -> None:
        """Paint for the new size."""
        self._paint()

    def action_press(self, key: str) -> None:
        """A key with a binding."""
        self._press(key)

    def on_key(self, event: events.Key) -> None:
        """Any other key."""
        event.stop()
        self._press(event.key)

    def _press(self, key: str) -> None:
        width, height = self.app.size
        answer = self.panel.key(key, width, height)
        if isinstance(answer, (Close, Go)):
            self.dismiss(answer)
            return
        self.panel = answer
        self._paint()

    def _paint(self) -> None:
        width, height = self.app.size
        small = width < 40 or height < 8
        self._sheet.show([Tile(0, 0, too_small(width, height, SMALLEST) if small else self.panel.paint(width, height))])
