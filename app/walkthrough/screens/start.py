"""The start screen's keys."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.screen import Screen

from gpu_explain.app.walkthrough.paint.start import Welcome, start
from gpu_explain.app.walkthrough.paint.tile import Tile
from gpu_explain.app.walkthrough.panels import Close, Go
from gpu_explain.app.walkthrough.screens.sheet import Sheet


class StartScreen(Screen[Close | Go]):
    """The GPU and the scenes; ends with the scene to open, or with nothing when the walk goes on where it was."""

    BINDINGS: ClassVar[list[BindingType]] = [
        ("up,left,pageup,k", "choose(-1)", "scene above"),
        ("down,right,j,tab", "choose(1)", "scene below"),
        ("home", "choose(-999)", "first scene"),
        ("end", "choose(999)", "last scene"),
        ("enter,space,pagedown", "open", "open"),
        ("escape", "back", "back to the walk"),
        ("question_mark", "app.help", "keys"),
        ("q", "app.leave", "quit"),
    ]

    def __init__(self, welcome: Welcome, sheet: Sheet, can_go_back: bool) -> None:
        """The start screen.

        Args:
            welcome: What it shows.
            sheet: A fresh sheet.
            can_go_back: Whether a walk lies behind it.
        """
        super().__init__()
        self.welcome = welcome
        self._sheet = sheet
        self._can_go_back = can_go_back

    def compose(self) -> ComposeResult:
        """The sheet, and nothing else."""
        yield self._sheet

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

    def action_choose(self, by: int) -> None:
        """Another scene."""
        last = max(len(self.welcome.scenes) - 1, 0)
        self.welcome = replace(self.welcome, at=min(max(self.welcome.at + by, 0), last))
        self.paint()

    def action_open(self) -> None:
        """Open the chosen scene, if it can be shown here."""
        if not self.welcome.scenes:
            return
        scene = self.welcome.scenes[self.welcome.at]
        if not self.welcome.why_not.get(scene.id):
            self.dismiss(Go(scene.id))

    def action_back(self) -> None:
        """Back to the walk, when there is one. Never quits."""
        if self._can_go_back:
            self.dismiss(Close())
