"""A dark screen, so that a room looks at the speaker. Any key brings the picture back."""

from __future__ import annotations

from textual import events

from gpu_explain.app.walkthrough.screens.keyed import Keyed


class Blank(Keyed[None]):
    """Nothing at all."""

    async def press(self, key: events.Key) -> None:
        """Any key ends it; a clicker's key must not step at the same time."""
        self.dismiss(None)
