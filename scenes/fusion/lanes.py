"""The pictures of ``fusion`` that run on the GPU's clock: the trips, the race, the kernels that ran."""

from __future__ import annotations

from math import inf

from gpu_explain.scenes.base import Measurement, number_text
from gpu_explain.scenes.draw.bars import Bar, labelled_bars
from gpu_explain.scenes.draw.box import Box, legend, paragraph, titled, wrap
from gpu_explain.scenes.draw.canvas import Canvas
from gpu_explain.scenes.draw.ink import Ink
from gpu_explain.scenes.draw.pieces import Piece, draw_pieces
from gpu_explain.scenes.draw.race import Lane, Leg, Race, clock_text, draw_axis, draw_race
from gpu_explain.scenes.draw.scale import Scale
from gpu_explain.scenes.draw.trips import Journey, Stop, Trip, draw_journey
from gpu_explain.scenes.fusion.calculations import operands
from gpu_explain.scenes.fusion.claims import rival
from gpu_explain.scenes.fusion.curves import speedups
from gpu_explain.scenes.fusion.inks import EAGER, FILLS, FUSED, OTHER
from gpu_explain.scenes.fusion.kernel_names import does, numbered, short_name
from gpu_explain.scenes.fusion.measure import EAGER_TRIPS, FUSED_TRIPS, ITEM
from gpu_explain.scenes.fusion.parameters import NAMES, about
from gpu_explain.scenes.fusion.remarks import other_clock

_POWERS = {"GB": "10^9", "MB": "10^6", "KB": "10^3"}
"""Bytes of the units that arrays are counted in."""


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


def _journey(m: Measurement, name: str, now: float = inf) -> Journey:
    """The trips of eager or of a fused entrant, each kernel at its time, with what can be said of them by ``now``."""
    whole = _ns(m, f"time.{name}")
    if name != "eager":
        trips = (
            Trip("a", True, FUSED),
            Trip("b", True, FUSED, "each sum stays"),
            Trip("c", False, FUSED, "in a register"),
        )
        return Journey((Stop("add, relu", trips, 0.0, whole),))
    add_end, _ = _eager_stops(m)
    note = "┐ 2 of 5 trips" if now > add_end else "only for relu"
    tmp = FILLS[Ink.LOOK]
    add = (Trip("a", True, EAGER), Trip("b", True, EAGER), Trip("tmp", False, Ink.LOOK, note, tmp))
    relu = (Trip("tmp", True, Ink.LOOK, "┘ only for tmp", tmp), Trip("c", False, EAGER))
    return Journey((Stop("add", add, 0.0, add_end), Stop("relu", relu, add_end, whole)))


def trips(m: Measurement, canvas: Canvas, box: Box, share: float, previous: str) -> None:
    """Five arrows against three."""
    me, end = rival(m), _ns(m, "time.eager")
    now = share * race_end_ns(m)
    array, unit = m.number("bytes.array"), m.quantity("bytes.array").unit
    room = titled(
        canvas,
        box,
        "TRIPS BETWEEN MEMORY AND CHIP (sketch)",
        previous or f"a trip: {number_text(array)} {unit} (1 {unit} = {_POWERS[unit]} bytes)",
    )
    y = room.y
    if room.height >= 19:
        canvas.put(room.x + 5, y, "MEMORY", Ink.DIM)
        canvas.right(room.right - (16 if room.width >= 70 else 0), y, "ON THE CHIP", Ink.DIM)
        y += 1
    for name in ("eager", me):
        journey, ends = _journey(m, name, now), _ns(m, f"time.{name}")
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
        y += 2
    y = min(y, room.bottom - 1)
    key = [("─▶", Ink.TEXT, "read"), ("◀─", Ink.TEXT, "written"), ("░", Ink.TEXT, "not read yet")]
    legend(canvas, room.x, y, [*key, (FILLS[Ink.LOOK], Ink.LOOK, "tmp = a + b")], room.right)
    y = _more_on_trips(m, canvas, Box(box.x, y + 2, box.width, max(box.bottom - y - 2, 0)), me, now)
    if now >= end:
        trip = f"{EAGER_TRIPS - FUSED_TRIPS} × {number_text(array)} {unit}"
        text = f"Fused: {FUSED_TRIPS} trips, not {EAGER_TRIPS}: tmp is never written and read back ({trip})."
        paragraph(canvas, Box(room.x, y, room.width, max(box.bottom - y, 0)), text, Ink.LOOK)


def _more_on_trips(m: Measurement, canvas: Canvas, box: Box, me: str, now: float) -> int:
    """Below the sketch, as far as there is room: bytes trip by trip, memory asked for, time. Returns the free row."""
    y, last = box.y, box.bottom - 2
    if y + 8 <= last:
        y = _bytes_by_trip(m, canvas, Box(box.x, y, box.width, 7), me, now) + 1
    other = me if m.has(f"memory.{me}") else "triton"
    if y + 5 <= last and m.has("memory.eager"):
        y = _memory_asked_for(m, canvas, Box(box.x, y, box.width, 4), other) + 1
    if y + 11 <= last:
        lanes = tuple(_race_lane(m, name, me, _ns(m, "time.eager")) for name in ("eager", me))
        inner = titled(
            canvas,
            Box(box.x, y, box.width, last - y),
            "THE SAME TO SCALE IN TIME",
            "● each measured alone, drawn from one start",
            rule=True,
        )
        y = draw_race(canvas, inner.inside(top=1), Race(lanes, now, gap=1, below=1)) + 1
    return y


def _bytes_by_trip(m: Measurement, canvas: Canvas, box: Box, me: str, now: float) -> int:
    """Every trip as a piece of one length: tmp's two are what fusion saves. Returns the first free row."""
    array, unit = m.number("bytes.array"), m.quantity("bytes.array").unit
    room = titled(
        canvas,
        box,
        "BYTES MOVED, TRIP BY TRIP",
        f"○ each piece {number_text(array)} {unit}",
        rule=True,
    )
    label, said = 14, 9
    scale = Scale(0, EAGER_TRIPS * array, max(room.width - label - said, EAGER_TRIPS))
    y = room.y
    for name in ("eager", me):
        journey = _journey(m, name)
        canvas.put(room.x, y, NAMES[name], Ink.TEXT)
        pieces = [
            Piece(
                f"{'read' if trip.reads else 'write'} {trip.array}", array, stop.share(now), trip.ink, FILLS[trip.ink]
            )
            for stop in journey.stops
            for trip in stop.trips
        ]
        end = draw_pieces(canvas, room.x + label, y, scale, pieces)
        canvas.put(end + 1, y, f"{number_text(journey.travelled(now) * array)} {unit}", Ink.STRONG)
        y += 2
    return y


def _memory_asked_for(m: Measurement, canvas: Canvas, box: Box, other: str) -> int:
    """That tmp really exists: what each entrant asked the allocator for. Returns the first free row."""
    count = "● counted by torch's allocator"
    if other != rival(m):
        count = f"{NAMES[rival(m)]} not counted: {NAMES[other]}'s is shown"
    room = titled(canvas, box, "MEMORY ALLOCATED DURING THE CALL", count, rule=True)
    array = m.number("bytes.array")
    bars = []
    for name, what, arrays in (("eager", "tmp + c", 2), (other, "c", 1)):
        asked = m.number(f"memory.{name}")
        means = f" = {what}" if abs(asked / array - arrays) < 0.01 else ""
        bars.append(_bar(name, asked, m.quantity(f"memory.{name}").text + means))
    return labelled_bars(canvas, room, bars, m.number("memory.eager"))


def _race_lane(m: Measurement, name: str, me: str, end_ns: float) -> Lane:
    trips = EAGER_TRIPS if name == "eager" else FUSED_TRIPS
    moved = m.quantity("bytes.eager" if name == "eager" else "bytes.fused")
    whole = _ns(m, f"time.{name}")
    if name == "eager":
        add_end, _ = _eager_stops(m)
        legs: tuple[Leg, ...] = (_leg("add", 0.0, add_end, EAGER), _leg("relu", add_end, whole, EAGER))
    else:
        legs = (_leg("add, relu", 0.0, whole, FUSED if name == me else OTHER),)
    return Lane(
        NAMES[name],
        legs,
        said=clock_text(whole, end_ns),
        below=(f"{trips} trips, {moved.text}",),
        strong=name in ("eager", me),
    )


def race(m: Measurement, canvas: Canvas, box: Box, share: float, previous: str) -> None:
    """Every entrant on one clock, the bytes it has moved by then, and how fast it moves them."""
    end = race_end_ns(m)
    now, me = share * end, rival(m)
    names = _in_order(m, "time", me)
    title = "THE RACE: relu(a + b) ON " + about(int(m.number("race.n"))).upper() + " NUMBERS"
    room = titled(canvas, box, title, previous or "● each measured alone")
    below = 1 if room.height >= 4 * len(names) + 2 else 0
    gap = 1 if room.height >= (2 + below) * len(names) + 9 else 0
    drawn = Race(tuple(_race_lane(m, name, me, end) for name in names), now, gap=gap, below=below)
    y = draw_race(canvas, room.inside(top=1 if gap else 0), drawn)
    if y < room.bottom:
        legend(canvas, room.x, y, _key(names, me), room.right)
        y += 2 if gap else 1
    y = _bytes_moved(m, canvas, Box(box.x, y, box.width, max(box.bottom - y, 0)), me, now)
    if box.bottom - y >= 8:
        y = _bytes_a_second(m, canvas, Box(box.x, y + gap, box.width, 4), me, share)
    y += 1 if box.bottom - y >= 3 else 0
    for text in _verdict(m, me)[: max(box.bottom - y, 0)]:
        if now >= end:
            paragraph(canvas, Box(room.x, y, room.width, 1), text, Ink.LOOK)
        y += 1
    below_all = Box(box.x, y + 1, box.width, max(box.bottom - y - 1, 0))
    if below_all.height >= 14 and m.has("gpu.eager"):
        speedups(m, canvas, below_all, 1.0, rule=True)


def _in_order(m: Measurement, what: str, me: str) -> list[str]:
    """Those of whom something is known: eager, the one chosen to race, the others."""
    return sorted((name for name in NAMES if m.has(f"{what}.{name}")), key=lambda name: (name != "eager", name != me))


def _key(names: list[str], me: str) -> list[tuple[str, Ink, str]]:
    """What the three inks of lanes mean."""
    key = [(FILLS[EAGER], EAGER, "eager: 2 kernels"), (FILLS[FUSED], FUSED, f"{NAMES[me]}, chosen: 1 kernel")]
    return [*key, (FILLS[OTHER], OTHER, "others: 1 kernel")] if len(names) > 2 else key


def _verdict(m: Measurement, me: str) -> tuple[str, str]:
    """Who won by how much, in time and in bytes, with the division behind each."""
    wins, allow = m.number(f"speedup.{me}"), m.number("bytes.allow")
    eager, mine = m.number("time.eager"), m.number(f"time.{me}")
    says = f"{NAMES[me]} is {wins:.2f} × as fast as eager"
    # torch.compile ran against eager in a round of its own, whose quotient may be another one.
    if pair := operands((eager, mine), lambda v: f"{v[0] / v[1]:.2f}", f"{wins:.2f}"):
        says += f": {pair[0]} ÷ {pair[1]} µs"
    most, least = m.quantity("bytes.eager"), m.quantity("bytes.fused")
    trips = f"{EAGER_TRIPS} trips ÷ {FUSED_TRIPS}"
    return f"{says}.", f"Eager moves {allow:.2f} × as many bytes: {most.text} ÷ {least.text}, {trips}."


def _bytes_moved(m: Measurement, canvas: Canvas, box: Box, me: str, now: float) -> int:
    """Bars of bytes moved so far: the same lanes, measured with the other ruler."""
    if box.height < 4:
        return box.y
    room = titled(canvas, box, "BYTES MOVED SO FAR", "○ counted, spread evenly over a kernel's time", rule=True)
    array, unit = m.number("bytes.array"), m.quantity("bytes.array").unit
    bars = []
    for name in ("eager", me):
        moved = _journey(m, name).travelled(now) * array
        bars.append(_bar(name, moved, f"{number_text(moved)} {unit}"))
    return labelled_bars(canvas, room, bars, EAGER_TRIPS * array)


def _bytes_a_second(m: Measurement, canvas: Canvas, box: Box, me: str, share: float) -> int:
    """Bytes ÷ time: that both move them equally fast is why time follows bytes."""
    room = titled(canvas, box, "SPEED: BYTES ÷ TIME", "● counted bytes ÷ measured time", rule=True)
    n = m.number("race.n")
    rates = {
        name: trips * ITEM * n / m.number(f"time.{name}") / 1e3
        for name, trips in (("eager", EAGER_TRIPS), (me, FUSED_TRIPS))
    }
    bars = [_bar(name, rate, f"{number_text(rate)} GB/s") for name, rate in rates.items()]
    return labelled_bars(canvas, room, bars, max(rates.values()), played=share)


def _bar(name: str, value: float, text: str) -> Bar:
    """A bar of eager or of the fused entrant it races against."""
    ink = EAGER if name == "eager" else FUSED
    return Bar(NAMES[name].ljust(13), value, text, ink, FILLS[ink])


def _leg(label: str, start_ns: float, end_ns: float, ink: Ink) -> Leg:
    return Leg(label, start_ns, end_ns, ink, FILLS[ink])


def kernels(m: Measurement, canvas: Canvas, box: Box, share: float, previous: str) -> None:
    """The kernels that the profiler saw, by name and on the GPU's clock."""
    room = titled(canvas, box, "KERNELS ON THE GPU, BY NAME", previous or "● recorded by the profiler (CUPTI)")
    me = rival(m)
    names = _in_order(m, "ran", me)
    if not names:
        paragraph(canvas, room.inside(top=1), f"Not recorded: {m.why_missing('ran.eager')}.", Ink.DIM)
        return
    end = recorded_end_ns(m)
    now = share * end
    label = max(len(NAMES[name]) for name in names) + 1
    # Under the lanes: axis, key, a remark and the conclusion. Names get as many rows as that leaves them.
    footer = 7 if room.height >= 18 else 2
    lanes = [_recorded_lane(m, name, me, end, room.width - label, 1) for name in names]
    for lines in (5, 4, 3, 2):
        longer = [_recorded_lane(m, name, me, end, room.width - label, lines) for name in names]
        if sum(1 + len(lane.below) for lane in longer) + footer <= room.height:
            lanes = longer
            break
    spare = room.height - footer - sum(1 + len(lane.below) for lane in lanes)
    gap = 1 if spare >= len(lanes) + 1 else 0
    y = room.y
    timed = Lane("", (Leg("", end, end, OTHER),), said=max((lane.said for lane in lanes), key=len))
    for lane in lanes:
        y += gap
        if y >= room.bottom - 2:
            break
        draw_race(canvas, Box(room.x, y, room.width, 1), Race((lane, timed), now), label=label)
        y += 1
        for text in lane.below:
            if y >= room.bottom - 2:
                break
            canvas.put(room.x + label, y, text, Ink.TEXT)
            y += 1
    y += gap
    if y + 1 < room.bottom:
        # The cells that draw_race gives to time beside these names and what is said after the bars.
        cells = max(room.width - label - len(timed.said) - 2, 4)
        draw_axis(canvas, room.x + label, y, Scale(0.0, end, cells), now)
        y += 2
    if y < room.bottom:
        legend(canvas, room.x, y, _key(names, me), room.right)
        y += 1 + gap
    if y + 2 < room.bottom:
        remark = other_clock(m)
        clamp = " torch's relu is a clamp at 0." if "clamp" in m.capture("ran.eager").text else ""
        if len(wrap(remark + clamp, room.width)) <= 2:
            remark += clamp
        y = paragraph(canvas, Box(room.x, y, room.width, 2), remark, Ink.DIM) + gap
    _more_on_kernels(m, canvas, Box(box.x, y, box.width, max(box.bottom - y, 0)), names, share)


def _more_on_kernels(m: Measurement, canvas: Canvas, box: Box, names: list[str], share: float) -> None:
    """How many kernels each ran, and where there is room the trips that go with them."""
    said = _counted(m, names)
    if share >= 1:
        paragraph(canvas, box.inside(left=1, right=1), said, Ink.LOOK)
    rows = len(wrap(said, box.width - 2)) + 1
    if box.height >= rows + 8:
        below = Box(box.x, box.y + rows, box.width, 7)
        _bytes_by_trip(m, canvas, below, rival(m), share * race_end_ns(m))


def _counted(m: Measurement, names: list[str]) -> str:
    """How many kernels each ran, as a sentence; the fused ones together where they agree."""
    count = {name: len(m.one_series(f"ran.{name}").x) for name in names}
    fused = [name for name in names if name != "eager"]
    said = [f"{NAMES[name]} {_kernels(count[name])}" for name in names if name == "eager"]
    if fused and len({count[name] for name in fused}) == 1:
        every = ", ".join(NAMES[name] for name in fused)
        many = f"{count[fused[0]]} each" if len(fused) > 1 else _kernels(count[fused[0]])
        said.append(f"{every} {many}")
    else:
        said += [f"{NAMES[name]} {_kernels(count[name])}" for name in fused]
    return f"One line of PyTorch: {'; '.join(said)}."


def _kernels(count: int) -> str:
    return "1 kernel" if count == 1 else f"{count} kernels"


def _recorded_lane(m: Measurement, name: str, me: str, end: float, width: int, lines: int) -> Lane:
    """The recorded kernels of an entrant on the GPU's clock, and under them their names, ``width`` cells wide."""
    ran = m.one_series(f"ran.{name}")
    full = m.capture(f"ran.{name}").text.splitlines()
    ink = EAGER if name == "eager" else FUSED if name == me else OTHER
    legs = tuple(
        _leg(f"{at + 1}  {does(kernel)}", x * 1e3, (x + y) * 1e3, ink)
        for at, (x, y, kernel) in enumerate(zip(ran.x, ran.y, full, strict=True))
    )
    below = tuple(
        line
        for at, (y, kernel) in enumerate(zip(ran.y, full, strict=True))
        for line in numbered(at + 1, clock_text(y * 1e3, end), short_name(kernel), width, lines)
    )
    return Lane(NAMES[name], legs, said=_kernels(len(full)), below=below, strong=name in ("eager", me))
