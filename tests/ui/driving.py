"""Drives the walkthrough without a terminal, with a clock that stands where it is put."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from textual import events
from textual.pilot import Pilot

from gpu_explain.app.source import Source
from gpu_explain.app.walkthrough.application import Walkthrough
from gpu_explain.app.walkthrough.looks import Depth
from gpu_explain.app.walkthrough.paint.tile import flatten
from gpu_explain.app.walkthrough.screens.sheet import Sheet
from gpu_explain.app.walkthrough.screens.walk import PATIENCE, Walk
from gpu_explain.app.walkthrough.state import State
from gpu_explain.scenes.base import Scene
from gpu_explain.scenes.draw.canvas import Canvas
from tests.ui import toy


@dataclass
class Held:
    """A clock that stands where it is put."""

    now: float = 1000.0

    def __call__(self) -> float:
        return self.now


@dataclass
class Driven:
    """A running walkthrough and what a test wants from it."""

    app: Walkthrough
    pilot: Pilot[int]
    clock: Held

    async def press(self, *keys: str) -> None:
        for key in keys:
            await self.pilot.press(key)
        await self.pilot.pause()

    async def burst(self, *keys: str) -> None:
        """Keys as a terminal hands them over when they come at once: nothing is waited for between two of them."""
        for key in keys:
            self.app.post_message(events.Key(key, " " if key == "space" else key if len(key) == 1 else None))
        await self.pilot.pause()
        await self.pilot.pause()

    async def settle(self) -> None:
        """Long enough for a changed choice to be asked for and answered."""
        await self.pilot.pause(PATIENCE + 0.05)
        await self.pilot.pause()

    async def later(self, seconds: float) -> None:
        """Let screen time pass."""
        self.clock.now += seconds
        await self.pilot.pause(0.05)

    @property
    def sheet(self) -> Sheet:
        return self.app.screen.query_one(Sheet)

    @property
    def canvas(self) -> Canvas:
        return flatten(self.sheet.tiles, *self.app.size)

    @property
    def text(self) -> str:
        return str(self.canvas)

    @property
    def walk(self) -> Walk:
        found = [screen for screen in self.app.screen_stack if isinstance(screen, Walk)]
        return found[-1]

    @property
    def state(self) -> State:
        return self.walk.state


@asynccontextmanager
async def walking(
    source: toy.FakeSource | Source | None = None,
    scenes: Sequence[Scene] | None = None,
    *,
    scene: str | None = "toy",
    size: tuple[int, int] = (120, 40),
    **options: Any,
) -> AsyncIterator[Driven]:
    """The walkthrough with a made-up scene (or given ones), opened at ``scene``."""
    clock = Held()
    app = Walkthrough(
        source or toy.FakeSource(),
        scenes or (toy.scene(), toy.other()),
        scene=scene,
        clock=clock,
        **{"depth": Depth.FULL, "encoding": "utf-8", **options},
    )
    async with app.run_test(size=size) as pilot:
        driven = Driven(app, pilot, clock)
        await pilot.pause()
        await pilot.pause()
        yield driven
