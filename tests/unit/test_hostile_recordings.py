"""Recordings that somebody broke: never green, never a fault blamed on the wrong one, never a stuck program."""

from __future__ import annotations

import gzip
import io
import json
import os
import random
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from gpu_explain.app import cli
from gpu_explain.app.exchange import to_junit
from gpu_explain.app.exits import Exit
from gpu_explain.app.recording import pack, unpack
from gpu_explain.app.replay import open_recording
from gpu_explain.app.report import Printer
from gpu_explain.app.shelf import Recorder, open_shelf
from gpu_explain.app.verify import Run, verify
from gpu_explain.scenes.base import Capture, ProblemError, Scene, SourceText
from tests.unit.made_up import device, measurement, tiny
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


# ---------------------------------------------------------------- what no GPU can have said


def changed(tmp_path: Path, change: Callable[[Any], object]) -> str:
    """A recording of ``tiny`` whose JSON was changed; its folder."""
    content = json.loads(gzip.decompress(pack((measurement(), measurement(size="big")))))
    change(content)
    put(tmp_path, "tiny", gzip.compress(json.dumps(content).encode()))
    return str(tmp_path)


def refusal(path: str) -> str:
    with pytest.raises(ProblemError) as refused:
        open_recording(path)
    return refused.value.problem.sentence


def set_in(place: str, **values: object) -> Callable[[Any], None]:
    """Set fields of the device, or of the first trace, quantity or measurement."""

    def change(content: Any) -> None:
        found = [one for one in content["findings"].values() if one.get(place)]
        if place == "device":
            target = content["runs"][0]["device"]
        else:
            target = found[0][place][0] if found else content[place][0]
        target.update(values)

    return change


@pytest.mark.parametrize(
    "change",
    [
        set_in("device", sms=0),
        set_in("device", sms=-1),
        set_in("device", sms=10**9),
        set_in("device", sms=10**9, sms_total=10**9),
        set_in("device", warp_size=0),
        set_in("device", threads_per_sm=0),
        set_in("device", l2_bytes=-1),
        set_in("device", timer_step_ns=0),
        set_in("device", compute_capability=[0, 0]),
        set_in("device", name=""),
        set_in("device", name="N" * 5000),
        set_in("traces", threads=0),
        set_in("traces", threads=-32),
        set_in("traces", step_ns=0),
        set_in("traces", cycles=[-9, 9]),
        set_in("traces", sm=[-3, 1]),
        set_in("traces", start_ns=[-5, 0]),
        set_in("traces", end_ns=[10**40, 3000]),
        set_in("quantities", value=10**60),
        set_in("quantities", value=int("9" * 400)),
        set_in("measurements", when="some day"),
        lambda content: content["measurements"].append(content["measurements"][0]),
        lambda content: [one.update(seconds={"measure": -1.0}) for one in content["findings"].values()],
    ],
)
def test_values_that_no_gpu_can_have_are_refused(tmp_path: Path, change: Callable[[Any], object]) -> None:
    assert "cannot be replayed" in refusal(changed(tmp_path, change))


def test_the_unchanged_recording_is_read(tmp_path: Path) -> None:
    assert checked(Path(changed(tmp_path, lambda _: None)), TINY).exit(strict=False) == Exit.OK


@pytest.mark.parametrize("value", ["abc", None])
def test_claims_that_a_recording_makes_impossible_are_not_called_a_fault_of_ours(tmp_path: Path, value: object) -> None:
    run = checked(Path(changed(tmp_path, set_in("quantities", value=value))), TINY)
    assert run.exit(strict=False) == Exit.FAILED
    problem = run.results[0].default.problem
    assert problem is not None
    assert problem.id == "unfit-recording"
    assert "fault in gpu-explain" not in problem.sentence
    assert str(tmp_path) in problem.sentence


def test_a_recording_without_the_default_choice_is_broken(tmp_path: Path) -> None:
    run = checked(Path(changed(tmp_path, lambda content: content["measurements"].pop(0))), TINY)
    assert run.exit(strict=False) == Exit.FAILED
    assert "own choice of parameters" in text_of(run)


def test_the_default_choice_is_checked_first_wherever_it_stands(tmp_path: Path) -> None:
    run = checked(Path(changed(tmp_path, lambda content: content["measurements"].reverse())), TINY)
    assert dict(run.results[0].default.chosen) == {"size": "small", "shade": "red"}


# ---------------------------------------------------------------- what would steer the terminal

HIDDEN_ONES = ["\x1b[2J", "\x07", "\x00", "\x7f", "\x9b31m", "\u202e", "\r"]


@pytest.mark.parametrize("nasty", HIDDEN_ONES, ids=ascii)
@pytest.mark.parametrize("place", ["device", "versions", "title", "source", "key", "made by"])
def test_a_recording_that_steers_the_terminal_is_refused_without_doing_so(
    tmp_path: Path, place: str, nasty: str
) -> None:
    def change(content: Any) -> None:
        run, found = content["runs"][0], next(iter(content["findings"].values()))
        changes: dict[str, Callable[[], object]] = {
            "device": lambda: run["device"].update(name=nasty),
            "versions": lambda: run["versions"].update(torch=nasty),
            "title": lambda: found["traces"][0].update(title=f"x{nasty}y"),
            "source": lambda: next(iter(content["sources"].values())).update(text=nasty),
            "key": lambda: found.update(missing={nasty: "why"}),
            "made by": lambda: content.update(gpu_explain=nasty),
        }
        changes[place]()

    sentence = refusal(changed(tmp_path, change))
    assert nasty not in sentence


def test_names_have_no_line_breaks_and_texts_may(tmp_path: Path) -> None:
    assert "one short line" in refusal(changed(tmp_path, set_in("device", name="two\nlines")))
    with pytest.raises(ValueError, match="one short line"):
        replace(device(), driver="a\tb")


def test_what_a_launch_wrote_is_recorded_spelled_out_so_that_it_can_be_read_again() -> None:
    part = replace(
        measurement().parts["second"], captures=(Capture("said", "a launch", "\x1b[31mred\n"),), missing={"x": "\x07"}
    )
    m = unpack(pack((replace(measurement(), parts={**measurement().parts, "second": part}),)), "here").measurements[0]
    assert m.capture("said").text == "\\x1b[31mred\n"
    assert m.why_missing("x") == "\\x07"


@pytest.mark.parametrize("nasty", [*HIDDEN_ONES, "\n", "\udcff"], ids=ascii)
def test_nothing_hidden_reaches_the_stream(nasty: str, capsys: pytest.CaptureFixture[str]) -> None:
    out = io.StringIO()
    Printer(out, io.StringIO()).lines(iter([[(f"a{nasty}b", "bold")]]))
    assert nasty not in out.getvalue().removesuffix("\n")
    assert cli.main(["--run-all", "--scene", f"a{nasty}b"]) == Exit.USAGE
    error = capsys.readouterr().err
    assert nasty not in error.removesuffix("\n")


# ---------------------------------------------------------------- what would keep us waiting or fill the memory


def test_a_pipe_and_a_device_are_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "tiny.json.gz")
    os.mkfifo(tmp_path / "packed.zip")
    for path in (str(tmp_path), str(tmp_path / "tiny.json.gz"), str(tmp_path / "packed.zip"), "/dev/zero"):
        assert "not a regular file" in refusal(path)
    with pytest.raises(ProblemError, match="not a regular file"):
        Recorder(str(tmp_path / "packed.zip"))


def test_a_file_is_measured_before_it_is_read(tmp_path: Path) -> None:
    with (tmp_path / "tiny.json.gz").open("wb") as file:
        file.truncate(1 << 40)  # a hole: it takes no room
    assert "larger than" in refusal(str(tmp_path))


@pytest.mark.parametrize("name", ["x" * 300, "file/below", "link"])
def test_a_path_that_the_system_refuses_is_said_in_words(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "link").symlink_to("link")
    sentence = refusal(str(tmp_path / name))
    assert "cannot be replayed" in sentence
    assert "Errno" not in sentence


def test_a_folder_that_is_not_ours_to_enter_is_said_in_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def forbidden(_: Path) -> bool:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "exists", forbidden)  # what stat says below a folder of mode 000, when not root
    assert "It cannot be read: it is not allowed" in refusal(str(tmp_path / "below"))


# ---------------------------------------------------------------- several at once, and little room

COPY = """
import sys
from dataclasses import replace
from gpu_explain.app.shelf import Recorder
from tests.unit.made_up import measurement
recorder = Recorder(sys.argv[1])
print("ready", flush=True)
sys.stdin.readline()
for number in range(5):
    recorder.write((replace(measurement(), scene=f"{sys.argv[2]}{number}"),))
"""


@pytest.mark.parametrize("name", ["rec", "rec.zip"])
def test_copies_that_record_into_one_place_at_once_lose_nothing(tmp_path: Path, name: str) -> None:
    command = [sys.executable, "-c", COPY, str(tmp_path / name)]
    copies = [
        subprocess.Popen([*command, letter], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for letter in "abc"
    ]
    for copy in copies:
        assert copy.stdout is not None
        assert copy.stdout.readline() == "ready\n"
    for copy in copies:
        copy.communicate("go\n", timeout=30)
        assert copy.returncode == 0
    assert open_shelf(str(tmp_path / name)).scenes == tuple(f"{one}{n}" for one in "abc" for n in range(5))
    assert [entry.name for entry in tmp_path.iterdir()] == [name]


def test_a_zip_that_became_another_gpus_meanwhile_is_left_alone(tmp_path: Path) -> None:
    path = str(tmp_path / "rec.zip")
    slow = Recorder(path)
    Recorder(path).write((replace(measurement(), scene="theirs", device=device(name="Another GPU")),))
    with pytest.raises(ProblemError, match="one GPU"):
        slow.write((measurement(),))
    assert open_shelf(path).scenes == ("theirs",)


@pytest.mark.parametrize("name", ["rec", "rec.zip"])
def test_a_scene_that_does_not_fit_does_not_keep_smaller_ones_out(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorder = Recorder(str(tmp_path / name))
    recorder.write((measurement(),))
    real = os.fsync

    def little_room(descriptor: int) -> None:
        if os.fstat(descriptor).st_size > 8000:
            raise OSError(28, "No space left on device")
        real(descriptor)

    monkeypatch.setattr("os.fsync", little_room)
    noise = "".join(f"{i:x}" for i in random.Random(1).choices(range(16), k=20_000))
    big = SourceText("cuda/big.cu", "cuda", noise)
    part = replace(measurement().parts["first"], sources=(big,))
    with pytest.raises(ProblemError, match="No space left"):
        recorder.write((replace(measurement(), scene="big", parts={**measurement().parts, "first": part}),))
    recorder.write((replace(measurement(), scene="small"),))
    assert open_shelf(str(tmp_path / name)).scenes == ("small", "tiny")
