"""The start screen: the GPU with its own facts, and the scenes to choose from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gpu_explain.app.walkthrough.paint import wordmark
from gpu_explain.app.walkthrough.paint.frame import header, put_keys, too_small
from gpu_explain.app.walkthrough.paint.layout import SIDE_BY_SIDE, SMALLEST
from gpu_explain.app.walkthrough.paint.text import EMPTY, KIND_INKS, Row, paragraph, put_row, put_rows, size
from gpu_explain.scenes.base import Device, Kind, Neighbour, Problem, Scene, number_text
from gpu_explain.scenes.chapters import CHAPTERS
from gpu_explain.scenes.draw.canvas import Canvas
from gpu_explain.scenes.draw.ink import Ink

TAGLINE = "What does your GPU really do when your PyTorch line runs, and why is it fast or slow?"
"""The question that the product answers."""

SHORT = "What does your GPU really do when your PyTorch line runs?"
"""The same on a small screen."""

PROMISE = "Every picture is the recording of kernels that really ran; every number says where it comes from."
"""Why it can be believed."""


@dataclass(frozen=True)
class Welcome:
    """What the start screen shows.

    Attributes:
        label: The source's label.
        live: Whether the GPU is asked, or a recording.
        device: The GPU; ``None`` until it is known.
        versions: Versions of what runs.
        neighbours: Other work seen on the GPU.
        scenes: All scenes.
        why_not: For a scene's id why it cannot be shown here.
        notice: Why there is no live mode, or what went wrong.
        at: Index of the chosen scene.
    """

    label: str
    live: bool
    device: Device | None
    versions: Mapping[str, str]
    neighbours: tuple[Neighbour, ...]
    scenes: tuple[Scene, ...]
    why_not: Mapping[str, str]
    notice: Problem | None = None
    at: int = 0


def start(welcome: Welcome, width: int, height: int) -> Canvas:
    """The start screen at any size."""
    if width < SMALLEST[0] or height < SMALLEST[1]:
        return too_small(width, height, SMALLEST)
    canvas = Canvas(width, height)
    canvas.paste(header(width, welcome.label, ()), 0, 0)
    big = width >= SIDE_BY_SIDE[0] and height >= SIDE_BY_SIDE[1]
    margin = max((width - 144) // 2, 2) if big else 1
    foot = notice_rows(welcome, width - 2 * margin)[: max(height - 16, 3)]
    bottom = height - 2 - (len(foot) + 1 if foot else 0)
    split = margin + (max((width - 2 * margin) // 2, 58) if big else (width - 2) * 9 // 20)
    left = gpu_rows(welcome, split - margin - 2, bottom - 2 - (wordmark.LINES + 5 if big else 2))
    scenes, here = scene_rows(welcome, width - margin - split - 3)
    if big:
        most = max(len(left), len(scenes))
        spare = max(bottom - 2 - wordmark.LINES - 4 - most, 0)
        top = _hero(canvas, margin, 2 + min(spare // 3, 8)) + min(spare // 4, 1)
        end = min(top + most, bottom)
    else:
        put_row(canvas, margin, 2, ((TAGLINE if len(TAGLINE) < width - 2 else SHORT, Ink.TEXT),), width - 1)
        top, end = 3 if foot else 4, bottom
    put_rows(canvas, margin, top, left[: end - top], split - 1)
    _scrolled(canvas, split + 3, top, scenes, here, width - margin, end)
    canvas.fill(split, top, 1, max(end - top, 0), "│", Ink.FAINT)
    if foot:
        canvas.fill(0, bottom, width, 1, "─", Ink.FAINT)
        put_rows(canvas, margin, bottom + 1, foot)
    canvas.fill(0, height - 2, width, 1, "─", Ink.FAINT)
    put_keys(canvas, height - 1, [("enter", "begin"), ("↑↓", "choose a scene"), ("?", "keys"), ("q", "quit")])
    return canvas


def _hero(canvas: Canvas, x: int, y: int) -> int:
    """The name and the question; returns the first line below."""
    wordmark.wordmark(canvas, x, y)
    canvas.put(x, y + wordmark.LINES + 1, TAGLINE, Ink.TEXT)
    canvas.put(x, y + wordmark.LINES + 2, PROMISE, Ink.DIM)
    return y + wordmark.LINES + 4


def notice_rows(welcome: Welcome, width: int) -> list[Row]:
    """Why there is no live mode and what it needs, or who else is on the GPU."""
    problem = welcome.notice
    rows: list[Row] = []
    if problem is not None:
        if welcome.live:
            broken = welcome.device is None
            rows += paragraph(
                _stop(problem.what), width, Ink.BAD if broken else Ink.WARN, "✗ " if broken else "! ", "  "
            )
        else:
            rows += paragraph(f"You see a recording. {_stop(problem.what)}", width, Ink.WARN, "! ", "  ")
        if problem.why:
            rows += paragraph(_stop(problem.why), width, Ink.DIM, "  ", "  ")
        if problem.remedy:
            said = "For live mode: " if not welcome.live else ""
            rows += paragraph(f"{said}{_stop(problem.remedy)}", width, Ink.TEXT, "→ ", "  ", Ink.LOOK)
    for neighbour in welcome.neighbours:
        rows += paragraph(
            f"Not alone on the GPU: {neighbour.text}. What is measured beside it is marked.",
            width,
            Ink.WARN,
            "! ",
            "  ",
        )
    return rows


def _stop(text: str) -> str:
    text = text.strip()
    return text if text.endswith((".", "?", "!")) else f"{text}."


def scene_rows(welcome: Welcome, width: int) -> tuple[list[Row], int]:
    """All scenes, the chosen one with its steps, and the row of the chosen one."""
    rows: list[Row] = []
    here = 0
    chapter = 0
    for index, scene in enumerate(welcome.scenes):
        if scene.chapter != chapter:
            chapter = scene.chapter
            rows += [EMPTY] if rows else []
            rows.append(((f"{chapter}  {CHAPTERS.get(chapter, '')}".upper().rstrip(), Ink.DIM),))
        chosen = index == welcome.at
        why_not = welcome.why_not.get(scene.id, "")
        if chosen:
            here = len(rows)
        title = Ink.LOOK if chosen else Ink.DIM if why_not else Ink.STRONG
        rows.append((("▸ " if chosen else "  ", Ink.LOOK), (f"{scene.number:>2}  {scene.title}", title)))
        rows += paragraph(scene.question, width, Ink.TEXT if chosen else Ink.DIM, " " * 6, " " * 6)
        if why_not:
            rows += paragraph(why_not, width, Ink.WARN, "    ! ", " " * 6)
        if chosen:
            rows += [EMPTY]
            for number, step in enumerate(scene.steps, start=1):
                rows.append(((" " * 6, Ink.TEXT), (f"{number}  ", Ink.FAINT), (step.title, Ink.DIM)))
            rows += [EMPTY] if index < len(welcome.scenes) - 1 else []
    return rows, here


def _scrolled(canvas: Canvas, left: int, top: int, rows: list[Row], here: int, right: int, bottom: int) -> None:
    """Rows around the chosen one; what lies above and below is signalled."""
    lines = bottom - top
    first = min(max(here - lines // 3, 0), max(len(rows) - lines, 0))
    shown = rows[first : first + lines]
    # A mark has its line to itself: words beside it would be cut off.
    if shown and first + lines < len(rows):
        shown[-1] = EMPTY
    if shown and first:
        shown[0] = EMPTY
    put_rows(canvas, left, top, shown, right)
    if first + lines < len(rows):
        canvas.right(right, bottom - 1, " ▼ more ", Ink.LOOK)
    if first:
        canvas.right(right, top, " ▲ more ", Ink.LOOK)


def gpu_rows(welcome: Welcome, width: int, most: int) -> list[Row]:
    """The GPU: its name, one square for each SM if there is room within ``most`` rows, and the driver's facts."""
    device = welcome.device
    rows: list[Row] = [(("THIS GPU" if welcome.live else "THE GPU OF THE RECORDING", Ink.DIM),)]
    if device is None:
        said = "Opening the GPU …" if welcome.notice is None else "The GPU is not open."
        return [*rows, EMPTY, *paragraph(said, width, Ink.STRONG)]
    rows.append(((device.name + (f" · {device.mig}" if device.mig else ""), Ink.STRONG),))
    facts = fact_rows(device, welcome.versions, width)
    squares = sm_rows(device.sms, width)
    if len(rows) + len(squares) + len(facts) + 2 <= most:
        return [*rows, EMPTY, *squares, EMPTY, *facts]
    return [*rows, EMPTY, *facts] if len(rows) + len(facts) < most else [*rows, *facts]


def sm_rows(sms: int, width: int) -> list[Row]:
    """One square for each SM, in rows of equal length where that can be had."""
    most = max(min(width // 2, 30), 1)
    fitting = [n for n in range(most, most // 2, -1) if sms % n == 0]
    across = fitting[0] if fitting else most
    rows: list[Row] = []
    for first in range(0, sms, across):
        count = min(across, sms - first)
        rows.append((("■ " * count, Ink.WORK_ALT),))
    caption = f"{sms} squares for {sms} SMs. Where they lie on the chip is not known."
    return [*rows, *paragraph(caption, width, Ink.DIM)]


def fact_rows(device: Device, versions: Mapping[str, str], width: int) -> list[Row]:
    """The driver's facts, in two columns where they fit, each with the glyph of its kind."""
    sms = number_text(device.sms)
    if device.sms != device.sms_total:
        sms += f" of {number_text(device.sms_total)}"
    major, minor = device.compute_capability
    facts = [
        ("SMs", sms, Kind.REPORTED),
        ("compute capability", f"{major}.{minor}", Kind.REPORTED),
        ("warp size", number_text(device.warp_size), Kind.REPORTED),
        ("threads per SM", number_text(device.threads_per_sm), Kind.REPORTED),
        ("warp slots per SM", number_text(device.warps_per_sm), Kind.REPORTED),
        ("blocks per SM", number_text(device.blocks_per_sm), Kind.REPORTED),
        ("registers per SM", number_text(device.registers_per_sm), Kind.REPORTED),
        ("shared per SM", size(device.shared_per_sm), Kind.REPORTED),
        ("L2", size(device.l2_bytes), Kind.REPORTED),
        ("memory", size(device.memory_bytes), Kind.REPORTED),
        ("highest clock", f"{number_text(device.clock_max_mhz)} MHz" if device.clock_max_mhz else "–", Kind.REPORTED),
        ("globaltimer step", f"{number_text(device.timer_step_ns)} ns", Kind.MEASURED),
    ]
    cuda = ".".join(str(n) for n in device.driver_cuda)
    half = width // 2
    rows: list[Row] = []
    if half >= 28:
        middle = (len(facts) + 1) // 2
        for index in range(middle):
            pair = facts[index], facts[index + middle] if index + middle < len(facts) else None
            row = _fact(*pair[0], half - 2)
            rows.append((*row, ("  ", Ink.TEXT), *_fact(*pair[1], half - 2)) if pair[1] else row)
    else:
        rows = [_fact(*fact, min(width, 36)) for fact in facts]
    said = " · ".join(
        [f"driver {device.driver} (CUDA {cuda})", *(f"{n} {versions[n]}" for n in ("torch", "triton") if n in versions)]
    )
    rows += [*([EMPTY] if half >= 28 else []), *paragraph(said, width, Ink.DIM)]
    rows.append(
        (
            (Kind.REPORTED.glyph, KIND_INKS[Kind.REPORTED]),
            (" from the driver  ", Ink.DIM),
            (Kind.MEASURED.glyph, KIND_INKS[Kind.MEASURED]),
            (" measured", Ink.DIM),
        )
    )
    return rows


def _fact(label: str, value: str, kind: Kind, width: int) -> Row:
    gap = max(width - len(label) - len(value) - 4, 1)
    return (
        (label, Ink.DIM),
        (f" {'·' * (gap - 1) if gap > 1 else ''} ", Ink.FAINT),
        (kind.glyph, KIND_INKS[kind]),
        (f" {value}", Ink.STRONG),
    )
