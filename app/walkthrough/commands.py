"""The command palette: the same list of actions as the keys and the help, and every scene."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import TYPE_CHECKING, cast

from textual.command import DiscoveryHit, Hit, Hits, Provider

from gpu_explain.app.walkthrough.actions import ACTIONS
from gpu_explain.app.walkthrough.screens.walk import Walk

if TYPE_CHECKING:
    from gpu_explain.app.walkthrough.application import Walkthrough


class ActionCommands(Provider):
    """What the palette offers on the screen of a walk."""

    def _commands(self) -> list[tuple[str, str, Callable[[], object]]]:
        screen = self.screen
        if not isinstance(screen, Walk):
            return []
        app = cast("Walkthrough", self.app)
        found: list[tuple[str, str, Callable[[], object]]] = []
        for action in ACTIONS:
            if action.palette:
                found.append((f"{action.label} ({action.shown})", action.help, partial(screen.run_action, action.id)))
        for scene in app.scenes:
            found.append((f"{scene.number} {scene.title}", scene.question, partial(app.open_scene, scene.id)))
        return found

    async def discover(self) -> Hits:
        """Everything, before a letter is typed."""
        for name, help_text, run in self._commands():
            yield DiscoveryHit(name, run, help=help_text)

    async def search(self, query: str) -> AsyncIterator[Hit]:
        """What matches."""
        matcher = self.matcher(query)
        for name, help_text, run in self._commands():
            score = matcher.match(name)
            if score > 0:
                yield Hit(score, matcher.highlight(name), run, help=help_text)
