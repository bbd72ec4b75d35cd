"""Trips between memory and chip: whole arrays that a kernel reads or writes, as a sketch.

How a byte moves is not recorded, so packets and paths are drawn, not measured, and a picture of trips says *sketch* in
its title. Which kernel a trip belongs to and how far the kernel is in time come from what the scene hands over.
"""

from __future__ import annotations

from dataclasses import dataclass

from gpu_explain.scenes.draw.box import Box
from gpu_explain.scenes.draw.canvas import Canvas
from gpu_explain.scenes.draw.ink import Ink

_PACKET = "■"
"""Data on its way; not a dot, which stands for *measured*."""
_APART = 5
"""Cells between two packets."""
_ROUNDS = 12
"""How many times a packet's spacing is passed while a kernel lasts."""


@dataclass(frozen=True)
class Trip:
    """One array on its way.

    Attributes:
        array: Its name.
        reads: True from memory to the chip, False from the chip to memory.
        ink: Of its path.
        note: A few words at its path's right.
        fill: What of the array has been read or written. Not as high as the cell, or arrays one under the other would
            look like one.
    """

    array: str
    reads: bool
    ink: Ink
    note: str = ""
    fill: str = "▆"


@dataclass(frozen=True)
class Stop:
    """One kernel and its trips, which all happen while it runs.

    Attributes:
        kernel: What the kernel does, in a word.
        trips: Its trips.
        start_ns, end_ns: From when to when it runs, in ns.
    """

    kernel: str
    trips: tuple[Trip, ...]
    start_ns: float
    end_ns: float

    def share(self, now_ns: float) -> float:
        """How much of its time has passed, 0 … 1."""
        if self.end_ns <= self.start_ns:
            return 1.0 if now_ns >= self.end_ns else 0.0
        return min(max((now_ns - self.start_ns) / (self.end_ns - self.start_ns), 0.0), 1.0)


@dataclass(frozen=True)
class Journey:
    """All kernels of one way to do the work."""

    stops: tuple[Stop, ...]

    @property
    def trips(self) -> int:
        """Trips in all."""
        return sum(len(stop.trips) for stop in self.stops)

    def travelled(self, now_ns: float) -> float:
        """Trips' worth of data that have moved by then, a kernel's share of time counted as its share of data."""
        return sum(len(stop.trips) * stop.share(now_ns) for stop in self.stops)

    @property
    def rows(self) -> int:
        """Rows that :func:`draw_journey` takes."""
        return self.trips


def draw_journey(
    canvas: Canvas, box: Box, journey: Journey, now_ns: float, *, label: int = 4, kernel: int = 8, notes: int = 0
) -> int:
    """One row a trip: the array in memory, its path, the kernel on the chip. Returns the first free row.

    An array's bar fills (reads: is passed over) as its kernel's time passes. ``label`` cells are kept for array names,
    ``kernel`` for the kernels' boxes, ``notes`` for what stands beside them, so that journeys can be lined up.
    """
    memory = min(max(box.width // 5, 6), 18)
    written: set[str] = set()
    notes = notes + 1 if notes and box.width >= label + memory + kernel + notes + 24 else 0
    left = box.x + label + 1
    path = Box(left + memory + 3, 0, box.right - notes - kernel - 1 - (left + memory + 3), 1)
    y = box.y
    for stop in journey.stops:
        share, top = stop.share(now_ns), y
        for trip in stop.trips:
            if y >= box.bottom:
                return y
            ink = trip.ink if share > 0 else Ink.FAINT
            canvas.put(box.x, y, trip.array.rjust(label), trip.ink if share > 0 else Ink.DIM)
            there = trip.reads and (share > 0 or trip.array not in written)
            _array(canvas, left, y, memory, share, ink, trip.fill, there=there)
            _path(canvas, path, y, share, trip, ink)
            if notes and share > 0:
                canvas.put(path.right + kernel + 2, y, trip.note, trip.ink)
            y += 1
        written |= {trip.array for trip in stop.trips if not trip.reads}
        _chip(canvas, Box(path.right + 1, top, kernel, y - top), stop.kernel, running=0 < share < 1, begun=share > 0)
    return y


def _array(canvas: Canvas, x: int, y: int, cells: int, share: float, ink: Ink, fill: str, *, there: bool) -> None:
    """The array in memory: shaded where it is there to be read, filled as far as it was read or written."""
    canvas.put(x, y, "▕", Ink.DIM)
    canvas.put(x + 1 + cells, y, "▏", Ink.DIM)
    if there:
        canvas.put(x + 1, y, "░" * cells, Ink.DIM if share <= 0 else ink)
    canvas.put(x + 1, y, fill * round(share * cells), ink)


def _path(canvas: Canvas, path: Box, y: int, share: float, trip: Trip, ink: Ink) -> None:
    """An arrow; while the kernel runs, packets move along it."""
    if path.width < 3:
        return
    canvas.put(path.x, y, "─" * path.width, ink)
    canvas.put(path.right - 1 if trip.reads else path.x, y, "▶" if trip.reads else "◀", ink)
    if not 0 < share < 1:
        return
    moved = int(share * _ROUNDS * _APART)
    for at in range(path.width - 2):
        if (at - moved if trip.reads else at + moved) % _APART == 0:
            canvas.put(path.x + 1 + at, y, _PACKET, ink)


def _chip(canvas: Canvas, box: Box, kernel: str, *, running: bool, begun: bool) -> None:
    """The kernel on the chip, as high as it has trips."""
    ink = Ink.STRONG if running else Ink.TEXT if begun else Ink.FAINT
    if box.height <= 0:
        return
    if box.height == 1:
        canvas.put(box.x, box.y, f"[{kernel.center(box.width - 2)}]", ink)
        return
    top = f"┌{'─' * (box.width - 2)}┐"
    if box.height == 2:
        top = f"┌{f' {kernel} '.center(box.width - 2, '─')}┐"
    canvas.put(box.x, box.y, top, ink)
    for row in range(1, box.height - 1):
        canvas.put(box.x, box.y + row, f"│{' ' * (box.width - 2)}│", ink)
    if box.height > 2:
        canvas.put(box.x, box.y + box.height // 2, f"│{kernel.center(box.width - 2)}│", ink)
    canvas.put(box.x, box.bottom - 1, f"└{'─' * (box.width - 2)}┘", ink)
