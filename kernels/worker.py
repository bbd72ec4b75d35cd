"""The process that owns the GPU: answers requests of ``scenes/base/protocol.py``, one at a time, the latest only.

Started as ``python -m gpu_explain.kernels.worker --requests FD --replies FD [--device N] [--sms N]``. It lives as long
as the request descriptor is open. Its standard output belongs to device ``printf``, which scenes capture; whatever
is printed outside a capture goes to standard error.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import msgspec

from gpu_explain.kernels.faults import problem_of
from gpu_explain.kernels.session import Cancelled
from gpu_explain.scenes.base import Choice, Findings, Measurement, Parameter, Part, Problem, ProblemError, Scene
from gpu_explain.scenes.base.conditions import problem
from gpu_explain.scenes.base.places import triton_cache, writable
from gpu_explain.scenes.base.protocol import (
    Cancel,
    Failed,
    Measure,
    Measured,
    Progress,
    Quit,
    Ready,
    Reply,
    decode_request,
    encode,
)

KEPT = 256
"""Findings of so many parts are kept, the latest used."""

_PATIENCE_S = 3.0
_PROGRESS_S = 0.05  # the same words are not repeated faster than this

_CANCELLED = problem("cancelled")


class Inbox:
    """Requests as they arrive, read on a thread so that a newer one can stop what is running."""

    def __init__(self, requests: int, reply: Callable[[Reply], None]) -> None:
        """Nothing is read before :meth:`start`."""
        self._requests = requests
        self._reply = reply
        self._changed = threading.Condition()
        self._next: Measure | None = None
        self._running: int | None = None
        self._stop = False  # the running request is no longer wanted
        self.closed = False

    def start(self) -> None:
        """Start reading."""
        threading.Thread(target=self._read, name="requests", daemon=True).start()

    def _read(self) -> None:
        try:
            for line in self._lines():
                try:
                    request = decode_request(line)
                except msgspec.DecodeError as error:
                    # No id to answer to: our own app never sends this.
                    self._reply(Failed(0, problem("bad-request", evidence=str(error))))
                    continue
                if isinstance(request, Quit):
                    break
                self._take(request)
        except OSError:
            pass
        with self._changed:
            self.closed = True
            self._stop = True
            self._changed.notify_all()

    def _lines(self) -> Iterator[bytes]:
        # Not a file object: closing one waits for the thread that reads from it, and that one waits for the app.
        rest = b""
        while (data := os.read(self._requests, 65536)) and not self.closed:
            *lines, rest = (rest + data).split(b"\n")
            yield from (line for line in lines if line.strip())

    def _take(self, request: Measure | Cancel) -> None:
        dropped = None
        with self._changed:
            if isinstance(request, Measure):
                dropped, self._next = self._next, request
                self._stop = self._running is not None
            elif self._next is not None and self._next.id == request.id:
                dropped, self._next = self._next, None
            elif self._running == request.id:
                self._stop = True
            self._changed.notify_all()
        if dropped is not None:
            self._reply(Failed(dropped.id, _CANCELLED))

    def wait(self) -> Measure | None:
        """The next request; ``None`` once the app has gone."""
        with self._changed:
            self._running, self._stop = None, self.closed
            self._changed.wait_for(lambda: self._next is not None or self.closed)
            if self.closed:
                return None
            request, self._next = self._next, None
            self._running = request.id if request else None
            return request

    def finish(self) -> None:
        """Take nothing more: the worker is ending."""
        with self._changed:
            self.closed = self._stop = True
            self._changed.notify_all()

    def unwanted(self) -> bool:
        """Whether the running request should stop."""
        return self._stop


class Bench:
    """Measures scenes on one session and keeps what did not change."""

    def __init__(self, session: Any) -> None:
        """``session``: see :class:`gpu_explain.kernels.session.Session`."""
        self.session = session
        self._kept: OrderedDict[tuple[Any, ...], Findings] = OrderedDict()

    def measure(
        self, scene: Scene, asked: Mapping[str, str], *, again: bool, send: Callable[[Measurement], None]
    ) -> None:
        """Measure a scene part by part; ``send`` gets what is there before each wait, and the whole at the end."""
        session = self.session
        parameters, chosen = resolved(scene, session, asked)
        found: dict[str, Findings] = {}
        so_far = Measurement(
            scene=scene.id,
            chosen={name: choice.id for name, choice in chosen.items()},
            parameters=parameters,
            device=session.device,
            versions=session.versions,
            when=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            parts={},
            complete=False,
            neighbours=session.neighbours(),
        )
        unsent = False
        for part in scene.parts:
            key = self._key(scene, part, chosen)
            if again or key not in self._kept:
                if unsent:
                    send(replace(so_far, parts=dict(found)))
                    unsent = False
                self._kept[key] = self._measure_part(part, chosen, found)
            self._kept.move_to_end(key)
            found[part.name] = self._kept[key]
            unsent = True
        while len(self._kept) > KEPT:
            self._kept.popitem(last=False)
        send(replace(so_far, parts=found, complete=True))

    def _measure_part(self, part: Part, chosen: Mapping[str, Choice], found: Mapping[str, Findings]) -> Findings:
        session = self.session
        session.progress(part.doing)
        began, compiled = time.perf_counter(), session.compile_seconds
        findings = part.measure(session, chosen, dict(found))
        compiled = session.compile_seconds - compiled
        measured = time.perf_counter() - began - compiled
        return replace(findings, seconds={**findings.seconds, "compile": compiled, "measure": measured})

    def _key(self, scene: Scene, part: Part, chosen: Mapping[str, Choice]) -> tuple[Any, ...]:
        values = tuple((name, chosen[name].id, chosen[name].value) for name in part.depends)
        return (scene.id, part.name, values, self.session.device.sms)


def resolved(scene: Scene, session: Any, asked: Mapping[str, str]) -> tuple[tuple[Parameter, ...], dict[str, Choice]]:
    """The scene's parameters with every value filled in, and what is chosen of each; defaults where nothing was asked.

    Raises :class:`ProblemError` ``unknown-choice`` for a choice that this device does not offer.
    """
    names = {p.id: p.default for p in scene.parameters(session.device, asked)}
    for name in asked:
        if name not in names:
            raise _unknown(scene, f"There is no parameter {name!r}", ", ".join(names))
    names.update(asked)
    parameters = scene.parameters(session.device, names)
    for parameter in parameters:
        _choice(scene, parameter, names[parameter.id])
    parameters = scene.resolve(session, parameters, names)
    chosen = {p.id: _choice(scene, p, names[p.id]) for p in parameters}
    for name, choice in chosen.items():
        if choice.value is None:
            left = f"scene {scene.id} left {name}={choice.id} without a value"
            raise ProblemError(problem("scene-broken", what=left, why=""))
    return parameters, chosen


def _choice(scene: Scene, parameter: Parameter, id: str) -> Choice:
    try:
        return parameter.choice(id)
    except KeyError:
        offered = ", ".join(choice.id for choice in parameter.choices)
        raise _unknown(scene, f"{parameter.label} cannot be {id!r} here", offered) from None


def _unknown(scene: Scene, what: str, offered: str) -> ProblemError:
    return ProblemError(problem("unknown-choice", what=what, scene=scene.id, offered=offered or "none"))


def find_scene(id: str) -> Scene:
    """A scene by its id. By name and not by import: ``kernels`` depends on no scene."""
    scene: Scene = importlib.import_module("gpu_explain.scenes.registry").find_scene(id)
    return scene


def run(
    requests: int,
    replies: int,
    open_session: Callable[[], Any],
    *,
    find: Callable[[str], Scene] = find_scene,
    abandon: Callable[[], None] = lambda: None,
) -> int:
    """Serve until the request descriptor closes. Returns the exit code: 0, or 1 after a problem that ends the worker.

    ``open_session`` opens the GPU; ``abandon`` is called when the app has gone and the work in hand does not stop
    within some seconds (a kernel that never ends cannot be told).
    """
    lock = threading.Lock()

    def reply(message: Reply) -> None:
        data = encode(message)
        with lock:
            while data:
                data = data[os.write(replies, data) :]

    inbox = Inbox(requests, reply)
    try:
        return _serve(inbox, reply, open_session, find, abandon)
    except BrokenPipeError:  # the app has gone
        return 0
    finally:
        inbox.finish()


def _serve(
    inbox: Inbox,
    reply: Callable[[Reply], None],
    open_session: Callable[[], Any],
    find: Callable[[str], Scene],
    abandon: Callable[[], None],
) -> int:
    try:
        session = open_session()
    except Exception as error:
        reply(Failed(0, problem_of(error, doing="opening the GPU", alive=lambda: None)))
        return 1
    reply(Ready(session.device, session.versions, session.neighbours_at_start()))
    inbox.start()
    done = threading.Event()
    threading.Thread(target=_watch, args=(inbox, done, abandon), name="watch", daemon=True).start()
    bench = Bench(session)
    try:
        while (request := inbox.wait()) is not None:
            problem = _answer(request, bench, inbox, reply, find)
            if problem is not None:
                reply(Failed(request.id, problem))
                if problem.sticky:
                    return 1
        return 0
    finally:
        session.close()
        done.set()


def _watch(inbox: Inbox, done: threading.Event, abandon: Callable[[], None]) -> None:
    """Call ``abandon`` when the worker is not done ``_PATIENCE_S`` after the last request."""
    while not inbox.closed:
        if done.wait(0.2):
            return
    if not done.wait(_PATIENCE_S):
        abandon()


def _answer(
    request: Measure, bench: Bench, inbox: Inbox, reply: Callable[[Reply], None], find: Callable[[str], Scene]
) -> Problem | None:
    """Measure what was asked; the problem when it comes to nothing."""
    said, when = "", 0.0

    def tell(doing: str, share: float | None) -> None:
        nonlocal said, when
        if inbox.unwanted():
            raise Cancelled
        now = time.monotonic()
        if doing != said or now - when >= _PROGRESS_S:
            said, when = doing, now
            reply(Progress(request.id, doing, share))

    def send(measurement: Measurement) -> None:
        if inbox.unwanted():
            raise Cancelled
        reply(Measured(request.id, measurement))

    session = bench.session
    session.listen(tell)
    problem: Problem | None = None
    try:
        bench.measure(find(request.scene), request.chosen, again=request.again, send=send)
    except Cancelled:
        problem = _CANCELLED
    except BrokenPipeError:
        raise
    except Exception as error:
        problem = problem_of(error, doing=said or f"measuring {request.scene}", alive=session.synchronise)
    finally:
        session.listen(None)
    if problem is None or not problem.sticky:
        try:
            session.release()
        except Exception as error:
            problem = problem_of(error, doing="giving memory back", alive=session.synchronise)
    return problem


def main(arguments: list[str] | None = None) -> int:
    """The worker's command line."""
    parser = argparse.ArgumentParser(prog="python -m gpu_explain.kernels.worker", description=__doc__)
    parser.add_argument("--requests", type=int, required=True, help="descriptor to read requests from")
    parser.add_argument("--replies", type=int, required=True, help="descriptor to write replies to")
    parser.add_argument("--device", type=int, help="CUDA number of the GPU; the first usable one by default")
    parser.add_argument("--sms", type=int, help="run everything on about this many SMs")
    given = parser.parse_args(arguments)
    os.dup2(2, 1)  # what no scene captures is kept with standard error, for the report of a crash
    _writable_triton_cache()

    def open_session() -> Any:
        from gpu_explain.kernels.opening import open_session

        return open_session(given.device, given.sms)

    return run(given.requests, given.replies, open_session, abandon=lambda: os._exit(1))


def _writable_triton_cache() -> None:
    """Triton keeps compiled kernels in the home folder; where that cannot be written they get a place that can."""
    folder, variable = triton_cache(os.environ)
    if variable or writable(folder):
        return
    from gpu_explain.kernels.loader import cache_folder

    place = cache_folder()
    if place is not None:
        os.environ["TRITON_CACHE_DIR"] = str(place / "triton")


if __name__ == "__main__":
    code = main()
    sys.stderr.flush()
    # Not through the end of the interpreter: taking torch apart is slow, and the driver frees what a process held.
    os._exit(code)
