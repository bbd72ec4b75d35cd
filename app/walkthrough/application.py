"""The app: one source, one walk at a time, and the dialogs above it."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING

from textual import events
from textual.app import App
from textual.message import Message
from textual.theme import Theme
from textual.widget import AwaitMount

from gpu_explain.app.source import Event, Lost, Source
from gpu_explain.app.walkthrough.clock import Clock
from gpu_explain.app.walkthrough.looks import Depth, depth_of, glyphs_for
from gpu_explain.app.walkthrough.paint.start import Welcome
from gpu_explain.app.walkthrough.panels import Close, Do, Go, Panel
from gpu_explain.app.walkthrough.screens.keyed import Ended, Keyed
from gpu_explain.app.walkthrough.screens.sheet import Sheet
from gpu_explain.app.walkthrough.screens.start import StartScreen
from gpu_explain.scenes.base import Problem, Scene
from gpu_explain.scenes.base.protocol import Failed, Measured, Progress, Ready
from gpu_explain.scenes.draw.ink import GROUND, PAPER, SKY, YELLOW

if TYPE_CHECKING:
    from gpu_explain.app.walkthrough.screens.walk import Walk

THEME = Theme(
    "gpu-explain",
    primary=SKY,
    accent=YELLOW,
    foreground=PAPER,
    background=GROUND,
    surface="#1A2026",
    panel="#222A32",
    dark=True,
)
"""For what the terminal library looks up by itself; what is seen is painted by our own inks."""

ALWAYS = {"ctrl+c": "leave", "ctrl+q": "leave", "ctrl+z": "sleep"}
"""Keys that do the same wherever one is."""


class Heard(Message):
    """Something the source said, brought over from its thread."""

    def __init__(self, event: Event) -> None:
        """Keep what was said."""
        super().__init__()
        self.event = event


class Walkthrough(App[int]):
    """gpu-explain in a terminal."""

    ENABLE_COMMAND_PALETTE = False
    TITLE = "gpu-explain"

    def __init__(
        self,
        source: Source,
        scenes: Sequence[Scene] | Callable[[], Sequence[Scene]],
        *,
        scene: str | None = None,
        presenting: bool = False,
        notice: Problem | None = None,
        clock: Clock = time.monotonic,
        depth: Depth | None = None,
        encoding: str | None = None,
    ) -> None:
        """The app; every seam is an argument.

        Args:
            source: Where measurements come from.
            scenes: All scenes, in order; or what finds them, called once the start screen has been painted.
            scene: Id of the scene to open at once, ``None`` for the start screen.
            presenting: In front of a room: ``Esc`` never leaves a scene.
            notice: Why there is no live mode.
            clock: Seconds that only grow.
            depth: Colours; what the terminal says by default.
            encoding: Of the terminal; that of standard output by default.
        """
        super().__init__()
        self.source = source
        self.clock = clock
        self.scenes: tuple[Scene, ...] = ()
        self._find_scenes = scenes if callable(scenes) else lambda: scenes
        self._first = scene
        self.presenting = presenting
        self._given_notice = self._notice = notice
        self.fault: Exception | None = None
        """What ended the app, when it was a mistake of its own."""
        self.ended_by: int | None = None
        """Number of the signal that ended the app."""
        self.closing: threading.Thread | None = None
        """Closes the source, once the app has ended: a worker that hangs does not keep the screen."""
        self._wakes: asyncio.AbstractEventLoop | None = None
        self._depth = depth or depth_of(self.console.color_system, self.no_color)
        self._glyphs = glyphs_for(encoding or getattr(sys.__stdout__, "encoding", None))
        self._mounting: AwaitMount | None = None
        self._walk: Walk | None = None
        self._start: StartScreen | None = None
        # Before anything is laid out: a theme set later would have every style computed twice.
        self.register_theme(THEME)
        self.set_reactive(App.theme, THEME.name)
        self.stylesheet.set_variables(self.get_css_variables())
        if self._depth is not Depth.FULL:
            # The terminal's own sixteen colours must stay theirs and not be turned into true ones.
            self.ansi_color = True

    def on_mount(self) -> None:
        """Show the first screen, then begin to open the source: the screen never waits for a GPU."""
        self._wakes = asyncio.get_running_loop()
        if self.ended_by is not None:
            self.exit()
            return
        self.source.listen(self._listen)
        if self._first is not None:
            self.scenes = tuple(self._find_scenes())
            self.open_scene(self._first)
        else:
            self.to_start(force=True)
        self.call_after_refresh(self._begin)

    def _begin(self) -> None:
        """What may take its time, since something is on the screen already."""
        if self._start is not None and not self.scenes:
            self.scenes = tuple(self._find_scenes())
            self._start.learn(self._welcome(), self._first_showable())
        self.source.start()

    def _handle_exception(self, error: Exception) -> None:
        """Remember a mistake of our own, so that the command line can say it in a sentence."""
        self.fault = self.fault or error
        super()._handle_exception(error)

    def _print_error_renderables(self) -> None:
        """A traceback is for those who ask for one."""
        if os.environ.get("GPU_EXPLAIN_DEBUG"):
            super()._print_error_renderables()

    def on_unmount(self) -> None:
        """End what the source started."""
        self.closing = threading.Thread(target=self.source.close, name="closing the source", daemon=True)
        self.closing.start()

    def end_by(self, number: int) -> None:
        """Quit for a signal; called between any two instructions of the main thread."""
        self.ended_by = number
        if self._wakes is not None:
            # From another thread or not: this also wakes a loop that waits for keys.
            self._wakes.call_soon_threadsafe(self.exit)

    # Keys

    async def on_event(self, event: events.Event) -> None:
        """Keys one at a time: the next one is looked at when this one has done all that it does."""
        if not isinstance(event, events.Key):
            await super().on_event(event)
        elif event.key in ALWAYS:
            await self.run_action(ALWAYS[event.key])
        else:
            if self._mounting is not None:
                # The screen that the key before (or the start) asked for must be there to have this one.
                await self._mounting
                self._mounting = None
            if isinstance(self.screen, Keyed):
                await self.screen.press(event)

    def _above(self, screen: Keyed[Ended], then: Callable[[Ended | None], Awaitable[None]] | None = None) -> None:
        """Put a screen above all others."""
        self._mounting = self.push_screen(screen, then)

    # The source

    def _listen(self, event: Event) -> None:
        """Take an event from whatever thread it comes on; the app handles it in its own."""
        self.post_message(Heard(event))

    def opening(self) -> str:
        """What to say while there is no GPU yet; empty once there is one."""
        if self.source.device is not None:
            return ""
        return self._notice.sentence if self._notice is not None else "Opening the GPU …"

    def trying(self) -> None:
        """A measurement has been asked for: what kept the GPU from being opened before may be gone."""
        self._notice = self._given_notice

    def why_not(self) -> dict[str, str]:
        """For each scene's id why it cannot be shown here; empty when it can."""
        return {scene.id: self.source.can_show(scene) for scene in self.scenes}

    def on_heard(self, message: Heard) -> None:
        """Something the source said."""
        event = message.event
        walk = self._walk
        if isinstance(event, Ready):
            self._notice = self._given_notice
            if walk is not None:
                walk.meet()
        elif isinstance(event, Lost):
            if event.problem.id != "idle":
                self._notice = event.problem
            if walk is not None:
                walk.lose(event.problem, event.restarting)
        elif isinstance(event, Failed) and event.id == 0:
            self._notice = event.problem
            if walk is not None:
                walk.fail(event.problem)
        elif isinstance(event, Failed) and self.source.device is None and event.problem.id != "cancelled":
            # What was asked for first came to nothing since there is no GPU behind it.
            self._notice = event.problem
            if walk is not None:
                walk.hear(event)
        elif walk is not None and isinstance(event, (Progress, Measured, Failed)):
            walk.hear(event)
        if self._start is not None:
            self._start.learn(self._welcome())

    # Places

    def _welcome(self, at: int = 0) -> Welcome:
        return Welcome(
            label=self.source.label,
            live=self.source.live,
            device=self.source.device,
            versions=self.source.versions,
            neighbours=tuple(self.source.neighbours),
            scenes=self.scenes,
            why_not=self.why_not(),
            notice=self._notice,
            at=at,
        )

    def to_start(self, force: bool = False) -> None:
        """The start screen above the walk; in front of a room only when asked for by name."""
        if (self.presenting and not force) or self._start is not None:
            return
        ids = [scene.id for scene in self.scenes]
        at = ids.index(self._walk.state.scene.id) if self._walk is not None else self._first_showable()
        self._start = StartScreen(self._welcome(at), self._sheet(), self._walk is not None)
        self._above(self._start, self._from_start)

    def _first_showable(self) -> int:
        return next((i for i, scene in enumerate(self.scenes) if not self.source.can_show(scene)), 0)

    async def _from_start(self, answer: Close | Go | None) -> None:
        self._start = None
        await self._went(answer)

    async def _went(self, answer: Close | Do | Go | None) -> None:
        if isinstance(answer, Do):
            await self.run_action(answer.action, self.screen)
        if not isinstance(answer, Go):
            return
        if not answer.scene:
            self.to_start(force=True)
        elif self._walk is not None and self._walk.state.scene.id == answer.scene:
            if answer.step is not None:
                self._walk.to_step(answer.step)
        else:
            self.open_scene(answer.scene, answer.step)

    def open_scene(self, id: str, step: int | None = None) -> None:
        """Walk through a scene: from where it was left, or from ``step``."""
        from gpu_explain.app.walkthrough.screens.walk import Walk

        scene = next(scene for scene in self.scenes if scene.id == id)
        if self._walk is None:
            self._walk = Walk(scene, self._sheet(), step)
            self._above(self._walk)
        else:
            self._walk.open(scene, step)

    def to_neighbour(self, by: int, at_end: bool = False) -> None:
        """The scene after or before that can be shown; at the ends it says so."""
        if self._walk is None:
            return
        ids = [scene.id for scene in self.scenes]
        index = ids.index(self._walk.state.scene.id) + by
        while 0 <= index < len(ids):
            scene = self.scenes[index]
            if not self.source.can_show(scene):
                self.open_scene(scene.id, len(scene.steps) - 1 if at_end else 0)
                return
            index += by
        said = "that was the last step: g goes anywhere, q quits" if by > 0 else "this is the first step"
        self._walk.remark(said)

    # Dialogs

    def _sheet(self) -> Sheet:
        return Sheet(self._depth, self._glyphs)

    def open_panel(self, panel: Panel) -> None:
        """A dialog above whatever is there."""
        from gpu_explain.app.walkthrough.screens.dialog import Dialog

        self._above(Dialog(panel, self._sheet()), self._went)

    def action_help(self) -> None:
        """Every key."""
        from gpu_explain.app.walkthrough.panels.prose import Help

        self.open_panel(Help())

    def blank(self) -> None:
        """A dark screen."""
        from gpu_explain.app.walkthrough.screens.blank import Blank

        self._above(Blank(self._sheet()))

    def action_sleep(self) -> None:
        """Back to the shell, until its ``fg``; the picture does not move meanwhile."""
        asleep = self.clock()
        self.action_suspend_process()
        if self._walk is not None:
            self._walk.slept(self.clock() - asleep)

    def action_leave(self) -> None:
        """Quit."""
        self.exit(0)
