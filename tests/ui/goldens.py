"""The golden texts: what every step of every scene draws and says on one small frozen fixture.

``python -m tests.ui.goldens --write [SCENE …]`` makes them anew; ``--fixture SCENE …`` also freezes a new
measurement, on a made-up GPU of six SMs. Read the difference before committing it: that is their whole use.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

from gpu_explain.app.recording import pack, unpack
from gpu_explain.scenes.base import Measurement, Scene, View
from gpu_explain.scenes.registry import all_scenes, find_scene

FOLDER = Path(__file__).parent / "goldens"
SIZES = ((79, 20), (82, 36), (150, 55))
"""The room a picture has in terminals of 80×24, 120×40 and 200×60."""
MOMENTS = (0.5, 1.0)
"""Shares of a step's pace at which it is drawn."""


def fixture(scene: Scene) -> Measurement:
    """The frozen measurement of a scene."""
    path = FOLDER / f"{scene.id}.json.gz"
    return unpack(path.read_bytes(), path.name).measurements[0]


def freeze(scene: Scene) -> None:
    """Measure a scene on a made-up GPU of six SMs and keep it."""
    from tests.simulated import inprocess, models

    small = replace(models.MODELS["sms40"], name="Made-up GPU, 6 SMs", sms=6, sms_total=6, timer_step_ns=32)
    models.MODELS["golden"] = small
    try:
        (FOLDER / f"{scene.id}.json.gz").write_bytes(pack([inprocess.measure(scene.id, "golden")]))
    finally:
        del models.MODELS["golden"]


def text(scene: Scene, m: Measurement) -> str:
    """All steps at all sizes and moments, and their words, as one text."""
    parts = []
    for index, step in enumerate(scene.steps):
        words = scene.words(m, index)
        parts.append(f"═══ {index + 1} {step.id}\n{words.paragraph}\n▸ {words.look}\n")
        parts += [
            f"{q.label.strip()} {q.kind.glyph} {q.text} {q.spread_text} {q.note}".rstrip()
            for name in words.shown
            if name
            for q in [m.quantity(name)]
        ]
        paced = scene.pace(m, index)
        for width, height in SIZES:
            for share in MOMENTS:
                if share < 1 and (width, height) != SIZES[1]:
                    continue
                seconds = paced.lead + (paced.seconds - paced.lead) * share
                canvas = scene.frame(m, View(index, width, height, seconds=seconds))
                parts.append(f"─── {width}×{height} at {share:.0%}\n{canvas}\n")
    claims = [f"{c.outcome.glyph} {c.id} {c.value} {c.unit}" for c in scene.claims(m)]
    return "\n".join([*parts, "═══ claims", *claims, ""])


def main() -> None:
    """Write goldens, and fixtures when asked."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--write", action="store_true", help="write the golden texts")
    parser.add_argument("--fixture", action="store_true", help="freeze a new measurement first")
    parser.add_argument("scenes", nargs="*")
    given = parser.parse_args()
    for scene in [find_scene(one) for one in given.scenes] or all_scenes():
        if given.fixture:
            freeze(scene)
        if given.write or given.fixture:
            (FOLDER / f"{scene.id}.txt").write_text(text(scene, fixture(scene)), encoding="utf-8")


if __name__ == "__main__":
    main()
