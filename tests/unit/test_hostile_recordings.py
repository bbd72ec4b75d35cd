"""Recordings that somebody broke: never green, never a fault blamed on the wrong one, never a stuck program."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from gpu_explain.app.exchange import to_junit
from gpu_explain.app.exits import Exit
from gpu_explain.app.recording import pack
from gpu_explain.app.replay import open_recording
from gpu_explain.app.verify import Run, verify
from gpu_explain.scenes.base import Scene
from tests.unit.made_up import measurement, tiny
from tests.unit.test_verify import text_of

TINY, TWO, AARDVARK = tiny(), tiny(id="two", number=100), tiny(id="aardvark", number=98)


def put(folder: Path, scene: str, data: bytes | None = None) -> None:
    """A file of a recording: a sound one, or those bytes."""
    folder.mkdir(exist_ok=True)
    sound = pack((replace(measurement(), scene=scene),))
    (folder / f"{scene}.json.gz").write_bytes(sound if data is None else data)


def checked(path: Path, *scenes: Scene) -> Run:
    return verify(open_recording(str(path)), scenes)


# ---------------------------------------------------------------- nothing checked is not green


@pytest.mark.parametrize("broken", ["aardvark", "two"])
def test_a_file_that_cannot_be_read_is_a_broken_scene_wherever_it_stands_in_the_alphabet(
    tmp_path: Path, broken: str
) -> None:
    put(tmp_path, "tiny")
    put(tmp_path, broken, pack((measurement(),))[:-20])
    run = checked(tmp_path, AARDVARK, TINY, TWO)
    assert [result.scene.id for result in run.results if result.problems] == [broken]
    assert broken not in run.absent
    assert run.exit(strict=False) == run.exit(strict=True) == Exit.FAILED
    assert "1 scene broke" in text_of(run)
    suites = {suite.get("name"): suite.get("errors") for suite in ET.fromstring(to_junit(run, strict=False))}
    assert suites == {"tiny": "0", broken: "1"}


def test_a_recording_without_a_scene_of_ours_is_not_green(tmp_path: Path) -> None:
    put(tmp_path, "nope")
    run = checked(tmp_path, TINY)
    assert run.exit(strict=False) == Exit.FAILED
    assert run.problem is not None
    assert "nope" in run.problem.sentence
    assert text_of(run).count("Nothing was checked. ") == 1
    assert ET.fromstring(to_junit(run, strict=False)).get("errors") == "1"


def test_a_run_in_which_every_claim_is_unchecked_is_not_green(tmp_path: Path) -> None:
    put(tmp_path, "tiny")
    unchecked = tiny(claims=lambda m: tiny().claims(m)[2:])
    run = checked(tmp_path, unchecked)
    assert run.exit(strict=False) == Exit.FAILED
    assert "Nothing was checked" in text_of(run)


def test_a_scene_that_this_gpu_explain_does_not_know_is_named(tmp_path: Path) -> None:
    put(tmp_path, "tiny")
    put(tmp_path, "from-tomorrow")
    run = checked(tmp_path, TINY)
    assert run.exit(strict=False) == Exit.OK
    assert "from-tomorrow" in text_of(run)
