"""A live source answers the latest request only, and survives whatever becomes of its worker."""

from __future__ import annotations

import os
import queue
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gpu_explain.app.live import Limits, LiveSource
from gpu_explain.app.source import Event, Lost
from gpu_explain.scenes.base.protocol import Failed, Measured, Progress, Ready
from tests.unit.made_up import device, tiny

SCENE = tiny()
WORKER = (sys.executable, "-m", "tests.unit.scripted_worker")


class Ear:
    """A source and what is heard from it."""

    def __init__(self, source: LiveSource) -> None:
        self.source = source
        self.events: queue.Queue[Event] = queue.Queue()
        source.listen(self.events.put)

    def until(self, *kinds: type, seconds: float = 15.0) -> Event:
        """The next event of one of the kinds, others dropped."""
        end = time.monotonic() + seconds
        while True:
            event = self.events.get(timeout=max(0.01, end - time.monotonic()))
            if isinstance(event, kinds):
                return event

    def answer(self) -> Measured | Failed:
        """The end of the open request: a complete measurement or a failure."""
        while True:
            event = self.until(Measured, Failed)
            if isinstance(event, Failed):
                return event
            assert isinstance(event, Measured)
            if event.measurement.complete:
                return event

    def silence(self, seconds: float = 0.3) -> None:
        with pytest.raises(queue.Empty):
            self.events.get(timeout=seconds)


Opener = Callable[..., Ear]


@pytest.fixture
def open_source() -> Iterator[Opener]:
    opened: list[LiveSource] = []

    def opener(*options: str, limits: Limits | None = None, **named: object) -> Ear:
        fast = limits or Limits(opening=10.0, first=0.0, leaving=1.0)
        source = LiveSource(command=(*WORKER, *options), limits=fast, **named)  # type: ignore[arg-type]
        opened.append(source)
        return Ear(source)

    yield opener
    for source in opened:
        source.close()


def gone(pid: int) -> bool:
    for _ in range(100):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        if ended(pid):
            return True
        time.sleep(0.02)
    return False


def ended(pid: int) -> bool:
    """Whether a process has ended and only waits to be reaped: an orphan's new parent takes its time here."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return state.rpartition(")")[2].split()[0] == "Z"


def pid_of(answer: Measured | Failed) -> int:
    assert isinstance(answer, Measured)
    return int(answer.measurement.versions["pid"])


def test_the_device_is_known_once_the_worker_is_ready(open_source: Opener) -> None:
    ear = open_source()
    assert ear.source.device is None
    assert "opening" in ear.source.label
    ear.source.start()
    ear.until(Ready)
    assert ear.source.device == device()
    assert ear.source.label == "LIVE · Made-up GPU"


def test_a_request_brings_progress_then_parts_then_all(open_source: Opener) -> None:
    ear = open_source()
    asked = ear.source.ask(SCENE, {"size": "big"})
    ear.until(Ready)
    assert ear.until(Progress) == Progress(asked, "measuring", 0.5)
    first = ear.until(Measured)
    assert isinstance(first, Measured)
    assert (first.measurement.complete, list(first.measurement.parts)) == (False, ["first"])
    full = ear.answer()
    assert isinstance(full, Measured)
    assert full.measurement.quantity("ran").value == 64


def test_only_the_latest_request_is_answered(open_source: Opener) -> None:
    ear = open_source("--fault", "slow")
    ear.source.ask(SCENE, {"size": "big"})
    ear.until(Progress)
    latest = [ear.source.ask(SCENE, {"shade": shade}) for shade in ("red", "blue", "red")][-1]
    answer = ear.answer()
    assert isinstance(answer, Measured)
    assert answer.id == latest
    ear.silence()


def test_a_request_before_the_worker_is_ready_waits_for_it(open_source: Opener) -> None:
    ear = open_source()
    ear.source.ask(SCENE, {"size": "big"})
    latest = ear.source.ask(SCENE, {})
    assert ear.answer().id == latest


def test_cancelling_ends_a_running_measurement(open_source: Opener) -> None:
    ear = open_source("--fault", "slow")
    asked = ear.source.ask(SCENE, {})
    ear.until(Progress)
    ear.source.cancel()
    answer = ear.answer()
    assert isinstance(answer, Failed)
    assert (answer.id, answer.problem.id) == (asked, "cancelled")
    ear.source.cancel()
    ear.silence()


def test_cancelling_before_the_worker_is_ready_is_answered_at_once(open_source: Opener) -> None:
    ear = open_source("--fault", "never-ready")
    ear.source.ask(SCENE, {})
    ear.source.cancel()
    answer = ear.answer()
    assert isinstance(answer, Failed)
    assert answer.problem.id == "cancelled"


def test_a_failed_request_keeps_the_worker(open_source: Opener, tmp_path: Path) -> None:
    ear = open_source("--fault", "refuse", "--log", str(tmp_path / "log"))
    for _ in range(2):
        ear.source.ask(SCENE, {})
        answer = ear.answer()
        assert isinstance(answer, Failed)
        assert answer.problem.id == "gpu-memory"
    assert len((tmp_path / "log").read_text().splitlines()) == 1


@pytest.mark.parametrize("fault", ["crash", "exit", "garbage", "sticky", "hang"])
def test_a_lost_worker_is_replaced_and_the_request_asked_again(open_source: Opener, tmp_path: Path, fault: str) -> None:
    ear = open_source("--fault", fault, "--once", str(tmp_path / "once"))
    asked = ear.source.ask(tiny(limit_s=1.0), {"shade": "blue"})
    lost = ear.until(Lost)
    assert isinstance(lost, Lost)
    assert lost.restarting
    assert "asked again" in lost.problem.remedy
    answer = ear.answer()
    assert isinstance(answer, Measured)
    assert answer.id == asked
    assert answer.measurement.chosen["shade"] == "blue"


@pytest.mark.parametrize(
    ("fault", "problem", "says"),
    [
        ("crash", "worker-died", "killed by SIGKILL"),
        ("exit", "worker-died", "exit code 3"),
        ("garbage", "worker-died", "no reply"),
        ("sticky", "illegal-access", "not its own"),
        ("hang", "worker-hung", "in time"),
    ],
)
def test_a_request_that_costs_two_workers_fails_in_one_sentence(
    open_source: Opener, fault: str, problem: str, says: str
) -> None:
    ear = open_source("--fault", fault)
    asked = ear.source.ask(tiny(limit_s=0.6), {})
    answer = ear.answer()
    assert isinstance(answer, Failed)
    assert (answer.id, answer.problem.id) == (asked, problem)
    assert says in answer.problem.sentence
    assert "\n" not in answer.problem.sentence
    ear.silence()


def test_the_last_words_of_a_worker_are_kept(open_source: Opener) -> None:
    for fault, words in (("crash", "last words"), ("exit", "going away")):
        ear = open_source("--fault", fault, retries=0)
        ear.source.ask(SCENE, {})
        answer = ear.answer()
        assert isinstance(answer, Failed)
        assert words in answer.problem.detail


def test_without_retries_a_lost_worker_fails_the_request_and_the_next_one_works(
    open_source: Opener, tmp_path: Path
) -> None:
    ear = open_source("--fault", "crash", "--once", str(tmp_path / "once"), retries=0)
    ear.source.ask(SCENE, {})
    assert isinstance(ear.answer(), Failed)
    ear.source.ask(SCENE, {})
    assert isinstance(ear.answer(), Measured)


def test_a_gpu_that_cannot_be_opened_fails_without_a_second_try(open_source: Opener, tmp_path: Path) -> None:
    ear = open_source("--fault", "unopened", "--log", str(tmp_path / "log"))
    ear.source.start()
    answer = ear.answer()
    assert (answer.id, isinstance(answer, Failed)) == (0, True)
    assert ear.source.label == "LIVE · GPU not opened"
    asked = ear.source.ask(SCENE, {})
    assert ear.source.label == "LIVE · opening the GPU …"
    answer = ear.answer()
    assert isinstance(answer, Failed)
    assert (answer.id, answer.problem.id) == (asked, "gpu-held")
    assert ear.source.label == "LIVE · GPU not opened"
    assert len((tmp_path / "log").read_text().splitlines()) == 2


def test_a_gpu_that_never_opens_is_given_up(open_source: Opener) -> None:
    ear = open_source("--fault", "never-ready", limits=Limits(opening=0.5, leaving=0.5), retries=0)
    ear.source.ask(SCENE, {})
    answer = ear.answer()
    assert isinstance(answer, Failed)
    assert "did not finish opening the GPU in time" in answer.problem.what
    assert ear.source.label == "LIVE · GPU not opened"


def test_a_worker_that_dies_while_opening_says_so(open_source: Opener) -> None:
    ear = open_source("--fault", "dies-opening", retries=0)
    ear.source.ask(SCENE, {})
    answer = ear.answer()
    assert isinstance(answer, Failed)
    assert "while opening the GPU" in answer.problem.what
    assert ear.source.label == "LIVE · GPU not opened"


def test_a_worker_that_cannot_be_started_is_a_sentence() -> None:
    ear = Ear(LiveSource(command=("/nowhere/python",), retries=0))
    ear.source.ask(SCENE, {})
    answer = ear.answer()
    ear.source.close()
    assert isinstance(answer, Failed)
    assert "does not start" in answer.problem.sentence


def test_an_idle_worker_is_ended_and_comes_back_on_demand(open_source: Opener) -> None:
    ear = open_source(limits=Limits(idle=0.3, leaving=1.0))
    ear.source.ask(SCENE, {})
    first = pid_of(ear.answer())
    lost = ear.until(Lost)
    assert isinstance(lost, Lost)
    assert (lost.problem.id, lost.restarting) == ("idle", False)
    assert gone(first)
    ear.source.ask(SCENE, {})
    assert pid_of(ear.answer()) != first


def test_nobody_is_idle_while_presenting(open_source: Opener) -> None:
    ear = open_source(limits=Limits(idle=0.2, leaving=1.0), presenting=True)
    ear.source.ask(SCENE, {})
    ear.answer()
    ear.silence(0.6)


def test_a_worker_killed_while_nothing_is_measured_is_told_and_replaced_on_demand(open_source: Opener) -> None:
    ear = open_source()
    ear.source.ask(SCENE, {})
    first = pid_of(ear.answer())
    os.kill(first, 9)
    lost = ear.until(Lost)
    assert isinstance(lost, Lost)
    assert (lost.problem.id, lost.restarting) == ("worker-died", False)
    ear.source.ask(SCENE, {})
    assert pid_of(ear.answer()) != first


def test_a_scene_that_needs_a_fresh_worker_gets_one(open_source: Opener) -> None:
    ear = open_source()
    fresh = tiny(id="fresh", fresh_worker=True)
    ear.source.start()
    ready = ear.until(Ready)
    assert isinstance(ready, Ready)
    ear.source.ask(fresh, {})
    first = pid_of(ear.answer())
    assert first == int(ready.versions["pid"])  # nothing was measured in it yet, so it was fresh
    ear.source.ask(fresh, {"size": "big"})
    assert pid_of(ear.answer()) == first  # another choice: what does not depend on it stands
    ear.source.ask(fresh, {}, again=True)
    second = pid_of(ear.answer())
    assert second != first
    assert gone(first)
    ear.source.ask(SCENE, {})
    assert pid_of(ear.answer()) == second
    ear.source.ask(fresh, {})
    assert pid_of(ear.answer()) != second  # another scene has been there


def test_closing_ends_the_worker_even_when_it_hangs(open_source: Opener) -> None:
    for options in ((), ("--fault", "hang")):
        ear = open_source(*options, limits=Limits(leaving=0.3))
        ear.source.start()
        ready = ear.until(Ready)
        assert isinstance(ready, Ready)
        ear.source.ask(SCENE, {})
        ear.until(Progress)
        ear.source.close()
        assert gone(int(ready.versions["pid"]))


def test_the_worker_ends_when_the_app_is_killed(tmp_path: Path) -> None:
    log = tmp_path / "log"
    code = (
        "import os, threading; from gpu_explain.app.live import LiveSource; ready = threading.Event();"
        f"source = LiveSource(command={(*WORKER, '--log', str(log))!r});"
        "source.listen(lambda event: ready.set()); source.start(); ready.wait(10); os.kill(os.getpid(), 9)"
    )
    os.spawnv(os.P_WAIT, sys.executable, [sys.executable, "-c", code])
    assert gone(int(log.read_text().split()[0]))


def test_variables_that_spoil_measurements_do_not_reach_the_worker(open_source: Opener, tmp_path: Path) -> None:
    environ = {**os.environ, "CUDA_LAUNCH_BLOCKING": "1", "TRITON_INTERPRET": "0"}
    ear = open_source("--log", str(tmp_path / "log"), environ=environ, device=2, sms=40)
    ear.source.start()
    ear.until(Ready)
    assert ear.source.unset == ("CUDA_LAUNCH_BLOCKING",)
    assert (tmp_path / "log").read_text().split()[1:] == ["2", "40", "None"]


@pytest.mark.parametrize("fault", ["hang", "never-ready"])
def test_closing_in_the_middle_of_something_does_not_keep_the_viewer_waiting(open_source: Opener, fault: str) -> None:
    ear = open_source("--fault", fault, limits=Limits(leaving=10.0))
    ear.source.ask(SCENE, {})
    if fault == "hang":
        ear.until(Progress)
    else:
        time.sleep(0.1)
    began = time.monotonic()
    ear.source.close()
    assert time.monotonic() - began < 1.0
