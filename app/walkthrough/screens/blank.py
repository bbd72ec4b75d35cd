"""A dark screen, so that a room looks at the speaker. Any key brings the picture back."""

from __future__ import annotations

from textual import events
from textual.app import ComposeResult
from textual.screen import Screen

from gpu_explain.app.walkthrough.screens.sheet import Sheet


class Blank(Screen[None]):
    """Nothing at all."""

    def __init__(self, sheet: Sheet) -> None:
        """A dark screen; ``sheet`` is a fresh one."""
        super().__init__()
        self._sheet = sheet

    def compose(self) -> ComposeResult:
        """The empty sheet."""
        yield self._sheet

    def on_key(self, event: events.Key) -> None:
        """Any key ends it; a clicker's key must not step at the same time."""
        event.stop()
        event.prevent_default()
        self.dismiss(None)

    def key_tab(self) -> None:
        """Tab is a key as any other here."""
        self.dismiss(None)
