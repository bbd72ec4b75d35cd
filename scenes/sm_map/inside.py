"""The step inside: where the viewer stands in the grid, how keys move there, and what is drawn at each depth."""

from __future__ import annotations

from dataclasses import dataclass

from gpu_explain.scenes.base import Cursor, Measurement, Trace, View
from gpu_explain.scenes.draw.box import Box, legend, paragraph, titled
from gpu_explain.scenes.draw.canvas import Canvas
from gpu_explain.scenes.draw.ink import Ink
from gpu_explain.scenes.draw.inside import WarpBar, lane_columns, lanes, lanes_width, rows_of_blocks, warp_bars
from gpu_explain.scenes.draw.scale import count_text, time_text
from gpu_explain.scenes.draw.sm_map import (
    FREE,
    FRESH,
    Layout,
    counters,
    draw_cells,
    full_bar,
    layout,
    moved,
    residents_painter,
    sm_ids,
)
from gpu_explain.scenes.draw.timeline import Lanes, notch
from gpu_explain.scenes.sm_map.playing import freeze_ns, fresh_ns, origin_of

LEVELS = ("SM", "block", "warp", "lane")
"""What is chosen at each depth."""
MAP_ROWS = 12
"""Rows that the map may take where the levels below it are drawn as well."""


@dataclass(frozen=True)
class Place:
    """Where the viewer stands, which is what arrows choose: an SM at ``depth`` 0 and 1, then block, warp and lane.

    At 0 no SM has been chosen yet. What lies deeper than ``depth`` is what would be entered next.
    """

    depth: int
    sm: int
    block: int
    warp: int
    lane: int


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
    """Enter steps in, escape out; arrows go to the next SM, block, warp or lane, Home and End to the first or last.

    Each enter leads to another level, from choosing an SM to its blocks at once; an escape that changes nothing has
    nothing left to step out of.
    """
    here, trace = place_of(m, view.cursor), m.trace("launch")
    at = trace.sms.index(here.sm)
    full = (at, here.block, here.warp, here.lane)
    if key == "escape":
        return view.cursor[:-1] if here.depth >= 2 else view.cursor
    if key == "enter":
        return full[: max(here.depth, 1) + 1]
    if key in ("home", "end"):
        return _edge(m, here, full, last=key == "end")
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
    columns = _lane_columns(m, view)
    by = {"up": -columns, "left": -1, "down": columns, "right": 1}.get(key, 0)
    return (at, here.block, here.warp, (here.lane + by) % width)


def _edge(m: Measurement, here: Place, full: Cursor, *, last: bool) -> Cursor:
    """The first or the last of what is chosen: by number, so that the last block of the grid can be found."""
    trace, depth = m.trace("launch"), max(here.depth, 1)
    counts = (len(trace.sms), 0, int(m.number("grid.warps_per_block")), len(m.one_series("lanes").x))
    blocks = trace.by_sm[here.sm]
    edge = (max(blocks) if last else min(blocks)) if depth == 2 else counts[depth - 1] - 1 if last else 0
    return (*full[: depth - 1], edge)


def _next_block(trace: Trace, here: Place, key: str) -> int:
    """The block before or after in the same row, or the one that runs beside it in the row above or below."""
    rows = trace.rows(here.sm)
    row = next(at for at, blocks in enumerate(rows) if here.block in blocks)
    column = rows[row].index(here.block)
    if key in ("left", "right"):
        return rows[row][min(max(column + (1 if key == "right" else -1), 0), len(rows[row]) - 1)]
    other = rows[(row + (1 if key == "down" else -1)) % len(rows)]
    return min(other, key=lambda block: abs(trace.start_ns[block] - trace.start_ns[here.block]))


_BLOCK_WIDTH = 32
"""Cells that the panel of a block's warps needs at least: number, bar, first and last element."""


def _element_text(m: Measurement, element: int) -> str:
    """An element's number, its thousands apart only where all numbers of the launch are short enough for that."""
    return count_text(element) if int(m.value("elements")) <= 9_999_999 else str(element)


def _widest(m: Measurement) -> int:
    return len(_element_text(m, int(m.value("elements"))))


def _lane_columns(m: Measurement, view: View) -> int:
    """Lanes in a row, beside the block's panel where the picture is wide enough for both."""
    room = view.width - 3 - (_BLOCK_WIDTH if view.width >= 78 else 0)
    return lane_columns(room, _widest(m))


# -- drawing ---------------------------------------------------------------------------------------------------------


def _map_box(m: Measurement, view: View) -> Box:
    """Where the map stands when it is drawn (under a title and a row of counters)."""
    return Box(1, 2, view.width - 2, MAP_ROWS)


def draw_inside(m: Measurement, view: View, canvas: Canvas, now_ns: float) -> None:
    """Map, SM, block and warp, from the outside in; on a small screen the two levels that matter at this depth."""
    trace, here = m.trace("launch"), place_of(m, view.cursor)
    if here.depth >= 2:
        now_ns = _moment_of(trace, here.block)
    cells = layout(_map_box(m, view), sm_ids(trace, int(m.number("fit.sms"))), int(m.number("fit.residents")))
    map_rows = min(cells.rows, MAP_ROWS) + 3
    all_rows = len(trace.rows(here.sm)) + 3
    deep_rows = _deep_rows(m, view)
    box = Box(0, 0, view.width, view.height)
    if map_rows + min(all_rows, 11) + deep_rows <= box.height:
        sm_rows = min(all_rows, box.height - map_rows - deep_rows)
        heights, draws = [map_rows, sm_rows, box.height - map_rows - sm_rows], [_draw_map, _draw_sm, _draw_deep]
    elif here.depth <= 1:
        heights, draws = [map_rows, min(all_rows, box.height - map_rows)], [_draw_map, _draw_sm]
    else:
        sm_rows = max(min(all_rows - 1, box.height - deep_rows), 3)
        heights, draws = [sm_rows, box.height - sm_rows], [_draw_sm, _draw_deep]
    if len(draws) == 3 and heights[2] - deep_rows >= 6:
        heights[2] = max(deep_rows, min(heights[2], int(m.number("grid.warps_per_block")) + 5))
    for at, (part, draw) in enumerate(zip(box.stack(heights), draws, strict=True)):
        draw(m, view, canvas, part, here, now_ns, at > 0)
    left = Box(0, sum(heights), view.width, view.height - sum(heights))
    sm_by_sm(canvas, left, trace, int(m.number("fit.residents")), float(trace.span_ns))


def _moment_of(trace: Trace, block: int) -> float:
    """The moment at which the launch stands while a block is looked at: it moves only where the block would not run."""
    stopped, start, end = freeze_ns(trace), trace.start_ns[block], trace.end_ns[block]
    return stopped if start <= stopped < end else (start + end) / 2


def _levels(view: View, canvas: Canvas, box: Box, here: Place, title: str) -> bool:
    """The levels at the right of the first title, the one that arrows choose from in brackets; whether they fit."""
    words = [f"[{one}]" if at == max(here.depth, 1) else one for at, one in enumerate(LEVELS, 1)]
    width = len(" › ".join(words))
    if not view.focused or view.previous or len(title) + width + 5 > box.width:
        return False
    x = box.right - 1 - width
    for at, word in enumerate(words, 1):
        x = canvas.put(x, box.y, word, Ink.CURSOR if at == max(here.depth, 1) else Ink.DIM)
        x = canvas.put(x, box.y, " › ", Ink.DIM) if at < len(words) else x
    return True


def _deep_rows(m: Measurement, view: View) -> int:
    """Rows of the panels of the block and the warp, title and sentence included."""
    lanes_rows = len(m.one_series("lanes").x) // _lane_columns(m, view)
    return max(lanes_rows, min(int(m.number("grid.warps_per_block")), 8)) + 4


def _draw_map(m: Measurement, view: View, canvas: Canvas, box: Box, here: Place, now: float, rule: bool) -> None:
    trace, residents = m.trace("launch"), int(m.number("fit.residents"))
    sms = count_text(int(m.number("fit.sms")))
    held = f"WHAT {sms} SM{'s' * (sms != '1')} HOLD"
    at = time_text(now, like=trace.span_ns)
    if now == freeze_ns(trace):
        title = f"STOPPED AT {at}: {held}"
    else:  # on the way there, or moved by the arrows
        title = f"MOVED TO {at} FOR BLOCK {count_text(here.block)}" if here.depth >= 2 else held
    levels = _levels(view, canvas, box, here, title)
    room = titled(canvas, box, title, "" if levels else origin_of(view, trace))
    counters(canvas, room.x, room.y, trace, now)
    cells: Layout = layout(_map_box(m, view), sm_ids(trace, int(m.number("fit.sms"))), residents)
    area = Box(room.x, room.y + 1, room.width, max(room.height - 2, 1))
    paint = residents_painter(trace, residents, now, fresh_ns(trace))
    y = draw_cells(canvas, area, cells, paint, cursor=here.sm, focused=view.focused and here.depth <= 1)
    if y < box.bottom:
        legend(
            canvas,
            room.x,
            y,
            [
                full_bar(cells, residents),
                (FRESH, Ink.LOOK, "just started"),
                (FREE, Ink.DIM, "free"),
                ("▸", Ink.LOOK, "drawn below"),
            ],
            room.right,
        )


def _draw_sm(m: Measurement, view: View, canvas: Canvas, box: Box, here: Place, now: float, rule: bool) -> None:
    trace = m.trace("launch")
    blocks = trace.by_sm[here.sm]
    many = "1 block" if len(blocks) == 1 else f"{count_text(len(blocks))} blocks"
    title = f"INSIDE SM {here.sm}: {many}, up to {trace.peak_by_sm[here.sm]} at once"
    if not rule and now != freeze_ns(trace):  # no map above says it
        title = f"INSIDE SM {here.sm}, MOVED TO {time_text(now, like=trace.span_ns)}: {many}"
    levels = not rule and _levels(view, canvas, box, here, title)
    room = titled(canvas, box, title, "" if levels else "a bar: a block, shades alternate", rule=rule)
    if view.focused and here.depth == 2:
        canvas.put(room.x, room.y - 1, title, Ink.CURSOR)
    rows_of_blocks(canvas, room, trace, here.sm, here.block, now)


def _draw_deep(m: Measurement, view: View, canvas: Canvas, box: Box, here: Place, now: float, rule: bool) -> None:
    """The chosen block's warps and, beside them, the chosen warp's lanes; a sentence for the lane below both."""
    canvas.fill(box.x, box.y, box.width, 1, "─", Ink.FAINT)
    box = box.inside(top=1)
    if m.number("grid.strangers") or m.number("grid.signed") != int(m.value("elements")):
        said = "Some elements of this launch were not where they belong, so no lanes are drawn: see the claims."
        paragraph(canvas, box.inside(left=1, right=1), said, Ink.BAD)
        return
    content = max(len(m.one_series("lanes").x) // _lane_columns(m, view), int(m.number("grid.warps_per_block")))
    box = Box(box.x, box.y, box.width, min(box.height, content + 3))  # title, rows, a free one, the sentence
    if view.width >= 78:
        taken = lanes_width(_lane_columns(m, view), _widest(m)) + 2
        left = Box(box.x, box.y, box.width - taken, box.height - 2)
        right = Box(left.right, box.y, box.width - left.width, box.height - 2)
    else:
        left, right = Box(box.x, box.y, box.width, 0), Box(box.x, box.y, box.width, box.height - 2)
    _draw_block(m, view, canvas, left, here)
    _draw_warp(m, view, canvas, right, here)
    said = _lane_sentence(m, here)
    # Yellow where the way down has arrived: at a lane, or at the first one once the map stands still.
    arrived = here.depth == 4 or (not said.startswith(_NOT_KEPT) and now >= freeze_ns(m.trace("launch")))
    ink = Ink.LOOK if arrived else Ink.DIM
    paragraph(canvas, Box(box.x + 1, box.bottom - 1, box.width - 2, 1), said, ink)


def _draw_block(m: Measurement, view: View, canvas: Canvas, box: Box, here: Place) -> None:
    if box.height <= 0:
        return
    trace, per_block = m.trace("launch"), int(m.number("grid.warps_per_block"))
    each = f"{per_block} warps" if per_block > 1 else "1 warp"
    room = titled(canvas, box, f"BLOCK {count_text(here.block)}: {each}", "elements")
    if view.focused and here.depth == 3:
        canvas.put(box.x + 1, box.y, f"BLOCK {count_text(here.block)}", Ink.CURSOR)
    start, end = m.one_series("warps.start"), m.one_series("warps.end")
    first = start.x.index(here.block * per_block) if here.block in kept_blocks(m) else None
    lasts = float(trace.end_ns[here.block] - trace.start_ns[here.block])
    bars = []
    for warp in range(per_block):
        have = [one for one in elements_of(m, here.block, warp) if one is not None]
        said = f"{_element_text(m, have[0])} – {_element_text(m, have[-1])}" if have else "no element"
        began = start.y[first + warp] if first is not None else None
        done = end.y[first + warp] if first is not None else None
        bars.append(WarpBar(warp, began, done, said, idle=not have))
    drawn = warp_bars(canvas, room, bars, lasts, here.warp)
    if first is not None:
        _scale_of_bars(canvas, drawn, box, lasts)


def _scale_of_bars(canvas: Canvas, bars: Box, box: Box, lasts_ns: float) -> None:
    """Under the warps' bars: how long a bar of the full width is."""
    canvas.put(bars.x, bars.bottom, "└" + "─" * max(bars.width - 2, 0) + "┘" * (bars.width > 1), Ink.FAINT)
    said = f" {time_text(lasts_ns)}, the block"
    said = said if bars.right + len(said) <= box.right else f" {time_text(lasts_ns)}"
    canvas.put(bars.right, bars.bottom, said, Ink.DIM)


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
    title = f"WARP {here.warp}: {len(elements)} lanes, an element each"
    room = titled(canvas, box, title)
    if view.focused and here.depth == 4:
        canvas.put(box.x + 1, box.y, f"WARP {here.warp}", Ink.CURSOR)
    texts = [_element_text(m, one) if one is not None else "–" for one in elements]
    lanes(canvas, room, texts, _widest(m), here.lane if here.depth == 4 else None)


_NOT_KEPT = "┄ Warps' times"


def _lane_sentence(m: Measurement, here: Place) -> str:
    if here.block not in kept_blocks(m) and here.depth < 4:
        trace = m.trace("launch")
        kept = ", ".join(str(sm) for sm in sorted({trace.sm[b] for b in kept_blocks(m)}))
        return f"{_NOT_KEPT} are kept for SM {kept} only."
    element = elements_of(m, here.block, here.warp)[here.lane]
    threads, lanes_ = int(m.value("threads")), len(m.one_series("lanes").x)
    thread = here.warp * lanes_ + here.lane
    who = f"Block {count_text(here.block)}, warp {here.warp}, lane {here.lane}"
    if element is None:
        return f"{who}: no element is left for thread {count_text(thread)}."
    return (
        f"{who}: element {count_text(here.block)} × {count_text(threads)} + {here.warp} × {lanes_} + {here.lane}"
        f" = {count_text(element)}"
    )


def sm_by_sm(canvas: Canvas, box: Box, trace: Trace, residents: int, now_ns: float) -> None:
    """What is left of a tall picture: lanes of the first SMs over time, as the next scene draws them."""
    if box.height < 5:
        return
    # As wide as the time bar above, which leaves room for its last label.
    lanes = Lanes(trace, residents, float(trace.span_ns), now_ns)
    lane_box = Box(box.x + 1, box.y + 2, box.width - 2 - len(time_text(trace.span_ns)), 1)
    said = "height: blocks resident at a time"
    if any(lanes.parts_rounds(lane_box, sm) for sm in trace.sms):
        said += f", {notch(8)} a round begins"
    room = titled(canvas, box, "SM BY SM OVER TIME", said, rule=True)
    shown = trace.sms if len(trace.sms) <= room.height else trace.sms[: room.height - 1]
    for y, sm in enumerate(shown, room.y):
        lanes.lane(canvas, lane_box, y, sm)
    if len(shown) < len(trace.sms):
        hidden = len(trace.sms) - len(shown)
        canvas.put(room.x + 8, room.y + len(shown), f"⋮ {hidden} more SM{'s' * (hidden > 1)}", Ink.DIM)
