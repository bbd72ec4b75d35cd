"""How a number, a claim, a curve or a trace came about, as rows."""

from __future__ import annotations

from collections.abc import Mapping

from gpu_explain.app.counting import value_text
from gpu_explain.app.walkthrough.paint.text import EMPTY, KIND_INKS, Row, clip, paragraph
from gpu_explain.scenes.base import Claim, Kind, Nature, Outcome, Problem, Quantity, Series, Trace, number_text
from gpu_explain.scenes.draw.ink import Ink

Evidence = Quantity | Claim | Series | Trace | Problem

KINDS = {
    Kind.MEASURED: "measured in this run",
    Kind.COMPUTED: "computed",
    Kind.REPORTED: "reported by the driver",
    Kind.PUBLISHED: "published",
}
"""Each kind of number in words."""


def kind_words(kind: Kind, live: bool) -> str:
    """A kind of number in words; what a recording holds was measured in another run than this one."""
    return KINDS[kind] if live or kind is not Kind.MEASURED else "measured in the recorded run"


OUTCOME_INKS = {
    Outcome.HELD: Ink.GOOD,
    Outcome.MISSED: Ink.BAD,
    Outcome.SURPRISE: Ink.WARN,
    Outcome.NOT_CHECKED: Ink.DIM,
}
"""The ink of each outcome's glyph."""

BARS = "▁▂▃▄▅▆▇█"


def list_row(what: Evidence, chosen: bool, width: int) -> Row:
    """One line in the list of evidence."""
    mark = ("▸" if chosen else " ", Ink.LOOK)
    ink = Ink.LOOK if chosen else Ink.TEXT
    room = width - 4
    if isinstance(what, Quantity):
        value = what.text
        label = clip(what.label, max(room - len(value) - 1, 6))
        gap = " " * max(room - len(label) - len(value), 1)
        return mark, (what.kind.glyph, KIND_INKS[what.kind]), (f" {label}{gap}{value}", ink)
    if isinstance(what, Claim):
        return mark, (what.outcome.glyph, OUTCOME_INKS[what.outcome]), (f" {clip(what.text, room)}", ink)
    if isinstance(what, Series):
        return mark, (what.kind.glyph, KIND_INKS[what.kind]), (f" {clip(what.title, room)}", ink)
    if isinstance(what, Trace):
        return mark, (Kind.MEASURED.glyph, Ink.MEASURED), (f" {clip(f'trace: {what.title}', room)}", ink)
    return mark, ("✗", Ink.BAD), (f" {clip(what.what, room)}", ink)


def detail_rows(what: Evidence, names: Mapping[str, str], width: int, live: bool) -> list[Row]:
    """Everything known about one number, claim, curve, trace or fault.

    Args:
        what: The thing.
        names: Labels by name, for its inputs.
        width: Cells a row may take.
        live: Whether it was measured in this run.
    """
    if isinstance(what, Quantity):
        return _quantity(what, names, width, live)
    if isinstance(what, Claim):
        return _claim(what, names, width)
    if isinstance(what, Series):
        return _series(what, names, width, live)
    if isinstance(what, Trace):
        return _trace(what, width)
    rows = paragraph(what.sentence, width, Ink.TEXT)
    if what.detail:
        rows += [EMPTY, (("THE ORIGINAL MESSAGE", Ink.DIM),)]
        rows += [
            ((line[i : i + width], Ink.CODE),)
            for line in what.detail.splitlines()
            for i in range(0, max(len(line), 1), width)
        ]
    return rows


def _fact(label: str, text: str, width: int) -> list[Row]:
    return paragraph(text, width, Ink.TEXT, f"{label:<10}", " " * 10, Ink.DIM)


def _quantity(q: Quantity, names: Mapping[str, str], width: int, live: bool) -> list[Row]:
    rows: list[Row] = [
        *paragraph(q.label, width, Ink.STRONG),
        ((q.kind.glyph, KIND_INKS[q.kind]), (f" {q.text}", Ink.STRONG), (f"   {kind_words(q.kind, live)}", Ink.DIM)),
        EMPTY,
    ]
    if q.method:
        rows += [*paragraph(q.method, width), EMPTY]
    unit = f" {q.unit}" if q.unit else ""
    if q.n:
        rows += _fact("samples", str(q.n), width)
    if q.n > 1 and isinstance(q.value, (int, float)):
        rows += _fact("median", q.text, width)
    if q.low is not None and q.high is not None:
        rows += _fact("p20 … p80", f"{number_text(q.low)} … {number_text(q.high)}{unit}", width)
    if q.minimum is not None:
        rows += _fact("smallest", f"{number_text(q.minimum)}{unit}", width)
    if q.floor is not None:
        rows += _fact(
            "floor",
            f"{number_text(q.floor)}{unit}: what the same method reads for an empty launch; not subtracted",
            width,
        )
    if q.clock_mhz is not None:
        rows += _fact("SM clock", clock(q.clock_mhz), width)
    if q.inputs:
        rows += _fact("from", ", ".join(names.get(name) or name for name in q.inputs), width)
    if q.source:
        rows += _fact("source", q.source, width)
    if len(q.samples) > 1:
        rows += [EMPTY, (("SAMPLES IN THE ORDER TAKEN", Ink.DIM),), *order_rows(q.samples, width)]
        rows += [
            EMPTY,
            ((f"HOW THEY LIE{f', IN {q.unit}' if q.unit else ''}", Ink.DIM),),
            *histogram_rows(q.samples, width),
        ]
    return rows


def clock(mhz: tuple[float, float]) -> str:
    """``1 980 MHz, steady`` or the range."""
    low, high = mhz
    if high - low <= 0.005 * high:
        return f"{number_text(round(high))} MHz, steady"
    return f"{number_text(round(low))} … {number_text(round(high))} MHz"


def order_rows(samples: tuple[float, ...], width: int) -> list[Row]:
    """A sparkline of the samples as they came; long rows are thinned by taking the largest of each stretch."""
    cells = min(len(samples), width)
    stretches = [samples[i * len(samples) // cells : (i + 1) * len(samples) // cells] for i in range(cells)]
    values = [max(stretch) for stretch in stretches]
    low, high = min(samples), max(samples)
    span = (high - low) or 1.0
    return [(("".join(BARS[round((v - low) / span * 7)] if high > low else BARS[0] for v in values), Ink.MEASURED),)]


def histogram_rows(samples: tuple[float, ...], width: int, height: int = 4) -> list[Row]:
    """A histogram with its ends written below it."""
    low, high = min(samples), max(samples)
    if high <= low:
        return [((f"all {number_text(low)}", Ink.TEXT),)]
    cells = max(min(width, 40, 2 * len(samples)), 8)
    counts = [0] * cells
    for value in samples:
        counts[min(int((value - low) / (high - low) * cells), cells - 1)] += 1
    most = max(counts)
    rows: list[Row] = []
    for level in range(height - 1, -1, -1):
        line = ""
        for count in counts:
            eighths = round(count / most * height * 8) - level * 8
            if level == 0 and count:
                eighths = max(eighths, 1)
            line += " " if eighths <= 0 else BARS[min(eighths, 8) - 1]
        rows.append(((line, Ink.MEASURED),))
    left, right = number_text(low), number_text(high)
    rows.append(((f"{left}{right:>{max(cells - len(left), len(right) + 1)}}", Ink.DIM),))
    return rows


def wanted(claim: Claim) -> str:
    """The range a claim wants, in words."""
    unit = f" {claim.unit}" if claim.unit else ""
    if claim.low is not None and claim.high is not None:
        if claim.low == claim.high:
            return f"exactly {number_text(claim.low)}{unit}"
        return f"{number_text(claim.low)} … {number_text(claim.high)}{unit}"
    if claim.low is not None:
        return f"at least {number_text(claim.low)}{unit}"
    return f"at most {number_text(claim.high or 0)}{unit}"


def _claim(claim: Claim, names: Mapping[str, str], width: int) -> list[Row]:
    outcome = claim.outcome
    nature = (
        "a law: holds on every correct GPU" if claim.nature is Nature.LAW else "an expectation: typical, not certain"
    )
    rows: list[Row] = [
        *paragraph(claim.text, width, Ink.STRONG),
        (
            (outcome.glyph, OUTCOME_INKS[outcome]),
            (f" {outcome.value}", OUTCOME_INKS[outcome]),
        ),
        EMPTY,
    ]
    if claim.value is not None:
        rows += _fact("found", value_text(claim.value, claim.unit), width)
    else:
        rows += _fact("unchecked", claim.unchecked, width)
    rows += _fact("wanted", wanted(claim), width)
    rows += _fact("kind", nature, width)
    rows += _fact("because", claim.why, width)
    if outcome in (Outcome.SURPRISE, Outcome.MISSED) and claim.likely:
        rows += _fact("likely", claim.likely, width)
    if claim.inputs:
        rows += _fact("from", ", ".join(names.get(name) or name for name in claim.inputs), width)
    if claim.source:
        rows += _fact("source", claim.source, width)
    return rows


def _series(series: Series, names: Mapping[str, str], width: int, live: bool) -> list[Row]:
    rows: list[Row] = [
        *paragraph(series.title, width, Ink.STRONG),
        (
            (series.kind.glyph, KIND_INKS[series.kind]),
            (f" {len(series.x)} points", Ink.TEXT),
            (f"   {kind_words(series.kind, live)}", Ink.DIM),
        ),
        EMPTY,
        *paragraph(series.method, width),
        EMPTY,
    ]
    if series.n:
        rows += _fact("samples", f"{series.n} for each point", width)
    if series.clock_mhz is not None:
        rows += _fact("SM clock", clock(series.clock_mhz), width)
    if series.floor is not None:
        rows += _fact(
            "floor", f"{number_text(series.floor)} {series.y_unit} for an empty launch; not subtracted", width
        )
    if series.inputs:
        rows += _fact("from", ", ".join(names.get(name) or name for name in series.inputs), width)
    if series.source:
        rows += _fact("source", series.source, width)
    rows += [EMPTY, ((f"{series.x_unit:>12}  {series.y_unit:>12}", Ink.DIM),)]
    for i, (x, y) in enumerate(zip(series.x, series.y, strict=True)):
        spread = (
            f"   p20 … p80  {number_text(series.low[i])} … {number_text(series.high[i])}"
            if series.low and series.high
            else ""
        )
        rows.append(
            ((f"{number_text(int(x) if x == int(x) else x):>12}  {number_text(y):>12}", Ink.TEXT), (spread, Ink.DIM))
        )
    return rows


def _trace(trace: Trace, width: int) -> list[Row]:
    rows: list[Row] = [
        *paragraph(trace.title, width, Ink.STRONG),
        ((Kind.MEASURED.glyph, Ink.MEASURED), (f" {number_text(trace.blocks)} blocks traced", Ink.TEXT)),
        EMPTY,
        *paragraph(
            "Each block wrote its SM at its start and at its end, both times on %globaltimer, its cycles on clock64 "
            "and its place in the order of arrival. %smid is a virtual number: it says which blocks shared an SM, "
            "not where that SM lies.",
            width,
        ),
        EMPTY,
    ]
    facts = (
        ("kernel", f"{trace.kernel} ({trace.language})"),
        ("blocks", f"{number_text(trace.blocks)} of {number_text(trace.threads)} threads"),
        ("SMs", f"{number_text(len(trace.sms))} ran a block"),
        ("span", f"{number_text(trace.span_ns / 1000)} µs from the first start to the last end"),
        ("timer", f"moves in steps of {number_text(trace.step_ns)} ns, as measured"),
        ("at once", f"{number_text(trace.peak)} blocks at most"),
        ("moved", f"{number_text(trace.moved)} blocks ended on another SM than they began on"),
        ("order", f"{number_text(trace.out_of_order)} blocks arrived after one with a higher number, on this launch"),
    )
    return [*rows, *(row for label, text in facts for row in _fact(label, text, width))]
