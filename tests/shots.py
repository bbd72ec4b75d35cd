"""Pictures of every step at three sizes, for eyes: ``python -m tests.shots --scene waves --out out/``."""

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


def png(canvas: Canvas) -> bytes:
    """A canvas as PNG, drawn cell by cell in DejaVu Sans Mono: each glyph stands exactly in its cell."""
    import resvg_py

    wide, high = CELL
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{canvas.width * wide}" height="{canvas.height * high}">',
        f'<rect width="100%" height="100%" fill="{GROUND}"/>',
        f'<g font-family="DejaVu Sans Mono" font-size="{high * 0.78:.1f}">',
    ]
    for y in range(canvas.height):
        for text, ink, x in canvas.runs(y):
            look = style(ink, Depth.FULL)
            ground = look.bgcolor.name if look.bgcolor else GROUND
            colour = look.color.name if look.color else "#E6E6E6"
            if ground.lower() != GROUND.lower():
                parts.append(
                    f'<rect x="{x * wide}" y="{y * high}" width="{len(text) * wide}" height="{high}" fill="{ground}"/>'
                )
            for i, glyph in enumerate(text):
                parts.append(_glyph(glyph, (x + i) * wide, y * high, colour, bool(look.bold)))
    parts.append("</g></svg>")
    return bytes(resvg_py.svg_to_bytes(svg_string="".join(parts)))


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
    source: Source, scenes: Sequence[Scene], m: Measurement, size: tuple[int, int], share: float = 1.0
) -> dict[str, Canvas]:
    """The start screen and every step of a measurement's scene at one size.

    Args:
        source: What is offered and how it is labelled.
        scenes: All scenes.
        m: The measurement shown.
        size: Columns and lines.
        share: Share of each step's pace that has passed: 1 is its end.
    """
    width, height = size
    scene = next(one for one in scenes if one.id == m.scene)
    why_not = {one.id: source.can_show(one) for one in scenes}
    welcome = Welcome(source.label, source.live, m.device, m.versions, source.neighbours, tuple(scenes), why_not)
    made = {"start": start(welcome, width, height)}
    stage = Stage(scene.id, source.label, "", lambda chosen: source.offered(scene, chosen))
    begin = State(scene, device=m.device, live=source.live, chosen=dict(m.chosen), shown=m)
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
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    source = open_recording(options.replay)
    for name in options.scene or [scene.id for scene in all_scenes()]:
        m = default_measurement(source, find_scene(name))
        for size in SIZES:
            for step, canvas in screens(source, all_scenes(), m, size, options.at).items():
                path = options.out / f"{name}-{step}-{size[0]}x{size[1]}.png"
                path.write_bytes(png(canvas))
                path.with_suffix(".txt").write_text(f"{canvas}\n", encoding="utf-8")
    return 0


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
