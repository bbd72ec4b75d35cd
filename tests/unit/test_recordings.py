"""A recording gives back exactly what was measured, or one clear sentence."""

from __future__ import annotations

import gzip
import json
import zipfile
from collections.abc import Callable
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpu_explain.app import recording
from gpu_explain.app.choices import recorded_combinations
from gpu_explain.app.recording import pack, unpack
from gpu_explain.app.replay import RecordedSource, open_recording
from gpu_explain.app.shelf import Recorder, bundled, open_shelf
from gpu_explain.app.source import Event
from gpu_explain.scenes.base import Measurement, Part, ProblemError
from gpu_explain.scenes.base.protocol import Failed, Measured, Ready
from gpu_explain.scenes.registry import find_scene
from tests.unit.made_up import device, findings, measurement, tiny

T = TypeVar("T")

SCENE = tiny()
DEFAULT, BLUE, BIG = measurement(), measurement(shade="blue"), measurement(size="big")
ALL = (DEFAULT, BLUE, BIG)


def as_json(data: bytes) -> Any:
    return json.loads(gzip.decompress(data))


def from_json(content: Any) -> bytes:
    return gzip.compress(json.dumps(content).encode())


def fault(data: bytes) -> str:
    """The sentence with which the bytes are refused."""
    with pytest.raises(ProblemError) as refused:
        unpack(data, "here.json.gz")
    assert "here.json.gz" in refused.value.problem.what
    assert refused.value.problem.remedy
    return refused.value.problem.sentence


def read_or_refused(read: Callable[[], T]) -> T | None:
    """What was read, or ``None`` when it was refused in words; everything else is a failure."""
    try:
        return read()
    except ProblemError as refused:
        if refused.problem.id not in {"bad-recording", "newer-recording", "older-recording"}:
            raise
        return None


def saved(folder: Path, *measurements: Measurement) -> RecordedSource:
    Recorder(str(folder)).write(measurements)
    return open_recording(str(folder))


def answers(source: RecordedSource, **chosen: str) -> Event:
    heard: list[Event] = []
    source.listen(heard.append)
    source.ask(SCENE, chosen)
    assert len(heard) == 1
    return heard[0]


# ---------------------------------------------------------------- what goes in comes out


def test_a_recording_gives_back_what_was_measured() -> None:
    assert unpack(pack(ALL), "here").measurements == ALL


def test_the_same_measurements_are_the_same_bytes() -> None:
    assert pack(ALL) == pack((measurement(), measurement(shade="blue"), measurement(size="big")))


def test_what_measurements_share_is_stored_once() -> None:
    content = as_json(pack(ALL))
    assert len(content["runs"]) == 1
    assert len(content["sources"]) == 1
    # three measurements of two parts each, but only the first part of BIG differs
    assert len(content["findings"]) == 3


def test_two_workers_leave_two_runs_in_the_file() -> None:
    other = replace(BLUE, device=replace(device(), timer_step_ns=32))
    assert unpack(pack((DEFAULT, other)), "here").measurements == (DEFAULT, other)


def test_a_partial_measurement_is_never_recorded() -> None:
    with pytest.raises(ValueError, match="complete"):
        pack((replace(DEFAULT, complete=False),))
    with pytest.raises(ValueError, match="one scene"):
        pack(())


# ---------------------------------------------------------------- what cannot be read is refused in one sentence


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "It is empty"),
        (b"PK\x03\x04 a zip, say", "not a gzip file"),
        (pack(ALL)[:-20], "cut off"),
        (pack(ALL)[:100] + b"\0" * 40 + pack(ALL)[140:], "damaged"),
        (pack(ALL) + pack(ALL), "follows the recording"),
        (gzip.compress(b"{not json"), "readable JSON"),
        (gzip.compress(b'{"x": ' + b"[" * 100_000), "readable JSON"),
        (gzip.compress(b'{"format": "\xff"}'), "readable JSON"),
        (from_json([1, 2]), "Expected `object`"),
        (from_json({"schema": 1}), "format"),
        (from_json({"format": "asciinema", "schema": 1, "gpu_explain": ""}), "not a recording that gpu-explain made"),
    ],
)
def test_bytes_that_are_no_recording_are_refused(data: bytes, why: str) -> None:
    assert why in fault(data)


def test_a_gzip_bomb_is_refused_without_unpacking_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recording, "MOST_BYTES", 1 << 20)
    assert "unpacks to more than 1 MB" in fault(gzip.compress(b" " * (2 << 20)))


def test_a_newer_schema_asks_for_a_newer_gpu_explain() -> None:
    content = as_json(pack(ALL))
    content |= {"schema": 2, "gpu_explain": "9.0", "findings": "another shape"}
    assert "Install a newer gpu-explain" in fault(from_json(content))
    content["schema"] = 0
    assert "Record it again" in fault(from_json(content))


def test_a_wrong_type_is_named_with_its_place() -> None:
    content = as_json(pack(ALL))
    key = content["measurements"][0]["parts"]["first"]
    content["findings"][key]["traces"][0]["sm"][1] = "one"
    assert "$.findings[...].traces[0].sm[1]" in fault(from_json(content))


def test_columns_of_different_lengths_are_refused() -> None:
    content = as_json(pack(ALL))
    key = content["measurements"][0]["parts"]["first"]
    content["findings"][key]["traces"][0]["sm"].append(3)
    assert "columns of different lengths" in fault(from_json(content))


@pytest.mark.parametrize(
    ("place", "value", "why"),
    [
        ("run", 7, "run 7"),
        ("run", -1, "run -1"),
        ("parts", {"first": "nothing"}, "does not hold: nothing"),
        ("chosen", {"size": "small"}, "shade"),
        ("chosen", {"size": "huge", "shade": "red"}, "huge"),
        ("chosen", {"size": "small", "shade": "red", "more": "x"}, "do not belong together"),
    ],
)
def test_a_reference_into_nothing_is_refused(place: str, value: Any, why: str) -> None:
    content = as_json(pack(ALL))
    content["measurements"][0][place] = value
    assert why in fault(from_json(content))


@given(st.binary(max_size=300))
def test_any_bytes_are_refused_in_words(data: bytes) -> None:
    fault(data)
    fault(gzip.compress(data))


JUNK = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5), st.just([]), st.just({}), st.just([[]])
)


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_a_changed_recording_is_read_or_refused_but_never_breaks(data: st.DataObject) -> None:
    """Follow a random path into the JSON and put junk there, or cut the entry out."""
    content = as_json(pack(ALL))
    node: Any = content
    while True:
        keys = list(node) if isinstance(node, dict) else list(range(len(node)))
        key = data.draw(st.sampled_from(keys))
        inner = node[key]
        if not isinstance(inner, dict | list) or not inner or data.draw(st.integers(0, 5)) == 0:
            break
        node = inner
    if data.draw(st.booleans()):
        del node[key]
    else:
        node[key] = data.draw(JUNK)
    found = read_or_refused(lambda: unpack(from_json(content), "here"))
    if found is None:
        return
    for m in found.measurements:  # what is accepted can be used
        assert unpack(pack((m,)), "here").measurements == (m,)


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 10_000), st.integers(0, 255))
def test_a_flipped_byte_is_read_or_refused_but_never_breaks(place: int, byte: int) -> None:
    changed = bytearray(pack(ALL))
    changed[place % len(changed)] = byte
    found = read_or_refused(lambda: unpack(bytes(changed), "here"))
    assert found is None or found.measurements == ALL


# ---------------------------------------------------------------- folders, zips, files


@pytest.mark.parametrize("name", ["folder", "packed.zip"])
def test_a_folder_and_a_zip_replay_alike(tmp_path: Path, name: str) -> None:
    source = saved(tmp_path / name, *ALL)
    assert source.label == "RECORDED · Made-up GPU · 2026-11-29"
    assert answers(source) == Measured(1, DEFAULT)
    assert not source.live


def test_a_single_file_replays(tmp_path: Path) -> None:
    saved(tmp_path, *ALL)
    assert open_recording(str(tmp_path / "tiny.json.gz")).device == device()


def test_a_zip_of_the_folder_made_by_hand_replays(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "by-hand.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("nvidia-h200/tiny.json.gz", pack(ALL))
        archive.writestr("nvidia-h200/README.md", "words")
    assert open_recording(str(tmp_path / "by-hand.zip")).device == device()


def test_a_recording_goes_on_where_it_stopped(tmp_path: Path) -> None:
    for name in ("folder", "packed.zip"):
        path = str(tmp_path / name)
        Recorder(path).write(ALL)
        Recorder(path).write(tuple(replace(m, scene="other") for m in ALL))
        assert open_shelf(path).scenes == ("other", "tiny")


def test_one_recording_belongs_to_one_gpu(tmp_path: Path) -> None:
    Recorder(str(tmp_path)).write(ALL)
    foreign = replace(DEFAULT, scene="other", device=device(name="Another GPU"))
    with pytest.raises(ProblemError, match="one GPU"):
        Recorder(str(tmp_path)).write((foreign,))
    (tmp_path / "zother.json.gz").write_bytes(pack((replace(foreign, scene="zother"),)))
    source = open_recording(str(tmp_path))
    assert isinstance(source.ask(tiny(id="zother"), {}), int)
    assert "Another GPU" in source.can_show(tiny(id="zother"))


def test_writing_leaves_nothing_else_behind(tmp_path: Path) -> None:
    Recorder(str(tmp_path)).write(ALL)
    Recorder(str(tmp_path)).write(ALL)
    assert [entry.name for entry in tmp_path.iterdir()] == ["tiny.json.gz"]


def test_a_failed_write_keeps_the_old_recording(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recorder = Recorder(str(tmp_path))
    recorder.write((DEFAULT,))

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(ProblemError, match="No space left"):
        recorder.write(ALL)
    monkeypatch.undo()
    assert open_shelf(str(tmp_path)).read("tiny").measurements == (DEFAULT,)
    assert [entry.name for entry in tmp_path.iterdir()] == ["tiny.json.gz"]


def test_a_place_that_cannot_be_recorded_to_is_known_before_measuring(tmp_path: Path) -> None:
    taken = tmp_path / "taken"
    taken.write_text("a file")
    for path in (taken, taken / "below", taken / "below.zip"):
        with pytest.raises(ProblemError, match="Name another place"):
            Recorder(str(path))


@pytest.mark.parametrize(
    ("prepare", "why"),
    [
        (lambda _: None, "no such file"),
        (lambda p: p.mkdir(), "no recording in it"),
        (lambda p: p.write_bytes(b"hello"), "neither a folder nor a zip"),
        (lambda p: zipfile.ZipFile(p, "w").close(), "no recording in it"),
        (lambda p: p.write_bytes(b"PK\x05\x06" + b"\xff" * 18), "neither a folder nor a zip"),
    ],
)
def test_a_place_without_a_recording_is_refused(tmp_path: Path, prepare: Any, why: str) -> None:
    prepare(tmp_path / "it")
    with pytest.raises(ProblemError) as refused:
        open_recording(str(tmp_path / "it"))
    assert why in refused.value.problem.sentence
    assert "it cannot be replayed" in refused.value.problem.sentence


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000), st.integers(0, 255))
def test_a_damaged_zip_is_read_or_refused_but_never_breaks(tmp_path_factory: Any, place: int, byte: int) -> None:
    path = tmp_path_factory.mktemp("zip") / "r.zip"
    Recorder(str(path)).write(ALL)
    changed = bytearray(path.read_bytes())
    changed[place % len(changed)] = byte
    path.write_bytes(changed)
    found = read_or_refused(lambda: open_recording(str(path)))
    assert found is None or found.device == device()


def test_a_file_that_holds_another_scene_is_refused(tmp_path: Path) -> None:
    (tmp_path / "waves.json.gz").write_bytes(pack(ALL))
    with pytest.raises(ProblemError, match="another scene"):
        open_recording(str(tmp_path))


def test_the_bundled_recording_with_the_most_scenes_is_the_default(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gpu_explain.app.shelf.files", lambda _: tmp_path)
    assert bundled() is None
    with pytest.raises(ProblemError, match="no bundled recording"):
        open_recording()
    (tmp_path / "recordings" / "empty").mkdir(parents=True)
    assert bundled() is None
    for gpu, scenes in (("a-gpu", ("tiny",)), ("b-gpu", ("tiny", "other")), ("c-gpu", ("tiny",))):
        for scene in scenes:
            Recorder(str(tmp_path / "recordings" / gpu)).write((replace(DEFAULT, scene=scene),))
    assert open_recording().shelf.scenes == ("other", "tiny")
    assert "b-gpu" in open_recording().shelf.name


def test_the_bundled_recordings_are_sound_and_hold_what_the_scenes_offer() -> None:
    root = files("gpu_explain.scenes") / "recordings"
    folders = [entry for entry in root.iterdir() if entry.is_dir()] if root.is_dir() else []
    for folder in folders:
        source = open_recording(str(folder))
        for name in source.shelf.scenes:
            scene = find_scene(name)
            assert source.recorded(scene)
            for chosen in recorded_combinations(scene, source.device):
                assert source.offered(scene, chosen), f"{folder.name}: {name} {chosen}"


# ---------------------------------------------------------------- a recording as a source


def test_missing_choices_take_their_defaults(tmp_path: Path) -> None:
    source = saved(tmp_path, *ALL)
    assert answers(source, shade="blue") == Measured(1, BLUE)
    assert answers(source, size="big") == Measured(2, BIG)


def test_a_combination_that_was_not_recorded_is_greyed_and_says_so(tmp_path: Path) -> None:
    source = saved(tmp_path, *ALL)
    assert source.offered(SCENE, {"shade": "blue"})
    assert not source.offered(SCENE, {"shade": "blue", "size": "big"})
    answer = answers(source, shade="blue", size="big")
    assert isinstance(answer, Failed)
    assert answer.problem.id == "not-recorded"


def test_a_scene_without_a_recording_says_so(tmp_path: Path) -> None:
    source = saved(tmp_path, *ALL)
    assert source.can_show(SCENE) == ""
    assert source.can_show(tiny(id="other")) == "not in this recording"
    assert not source.offered(tiny(id="other"), {})
    heard: list[Event] = []
    source.listen(heard.append)
    source.ask(tiny(id="other"), {})
    assert isinstance(heard[0], Failed)


def test_one_broken_file_does_not_take_the_others_along(tmp_path: Path) -> None:
    Recorder(str(tmp_path)).write(ALL)
    (tmp_path / "broken.json.gz").write_bytes(b"no")
    source = open_recording(str(tmp_path))
    assert answers(source) == Measured(1, DEFAULT)
    assert "not a gzip file" in source.can_show(tiny(id="broken"))


def test_a_scene_that_has_other_parts_now_is_refused(tmp_path: Path) -> None:
    source = saved(tmp_path, *ALL)
    newer = tiny(parts=(*SCENE.parts, Part("third", (), lambda *_: findings(1)[0], "")))
    with pytest.raises(ProblemError, match="other parts"):
        source.recorded(newer)


def test_starting_a_recording_says_what_was_recorded(tmp_path: Path) -> None:
    source = saved(tmp_path, *ALL)
    heard: list[Event] = []
    source.listen(heard.append)
    source.start()
    assert heard == [Ready(device(), DEFAULT.versions, ())]


def test_the_content_of_a_recording_is_what_the_documentation_says() -> None:
    content = as_json(pack(ALL))
    assert set(content) == {"format", "schema", "gpu_explain", "scene", "runs", "sources", "findings", "measurements"}
    assert content["schema"] == recording.SCHEMA
    assert content["scene"] == "tiny"
