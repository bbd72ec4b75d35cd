"""What ``memory-hierarchy`` draws at each step. Everything here comes out of the measurement and the view."""

from __future__ import annotations

from collections.abc import Mapping

from gpu_explain.scenes.base import Cursor, Measurement, View
from gpu_explain.scenes.draw.bars import bar
from gpu_explain.scenes.draw.box import Box, legend, paragraph, titled
from gpu_explain.scenes.draw.canvas import Canvas
from gpu_explain.scenes.draw.ink import Ink
from gpu_explain.scenes.draw.ladder import Ladder, Rung, draw_ladder
from gpu_explain.scenes.draw.scale import count_text
from gpu_explain.scenes.memory_hierarchy.curves import bandwidth, staircase
from gpu_explain.scenes.memory_hierarchy.figures import operands
from gpu_explain.scenes.memory_hierarchy.levels import CACHED, PLACES, has_halves, label, present, short
from gpu_explain.scenes.memory_hierarchy.loads import distance, single
from gpu_explain.scenes.memory_hierarchy.parameters import followed
from gpu_explain.scenes.memory_hierarchy.playing import pace, played
from gpu_explain.scenes.memory_hierarchy.published import OTHERS
from gpu_explain.scenes.memory_hierarchy.words import apart_text, as_seconds

__all__ = ["frame", "move", "pace"]

STAIRCASE = 1


def frame(m: Measurement, view: View) -> Canvas:
    """The picture of a step."""
    canvas = Canvas(view.width, view.height)
    box = Box(0, 0, view.width, view.height)
    (_ladder, staircase, single, distance, bandwidth, _others)[view.step](m, view, canvas, box)
    return canvas


def move(m: Measurement, view: View, key: str) -> Cursor:
    """On the staircase, left and right read the dots, up and down jump from level to level; escape ends it."""
    if view.step != STAIRCASE or key == "escape":
        return ()
    stairs = m.one_series("staircase")
    if not view.cursor:
        return (0,)
    here = view.cursor[0]
    if key in ("up", "down"):
        starts = [
            stairs.x.index(m.number(f"plateau.{level}.start") * 1024)
            for level in CACHED
            if m.has(f"plateau.{level}.start")
        ]
        later = [at for at in starts if at > here] if key == "up" else [at for at in reversed(starts) if at < here]
        return (later[0] if later else here,)
    return ((here + {"left": -1, "right": 1}.get(key, 0)) % len(stairs.x),)


def _ladder(m: Measurement, view: View, canvas: Canvas, box: Box) -> None:
    halves, level = has_halves(m), followed(m)
    levels = present(m)
    rungs = [
        Rung(
            PLACES[one],
            "registers, add" if one == "registers" else label(one, halves=halves),
            m.number(f"level.{one}"),
            m.quantity(f"level.{one}").note.removeprefix("= "),
        )
        for one in levels
    ]
    target = m.number(f"level.{level}")
    now = played(m, view) * target
    end = max(target, m.number("level.dram"))
    title = "DISTANCE IN TIME: ALL START TOGETHER"
    room = titled(canvas, box, title, view.origin("● each alone; dot's path: a sketch"))
    time = f"t = {count_text(round(now))} of {count_text(round(target))} cycles"
    canvas.put(room.x, room.y, time, Ink.STRONG)
    entries = [
        ("▸", Ink.TAIL, "your load"),
        ("█▸", Ink.WORK_ALT, "on its way"),
        ("█", Ink.WORK, "back"),
        ("╱╱▸", Ink.WARN, "longer"),
    ]
    legend(canvas, room.x + max(24, len(time) + 1), room.y, entries, room.right)
    room = room.inside(top=2)
    below = draw_ladder(
        canvas, room.inside(bottom=2 if room.height >= 16 else 0), Ladder(rungs, levels.index(level), now, end)
    )
    room = room.inside(top=below - room.y)
    if room.height >= len(levels) + 6:
        table = len(levels) + 3
        _waiting(m, view, canvas, Box(box.x, room.bottom - table, box.width, table), levels)
        room = room.inside(bottom=table)
    if now >= target and room.height:
        free = room.inside(top=1 if room.height >= 2 + (room.width < 100) else 0)
        paragraph(canvas, free, _conclusion(m, level), Ink.LOOK)


def _waiting(m: Measurement, view: View, canvas: Canvas, box: Box, levels: tuple[str, ...]) -> None:
    """What the distances mean to a person and to the thread."""
    room = titled(canvas, box, "IF A CYCLE WERE A SECOND", view.origin("○ the same figures, computed"), rule=True)
    heads = ("you would wait", "additions meanwhile")
    columns = (room.x + 17, room.x + 37)
    for x, head in zip(columns, heads, strict=True):
        canvas.right(x + 16, room.y, head, Ink.DIM)
    for row, level in enumerate(levels, 1):
        cycles, y = m.number(f"level.{level}"), room.y + row
        canvas.put(room.x, y, label(level, halves=has_halves(m)), Ink.TEXT)
        canvas.right(columns[0] + 16, y, as_seconds(cycles), Ink.COMPUTED)
        if level != "registers":
            adds = cycles / m.number("level.registers")
            canvas.right(columns[1] + 16, y, count_text(round(adds)), Ink.COMPUTED)


def _called(level: str, m: Measurement) -> str:
    """A level inside a sentence."""
    return {"host": "the host's memory", "shared": "shared memory"}.get(level, short(level, halves=has_halves(m)))


def _conclusion(m: Measurement, level: str) -> str:
    """What the eye has seen, in words."""
    target = m.number(f"level.{level}")
    behind = [one for one in present(m) if m.number(f"level.{one}") > target]
    each = m.number("level.registers")
    over, under = operands(target, each)
    text = (
        f"Meanwhile the thread could have made {over} / {under} ≈ {count_text(round(target / each))} additions, each "
        "on the one before."
    )
    if len(behind) > 1:
        text += f" This step ends with your load; {len(behind)} others are still under way."
    elif behind:
        text += f" The load from {_called(behind[-1], m)} is still under way."
    return text


def _others(m: Measurement, view: View, canvas: Canvas, box: Box) -> None:
    """The cached levels as columns, a GPU a row: a number and a bar, one scale for all of them."""
    room = titled(canvas, box, "THE SAME LEVELS ON OTHER GPUS", view.origin("cycles of each GPU's own clock"))
    legend(
        canvas,
        room.x,
        room.y,
        [
            ("●", Ink.MEASURED, "measured here"),
            ("◇", Ink.PUBLISHED, "published, other methods"),
            ("–", Ink.DIM, "no figure published"),
        ],
        room.right,
    )
    here = {level: m.number(f"level.{level}") for level in CACHED if m.has(f"level.{level}")}
    levels = [level for level in CACHED if level in here]
    rows: list[tuple[str, Mapping[str, float], bool]] = [("this GPU", here, True)]
    rows += [(one.name, one.cycles, False) for one in OTHERS]
    left = room.x + max(len(name) for name, _, _ in rows) + 2
    each = max((room.right - left) // len(levels), 1)
    most = max(cycles.get(level, 0.0) for _, cycles, _ in rows for level in levels)
    y = room.y + 2
    for number, level in enumerate(levels):
        canvas.put(left + number * each, y, short(level, halves="far" in here), Ink.STRONG)
    sources = tuple(dict.fromkeys(one.source for one in OTHERS))
    foot = 2 + (len(sources) + 1 if room.height >= 2 * len(rows) + len(sources) + 6 else 0)
    gap = min(max((room.bottom - foot - y - 1) // len(rows) - 1, 0), 5)
    shown = round(played(m, view) * len(rows))
    for index, (name, cycles, ours) in enumerate(rows[: max(shown, 1)]):
        row, ink = y + 1 + index * (gap + 1), Ink.MEASURED if ours else Ink.PUBLISHED
        canvas.put(room.x, row, name, Ink.STRONG if ours else Ink.TEXT)
        for number, level in enumerate(levels):
            x = left + number * each
            if level in cycles:
                canvas.put(x, row, f"{'●' if ours else '◇'} {cycles[level]:.0f}", ink)
                bar(canvas, x + 6, row, cycles[level] / most * max(each - 7, 1), ink)
            else:
                canvas.put(x, row, "–", Ink.DIM)
    if shown < len(rows):
        return
    end = room.bottom - (foot - 1 if foot > 2 else 1)
    canvas.put(room.x, end, f"Longest bar over shortest: {apart_text(m)} times.", Ink.LOOK)
    for row, source in enumerate(sources if foot > 2 else ()):
        by = ", ".join(one.name for one in OTHERS if one.source == source)
        canvas.put(room.x, room.bottom - len(sources) + row, f"◇ {by}: {source.partition(' (')[0]}", Ink.DIM)
