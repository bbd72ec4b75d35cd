"""Which SM worked when: a traced launch as lanes over time.

Every glyph comes from the trace. A lane is one SM; its height in a cell says how many of the blocks that fit
were resident during that cell's time. One SM can be unfolded into rows, one resident block each.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import ceil

from gpu_explain.scenes.base.trace import Trace
from gpu_explain.scenes.draw.bars import LOWER_EIGHTHS
from gpu_explain.scenes.draw.box import Box
from gpu_explain.scenes.draw.canvas import Canvas
from gpu_explain.scenes.draw.ink import Ink
from gpu_explain.scenes.draw.scale import Scale, count_text, time_text

LABEL = 8
"""Cells at the left of every lane for the name of its SM."""
FULL = 7
"""Eighths of a cell that a full SM fills: the last eighth parts one lane from the next."""


BAR, TAIL_BAR = LOWER_EIGHTHS[FULL], "▓"
"""A running block, and one that keeps all others waiting."""
_ROUND_CELLS = 4
"""Cells that a round of blocks takes at least where rounds are told apart."""
_TURNS = ((BAR, Ink.WORK, Ink.ON_WORK), (BAR, Ink.WORK_ALT, Ink.ON_WORK_ALT))
_TAIL = (TAIL_BAR, Ink.TAIL, Ink.TAIL)


def notch(height: int) -> str:
    """The cell in which something new begins, ``height`` eighths of a cell high: its left half stays free."""
    return "▐" if height > 4 else "▗"


@dataclass(frozen=True)
class Lanes:
    """A trace laid out in time.

    Attributes:
        trace: What is drawn.
        residents: Blocks that fit on one SM at once: a full cell.
        end_ns: Time at the right edge, in ns; the same for pictures that are to be compared.
        now_ns: Time up to which the trace is played, in ns.
        sms: All SMs of the device may be more than ran a block; lanes exist for those seen.
    """

    trace: Trace
    residents: int
    end_ns: float
    now_ns: float

    def scale(self, box: Box) -> Scale:
        """Time onto the cells right of the lane labels."""
        return Scale(0.0, max(self.end_ns, 1.0), max(box.width - LABEL - 1, 1))

    def lane(
        self, canvas: Canvas, box: Box, y: int, sm: int, ink: Ink = Ink.DIM, *, turns: tuple[str, str] | None = None
    ) -> None:
        """One SM in one row: height is blocks resident, ink changes and a notch is cut where a round of blocks begins.

        Not where rounds are so short that hardly anything else would be seen (see :meth:`parts_rounds`).

        With ``turns`` rounds alternate between these two glyphs instead, so that they differ without colour too.
        """
        canvas.put(box.x, y, f"SM {sm:>3} ", ink)
        scale = self.scale(box)
        cells = _filled(self.trace, sm, scale.cells, self.end_ns)
        played = scale.at(self.now_ns)
        parted = turns is not None or self.parts_rounds(box, sm)
        for column in range(scale.cells):
            x = box.x + LABEL + column
            if column + 0.5 > played:
                break
            count, turn = cells[column]
            if count <= 0:
                canvas.put(x, y, "·", Ink.FAINT)
            else:
                height = min(max(1, round(count / self.residents * FULL)), FULL)
                begins = parted and column > 0 and cells[column - 1][0] > 0 and cells[column - 1][1] < turn
                glyph = turns[turn % 2] if turns else notch(height) if begins else LOWER_EIGHTHS[height]
                canvas.put(x, y, glyph, Ink.WORK_ALT if parted and turn % 2 else Ink.WORK)

    def parts_rounds(self, box: Box, sm: int) -> bool:
        """Whether an SM's rounds of blocks are long enough on the screen to be told apart."""
        return _parted(self.trace, sm, self.scale(box).cells, self.end_ns)

    def unfolded(
        self, canvas: Canvas, box: Box, sm: int, *, tail: frozenset[int] = frozenset(), ink: Ink = Ink.STRONG
    ) -> int:
        """An SM's blocks in rows, with their numbers; returns the first free row.

        A row means nothing but "resident at the same time": which slot a block sat in is not recorded.
        Blocks in ``tail`` look different. When the rows do not fit, the last one says how many are hidden.
        """
        scale = self.scale(box)
        rows = self.trace.rows(sm)
        canvas.put(box.x, box.y, f"SM {sm:>3} ", ink)
        shown = rows if len(rows) <= box.height else rows[: max(box.height - 1, 1)]
        for index, row in enumerate(shown):
            y = box.y + index
            for turn, block in enumerate(row):
                look = _TAIL if block in tail else _TURNS[turn % 2]
                self._block(canvas, box.x + LABEL, y, scale, block, look)
        y = box.y + len(shown)
        if len(shown) < len(rows) and y < box.bottom:
            canvas.put(box.x + LABEL, y, f"⋮ {len(rows) - len(shown)} more resident blocks", Ink.DIM)
            y += 1
        return y

    def _block(self, canvas: Canvas, left: int, y: int, scale: Scale, block: int, look: tuple[str, Ink, Ink]) -> None:
        """One block as a bar that begins with its number; the cell before the next bar stays free."""
        start, end = self.trace.start_ns[block], self.trace.end_ns[block]
        if start > self.now_ns:
            return
        first = round(scale.at(start))
        last = max(round(scale.at(min(end, self.now_ns))), first + 1)
        room = last - first - (1 if end <= self.now_ns and last - first > 2 else 0)
        fill, bar, label = look
        kept = 0 if fill == BAR else 2
        for text in (f" block {count_text(block)} ", f" {count_text(block)} ", f"{block}", ""):
            if len(text) <= room - kept:
                break
        canvas.put(left + first, y, fill * room, bar)
        # A label is cut out of a bar that is not solid: on a solid ground it would part it.
        canvas.put(left + first + kept // 2, y, text, label)

    def axis(self, canvas: Canvas, box: Box, y: int, marks: Sequence[float] = ()) -> None:
        """The time axis under the lanes: start, marks, end; ``▲`` stands at the time played."""
        scale = self.scale(box)
        left = box.x + LABEL
        canvas.put(left, y, "─" * scale.cells, Ink.FAINT)
        canvas.put(left, y + 1, "0", Ink.DIM)
        end = time_text(self.end_ns)
        free = left + 2
        stop = canvas.right(left + scale.cells, y + 1, end, Ink.DIM) - 1
        for at in sorted(marks):
            text = time_text(at, like=self.end_ns)
            x = left + min(round(scale.at(at)), scale.cells - 1)
            start = x - len(text) // 2
            if start >= free and start + len(text) <= stop:
                canvas.put(x, y, "┬", Ink.DIM)
                free = canvas.put(start, y + 1, text, Ink.DIM) + 1
        if self.now_ns < self.end_ns:
            canvas.put(left + min(round(scale.at(self.now_ns)), scale.cells - 1), y, "▲", Ink.LOOK)


@lru_cache(maxsize=4096)
def _filled(trace: Trace, sm: int, cells: int, end_ns: float) -> tuple[tuple[int, int], ...]:
    """For each cell: blocks resident on the SM, and the round of the latest of them.

    Starts and ends are rounded to cells as in the unfolded rows. A gap of less than a cell between two blocks of
    a row is closed: rounding would show or hide it by chance. Cached, since lanes are redrawn on every frame.
    """
    width = end_ns / cells if cells else 1.0
    counts, turns = [0] * cells, [0] * cells
    for row in trace.rows(sm):
        starts = [round(trace.start_ns[block] / width) for block in row]
        for turn, block in enumerate(row):
            last = max(round(trace.end_ns[block] / width), starts[turn] + 1)
            if turn + 1 < len(row) and trace.start_ns[row[turn + 1]] - trace.end_ns[block] < width:
                last = starts[turn + 1]
            for cell in range(starts[turn], min(last, cells)):
                counts[cell] += 1
                turns[cell] = max(turns[cell], turn)
    return tuple(zip(counts, turns, strict=True))


@lru_cache(maxsize=4096)
def _parted(trace: Trace, sm: int, cells: int, end_ns: float) -> bool:
    """Whether an SM's rounds take as many cells each as it takes to tell them apart."""
    filled = _filled(trace, sm, cells, end_ns)
    rounds = max((turn for _, turn in filled), default=0) + 1
    return sum(count > 0 for count, _ in filled) >= _ROUND_CELLS * rounds


@lru_cache(maxsize=64)
def _resident_cells(trace: Trace, cells: int, end_ns: float) -> tuple[int, ...]:
    """Most blocks resident on the GPU at one time within each cell."""
    return _most(trace.residents, cells, end_ns)


def _most(steps: Sequence[tuple[int, int]], cells: int, end_ns: float) -> tuple[int, ...]:
    """The highest value that a step function takes within each cell; touching a cell's edge does not count."""
    width = end_ns / cells if cells else 1.0
    most = [0] * cells
    for (at, count), (until, _) in zip(steps, [*steps[1:], (int(end_ns), 0)], strict=True):
        for cell in range(max(int(at / width), 0), min(ceil(until / width), cells)):
            most[cell] = max(most[cell], count)
    return tuple(most)


def residents_chart(canvas: Canvas, box: Box, lanes: Lanes, peak: int) -> None:
    """Blocks resident on the whole GPU over time, as an area; ``peak`` is the top of the scale.

    The top and the last value are written at the axis.
    """
    scale = lanes.scale(box)
    left = box.x + LABEL
    base = box.bottom - 1
    canvas.right(left - 1, box.y, count_text(peak), Ink.DIM)
    if box.height > 1:
        canvas.right(left - 1, base, "0", Ink.DIM)
    for y in range(box.y, box.bottom):
        canvas.put(left - 1, y, "┤" if y in (box.y, base) else "│", Ink.FAINT)
    values = _resident_cells(lanes.trace, scale.cells, lanes.end_ns)
    for column, value in enumerate(values):
        if column + 0.5 > scale.at(lanes.now_ns):
            break
        high = value / peak * box.height if peak else 0.0
        eighths = max(round(high * 8), 1 if value > 0 else 0)
        for up in range(box.height):
            part = min(max(eighths - up * 8, 0), 8)
            if part:
                ink = Ink.TAIL if value <= peak * 0.1 else Ink.WORK
                canvas.put(left + column, base - up, LOWER_EIGHTHS[part], ink)
