"""The pictures of ``fusion`` that run on the GPU's clock: the trips, the race, the kernels that ran."""

from __future__ import annotations

import re

from gpu_explain.scenes.base import Measurement, number_text
from gpu_explain.scenes.draw.bars import Bar, labelled_bars
from gpu_explain.scenes.draw.box import Box, legend, paragraph, titled, wrap
from gpu_explain.scenes.draw.canvas import Canvas
from gpu_explain.scenes.draw.ink import Ink
from gpu_explain.scenes.draw.race import Lane, Leg, Race, clock_text, draw_race
from gpu_explain.scenes.draw.trips import Journey, Stop, Trip, draw_journey
from gpu_explain.scenes.fusion.claims import rival
from gpu_explain.scenes.fusion.curves import speedups
from gpu_explain.scenes.fusion.inks import EAGER, FUSED, OTHER
from gpu_explain.scenes.fusion.measure import EAGER_TRIPS, FUSED_TRIPS
from gpu_explain.scenes.fusion.parameters import NAMES, about


def _ns(m: Measurement, name: str) -> float:
    return m.number(name) * 1e3


def race_end_ns(m: Measurement) -> float:
    """When the slowest entrant of the race arrives, in ns."""
    return max(_ns(m, f"time.{name}") for name in NAMES if m.has(f"time.{name}"))


def recorded_end_ns(m: Measurement) -> float:
    """When the last recorded kernel ends, in ns since its entrant's first kernel began."""
    series = (m.one_series(f"ran.{name}") for name in NAMES if m.has(f"ran.{name}"))
    return max(max(x + y for x, y in zip(s.x, s.y, strict=True)) for s in series) * 1e3


def _eager_stops(m: Measurement) -> tuple[float, float]:
    """When eager's add and its relu end, in ns: the pair was timed as one, the add also by itself."""
    whole, add, relu = (_ns(m, f"time.{name}") for name in ("eager", "add", "relu"))
    # Launch and events count in each figure; what the parts have too much is taken off in proportion.
    return whole * add / (add + relu), whole


def _journey(m: Measurement, name: str) -> Journey:
    """The trips of eager or of a fused entrant, each kernel at its time."""
    whole = _ns(m, f"time.{name}")
    if name != "eager":
        trips = (Trip("a", True, FUSED), Trip("b", True, FUSED), Trip("c", False, FUSED))
        return Journey((Stop("add, relu", trips, 0.0, whole),))
    add_end, _ = _eager_stops(m)
    add = (Trip("a", True, EAGER), Trip("b", True, EAGER), Trip("tmp", False, Ink.LOOK, "nobody asked"))
    relu = (Trip("tmp", True, Ink.LOOK, "straight back"), Trip("c", False, EAGER))
    return Journey((Stop("add", add, 0.0, add_end), Stop("relu", relu, add_end, whole)))


def trips(m: Measurement, canvas: Canvas, box: Box, share: float, previous: str) -> None:
    """Five arrows against three."""
    me, end = rival(m), _ns(m, "time.eager")
    now = share * race_end_ns(m)
    room = titled(
        canvas, box, "TRIPS BETWEEN MEMORY AND CHIP (sketch)", previous or "○ bytes counted, ● times measured"
    )
    loose = room.height >= 19
    y = room.y + (1 if loose else 0)
    if loose:
        canvas.put(room.x + 5, room.y, "MEMORY", Ink.DIM)
        canvas.right(room.right - (16 if room.width >= 70 else 0), room.y, "ON THE CHIP", Ink.DIM)
    array, unit = m.number("bytes.array"), m.quantity("bytes.array").unit
    for name in ("eager", me):
        journey, ends = _journey(m, name), _ns(m, f"time.{name}")
        x = canvas.put(room.x, y, NAMES[name], EAGER if name == "eager" else FUSED)
        canvas.put(x + 1, y, "1 kernel" if len(journey.stops) == 1 else f"{len(journey.stops)} kernels", Ink.DIM)
        canvas.right(room.right, y, f"t = {clock_text(min(now, ends), end)}", Ink.DIM)
        inner = Box(room.x, y + 1, room.width, max(room.bottom - y - 1, 0))
        y = draw_journey(canvas, inner, journey, now, kernel=13, notes=14 if room.width >= 70 else 0)
        if y >= room.bottom:
            return
        x = canvas.put(room.x + 5, y, f"moved {number_text(journey.travelled(now) * array)} {unit}", Ink.STRONG)
        if now >= ends:
            canvas.put(x, y, f" in {journey.trips} trips, {clock_text(ends, end)}", Ink.STRONG)
        y += 3 if loose else 2
    y = min(y, room.bottom - 1)
    arrows = [("──▶", Ink.TEXT, "read"), ("◀──", Ink.TEXT, "written"), ("──▶", Ink.LOOK, "tmp")]
    x = legend(canvas, room.x, y, arrows, room.right)
    canvas.put(x, y, f"an array: {number_text(array)} {unit}", Ink.DIM)
    rest = Box(box.x, y + 2, box.width, max(box.bottom - y - 2, 0))
    _memory_asked_for(m, canvas, rest, me, now >= end)
    if rest.height >= 18:
        lanes = tuple(_race_lane(m, name, me, end) for name in ("eager", me))
        inner = titled(
            canvas, rest.inside(top=8), "THE SAME TO SCALE IN TIME", "● measured alone, one start", rule=True
        )
        draw_race(canvas, inner.inside(top=1), Race(lanes, now, gap=1, below=1))


def _memory_asked_for(m: Measurement, canvas: Canvas, box: Box, me: str, done: bool) -> None:
    """That tmp really exists: what each entrant asked the allocator for, where there is room for it."""
    other = me if m.has(f"memory.{me}") else "triton"
    if box.height < 5 or not m.has("memory.eager"):
        return
    room = titled(canvas, box, "MEMORY ASKED FOR DURING THE CALL", "● counted by torch's allocator", rule=True)
    bars = [
        Bar(NAMES[name].ljust(13), m.number(f"memory.{name}"), f"{m.quantity(f'memory.{name}').text}: {what}", ink)
        for name, what, ink in (("eager", "tmp and c", EAGER), (other, "c", FUSED))
    ]
    y = labelled_bars(canvas, room, bars, m.number("memory.eager"))
    if done and y + 1 < room.bottom:
        saved = (EAGER_TRIPS - FUSED_TRIPS) * m.number("bytes.array")
        text = f"{number_text(saved)} {m.quantity('bytes.array').unit} less to move: tmp is written, read, thrown away."
        paragraph(canvas, Box(room.x, y + 1, room.width, room.bottom - y - 1), text, Ink.LOOK)


def _race_lane(m: Measurement, name: str, me: str, end_ns: float) -> Lane:
    trips = EAGER_TRIPS if name == "eager" else FUSED_TRIPS
    moved = m.quantity("bytes.eager" if name == "eager" else "bytes.fused")
    whole = _ns(m, f"time.{name}")
    if name == "eager":
        add_end, _ = _eager_stops(m)
        legs: tuple[Leg, ...] = (Leg("add", 0.0, add_end, EAGER), Leg("relu", add_end, whole, EAGER))
    else:
        legs = (Leg("add, relu", 0.0, whole, FUSED if name == me else OTHER),)
    return Lane(
        NAMES[name],
        legs,
        said=clock_text(whole, end_ns),
        below=(f"{trips} trips, {moved.text}",),
        strong=name in ("eager", me),
    )


def race(m: Measurement, canvas: Canvas, box: Box, share: float, previous: str) -> None:
    """Every entrant on one clock, and the bytes it has moved by then."""
    end = race_end_ns(m)
    now, me = share * end, rival(m)
    names = [name for name in NAMES if m.has(f"time.{name}")]
    names.sort(key=lambda name: (name != "eager", name != me))
    title = "THE RACE: relu(a + b) ON " + about(int(m.number("race.n"))).upper() + " NUMBERS"
    room = titled(canvas, box, title, previous or "each measured alone, one start")
    below = 1 if room.height >= 4 * len(names) + 2 else 0
    gap = 1 if room.height >= (2 + below) * len(names) + 9 else 0
    drawn = Race(tuple(_race_lane(m, name, me, end) for name in names), now, gap=gap, below=below)
    y = draw_race(canvas, room.inside(top=1 if gap else 0), drawn)
    if y < room.bottom:
        legend(
            canvas,
            room.x,
            y,
            [("█", EAGER, "two kernels"), ("█", FUSED, "one kernel"), ("█", OTHER, "one kernel, not in this race")],
            room.right,
        )
        y += 2 if gap else 1
    y = _bytes_moved(m, canvas, Box(box.x, y, box.width, max(box.bottom - y, 0)), names, me, now)
    if y + 1 < room.bottom and now >= end:
        wins, allow = m.number(f"speedup.{me}"), m.number("bytes.allow")
        text = f"{NAMES[me]} against eager: {wins:.2f} × in time, {allow:.2f} × in bytes."
        paragraph(canvas, Box(room.x, y + 1, room.width, 1), text, Ink.LOOK)
    below_all = Box(box.x, y + 4, box.width, max(box.bottom - y - 4, 0))
    if below_all.height >= 14 and m.has("gpu.eager"):
        speedups(m, canvas, below_all, 1.0, rule=True)


def _bytes_moved(m: Measurement, canvas: Canvas, box: Box, names: list[str], me: str, now: float) -> int:
    """Bars of bytes moved so far: the same lanes, measured with the other ruler."""
    if box.height < 4:
        return box.y
    room = titled(canvas, box, "BYTES MOVED SO FAR", "○ counted bytes × share of the time", rule=True)
    array, unit = m.number("bytes.array"), m.quantity("bytes.array").unit
    high = EAGER_TRIPS * array
    bars = []
    for name in [one for one in names if one in ("eager", me)]:
        moved = _journey(m, name).travelled(now) * array
        ink = EAGER if name == "eager" else FUSED
        bars.append(Bar(NAMES[name].ljust(13), moved, f"{number_text(moved)} {unit}", ink))
    return labelled_bars(canvas, room, bars, high)


def kernels(m: Measurement, canvas: Canvas, box: Box, share: float, previous: str) -> None:
    """The kernels that the profiler saw, by name and on the GPU's clock."""
    room = titled(canvas, box, "KERNELS ON THE GPU, BY NAME", previous or "recorded by CUPTI, one call each")
    names = [name for name in NAMES if m.has(f"ran.{name}")]
    if not names:
        paragraph(canvas, room.inside(top=1), f"Not recorded: {m.why_missing('ran.eager')}.", Ink.DIM)
        return
    end = recorded_end_ns(m)
    now, me = share * end, rival(m)
    said: list[Lane] = []
    label = max(len(NAMES[name]) for name in names) + 1
    lines = 1 if room.height < 26 else 3
    for name in names:
        ran = m.one_series(f"ran.{name}")
        full = m.capture(f"ran.{name}").text.splitlines()
        ink = EAGER if name == "eager" else FUSED if name == me else OTHER
        legs = tuple(
            Leg(str(at + 1), x * 1e3, (x + y) * 1e3, ink) for at, (x, y) in enumerate(zip(ran.x, ran.y, strict=True))
        )
        below = tuple(
            line
            for at, (y, kernel) in enumerate(zip(ran.y, full, strict=True))
            for line in _named(at + 1, clock_text(y * 1e3, end), short_name(kernel), room.width - label, lines)
        )
        said.append(Lane(NAMES[name], legs, below=below, strong=name in ("eager", me)))
    y = room.y
    needed = sum(1 + len(lane.below) for lane in said) + 3
    gap = 1 if room.height >= needed + 2 * len(said) else 0
    for lane in said:
        y += gap
        alone = Race((lane, Lane("", (Leg("", end, end, OTHER),))), now)
        if y >= room.bottom - 2:
            break
        draw_race(canvas, Box(room.x, y, room.width, 1), alone, label=label)
        y += 1
        for text in lane.below:
            if y >= room.bottom - 2:
                break
            canvas.put(room.x + label, y, text, Ink.TEXT)
            y += 1
    y += gap
    if y + 1 < room.bottom:
        draw_race(canvas, Box(room.x, y - 1, room.width, 3), _axis_only(end, now), label=label)
    if y + 2 < room.bottom:
        legend(
            canvas,
            room.x + label,
            y + 2 + gap,
            [("█", EAGER, "eager"), ("█", FUSED, "fused, in the race"), ("█", OTHER, "fused")],
            room.right,
        )


def _named(number: int, took: str, name: str, width: int, lines: int) -> tuple[str, ...]:
    """A kernel's number, time and name, the name broken into lines; what is beyond them is cut with ``…``."""
    head = f"{number} {took:>9}  "
    pieces = wrap(name, max(width - len(head), 8))
    shown = pieces[:lines]
    if len(shown) < len(pieces):
        # As much of the rest as the last line takes: the words of a template are long.
        rest = " ".join(pieces[lines - 1 :])
        shown[-1] = rest[: max(width - len(head), 8) - 1] + "…"
    return tuple((head if at == 0 else " " * len(head)) + piece for at, piece in enumerate(shown))


def _axis_only(end_ns: float, now_ns: float) -> Race:
    return Race((Lane("", (Leg("", end_ns, end_ns, OTHER),)),), min(now_ns, end_ns))


_NOISE = re.compile(r"at::native::|\(anonymous namespace\)::|at::|c10::|std::|^void ")
_LAST_ARGUMENTS = re.compile(r"\([^()]*\)$")


def short_name(name: str) -> str:
    """A kernel's name without what says nothing: namespaces, ``void``, the list of arguments.

    >>> short_name("void at::native::vectorized_elementwise_kernel<4, at::native::Add<float> >(int, float)")
    'vectorized_elementwise_kernel<4, Add<float>>'
    """
    short = _NOISE.sub("", name)
    if short.endswith(")"):
        depth = 0
        for at in range(len(short) - 1, -1, -1):
            depth += (short[at] == ")") - (short[at] == "(")
            if depth == 0:
                short = short[:at]
                break
    return re.sub(r"\s+>", ">", short).strip()
