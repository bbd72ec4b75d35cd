"""The screen of a walk: turns keys into steps of the pure state, and the state into tiles."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from textual import events
from textual.timer import Timer

from gpu_explain.app.walkthrough import state as moves
from gpu_explain.app.walkthrough.actions import KEYS
from gpu_explain.app.walkthrough.clock import Playhead
from gpu_explain.app.walkthrough.guard import Guarded
from gpu_explain.app.walkthrough.paint.layout import Room
from gpu_explain.app.walkthrough.paint.tile import Tile
from gpu_explain.app.walkthrough.paint.walk import Stage, layout_of, picture_tile, still_tiles
from gpu_explain.app.walkthrough.panels.code import Code
from gpu_explain.app.walkthrough.panels.commands import Commands
from gpu_explain.app.walkthrough.panels.goto import GoTo
from gpu_explain.app.walkthrough.panels.prose import Notes
from gpu_explain.app.walkthrough.panels.where import Where
from gpu_explain.app.walkthrough.screens.keyed import Keyed
from gpu_explain.app.walkthrough.screens.sheet import Sheet
from gpu_explain.app.walkthrough.state import Face, Focus, State
from gpu_explain.scenes.base import Problem, Scene
from gpu_explain.scenes.base.problem import problem
from gpu_explain.scenes.base.protocol import Failed, Measured, Progress

if TYPE_CHECKING:
    from gpu_explain.app.walkthrough.application import Walkthrough

FRAMES = 30
"""Frames a second while something moves; none when nothing does."""

PATIENCE = 0.15
"""Seconds that a choice must stand before it is measured: arrows held down launch nothing in between."""


class Walk(Keyed[None]):
    """One scene being walked through."""

    def __init__(self, scene: Scene, sheet: Sheet, step: int | None = None) -> None:
        """A walk through a scene; ``sheet`` is a fresh one."""
        super().__init__(sheet)
        self._first = (scene, step)
        self.state = State(scene)
        self.hidden = 0
        """Rows of words below the lower edge."""
        self._kept: dict[str, State] = {}
        self._stage: Stage | None = None
        self._still: tuple[Tile, ...] = ()
        self._still_of: tuple[State, Stage, int, int, int] | None = None
        self._ticker: Timer | None = None
        self._seconds: Timer | None = None
        self._asking: Timer | None = None

    @property
    def host(self) -> Walkthrough:
        """The app, by its own type."""
        return cast("Walkthrough", self.app)

    def on_mount(self) -> None:
        """Start the ticker at rest and open the scene."""
        self._ticker = self.set_interval(1 / FRAMES, self.paint, pause=True)
        self._seconds = self.set_interval(1.0, self.paint, pause=True)
        self.state = replace(self.state, motion=self.app.animation_level != "none")
        self.open(*self._first)

    def open(self, scene: Scene, step: int | None = None) -> None:
        """Walk through a scene: from where it was left, or from ``step``. Speed and motion stay as they are."""
        before, now = self.state, self.host.clock()
        self._kept[before.scene.id] = replace(before, waiting=None, focus=Focus.STEPS, typed="", remark="")
        kept = self._kept.get(scene.id) or State(scene)
        play = Playhead(now, speed=before.play.speed, held=before.play.held)
        state = replace(kept, live=self.host.source.live, motion=before.motion, play=play)
        state = moves.met(state, self.host.source.device)
        self.become(state if step is None else moves.to_step(state, step, now))
        if state.shown is None or state.previous or not state.shown.complete:
            self.ask()

    def stage(self) -> Stage:
        """What the screen knows beside the state; the same object until something changed."""
        source, scene = self.host.source, self.state.scene
        known = (scene.id, source.label, self.host.opening())
        if self._stage is None or (self._stage.scene, self._stage.label, self._stage.opening) != known:

            def offered(chosen: Mapping[str, str]) -> bool:
                return source.offered(scene, chosen)

            self._stage = Stage(*known, offered, self.host.presenting)
        return self._stage

    def on_resize(self) -> None:
        """Paint for the new size."""
        self.paint()

    def on_screen_suspend(self) -> None:
        """Behind a dialog the picture stands still."""
        self.state = replace(self.state, play=self.state.play.hold(self.host.clock(), True))
        if self._ticker:
            self._ticker.pause()

    def on_screen_resume(self) -> None:
        """Go on from where it stood."""
        self.become(replace(self.state, play=self.state.play.hold(self.host.clock(), False)))

    def slept(self, seconds: float) -> None:
        """The whole program stood still for so long."""
        play = self.state.play
        self.become(replace(self.state, play=replace(play, since=play.since + seconds)))

    def become(self, state: State) -> None:
        """Show a state; ask the source when its choices are no longer those asked for."""
        before, self.state = self.state, state
        if dict(before.chosen) != dict(state.chosen) and state.waiting is not None and state.waiting.id == 0:
            self._ask_soon()
        if self.is_mounted:
            self.paint()

    def paint(self) -> None:
        """Show what there is now, and let the ticker run as long as the picture moves."""
        now = self.host.clock()
        width, height = self.app.size
        stage = self.stage()
        # A long wait is counted in whole seconds; nothing else of the still parts depends on the time.
        waited = int(now - self.state.waiting.since) if self.state.waiting is not None else 0
        key = (self.state, stage, waited, width, height)
        if self._still_of is None or any(a is not b and a != b for a, b in zip(self._still_of, key, strict=True)):
            self._still, self.hidden = still_tiles(self.state, stage, now, width, height)
            self._still_of = key
        moving_part = picture_tile(self.state, stage, now, width, height)
        self._sheet.show((*self._still, *((moving_part,) if moving_part else ())))
        if self._ticker:
            if moving_part is not None and self.state.moving(now):
                self._ticker.resume()
            else:
                self._ticker.pause()
        if self._seconds:
            if self.state.waiting is not None:
                self._seconds.resume()
            else:
                self._seconds.pause()

    def hear(self, reply: Progress | Measured | Failed) -> None:
        """An answer of the source."""
        self.become(moves.heard(self.state, reply, self.host.clock()))

    def lose(self, problem: Problem, restarting: bool) -> None:
        """The session behind the source is gone."""
        self.become(moves.lost(self.state, problem, restarting))

    def fail(self, problem: Problem) -> None:
        """The source could not be opened."""
        self.become(moves.broken(self.state, problem))

    def _ask_soon(self) -> None:
        if self._asking:
            self._asking.stop()
        self._asking = self.set_timer(PATIENCE, self.ask)

    def ask(self, again: bool = False) -> None:
        """Ask the source for the choices on the screen."""
        if self._asking:
            self._asking.stop()
            self._asking = None
        source, scene = self.host.source, self.state.scene
        why_not = source.can_show(scene)
        if why_not:
            met = problem("cannot-show", scene=scene.title, why=why_not)
            self.become(replace(self.state, problem=met, waiting=None))
        else:
            self.host.trying()
            now = self.host.clock()
            self.become(moves.asked(self.state, source.ask(scene, self.state.chosen, again=again), now))

    def meet(self) -> None:
        """The source has said which GPU it is."""
        self.become(moves.met(self.state, self.host.source.device))

    def to_step(self, step: int) -> None:
        """Another step of this scene."""
        self.become(moves.to_step(self.state, step, self.host.clock()))

    def remark(self, said: str) -> None:
        """Answer a key with a few words."""
        self.become(replace(self.state, remark=said))

    # Walking

    def action_step(self, by: int) -> None:
        """The step after or before; beyond the ends the scene after or before."""
        step = self.state.step + by
        if 0 <= step < len(self.state.scene.steps):
            self.to_step(step)
        else:
            self.host.to_neighbour(by, at_end=by < 0)

    def action_edge(self, step: int) -> None:
        """The first step, or the last; inside the picture the first or the last of what is chosen there."""
        if self.state.focus is Focus.PICTURE:
            self._move("home" if step >= 0 else "end")
            return
        last = len(self.state.scene.steps) - 1
        self.to_step(step if step >= 0 else last)

    def action_scene(self, by: int) -> None:
        """The scene after or before."""
        self.host.to_neighbour(by)

    def action_arrow(self, key: str) -> None:
        """An arrow: moves what has the focus."""
        state = self.state
        if state.focus is Focus.PARAMETERS:
            self._arrow_in_parameters(key)
        elif state.focus is Focus.PICTURE:
            self._move(key)
        elif key in ("left", "right"):
            self.action_step(1 if key == "right" else -1)
        elif layout_of(state, *self.app.size).room is not Room.NONE:
            by = 1 if key == "down" else -1
            self.become(replace(state, scroll=min(max(state.scroll + by, 0), self.hidden), remark=""))

    def _arrow_in_parameters(self, key: str) -> None:
        state = moves.commit_typed(self.state) if self.state.typed and key in ("up", "down") else self.state
        if key in ("up", "down"):
            self.become(moves.to_row(state, 1 if key == "down" else -1))
        else:
            self.become(moves.choose(state, 1 if key == "right" else -1, self.stage().offered))

    def action_space(self) -> None:
        """The next step, wherever the focus is."""
        self.action_step(1)

    # Changing

    def action_turn(self, by: int) -> None:
        """The steps, the parameters, the picture, in turn."""
        self.become(moves.next_focus(moves.commit_typed(self.state), by))

    def action_enter(self) -> None:
        """Measures a typed number, steps into the picture."""
        state = self.state
        if state.focus is Focus.PARAMETERS:
            self.become(moves.commit_typed(state))
        elif state.focus is Focus.PICTURE:
            self._move("enter")
        elif state.can_enter and state.drawable is not None:
            self.become(moves.focused(state, Focus.PICTURE))

    def action_escape(self) -> None:
        """Steps out: of a number, a measurement, a notice, the picture, the focus, at last of the scene."""
        state = self.state
        if state.typed:
            self.become(replace(state, typed="", remark=""))
        elif state.waiting is not None:
            self.host.source.cancel()
            if self._asking:
                self._asking.stop()
            self.become(moves.cancelled(state))
        elif state.problem is not None:
            self.become(replace(state, problem=None))
        elif state.focus is Focus.PICTURE and state.cursor:
            self._move("escape")
        elif state.focus is not Focus.STEPS:
            self.become(moves.focused(state, Focus.STEPS))
        else:
            self.host.to_start()

    def _move(self, key: str) -> None:
        state = self.state
        m = state.drawable
        tile = picture_tile(state, self.stage(), self.host.clock(), *self.app.size)
        if m is None or tile is None:
            return
        view = state.view(self.host.clock(), tile.canvas.width, tile.canvas.height)
        cursor = Guarded(state.scene).move(m, view, key)
        if key == "escape" and cursor == state.cursor:
            self.become(moves.focused(replace(state, cursor=()), Focus.STEPS))
        else:
            self.become(replace(state, cursor=cursor, remark=""))

    def action_again(self) -> None:
        """Launch again; a recording is played again."""
        if self.state.live:
            self.ask(again=True)
        elif self.state.drawable is not None:
            self.become(replace(self.state, play=self.state.play.restarted(self.host.clock()), remark=""))
        else:
            self.ask()

    async def press(self, key: events.Key) -> None:
        """An action's key; digits and backspace belong to the number being typed."""
        if key.key in KEYS:
            await self.run_action(KEYS[key.key])
        elif self.state.focus is not Focus.PARAMETERS:
            return
        elif key.character and key.character.isascii() and key.character.isdigit():
            self.become(moves.type_digit(self.state, key.character))
        elif key.key == "backspace":
            self.become(moves.erase_digit(self.state))

    # Asking and showing

    def action_go_to(self) -> None:
        """The index."""
        state = self.state
        self.host.open_panel(GoTo.of(self.host.scenes, self.host.why_not(), state.scene.id, state.step))

    def action_commands(self) -> None:
        """Everything that can be done, by name."""
        self.host.open_panel(Commands.of(self.host.scenes, self.host.why_not()))

    def action_source(self) -> None:
        """The files that ran."""
        self.host.open_panel(Code.of(self.state))

    def action_where(self) -> None:
        """The evidence."""
        self.host.open_panel(Where.of(self.state))

    def action_notes(self) -> None:
        """The speaker's notes."""
        self.host.open_panel(Notes.of(self.state))

    def action_face(self) -> None:
        """Words or picture, on a small screen."""
        if layout_of(self.state, *self.app.size).room is Room.TURNS:
            words = self.state.face is Face.WORDS
            play = self.state.play.restarted(self.host.clock()) if words else self.state.play
            self.become(replace(self.state, face=Face.PICTURE if words else Face.WORDS, play=play, remark=""))
        else:
            self.remark("words and picture both have room here")

    def action_blank(self) -> None:
        """A dark screen."""
        self.host.blank()

    def action_pace(self, by: int) -> None:
        """Faster or slower."""
        state = moves.paced(self.state, by, self.host.clock())
        self.become(replace(state, remark=_speed_text(state.play.speed)))

    def action_motion(self) -> None:
        """Motion off, or on again from the beginning of the step."""
        motion = not self.state.motion
        play = self.state.play.restarted(self.host.clock())
        self.become(replace(self.state, motion=motion, play=play, remark="motion on" if motion else "motion off"))


def _speed_text(speed: float) -> str:
    return f"speed {speed:g} ×" if speed >= 1 else f"speed 1/{1 / speed:g}"
