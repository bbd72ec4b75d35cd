"""The column of words: the question, what to look at, the parameters, the measured numbers and the pace."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from gpu_explain.app.walkthrough.guard import Guarded
from gpu_explain.app.walkthrough.paint.text import (
    EMPTY,
    KIND_INKS,
    Row,
    Span,
    clip,
    duration,
    length,
    paragraph,
    put_row,
    put_rows,
    rounded,
    wrap,
)
from gpu_explain.app.walkthrough.state import Focus, Offered, State
from gpu_explain.scenes.base import Kind, Measurement, Pace, Parameter, Problem, Quantity, Words
from gpu_explain.scenes.draw.canvas import Canvas
from gpu_explain.scenes.draw.ink import Ink


@dataclass(frozen=True)
class Column:
    """The painted words.

    Attributes:
        canvas: The column.
        hidden: Rows below its lower edge that scrolling would show.
    """

    canvas: Canvas
    hidden: int = 0


def words_of(state: State) -> Words | Problem | None:
    """The words of the step, or ``None`` while there is no measurement to speak of."""
    m = state.drawable
    return Guarded(state.scene).words(m, state.step) if m is not None else None


def column(state: State, offered: Offered, width: int, height: int) -> Column:
    """The words in one column: what is said, then the parameters, then what was measured, the pace below."""
    words = words_of(state)
    said = saying(state, words, width - 2)
    parameters = changing(state, offered, width - 2)
    below = [*legend_rows(width - 2), *pace_rows(state, width - 2)]
    # Blank lines between the sections are the first to go when there is not enough room.
    roomy = [*said, EMPTY], [*parameters, EMPTY] if parameters else [], measured(state, words, width - 2, True)
    tight = said, parameters, measured(state, words, width - 2, False)
    dense = _dense(said), *tight[1:]
    for sections in (roomy, tight, dense):
        rows = _ruled(sections)
        if len(rows) + len(below) + 1 <= height:
            canvas = Canvas(width, height)
            _lay(canvas, rows)
            canvas.fill(0, height - len(below) - 1, width, 1, "─", Ink.FAINT)
            put_rows(canvas, 1, height - len(below), below, width)
            return Column(canvas)
    rows = [*_ruled(tight), RULE, *below]
    return scrolled(rows, state.scroll, width, height)


def two_columns(state: State, offered: Offered, left: int, width: int, height: int) -> Column:
    """The words of a small screen: what is said on the left, what was measured on the right.

    The parameters stand below what is said, or above the numbers where there is more room.
    """
    words = words_of(state)
    right = width - left - 1
    said = saying(state, words, left - 2)
    below = [*legend_rows(right - 2), *pace_rows(state, right - 2)]
    roomy, tight = (measured(state, words, right - 2, air) for air in (True, False))
    under, over = changing(state, offered, left - 2), changing(state, offered, right - 2)
    fitting = (
        (one, two)
        for one, two in (
            (_ruled((said, under)), roomy),
            (_ruled((said, under)), tight),
            (said, _ruled((over, tight))),
            (_dense(said), _ruled((over, tight))),
        )
        if len(one) <= height and len(two) + len(below) <= height
    )
    one, two = next(fitting, (_ruled((said, under)), tight))
    canvas = Canvas(width, height)
    words_column = scrolled(one, state.scroll, left, height)
    canvas.paste(words_column.canvas, 0, 0)
    canvas.fill(left, 0, 1, height, "│", Ink.FAINT)
    gap = height - len(two) - len(below)
    numbers = scrolled([*two, *[EMPTY] * max(gap, 0), *below], state.scroll, right, height)
    canvas.paste(numbers.canvas, left + 1, 0)
    for y in range(height):
        joins = (canvas.glyph(left - 1, y) == "─") + 2 * (canvas.glyph(left + 1, y) == "─")
        canvas.put(left, y, "│┤├┼"[joins], Ink.FAINT)
    return Column(canvas, max(words_column.hidden, numbers.hidden))


def _dense(rows: list[Row]) -> list[Row]:
    """Without free lines."""
    return [row for row in rows if row]


RULE: Row = (("─", Ink.FAINT),)
"""Stands for a rule over the whole width."""


def _ruled(sections: tuple[list[Row], ...]) -> list[Row]:
    rows: list[Row] = []
    for section in sections:
        if section:
            rows += [RULE, *section] if rows else section
    return rows


def _lay(canvas: Canvas, rows: list[Row], top: int = 0) -> None:
    for y, row in enumerate(rows):
        if row is RULE:
            canvas.fill(0, y - top, canvas.width, 1, "─", Ink.FAINT)
        else:
            put_row(canvas, 1, y - top, row)


def scrolled(rows: list[Row], scroll: int, width: int, height: int) -> Column:
    """Rows from ``scroll`` on; when some are hidden the last line says so."""
    canvas = Canvas(width, height)
    if len(rows) <= height:
        _lay(canvas, rows)
        return Column(canvas)
    top = min(max(scroll, 0), len(rows) - (height - 1))
    _lay(canvas, rows[top : top + height - 1])
    below = len(rows) - top - (height - 1)
    more = f"▼ {below} more: ↓" if below else "▲ ↑ back up"
    canvas.fill(0, height - 1, width, 1, " ")
    canvas.put(1, height - 1, more, Ink.LOOK)
    return Column(canvas, len(rows) - (height - 1))


def saying(state: State, words: Words | Problem | None, width: int) -> list[Row]:
    """The question, the paragraph and the sentence that says what to look at."""
    rows = paragraph(state.scene.question, width, Ink.STRONG)
    if isinstance(words, Words):
        rows += [EMPTY, *paragraph(words.paragraph, width)]
        rows += [EMPTY, *paragraph(words.look, width, Ink.LOOK, "▸ ", "  ")]
    elif isinstance(words, Problem):
        rows += [EMPTY, *paragraph(words.sentence, width, Ink.BAD, "✗ ", "  ")]
    else:
        rows += [EMPTY, *paragraph(state.now_step.title, width, Ink.DIM)]
    return rows


def changing(state: State, offered: Offered, width: int) -> list[Row]:
    """The parameters, each with its choices; what the source cannot show is greyed."""
    if not state.parameters:
        return []
    focused = state.focus is Focus.PARAMETERS
    typing = state.live and state.parameter is not None and state.parameter.typed is not None
    hint = ("↑↓ ← → or type a number" if typing else "↑↓ ← →") if focused else "⇥ to change"
    pad = min(max(len(p.label) for p in state.parameters), 12)
    rows = [heading("PARAMETERS", hint, width, focused)]
    for parameter in state.parameters:
        rows.append(_parameter(state, parameter, offered, focused and parameter is state.parameter, pad, width))
    return rows


def heading(title: str, hint: str, width: int, focused: bool = False) -> Row:
    """A section's title, a hint at its right edge."""
    gap = width - len(title) - len(hint)
    name = (title, Ink.LOOK if focused else Ink.DIM)
    return (name, (" " * gap, Ink.TEXT), (hint, Ink.DIM)) if gap > 0 else (name,)


def _parameter(state: State, parameter: Parameter, offered: Offered, here: bool, pad: int, width: int) -> Row:
    """One parameter on one line.

    Where not all choices fit, those around the chosen one are shown and an ellipsis stands for the rest.
    """
    now = state.chosen.get(parameter.id, parameter.default)
    greyed = set(state.greyed(parameter, offered))
    cells: list[Span] = [(c.text, Ink.FAINT if c.id in greyed else Ink.DIM) for c in parameter.choices]
    ids = [choice.id for choice in parameter.choices]
    chosen = ids.index(now) if now in ids else len(cells)
    if now not in ids:
        cells.append((parameter.choice(now).text, Ink.DIM))
    if here and state.typed:
        cells[chosen] = (f"{state.typed}▁", Ink.DIM)
    unit: Row = ((f" {parameter.unit}", Ink.DIM),) if parameter.unit else ()
    name = (f"{clip(parameter.label, pad):<{pad}} ", Ink.STRONG if here else Ink.TEXT)
    label: Row = (("▸" if here else " ", Ink.LOOK), name)
    room = width - length(label) - length(unit)
    return (*label, *_window(cells, chosen, room, Ink.CURSOR if here else Ink.STRONG), *unit)


def _window(cells: list[Span], chosen: int, room: int, ink: Ink) -> Row:
    """Choices side by side, the chosen one in brackets; as many of its neighbours as fit."""

    def line(first: int, last: int, gap: str) -> Row:
        row: Row = (("… " if first else "", Ink.DIM),)
        for index in range(first, last + 1):
            text, plain = cells[index]
            # Greyed ones stand in brackets: colour never says something alone.
            ends = "‹›" if index == chosen else "()" if plain is Ink.FAINT else gap + gap
            row += ((f"{ends[:1]}{text}{ends[1:]}", ink if index == chosen else plain),)
            row += ((" ", Ink.DIM),) if not gap and index < last else ()
        return (*row, (" …" if last < len(cells) - 1 else "", Ink.DIM))

    wide = line(0, len(cells) - 1, " ")
    if length(wide) <= room:
        return wide
    first = last = chosen
    while True:
        # The side that shows fewer neighbours grows first, so that both directions stay visible.
        sides = [(last - chosen, 0, (first, last + 1)), (chosen - first, 1, (first - 1, last))]
        for _, _, (left, right) in sorted(sides):
            if left >= 0 and right < len(cells) and length(line(left, right, "")) <= room:
                first, last = left, right
                break
        else:
            return line(first, last, "")


def measured(state: State, words: Words | Problem | None, width: int, roomy: bool) -> list[Row]:
    """The measured strip: each number with the glyph of its kind, its spread and its note."""
    m = state.drawable
    if m is None or not isinstance(words, Words):
        return []
    rows = [heading("MEASURED" if not state.previous else "MEASURED, PREVIOUS CHOICE", "i where from", width)]
    names = [name for name in words.shown if name or roomy]
    found = [quantity_or_reason(m, name) for name in names]
    widest = max((len(q.label) for q in found if isinstance(q, Quantity)), default=0)
    # The widest labels at which the strip is shortest: still wider ones push spreads to lines of their own.
    laid: list[list[Row]] = [
        [row for q in found for row in (_quantity(q, pad, width, roomy) if isinstance(q, Quantity) else [q])]
        for pad in range(min(widest, 8), max(min(widest, width - 12), 8) + 1)
    ]
    rows += min(reversed(laid), key=lambda lines: _cost(lines, width))
    for neighbour in m.neighbours:
        rows += paragraph(f"Not alone: {neighbour.text}.", width, Ink.WARN, "! ", "  ")
    return rows


def _cost(lines: Iterable[Row], width: int) -> tuple[int, int]:
    """How far lines stick out, then how many there are."""
    lengths = [length(line) for line in lines]
    return sum(max(one - width, 0) for one in lengths), len(lengths)


def quantity_or_reason(m: Measurement, name: str) -> Quantity | Row:
    """A quantity by name; a free line for ``""``; a row with the reason when it could not be had."""
    if not name:
        return EMPTY
    try:
        return m.quantity(name)
    except KeyError:
        reason = m.why_missing(name) or "not measured yet" if not m.complete else m.why_missing(name) or "not measured"
        return ((f"{name}: {reason}", Ink.DIM),)


def _quantity(q: Quantity, pad: int, width: int, aligned: bool) -> list[Row]:
    """One quantity on a line; a long label or note takes a line of its own, nothing is cut that fits.

    Where lines are scarce (not ``aligned``) a long label rather pushes its number to the right.
    """
    value: Row = (
        (q.kind.glyph, KIND_INKS[q.kind]),
        (" ", Ink.TEXT),
        (q.text, Ink.STRONG if q.kind is Kind.MEASURED else Ink.TEXT),
    )
    pushed = not aligned and len(q.label) + 1 + length(value) <= width
    lines = [q.label] if pushed else wrap(q.label, pad)
    rows: list[Row] = [((line, Ink.TEXT),) for line in lines[:-1]]
    start: Row = ((f"{lines[-1]:<{pad}} ", Ink.TEXT),)
    row = (*start, *value)
    for text, ink in ((q.spread_text, Ink.DIM), (q.note, Ink.DIM)):
        gap = "  " if length(row) + 2 + len(text) <= width else " "
        if text and length(row) + len(gap) + len(text) <= width:
            row = (*row, (gap + text, ink))
        elif text:
            rows.append(row)
            row = ((" " * (length(start) + 2), Ink.TEXT), (text, ink))
    return [*rows, row]


def legend_rows(width: int) -> list[Row]:
    """What the four glyphs mean, on one line."""
    names = {Kind.MEASURED: "measured", Kind.COMPUTED: "computed", Kind.REPORTED: "driver", Kind.PUBLISHED: "published"}
    row: Row = ()
    for kind, name in names.items():
        row += ((kind.glyph, KIND_INKS[kind]), (f" {name}  ", Ink.DIM))
    for words in ({"published": "publ.", "  ": " "}, {"computed": "comp."}, {"publ.": "pub."}):
        if length(row) - len(row[-1][0]) + len(row[-1][0].rstrip()) <= width:
            break
        for long, short in words.items():
            row = tuple((text.replace(long, short), ink) for text, ink in row)
    return [row]


def pace_rows(state: State, width: int) -> list[Row]:
    """How screen time and GPU time belong together."""
    said = pace_text(state.pace, state.play.speed)
    if not said or state.drawable is None:
        return []
    if not state.motion:
        return paragraph("Motion is off: m plays this step.", width, Ink.DIM)
    whole = f"{said[0]} {said[1]}"
    return [((line, Ink.DIM),) for line in ([whole] if len(whole) <= width else said)]


def pace_text(pace: Pace, speed: float) -> tuple[str, str] | None:
    """``1 s on screen = 6 µs on the GPU`` and ``(170 000 × slower)``; ``None`` where no GPU time passes."""
    span = pace.seconds - pace.lead
    if pace.gpu_ns <= 0 or span <= 0:
        return None
    # Three digits, and the factor from what is printed: a second ÷ it is that factor, whoever works it out.
    per_second = float(f"{pace.gpu_ns / span * speed:.2e}")
    factor = 1e9 / per_second
    slower = f"({rounded(factor)} × slower)" if factor >= 1 else f"({rounded(1 / factor)} × faster)"
    return f"1 s on screen = {duration(per_second, 3)} on the GPU", slower
