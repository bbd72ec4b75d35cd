"""The step inside: where the viewer stands in the grid, how keys move there, and what is drawn at each depth."""

from __future__ import annotations

from dataclasses import dataclass

from gpu_explain.scenes.base import Cursor, Measurement, Trace, View
from gpu_explain.scenes.draw.box import Box, legend, paragraph, titled
from gpu_explain.scenes.draw.canvas import Canvas
from gpu_explain.scenes.draw.ink import Ink
from gpu_explain.scenes.draw.inside import WarpBar, lane_columns, lanes, rows_of_blocks, warp_bars
from gpu_explain.scenes.draw.scale import count_text, time_text
from gpu_explain.scenes.draw.sm_map import (
    FREE,
    FRESH,
    RUNNING,
    Layout,
    counters,
    draw_cells,
    layout,
    moved,
    residents_painter,
    sm_ids,
)

MAP_ROWS = 12
"""Rows that the map may take where the levels below it are drawn as well."""


@dataclass(frozen=True)
class Place:
    """Where the viewer stands: ``depth`` 0 is outside, 1 an SM, 2 a block, 3 a warp, 4 a lane.

    What lies deeper than ``depth`` is what would be entered next.
    """

    depth: int
    sm: int
    block: int
    warp: int
    lane: int


def freeze_ns(trace: Trace) -> float:
    """The moment at which the map of this step stands still: half of the launch."""
    return trace.span_ns / 2


def kept_blocks(m: Measurement) -> frozenset[int]:
    """The blocks whose warps' times were kept."""
    per_block = int(m.number("grid.warps_per_block"))
    return frozenset(int(warp) // per_block for warp in m.one_series("warps.start").x)


def place_of(m: Measurement, cursor: Cursor) -> Place:
    """The cursor ``(SM's place in the trace, block, warp, lane)``, filled up where it is shorter."""
    trace = m.trace("launch")
    # The SM of the last block: its warps are kept in every recording.
    sm = trace.sms[cursor[0] % len(trace.sms)] if cursor else trace.sm[-1]
    block = cursor[1] if len(cursor) > 1 else _block_at(trace, sm, freeze_ns(trace))
    return Place(len(cursor), sm, block, cursor[2] if len(cursor) > 2 else 0, cursor[3] if len(cursor) > 3 else 0)


def _block_at(trace: Trace, sm: int, now_ns: float) -> int:
    """The first of an SM's blocks that is resident at a time, else the one that started last before it."""
    blocks = trace.by_sm[sm]
    there = [b for b in blocks if trace.start_ns[b] <= now_ns < trace.end_ns[b]]
    before = [b for b in blocks if trace.start_ns[b] <= now_ns]
    return there[0] if there else before[-1] if before else blocks[0]


def move_inside(m: Measurement, view: View, key: str) -> Cursor:
    """Enter steps in, escape out; arrows go to the next SM, block, warp or lane."""
    here, trace = place_of(m, view.cursor), m.trace("launch")
    at = trace.sms.index(here.sm)
    full = (at, here.block, here.warp, here.lane)
    if key == "escape":
        return view.cursor[:-1]
    if key == "enter":
        # From outside straight to the SM: an arrow has not been needed to choose it.
        deepest = 4 if here.block in kept_blocks(m) else 2
        return full[: min(len(view.cursor) + 1, deepest)]
    if here.depth <= 1:
        cells = layout(_map_box(m, view), sm_ids(trace, int(m.number("fit.sms"))), int(m.number("fit.residents")))
        sm = moved(cells, here.sm, key)
        while sm not in trace.by_sm:  # SMs without a block have no inside
            sm = moved(cells, sm, key if key in ("left", "right") else "right")
        return (trace.sms.index(sm),)
    if here.depth == 2:
        return (at, _next_block(trace, here, key))
    if here.depth == 3:
        by = {"up": -1, "left": -1, "down": 1, "right": 1}.get(key, 0)
        return (at, here.block, (here.warp + by) % int(m.number("grid.warps_per_block")))
    width = len(m.one_series("lanes").x)
    columns = lane_columns(_half(view), _widest(m))
    by = {"up": -columns, "left": -1, "down": columns, "right": 1}.get(key, 0)
    return (at, here.block, here.warp, (here.lane + by) % width)


def _next_block(trace: Trace, here: Place, key: str) -> int:
    """The block before or after in the same row, or the one that runs beside it in the row above or below."""
    rows = trace.rows(here.sm)
    row = next(at for at, blocks in enumerate(rows) if here.block in blocks)
    column = rows[row].index(here.block)
    if key in ("left", "right"):
        return rows[row][min(max(column + (1 if key == "right" else -1), 0), len(rows[row]) - 1)]
    other = rows[(row + (1 if key == "down" else -1)) % len(rows)]
    return min(other, key=lambda block: abs(trace.start_ns[block] - trace.start_ns[here.block]))


def _widest(m: Measurement) -> int:
    return len(count_text(int(m.value("elements"))))


def _half(view: View) -> int:
    """Width of the panel of lanes: the right half of the picture where there is room for two."""
    return view.width // 2 - 1 if view.width >= 78 else view.width - 2


# -- drawing ---------------------------------------------------------------------------------------------------------


def _map_box(m: Measurement, view: View) -> Box:
    """Where the map stands when it is drawn (under a title and a row of counters)."""
    return Box(1, 2, view.width - 2, MAP_ROWS)


def draw_inside(m: Measurement, view: View, canvas: Canvas, now_ns: float) -> None:
    """Map, SM, block and warp, from the outside in; on a small screen the two levels that matter at this depth."""
    trace, here = m.trace("launch"), place_of(m, view.cursor)
    if here.depth >= 2:  # the map follows the block that is looked at
        now_ns = (trace.start_ns[here.block] + trace.end_ns[here.block]) / 2
    cells = layout(_map_box(m, view), sm_ids(trace, int(m.number("fit.sms"))), int(m.number("fit.residents")))
    map_rows = min(cells.rows, MAP_ROWS) + 3
    sm_rows = min(len(trace.rows(here.sm)), 8) + 2
    deep_rows = _deep_rows(m, view)
    box = Box(0, 0, view.width, view.height)
    if map_rows + sm_rows + 1 + deep_rows + 1 <= box.height:
        sm_rows = min(len(trace.rows(here.sm)) + 2, box.height - map_rows - deep_rows - 2, 20)
        heights = [map_rows, sm_rows + 1, box.height - map_rows - sm_rows - 1]
        draws = [_draw_map, _draw_sm, _draw_deep]
    elif here.depth <= 1:
        heights, draws = [map_rows, box.height - map_rows], [_draw_map, _draw_sm]
    else:
        sm_rows = min(sm_rows, box.height - deep_rows)
        heights, draws = [max(sm_rows, 3), box.height - max(sm_rows, 3)], [_draw_sm, _draw_deep]
    for at, (part, draw) in enumerate(zip(box.stack(heights), draws, strict=True)):
        draw(m, view, canvas, part, here, now_ns, at > 0)


def _deep_rows(m: Measurement, view: View) -> int:
    """Rows of the panels of the block and the warp, title and sentence included."""
    lanes_rows = len(m.one_series("lanes").x) // lane_columns(_half(view), _widest(m))
    return max(lanes_rows, min(int(m.number("grid.warps_per_block")), 8)) + 3


def _draw_map(m: Measurement, view: View, canvas: Canvas, box: Box, here: Place, now: float, rule: bool) -> None:
    trace, residents = m.trace("launch"), int(m.number("fit.residents"))
    origin = "the previous choice" if view.previous else f"trace of {count_text(trace.blocks)} blocks × {trace.threads}"
    room = titled(canvas, box, f"WHAT {count_text(int(m.number('fit.sms')))} SMs HOLD", origin)
    counters(canvas, room.x, room.y, trace, now)
    cells: Layout = layout(_map_box(m, view), sm_ids(trace, int(m.number("fit.sms"))), residents)
    area = Box(room.x, room.y + 1, room.width, max(room.height - 2, 1))
    fresh = trace.median_duration_ns * 0.06
    paint = residents_painter(trace, residents, now, fresh)
    y = draw_cells(canvas, area, cells, paint, cursor=here.sm, focused=view.focused and here.depth <= 1)
    if y < box.bottom:
        legend(
            canvas,
            room.x,
            y,
            [
                (RUNNING, Ink.WORK, f"running, full: {residents}"),
                (FRESH, Ink.LOOK, "just started"),
                (FREE, Ink.FAINT, "free"),
                ("▸", Ink.LOOK, "drawn below"),
            ],
            room.right,
        )


def _draw_sm(m: Measurement, view: View, canvas: Canvas, box: Box, here: Place, now: float, rule: bool) -> None:
    trace = m.trace("launch")
    blocks = trace.by_sm[here.sm]
    many = "1 block" if len(blocks) == 1 else f"{count_text(len(blocks))} blocks"
    title = f"INSIDE SM {here.sm}: {many}"
    room = titled(canvas, box, title, "rows: resident together", rule=rule)
    if rule and view.focused and here.depth == 2:
        canvas.put(room.x, room.y - 1, title, Ink.CURSOR)
    rows_of_blocks(canvas, room, trace, here.sm, here.block, now)


def _draw_deep(m: Measurement, view: View, canvas: Canvas, box: Box, here: Place, now: float, rule: bool) -> None:
    """The chosen block's warps and, beside them, the chosen warp's lanes; a sentence for the lane below both."""
    canvas.fill(box.x, box.y, box.width, 1, "─", Ink.FAINT)
    box = box.inside(top=1)
    if view.width >= 78:
        left = Box(box.x, box.y, box.width - _half(view) - 1, box.height - 1)
        right = Box(left.right, box.y, box.width - left.width, box.height - 1)
    else:
        left, right = Box(box.x, box.y, box.width, 0), Box(box.x, box.y, box.width, box.height - 1)
    _draw_block(m, view, canvas, left, here)
    _draw_warp(m, view, canvas, right, here)
    said = _lane_sentence(m, here)
    paragraph(canvas, Box(box.x + 1, box.bottom - 1, box.width - 2, 1), said, Ink.LOOK if here.depth == 4 else Ink.DIM)


def _draw_block(m: Measurement, view: View, canvas: Canvas, box: Box, here: Place) -> None:
    if box.height <= 0:
        return
    trace, per_block = m.trace("launch"), int(m.number("grid.warps_per_block"))
    room = titled(canvas, box, f"BLOCK {count_text(here.block)}: {per_block} warp{'s' if per_block > 1 else ''}")
    if view.focused and here.depth == 3:
        canvas.put(box.x + 1, box.y, f"BLOCK {count_text(here.block)}", Ink.CURSOR)
    if here.block not in kept_blocks(m):
        kept = ", ".join(str(sm) for sm in sorted({trace.sm[b] for b in kept_blocks(m)}))
        paragraph(
            canvas, room, f"Warps' times are kept for the blocks of SM {kept}, to keep recordings small.", Ink.DIM
        )
        return
    start, end = m.one_series("warps.start"), m.one_series("warps.end")
    first = start.x.index(here.block * per_block)
    lasts = float(trace.end_ns[here.block] - trace.start_ns[here.block])
    bars = []
    for warp in range(per_block):
        have = [one for one in elements_of(m, here.block, warp) if one is not None]
        said = f"{count_text(have[0])} – {count_text(have[-1])}" if have else "no element"
        bars.append(WarpBar(warp, start.y[first + warp], end.y[first + warp], said, idle=not have))
    warp_bars(canvas, room, bars, lasts, here.warp)


def elements_of(m: Measurement, block: int, warp: int) -> tuple[int | None, ...]:
    """The element of each lane of a warp, ``None`` where it has none.

    The distance of a lane's element from its warp's first is measured; that the first is the block's plus the warp's
    was checked for every element of the launch (``grid.strangers``).
    """
    shape = m.one_series("lanes")
    threads, total, width = int(m.value("threads")), int(m.value("elements")), len(shape.x)
    first = block * threads + warp * width
    found: list[int | None] = []
    for distance in shape.y:
        one = first + int(distance)
        mine = distance >= 0 and one < total and one - block * threads < threads
        found.append(one if mine else None)
    return tuple(found)


def _draw_warp(m: Measurement, view: View, canvas: Canvas, box: Box, here: Place) -> None:
    elements = elements_of(m, here.block, here.warp)
    title = f"WARP {here.warp}: {len(elements)} lanes"
    room = titled(canvas, box, title, "each with its element")
    if view.focused and here.depth == 4:
        canvas.put(box.x + 1, box.y, f"WARP {here.warp}", Ink.CURSOR)
    if m.number("grid.strangers") or m.number("grid.signed") != int(m.value("elements")):
        paragraph(canvas, room, "Some elements of this launch were not where they belong: see the claims.", Ink.BAD)
        return
    lanes(canvas, room, elements, here.lane if here.depth == 4 else None)


def _lane_sentence(m: Measurement, here: Place) -> str:
    element = elements_of(m, here.block, here.warp)[here.lane]
    threads, lanes_ = int(m.value("threads")), len(m.one_series("lanes").x)
    thread = here.warp * lanes_ + here.lane
    who = f"Block {count_text(here.block)}, warp {here.warp}, lane {here.lane}"
    if element is None:
        return f"{who}: thread {thread} has no element; `if (i < n)` sends it home."
    return (
        f"{who}: element {count_text(here.block)} × {threads} + {here.warp} × {lanes_} + {here.lane}"
        f" = {count_text(element)}"
    )


def time_of(m: Measurement) -> str:
    """When the map of this step stands still, in words."""
    return time_text(freeze_ns(m.trace("launch")))
