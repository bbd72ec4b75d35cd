"""The start screen's keys."""

from __future__ import annotations

from dataclasses import replace

from textual import events

from gpu_explain.app.walkthrough.paint.start import Welcome, start
from gpu_explain.app.walkthrough.paint.tile import Tile
from gpu_explain.app.walkthrough.panels import Close, Go
from gpu_explain.app.walkthrough.screens.keyed import Keyed
from gpu_explain.app.walkthrough.screens.sheet import Sheet

_BY = {
    **dict.fromkeys(("up", "left", "pageup", "k"), -1),
    **dict.fromkeys(("down", "right", "j", "tab"), 1),
    "home": -999,
    "end": 999,
}
"""How far a key goes through the list of scenes."""


class StartScreen(Keyed[Close | Go]):
    """The GPU and the scenes; ends with the scene to open, or with nothing when the walk goes on where it was."""

    def __init__(self, welcome: Welcome, sheet: Sheet, can_go_back: bool) -> None:
        """The start screen.

        Args:
            welcome: What it shows.
            sheet: A fresh sheet.
            can_go_back: Whether a walk lies behind it.
        """
        super().__init__(sheet)
        self.welcome = welcome
        self._can_go_back = can_go_back

    def on_mount(self) -> None:
        """Paint at once."""
        self.paint()

    def on_resize(self) -> None:
        """Paint for the new size."""
        self.paint()

    def learn(self, welcome: Welcome, at: int | None = None) -> None:
        """There is news; the chosen scene stays chosen unless another one is named."""
        self.welcome = replace(welcome, at=self.welcome.at if at is None else at)
        self.paint()

    def paint(self) -> None:
        """Show what is known."""
        width, height = self.app.size
        self._sheet.show([Tile(0, 0, start(self.welcome, width, height))])

    async def press(self, key: events.Key) -> None:
        """Choose, open, go back to the walk, when there is one. ``Esc`` never quits."""
        match key.key:
            case name if name in _BY:
                last = max(len(self.welcome.scenes) - 1, 0)
                self.welcome = replace(self.welcome, at=min(max(self.welcome.at + _BY[name], 0), last))
                self.paint()
            case "enter" | "space" | "pagedown":
                self._open()
            case "escape" if self._can_go_back:
                self.dismiss(Close())
            case "question_mark":
                await self.run_action("app.help")
            case "q":
                await self.run_action("app.leave")

    def _open(self) -> None:
        """Open the chosen scene, if it can be shown here."""
        if not self.welcome.scenes:
            return
        scene = self.welcome.scenes[self.welcome.at]
        if not self.welcome.why_not.get(scene.id):
            self.dismiss(Go(scene.id))
