"""What all screens have in common: the app hands them their keys."""

from __future__ import annotations

from typing import TypeVar

from textual import events
from textual.app import ComposeResult
from textual.screen import Screen

from gpu_explain.app.walkthrough.screens.sheet import Sheet

Ended = TypeVar("Ended")


class Keyed(Screen[Ended]):
    """A sheet, and keys one at a time.

    The terminal library gives every screen a queue of its own, and a key that was typed while another screen was
    being put above (or taken away) ends up in the wrong one, or takes away a second screen. So the app does not
    hand keys on to be queued again: it calls :meth:`press`, and the next key waits until that is done.
    """

    def __init__(self, sheet: Sheet) -> None:
        """A screen around a fresh ``sheet``."""
        super().__init__()
        self._sheet = sheet

    def compose(self) -> ComposeResult:
        """The sheet, and nothing else."""
        yield self._sheet

    async def press(self, key: events.Key) -> None:
        """A key; the screen stands on top and is mounted."""
        raise NotImplementedError
