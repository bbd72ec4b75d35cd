"""What a frame costs: ``python -m benchmarks.frame``. Prints figures; it passes or fails nothing.

Plays every step of ``waves`` (on a made-up GPU of 132 SMs) in real time, the whole walkthrough running in a
pseudo-terminal of 160 × 48 in true colour. CPU time is the process's own, from the first frame of a step to its
last: the scene's drawing, everything the terminal library does, the escape sequences and their writing.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import pty
import struct
import sys
import termios
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import pairwise

from gpu_explain.app.source import Event
from gpu_explain.app.walkthrough.application import Walkthrough
from gpu_explain.app.walkthrough.looks import Depth
from gpu_explain.app.walkthrough.screens.walk import Walk
from gpu_explain.scenes.base import Device, Measurement, Neighbour, Scene, View
from gpu_explain.scenes.base.protocol import Measured
from gpu_explain.scenes.draw.canvas import Canvas
from gpu_explain.scenes.registry import find_scene
from tests.simulated.inprocess import measure

SIZE = (160, 48)


class Answering:
    """A source that has one measurement."""

    live = False
    label = "RECORDED · made up"
    neighbours: tuple[Neighbour, ...] = ()

    def __init__(self, m: Measurement) -> None:
        """Keep what is answered."""
        self.measurement = m
        self.device: Device = m.device
        self.versions: Mapping[str, str] = m.versions
        self._listener: Callable[[Event], None] | None = None

    def listen(self, listener: Callable[[Event], None]) -> None:
        """Have events sent there."""
        self._listener = listener

    def start(self) -> None:
        """Nothing to open."""

    def offered(self, scene: Scene, chosen: Mapping[str, str]) -> bool:
        """Everything is offered."""
        return True

    def can_show(self, scene: Scene) -> str:
        """Everything can be shown."""
        return ""

    def ask(self, scene: Scene, chosen: Mapping[str, str], *, again: bool = False) -> int:
        """Answer at once."""
        if self._listener:
            self._listener(Measured(1, self.measurement))
        return 1

    def cancel(self) -> None:
        """Nothing is open."""

    def close(self) -> None:
        """Nothing to end."""


class Playing(Walkthrough):
    """Plays every step once, then quits; ``lines`` holds what it cost."""

    def __init__(self) -> None:
        """A walk through a scene whose drawing is timed."""
        self.plain = find_scene("waves")
        self.drawing: list[float] = []
        self.frames: list[float] = []
        self.lines: list[str] = []
        scene = replace(self.plain, frame=self._frame)
        super().__init__(Answering(measure("waves")), (scene,), scene=scene.id, depth=Depth.FULL, encoding="utf-8")

    def _frame(self, m: Measurement, view: View) -> Canvas:
        self.frames.append(time.perf_counter())
        began = time.process_time()
        canvas = self.plain.frame(m, view)
        self.drawing.append(time.process_time() - began)
        return canvas

    def on_ready(self) -> None:
        """Begin once the first screen is up."""
        self.run_worker(self._play())

    async def _play(self) -> None:
        await asyncio.sleep(0.5)
        walk = self.screen
        assert isinstance(walk, Walk)
        for index, step in enumerate(self.plain.steps):
            walk.action_edge(0)
            for _ in range(index):
                walk.action_step(1)
            self.drawing.clear()
            self.frames.clear()
            cpu = time.process_time()
            await asyncio.sleep(walk.state.pace.seconds + 0.2)
            self.lines.append(self._line(step.id, time.process_time() - cpu))
        self.exit(0)

    def _line(self, step: str, cpu: float) -> str:
        count = len(self.frames)
        if count < 2:
            return f"{step:<16}   stands still"
        gaps = sorted(b - a for a, b in pairwise(self.frames))
        fps = (count - 1) / (self.frames[-1] - self.frames[0])
        scene, whole = 1000 * sum(self.drawing) / count, 1000 * cpu / count
        p99 = 1000 * gaps[int(0.99 * (len(gaps) - 1))]
        return f"{step:<16}{count:>8}{fps:>10.1f}{scene:>8.1f}{whole - scene:>11.1f}{whole:>8.1f}{p99:>9.1f}"


def main() -> int:
    """Play in a pseudo-terminal and print the table."""
    reader, writer = os.pipe()
    child, terminal = pty.fork()
    if child == 0:
        os.close(reader)
        os.environ |= {"TERM": "xterm-256color", "COLORTERM": "truecolor"}
        app = Playing()
        app.run()
        os.write(writer, "\n".join(app.lines).encode())
        os._exit(0)
    os.close(writer)
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", SIZE[1], SIZE[0], 0, 0))
    written = 0
    while True:
        try:
            arrived = os.read(terminal, 1 << 16)
        except OSError:  # how Linux says that the other end is closed
            break
        if not arrived:
            break
        written += len(arrived)
    os.waitpid(child, 0)
    with os.fdopen(reader, encoding="utf-8") as pipe:
        table = pipe.read()
    sys.stdout.write(
        f"{SIZE[0]} × {SIZE[1]}: milliseconds of CPU a frame. Wanted: at most 12 in all, 7 from canvas on, gap 45\n"
    )
    sys.stdout.write(
        f"{'step':<16}{'frames':>8}{'a second':>10}{'scene':>8}{'canvas on':>11}{'in all':>8}{'p99 gap':>9}\n"
    )
    sys.stdout.write(f"{table}\n{written / 1e6:.1f} MB written to the terminal\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
