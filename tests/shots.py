"""Pictures of every step at three sizes, for eyes: ``python -m tests.shots --scene waves --out out/``.

``--colours 16`` and ``--colours none`` show them as poorer terminals do, ``--still`` as with motion off, and
``--sheet`` puts all steps of one size into one picture.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from gpu_explain.app.replay import open_recording
from gpu_explain.app.source import Event, Source
from gpu_explain.app.walkthrough.looks import Depth, style
from gpu_explain.app.walkthrough.paint.layout import Room, divide
from gpu_explain.app.walkthrough.paint.start import Welcome, start
from gpu_explain.app.walkthrough.paint.tile import flatten
from gpu_explain.app.walkthrough.paint.walk import Stage, picture_tile, still_tiles
from gpu_explain.app.walkthrough.state import Face, State, to_step
from gpu_explain.scenes.base import Measurement, Problem, ProblemError, Scene
from gpu_explain.scenes.base.protocol import Failed, Measured
from gpu_explain.scenes.draw.canvas import Canvas
from gpu_explain.scenes.draw.ink import GROUND
from gpu_explain.scenes.registry import all_scenes, find_scene

SIZES = ((80, 24), (120, 40), (200, 60))
"""The sizes that every step must look right at."""

CELL = (9, 19)
"""Width and height of a cell in pixels."""


XTERM = {
    "black": "#000000", "red": "#cd0000", "green": "#00cd00", "yellow": "#cdcd00",
    "blue": "#0000ee", "magenta": "#cd00cd", "cyan": "#00cdcd", "white": "#e5e5e5",
    "bright_black": "#7f7f7f", "bright_red": "#ff0000", "bright_green": "#00ff00", "bright_yellow": "#ffff00",
    "bright_blue": "#5c5cff", "bright_magenta": "#ff00ff", "bright_cyan": "#00ffff", "bright_white": "#ffffff",
}  # fmt: skip
"""The sixteen colours as xterm has them."""
OWN = {Depth.FULL: ("#E6E6E6", GROUND), Depth.SIXTEEN: ("#e5e5e5", "#000000"), Depth.NONE: ("#e5e5e5", "#000000")}
"""Text and ground of the terminal itself."""
DIMMED = "#8a8a8a"
"""Dim text, where a terminal has it."""


def png(canvas: Canvas, depth: Depth = Depth.FULL) -> bytes:
    """A canvas as PNG, as a terminal of that depth shows it."""
    return sheet([canvas], depth)


def sheet(canvases: Sequence[Canvas], depth: Depth = Depth.FULL, columns: int = 1) -> bytes:
    """Canvases as one PNG, drawn cell by cell in DejaVu Sans Mono: each glyph stands exactly in its cell."""
    import resvg_py

    wide, high = CELL
    across, down = max(c.width for c in canvases) + 1, max(c.height for c in canvases) + 1
    width, height = min(columns, len(canvases)) * across - 1, -(-len(canvases) // columns) * down - 1
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width * wide}" height="{height * high}">',
        '<rect width="100%" height="100%" fill="#555555"/>',
        f'<g font-family="DejaVu Sans Mono" font-size="{high * 0.78:.1f}">',
    ]
    for place, canvas in enumerate(canvases):
        row, column = divmod(place, columns)
        parts.append(f'<g transform="translate({column * across * wide} {row * down * high})">')
        parts.append(_drawn(canvas, depth))
        parts.append("</g>")
    parts.append("</g></svg>")
    return bytes(resvg_py.svg_to_bytes(svg_string="".join(parts)))


def _drawn(canvas: Canvas, depth: Depth) -> str:
    wide, high = CELL
    parts = [f'<rect width="{canvas.width * wide}" height="{canvas.height * high}" fill="{OWN[depth][1]}"/>']
    for y in range(canvas.height):
        for text, ink, x in canvas.runs(y):
            look = style(ink, depth)
            colour, ground = (
                XTERM.get(named.name, named.name) if named is not None and not named.is_default else own
                for named, own in zip((look.color, look.bgcolor), OWN[depth], strict=True)
            )
            if look.dim and depth is Depth.NONE:
                colour = DIMMED
            if look.reverse:
                colour, ground = ground, colour
            if ground.lower() != OWN[depth][1].lower():
                parts.append(
                    f'<rect x="{x * wide}" y="{y * high}" width="{len(text) * wide}" height="{high}" fill="{ground}"/>'
                )
            for i, glyph in enumerate(text):
                parts.append(_glyph(glyph, (x + i) * wide, y * high, colour, bool(look.bold)))
    return "".join(parts)


EIGHTHS_UP, EIGHTHS_LEFT = "▁▂▃▄▅▆▇█", "▏▎▍▌▋▊▉█"


def _glyph(glyph: str, x: int, y: int, colour: str, bold: bool) -> str:
    """One glyph; block elements as rectangles, as terminals draw them."""
    wide, high = CELL
    if glyph in " \u00a0":
        return ""

    def rect(left: float, top: float, width: float, height: float) -> str:
        return f'<rect x="{x + left:g}" y="{y + top:g}" width="{width:g}" height="{height:g}" fill="{colour}"/>'

    if glyph in EIGHTHS_UP:
        tall = high * (EIGHTHS_UP.index(glyph) + 1) / 8
        return rect(0, high - tall, wide, tall)
    if glyph in EIGHTHS_LEFT:
        return rect(0, 0, wide * (EIGHTHS_LEFT.index(glyph) + 1) / 8, high)
    if glyph == "▐":
        return rect(wide / 2, 0, wide / 2, high)
    if glyph == "▀":
        return rect(0, 0, wide, high / 2)
    middle = high / 2
    if glyph == "─":
        return rect(0, middle - 0.5, wide, 1)
    if glyph == "│":
        return rect(wide / 2 - 0.5, 0, 1, high)
    shown = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}.get(glyph, glyph)
    weight = ' font-weight="bold"' if bold else ""
    return f'<text x="{x}" y="{y + high * 0.76:.1f}" fill="{colour}"{weight}>{shown}</text>'


def screens(
    source: Source,
    scenes: Sequence[Scene],
    m: Measurement,
    size: tuple[int, int],
    share: float = 1.0,
    *,
    motion: bool = True,
) -> dict[str, Canvas]:
    """The start screen and every step of a measurement's scene at one size.

    Args:
        source: What is offered and how it is labelled.
        scenes: All scenes.
        m: The measurement shown.
        size: Columns and lines.
        share: Share of each step's pace that has passed: 1 is its end.
        motion: Whether pictures move.
    """
    width, height = size
    scene = next(one for one in scenes if one.id == m.scene)
    why_not = {one.id: source.can_show(one) for one in scenes}
    welcome = Welcome(source.label, source.live, m.device, m.versions, source.neighbours, tuple(scenes), why_not)
    made = {"start": start(welcome, width, height)}
    stage = Stage(scene.id, source.label, "", lambda chosen: source.offered(scene, chosen))
    begin = State(scene, device=m.device, live=source.live, chosen=dict(m.chosen), shown=m, motion=motion)
    for index, step in enumerate(scene.steps):
        state = to_step(begin, index, 0.0)
        turns = divide(width, height).room is Room.TURNS
        for face in (Face.WORDS, Face.PICTURE) if turns else (Face.WORDS,):
            seen = replace(state, face=face)
            made[f"{index + 1}-{step.id}-{face}" if turns else f"{index + 1}-{step.id}"] = whole(
                seen, stage, size, share
            )
    return made


def whole(state: State, stage: Stage, size: tuple[int, int], share: float = 1.0) -> Canvas:
    """The whole screen of a state, ``share`` of its pace after the step began."""
    now = state.play.since + state.pace.seconds * share
    still, _ = still_tiles(state, stage, now, *size)
    picture = picture_tile(state, stage, now, *size)
    return flatten((*still, *((picture,) if picture else ())), *size)


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the pictures of a scene's recording."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scene", action="append", help="id of a scene (repeatable); all by default")
    parser.add_argument("--replay", help="a recording; the bundled one by default")
    parser.add_argument("--out", type=Path, default=Path("out"))
    parser.add_argument("--at", type=float, default=1.0, help="share of each step's pace that has passed, 0 … 1")
    parser.add_argument("--still", action="store_true", help="with motion off")
    parser.add_argument("--colours", type=Depth, choices=tuple(Depth), default=Depth.FULL, help="of the terminal")
    parser.add_argument("--size", action="append", type=_size, help="columns×lines (repeatable); three by default")
    parser.add_argument("--sheet", type=int, default=0, metavar="N", help="one picture a size, N steps a row")
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    source = open_recording(options.replay)
    for name in options.scene or [scene.id for scene in all_scenes()]:
        m = default_measurement(source, find_scene(name))
        for size in options.size or SIZES:
            made = screens(source, all_scenes(), m, size, options.at, motion=not options.still)
            if options.sheet:
                del made["start"]
                path = options.out / f"{name}-{size[0]}x{size[1]}.png"
                path.write_bytes(sheet(list(made.values()), options.colours, options.sheet))
                continue
            for step, canvas in made.items():
                path = options.out / f"{name}-{step}-{size[0]}x{size[1]}.png"
                path.write_bytes(png(canvas, options.colours))
                path.with_suffix(".txt").write_text(f"{canvas}\n", encoding="utf-8")
    return 0


def _size(text: str) -> tuple[int, int]:
    width, _, height = text.partition("x")
    return int(width), int(height)


def default_measurement(source: Source, scene: Scene, chosen: Mapping[str, str] | None = None) -> Measurement:
    """What a source that answers at once has for a scene. Raises ``ProblemError`` when it has nothing."""
    heard: list[Event] = []
    source.listen(heard.append)
    source.ask(scene, chosen or {})
    for event in heard:
        if isinstance(event, Measured) and event.measurement.complete:
            return event.measurement
        if isinstance(event, Failed):
            raise ProblemError(event.problem)
    raise ProblemError(Problem("no-answer", f"The source has nothing for {scene.id}"))


if __name__ == "__main__":
    raise SystemExit(main())
