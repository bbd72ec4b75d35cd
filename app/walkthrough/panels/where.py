"""Where every number and claim of a step comes from."""

from __future__ import annotations

from dataclasses import dataclass, replace

from gpu_explain.app.walkthrough.guard import Guarded
from gpu_explain.app.walkthrough.paint.evidence import Evidence, detail_rows, list_row
from gpu_explain.app.walkthrough.paint.text import put_row, put_rows
from gpu_explain.app.walkthrough.panels.base import CLOSING, Answer, Close, page, scroll_mark, sheet
from gpu_explain.app.walkthrough.state import State
from gpu_explain.scenes.base import Measurement, Problem, Quantity, Series, Trace, Words
from gpu_explain.scenes.draw.canvas import Canvas
from gpu_explain.scenes.draw.ink import Ink


@dataclass(frozen=True)
class Entry:
    """One line of the list.

    Attributes:
        group: Heading above it, where it is the first of its group; else empty.
        what: The thing itself.
    """

    group: str
    what: Evidence


@dataclass(frozen=True)
class Where:
    """The evidence behind a step.

    Attributes:
        entries: All lines.
        at: Index of the chosen one.
        top: First line of its detail.
        device: Which GPU, when, and which versions.
        live: Whether it was measured in this run.
    """

    entries: tuple[Entry, ...]
    device: str
    at: int = 0
    top: int = 0
    live: bool = False

    @staticmethod
    def of(state: State) -> Where:
        """What stands on the screen first: a fault, the step's numbers and claims; then all the rest."""
        entries: list[Entry] = []

        def add(group: str, things: list[Evidence]) -> None:
            entries.extend(Entry(group if i == 0 else "", thing) for i, thing in enumerate(things))

        if state.problem is not None:
            add("WHAT WENT WRONG", [state.problem])
        m = state.drawable or state.shown
        if m is None:
            return Where(tuple(entries), "", live=state.live)
        words = Guarded(state.scene).words(m, state.step)
        shown = words.shown if isinstance(words, Words) else ()
        # One entry a name, in the order of the screen.
        quantities = {q.name: q for q in m.quantities}
        add("NUMBERS OF THIS STEP", [quantities[name] for name in dict.fromkeys(shown) if name in quantities])
        claims = Guarded(state.scene).claims(m) if m.complete else ()
        if isinstance(claims, Problem):
            add("CLAIMS", [claims])
        else:
            mine = set(state.now_step.claims)
            add("CLAIMS OF THIS STEP", [c for c in claims if c.id in mine])
            add("OTHER CLAIMS OF THE SCENE", [c for c in claims if c.id not in mine])
        add("CURVES AND TRACES", _curves(m))
        add("OTHER NUMBERS", [q for name, q in quantities.items() if name not in shown])
        return Where(tuple(entries), _device(m), live=state.live)

    def paint(self, width: int, height: int) -> Canvas:
        """The list on the left, the chosen one's evidence on the right; one below the other when narrow."""
        keys = [("↑↓", "choose"), ("PgDn PgUp", "scroll the detail"), ("Esc i", "close")]
        canvas = sheet(width, height, "Where does this come from?", self.device, keys)
        if not self.entries:
            canvas.put(3, 3, "Nothing has been measured yet.")
            return canvas
        lines = height - 4
        left = min(46, width // 2 - 2)
        rows, here = self._list(left)
        top = min(max(here - lines // 2, 0), max(len(rows) - lines, 0))
        for y, row in enumerate(rows[top : top + lines], start=2):
            put_row(canvas, 1, y, row, left + 1)
        canvas.fill(left + 2, 2, 1, lines, "│", Ink.FAINT)
        canvas.put(left + 2, 1, "┬", Ink.FAINT)
        canvas.put(left + 2, height - 2, "┴", Ink.FAINT)
        detail = detail_rows(self.entries[self.at].what, self._names(), self._right(width), self.live)
        start = min(self.top, max(len(detail) - lines, 0))
        put_rows(canvas, left + 4, 2, detail[start : start + lines])
        scroll_mark(canvas, width - 1, 2, lines, start, len(detail))
        return canvas

    def key(self, key: str, width: int, height: int) -> Answer:
        """Choose, scroll or close."""
        if key in (*CLOSING, "i", "enter"):
            return Close()
        if not self.entries:
            return self
        if key in ("pagedown", "pageup", "space"):
            lines = height - 4
            total = len(detail_rows(self.entries[self.at].what, self._names(), self._right(width), self.live))
            return replace(self, top=page(key, self.top, total - lines, lines) or 0)
        at = page(key, self.at, len(self.entries) - 1, height - 4)
        return self if at is None else replace(self, at=at, top=0)

    @staticmethod
    def _right(width: int) -> int:
        return width - min(46, width // 2 - 2) - 6

    def _names(self) -> dict[str, str]:
        """Labels by name, so that inputs are named as the screen names them."""
        things = [entry.what for entry in self.entries]
        labels = {one.name: one.label for one in things if isinstance(one, Quantity)}
        return labels | {one.name: one.title for one in things if isinstance(one, (Series, Trace))}

    def _list(self, width: int) -> tuple[list[tuple[tuple[str, Ink], ...]], int]:
        rows: list[tuple[tuple[str, Ink], ...]] = []
        here = 0
        for index, entry in enumerate(self.entries):
            if entry.group:
                rows += [()] if rows else []
                rows.append(((entry.group, Ink.DIM),))
            if index == self.at:
                here = len(rows)
            rows.append(list_row(entry.what, index == self.at, width))
        return rows, here


def _curves(m: Measurement) -> list[Evidence]:
    found: list[Evidence] = []
    for part in m.parts.values():
        found += [*part.series, *part.traces]
    return found


def _device(m: Measurement) -> str:
    versions = [f"{name} {m.versions[name]}" for name in ("torch", "triton") if name in m.versions]
    return " · ".join([m.device.name, f"driver {m.device.driver}", *versions, m.when[:16].replace("T", " ")])
