"""The worker's loop on a session that is none: what it measures again, what it drops, how it ends."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import IO, Any

import pytest

from gpu_explain.kernels import worker
from gpu_explain.scenes.base import (
    Choice,
    Chosen,
    Device,
    Findings,
    Neighbour,
    Parameter,
    Part,
    Problem,
    ProblemError,
    Scene,
)
from gpu_explain.scenes.base.protocol import (
    Cancel,
    Failed,
    Measure,
    Measured,
    Progress,
    Quit,
    Ready,
    Reply,
    Request,
    decode_reply,
    encode,
)
from tests.unit import made_up


@dataclass
class NoGpu:
    """What the worker needs of a session."""

    device: Device = field(default_factory=made_up.device)
    versions: Mapping[str, str] = field(default_factory=lambda: {"gpu_explain": "0"})
    compile_seconds: float = 0.0
    released: int = 0
    closed: bool = False
    dead: str = ""
    _tell: Callable[[str, float | None], None] | None = None

    def neighbours(self) -> tuple[Neighbour, ...]:
        return (Neighbour("process", "1 other process is there"),)

    neighbours_at_start = neighbours

    def listen(self, tell: Callable[[str, float | None], None] | None) -> None:
        self._tell = tell

    def progress(self, doing: str, share: float | None = None) -> None:
        if self._tell:
            self._tell(doing, share)

    def synchronise(self) -> None:
        if self.dead:
            raise RuntimeError(self.dead)

    def release(self) -> None:
        self.synchronise()
        self.released += 1

    def close(self) -> None:
        self.closed = True


class Running:
    """A worker on a thread, and the app's ends of its pipes."""

    def __init__(self, *scenes: Scene, session: NoGpu | None = None, opening: Exception | None = None) -> None:
        self.session = session or NoGpu()
        self.code: int | None = None
        self.abandoned = threading.Event()
        theirs, self.requests = os.pipe()
        ours, their_replies = os.pipe()
        self.replies: IO[bytes] = os.fdopen(ours, "rb")
        known = {scene.id: scene for scene in scenes}

        def open_session() -> Any:
            if opening:
                raise opening
            return self.session

        def find(id: str) -> Scene:
            if id not in known:
                raise ProblemError(Problem("unknown-scene", f"There is no scene {id}"))
            return known[id]

        def serve() -> None:
            self.code = worker.run(theirs, their_replies, open_session, find=find, abandon=self.abandoned.set)
            os.close(their_replies)

        self.thread = threading.Thread(target=serve, daemon=True)
        self.thread.start()

    def send(self, *requests: Request) -> None:
        os.write(self.requests, b"".join(map(encode, requests)))

    def next(self, *kinds: Any) -> Any:
        """The next reply of one of these kinds, others skipped."""
        for line in self.replies:
            reply: Reply = decode_reply(line)
            if isinstance(reply, kinds):
                return reply
        raise AssertionError(f"the worker ended without a {kinds}")

    def complete(self) -> Measured:
        while True:
            reply = self.next(Measured, Failed)
            assert isinstance(reply, Measured), reply
            if reply.measurement.complete:
                return reply

    def end(self) -> int:
        if self.requests >= 0:
            os.close(self.requests)
            self.requests = -1
        self.thread.join(5)
        assert not self.thread.is_alive()
        assert self.code is not None
        return self.code


@pytest.fixture
def start() -> Iterator[Callable[..., Running]]:
    running: list[Running] = []

    def begin(*scenes: Scene, **options: Any) -> Running:
        running.append(Running(*scenes, **options))
        return running[-1]

    yield begin
    for one in running:
        if one.requests >= 0:
            os.close(one.requests)
        one.thread.join(5)


class Counted:
    """A scene's parts, counted as they are measured; ``block`` makes the first wait until it is let go."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.entered, self.go = threading.Event(), threading.Event()
        self.block = False

    def scene(self, **changes: Any) -> Scene:
        def first(gpu: Any, chosen: Chosen, so_far: Mapping[str, Findings]) -> Findings:
            self.calls.append(f"first {chosen['size'].value}")
            time.sleep(0.01)
            gpu.compile_seconds += 0.01
            if self.block:
                self.entered.set()
                while not self.go.wait(0.01):
                    gpu.progress("waiting")
            return made_up.findings(int(chosen["size"].value or 0))[0]

        def second(gpu: Any, chosen: Chosen, so_far: Mapping[str, Findings]) -> Findings:
            assert "first" in so_far
            self.calls.append(f"second {chosen['shade'].value}")
            return made_up.findings(8)[1]

        parts = (Part("first", ("size",), first, "first"), Part("second", ("shade",), second, "second"))
        return made_up.tiny(**{"parts": parts, **changes})


def test_it_says_what_it_has_opened_then_measures_part_by_part(start: Callable[..., Running]) -> None:
    counted = Counted()
    one = start(counted.scene())
    ready = one.next(Reply)
    assert isinstance(ready, Ready)
    assert ready.device == one.session.device
    one.send(Measure(7, "tiny", {}))
    progress = one.next(Reply)
    assert progress == Progress(7, "first", None)
    partial = one.next(Measured)
    assert partial.id == 7
    assert not partial.measurement.complete
    assert list(partial.measurement.parts) == ["first"]
    whole = one.next(Measured).measurement
    assert whole.complete
    assert list(whole.parts) == ["first", "second"]
    assert whole.chosen == {"size": "small", "shade": "red"}
    assert whole.value("size") == 8
    assert whole.neighbours == one.session.neighbours()
    assert whole.parts["first"].seconds["compile"] == pytest.approx(0.01)
    assert 0.0 <= whole.parts["first"].seconds["measure"] < 5.0
    assert one.end() == 0
    assert one.session.closed
    assert one.session.released == 1


def test_only_what_depends_on_the_change_is_measured_again(start: Callable[..., Running]) -> None:
    counted = Counted()
    one = start(counted.scene())
    for id, chosen in enumerate(({}, {"shade": "blue"}, {"size": "big", "shade": "blue"}, {}), 1):
        one.send(Measure(id, "tiny", chosen))
        assert one.complete().id == id
    assert counted.calls == ["first 8", "second red", "second blue", "first 64"]
    one.send(Measure(9, "tiny", {}, again=True))
    one.complete()
    assert counted.calls[4:] == ["first 8", "second red"]


def test_what_is_known_already_is_sent_at_once_and_whole(start: Callable[..., Running]) -> None:
    one = start(Counted().scene())
    one.send(Measure(1, "tiny", {}))
    one.complete()
    one.send(Measure(2, "tiny", {}))
    reply = one.next(Reply)
    assert isinstance(reply, Measured)
    assert reply.measurement.complete


def test_a_typed_number_is_a_choice_of_its_own(start: Callable[..., Running]) -> None:
    counted = Counted()
    one = start(counted.scene())
    one.send(Measure(1, "tiny", {"size": "=33", "shade": "gold"}))
    assert one.complete().measurement.value("size") == 33
    assert counted.calls == ["first 33", "second gold"]


def test_a_newer_request_stops_the_running_one(start: Callable[..., Running]) -> None:
    counted = Counted()
    counted.block = True
    one = start(counted.scene())
    one.send(Measure(1, "tiny", {}))
    assert counted.entered.wait(5)
    counted.block = False
    one.send(Measure(2, "tiny", {"size": "big"}))
    failed = one.next(Failed, Measured)
    assert isinstance(failed, Failed)
    assert (failed.id, failed.problem.id) == (1, "cancelled")
    assert one.complete().id == 2
    assert counted.calls == ["first 8", "first 64", "second red"]


def test_of_several_waiting_requests_only_the_last_is_worked_on(start: Callable[..., Running]) -> None:
    counted = Counted()
    counted.block = True
    one = start(counted.scene())
    one.send(Measure(1, "tiny", {}))
    assert counted.entered.wait(5)
    counted.block = False
    one.send(*(Measure(id, "tiny", {"size": f"={id}"}) for id in (2, 3, 4)))
    dropped = {one.next(Failed).id for _ in range(3)}
    assert dropped == {1, 2, 3}
    assert one.complete().id == 4
    assert counted.calls[0] == "first 8"
    assert "first 4" in counted.calls
    assert "first 3" not in counted.calls


def test_cancel_stops_the_running_request_and_no_other(start: Callable[..., Running]) -> None:
    counted = Counted()
    counted.block = True
    one = start(counted.scene())
    one.send(Measure(5, "tiny", {}), Cancel(4))
    assert counted.entered.wait(5)
    one.send(Cancel(5))
    failed = one.next(Failed, Measured)
    assert (failed.id, failed.problem.id) == (5, "cancelled")
    counted.block = False
    one.send(Measure(6, "tiny", {}))
    assert one.complete().id == 6  # what was cancelled half way was not kept
    assert counted.calls == ["first 8", "first 8", "second red"]


@pytest.mark.parametrize(
    ("request_", "id", "words"),
    [
        (Measure(1, "tiny", {"size": "huge"}), "unknown-choice", "huge"),
        (Measure(1, "tiny", {"size": "=101"}), "unknown-choice", "=101"),
        (Measure(1, "tiny", {"size": "big", "colour": "red"}), "unknown-choice", "colour"),
        (Measure(1, "nothing", {}), "unknown-scene", "nothing"),
    ],
)
def test_a_request_that_makes_no_sense_is_a_sentence(
    start: Callable[..., Running], request_: Measure, id: str, words: str
) -> None:
    one = start(Counted().scene())
    one.send(request_)
    failed = one.next(Failed)
    assert (failed.id, failed.problem.id) == (1, id)
    assert words in failed.problem.sentence
    one.send(Measure(2, "tiny", {}))
    assert one.complete().id == 2


def test_a_line_that_is_no_request_is_answered_and_survived(start: Callable[..., Running]) -> None:
    one = start(Counted().scene())
    os.write(one.requests, b'{"type": "dance"}\n\n')
    failed = one.next(Failed)
    assert (failed.id, failed.problem.id) == (0, "bad-request")
    one.send(Measure(2, "tiny", {}))
    assert one.complete().id == 2


def test_a_request_that_arrives_in_pieces_is_read(start: Callable[..., Running]) -> None:
    one = start(Counted().scene())
    line = encode(Measure(1, "tiny", {}))
    for byte in (line[:5], line[5:20], line[20:]):
        os.write(one.requests, byte)
    assert one.complete().id == 1


def broken(error: Exception) -> Scene:
    def measure(gpu: Any, chosen: Chosen, so_far: Mapping[str, Findings]) -> Findings:
        raise error

    return made_up.tiny(parts=(Part("first", (), measure, "tracing the launch"),))


def test_a_broken_scene_names_the_place_and_the_worker_goes_on(start: Callable[..., Running]) -> None:
    one = start(broken(ZeroDivisionError("by zero")))
    for id in (1, 2):
        one.send(Measure(id, "tiny", {}))
        failed = one.next(Failed)
        assert failed.id == id
        assert failed.problem.id == "scene-broken"
        assert "tests/unit/test_worker.py:" in failed.problem.what
        assert "ZeroDivisionError: by zero" in failed.problem.why
        assert "Traceback" in failed.problem.detail
        assert not failed.problem.sticky
    assert one.session.released == 2


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("CUDA error: an illegal memory access was encountered", "700"),
        ("CUDA_ERROR_LAUNCH_FAILED: An exception occurred on the device", "719"),
        ("CUDA_ERROR_LAUNCH_TIMEOUT: the device kernel took too long to execute", "702"),
    ],
)
def test_an_error_that_poisons_the_gpu_ends_the_worker(start: Callable[..., Running], text: str, number: str) -> None:
    one = start(broken(RuntimeError(text)))
    one.send(Measure(1, "tiny", {}))
    failed = one.next(Failed)
    assert failed.problem.sticky
    assert f"CUDA error {number}" in failed.problem.sentence
    one.thread.join(5)  # although nobody closed its pipe
    assert one.code == 1
    assert one.session.closed


def test_a_gpu_that_no_longer_answers_is_lost_whatever_the_error_said(start: Callable[..., Running]) -> None:
    one = start(broken(ValueError("nonsense came back")), session=NoGpu(dead="CUDA error: unspecified launch failure"))
    one.send(Measure(1, "tiny", {}))
    failed = one.next(Failed)
    assert failed.problem.sticky
    assert "719" in failed.problem.sentence


def test_too_little_memory_is_a_sentence_and_not_sticky(start: Callable[..., Running]) -> None:
    class OutOfMemoryError(RuntimeError):
        pass

    one = start(broken(OutOfMemoryError("CUDA out of memory. Tried to allocate 20 GiB")))
    one.send(Measure(1, "tiny", {}))
    failed = one.next(Failed)
    assert failed.problem.id == "gpu-memory"
    assert not failed.problem.sticky


def test_a_problem_is_handed_on_as_it_is(start: Callable[..., Running]) -> None:
    problem = Problem("cuda-compile", "blocks.cu does not compile", "line 5", "mend it", detail="  ^")
    one = start(broken(ProblemError(problem)))
    one.send(Measure(1, "tiny", {}))
    assert one.next(Failed) == Failed(1, problem)


def test_a_gpu_that_does_not_open_is_a_sentence(start: Callable[..., Running]) -> None:
    problem = Problem("no-driver", "No NVIDIA driver is visible here")
    one = start(opening=ProblemError(problem))
    assert one.next(Reply) == Failed(0, problem)
    one.thread.join(5)
    assert one.code == 1


def test_a_choice_without_a_value_is_the_scenes_fault(start: Callable[..., Running]) -> None:
    one = start(made_up.tiny(parameters=lambda *_: (Parameter("size", "size", (Choice("fits"),), "fits"),), parts=()))
    one.send(Measure(1, "tiny", {}))
    assert "size=fits" in one.next(Failed).problem.what


def test_resolve_fills_in_the_values(start: Callable[..., Running]) -> None:
    def resolve(gpu: Any, offered: tuple[Parameter, ...], chosen: Mapping[str, str]) -> tuple[Parameter, ...]:
        assert chosen == {"size": "fits"}
        return tuple(p.resolved({"fits": 2 * gpu.device.sms}) for p in offered)

    scene = made_up.tiny(
        parameters=lambda *_: (Parameter("size", "size", (Choice("fits"),), "fits"),), parts=(), resolve=resolve
    )
    one = start(scene)
    one.send(Measure(1, "tiny", {}))
    assert one.complete().measurement.value("size") == 80


def test_quit_ends_it(start: Callable[..., Running]) -> None:
    one = start()
    one.send(Quit())
    one.thread.join(5)
    assert one.code == 0
    assert one.session.closed
    assert not one.abandoned.wait(0.1)


def test_closing_the_pipe_stops_what_is_running(start: Callable[..., Running]) -> None:
    counted = Counted()
    counted.block = True
    one = start(counted.scene())
    one.send(Measure(1, "tiny", {}))
    assert counted.entered.wait(5)
    assert one.end() == 0
    assert one.session.closed


def test_work_that_cannot_be_stopped_is_abandoned(start: Callable[..., Running], monkeypatch: Any) -> None:
    monkeypatch.setattr(worker, "_PATIENCE_S", 0.1)
    entered, go = threading.Event(), threading.Event()

    def measure(gpu: Any, chosen: Chosen, so_far: Mapping[str, Findings]) -> Findings:
        entered.set()
        go.wait(10)  # a kernel that never ends asks nobody
        return Findings()

    one = start(made_up.tiny(parts=(Part("first", (), measure, "first"),)))
    one.send(Measure(1, "tiny", {}))
    assert entered.wait(5)
    os.close(one.requests)
    one.requests = -1
    assert one.abandoned.wait(5)
    go.set()
    one.thread.join(5)


def test_an_app_that_has_gone_is_no_error(start: Callable[..., Running]) -> None:
    counted = Counted()
    counted.block = True
    one = start(counted.scene())
    one.next(Ready)
    one.send(Measure(1, "tiny", {}))
    assert counted.entered.wait(5)
    one.replies.close()
    counted.go.set()
    one.thread.join(5)
    assert one.code == 0
