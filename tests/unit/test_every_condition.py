"""Every condition of the catalogue is brought about by some test; here those that no other test needs."""

from __future__ import annotations

import ast
import queue
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from gpu_explain.app import cli
from gpu_explain.app.exits import Exit
from gpu_explain.app.live import LiveSource
from gpu_explain.app.recording import pack
from gpu_explain.app.replay import open_recording
from gpu_explain.app.shelf import Recorder
from gpu_explain.app.source import Event
from gpu_explain.app.walkthrough.guard import scene_problem
from gpu_explain.kernels.session import Session
from gpu_explain.scenes.base import ProblemError
from gpu_explain.scenes.base.conditions import CATALOGUE, recognise
from gpu_explain.scenes.base.protocol import Failed
from tests.unit import made_up

TESTS = Path(__file__).resolve().parents[1]


@pytest.mark.parametrize("id", [one.id for one in CATALOGUE])
def test_some_test_names_it(id: str) -> None:
    assert id in _named(), f"no test brings {id} about"


def _named(found: set[str] = set()) -> set[str]:  # noqa: B006  (filled once)
    for file in () if found else (*TESTS.rglob("*.py"),):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.add(node.value)
    return found


def raised(run: Callable[[], object]) -> tuple[str, str]:
    """Id and sentence of the problem that something raises."""
    with pytest.raises(ProblemError) as caught:
        run()
    return caught.value.problem.id, caught.value.problem.sentence


def test_a_worker_that_cannot_be_started() -> None:
    events: queue.SimpleQueue[Event] = queue.SimpleQueue()
    source = LiveSource(command=("/nowhere/python3",), retries=0)
    source.listen(events.put)
    source.ask(made_up.tiny(), {})
    found = events.get(timeout=10)
    source.close()
    assert isinstance(found, Failed)
    assert found.problem.id == "worker-start"
    assert "/nowhere/python3 could not be started" in found.problem.sentence


def test_a_mistake_in_a_scene_names_the_error_and_the_place() -> None:
    try:
        raise ZeroDivisionError("nothing to divide by")
    except ZeroDivisionError as error:
        found = scene_problem(error, "The picture could not be drawn")
    assert found.id == "step-broken"
    assert "ZeroDivisionError: nothing to divide by (at test_every_condition.py:" in found.sentence


@pytest.mark.parametrize("sms", [0, -1, 10**6])
def test_more_sms_than_there_are(sms: int) -> None:
    pytest.importorskip("torch", reason="torch is not installed")
    shared: Any = SimpleNamespace(narrow={})
    session = Session(shared, made_up.device(), None, None)
    id, sentence = raised(lambda: session.on_sms(sms).__enter__())
    assert id == "green-context"
    assert f"between 1 and {made_up.device().sms} SMs" in sentence


def test_a_package_of_our_own_that_is_missing() -> None:
    known = recognise("ModuleNotFoundError: No module named 'msgspec'")
    assert known is not None
    assert known.id == "incomplete"


def test_a_recording_that_is_not_there(tmp_path: Path) -> None:
    id, sentence = raised(lambda: open_recording(str(tmp_path / "nothing.zip")))
    assert id == "recording-not-there"
    assert "nothing.zip" in sentence


def test_a_package_without_a_recording(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpu_explain.app.replay.bundled", lambda: None)
    assert raised(open_recording)[0] == "no-recording"


def test_a_scene_that_a_recording_does_not_hold(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    measured = made_up.measurement()
    (tmp_path / f"{measured.scene}.json.gz").write_bytes(pack([measured]))
    source = open_recording(str(tmp_path))
    other = next(id for id in ("fusion", "sm-map") if id != measured.scene)
    events: queue.SimpleQueue[Event] = queue.SimpleQueue()
    source.listen(events.put)
    source.ask(made_up.tiny(id=other), {})
    found = events.get(timeout=10)
    assert isinstance(found, Failed)
    assert found.problem.id == "scene-not-recorded"
    assert found.problem.sentence.startswith(f"{other} is not in ") or other in found.problem.sentence
    # Asked for by name on the command line, it is a wrong use.
    code = cli.main(["--replay", str(tmp_path), "--run-all", "--scene", other])
    assert code == Exit.USAGE
    assert known("cannot-show", capsys.readouterr().err)


def test_a_recording_of_which_nothing_can_be_checked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    measured = replace(made_up.measurement(), scene="a-scene-of-tomorrow")
    (tmp_path / f"{measured.scene}.json.gz").write_bytes(pack([measured]))
    assert cli.main(["--replay", str(tmp_path), "--run-all"]) == Exit.FAILED
    captured = capsys.readouterr()
    assert known("nothing-checked", captured.out + captured.err)


def test_two_gpus_in_one_recording(tmp_path: Path) -> None:
    Recorder(str(tmp_path)).write((made_up.measurement(),))
    other = made_up.measurement(made_up.device(name="Another GPU"))
    id, sentence = raised(lambda: Recorder(str(tmp_path)).write((other,)))
    assert id == "other-gpu"
    assert "Another GPU" in sentence


def test_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["--run-all", "--json", "-", "--junit", "-"]) == Exit.USAGE
    assert known("usage", capsys.readouterr().err)


def known(id: str, said: str) -> bool:
    """Whether a text is what a condition says: the words of its entry between what is filled in."""
    one = next(one for one in CATALOGUE if one.id == id)
    pieces = [piece.split("{")[0].strip() for piece in one.what.split("}")]
    flat = " ".join(said.split())
    return all(piece in flat for piece in pieces)
