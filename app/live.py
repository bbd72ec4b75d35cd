"""The GPU in this machine as a source of measurements: starts the worker, watches it, starts it again.

One thread, the supervisor, starts and ends workers and keeps the time limits; each worker has a thread that
listens to it. All of them, and the asking thread, change the state under one lock. The listener is called
outside of it, never from the asking thread, so that it may ask again or post to another loop.
"""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from gpu_explain.app.environment import worker_environment
from gpu_explain.app.source import Event, Listener, Lost
from gpu_explain.app.worker_process import Ending, WorkerProcess
from gpu_explain.scenes.base import Device, Neighbour, Problem, Scene
from gpu_explain.scenes.base.problem import problem
from gpu_explain.scenes.base.protocol import Failed, Measured, Progress, Ready, Reply

WORKER = (sys.executable, "-P", "-m", "gpu_explain.kernels.worker")
"""The worker's command. ``-P``: a ``torch.py`` that happens to lie in the current folder is not torch."""


@dataclass(frozen=True)
class Limits:
    """How long things may take, in s.

    Attributes:
        opening: From the start of a worker until it is ready. Importing torch from a cold disk takes long.
        first: Added to a scene's own limit the first time that a worker measures it: kernels are compiled.
        idle: A worker that nobody asked anything for so long is ended; other people may want the GPU.
        leaving: What a worker is given to release the GPU before it is killed.
    """

    opening: float = 120.0
    first: float = 60.0
    idle: float = 900.0
    leaving: float = 3.0


_BUSY_LEAVING = 0.3
"""Seconds for a worker that is closed in the middle of something: it may be stuck, and the viewer wants to go."""


@dataclass
class _Asked:
    """The open request."""

    id: int
    scene: Scene
    chosen: Mapping[str, str]
    again: bool
    sent: bool = False
    lost: int = 0
    cancelled: bool = False


class LiveSource:
    """Measurements from the GPU in this machine.

    A request whose worker dies, hangs or reports an error that poisons the GPU session is asked again of a
    new worker ``retries`` times (``Lost`` with ``restarting``), then answered by ``Failed``.

    Attributes:
        unset: Variables of the shell that were unset for the worker, see :mod:`~gpu_explain.app.environment`.
    """

    live = True

    def __init__(
        self,
        *,
        device: int | None = None,
        sms: int | None = None,
        presenting: bool = False,
        retries: int = 1,
        command: Sequence[str] = WORKER,
        limits: Limits = Limits(),
        environ: Mapping[str, str] | None = None,
    ) -> None:
        """Nothing starts yet. ``device`` and ``sms`` are passed on; ``command`` is the worker's."""
        options = (("--device", device), ("--sms", sms))
        self._command = (*command, *(str(x) for name, value in options if value is not None for x in (name, value)))
        self._environ, self.unset = worker_environment(environ)
        self._limits, self._retries, self._presenting = limits, retries, presenting
        self._listener: Listener = _nobody
        self._device: Device | None = None
        self._versions: Mapping[str, str] = {}
        self._neighbours: tuple[Neighbour, ...] = ()

        self._changed = threading.Condition()
        self._supervisor: threading.Thread | None = None
        self._worker: WorkerProcess | None = None
        self._leaving: WorkerProcess | None = None
        self._wanted = False
        self._given_up = False
        self._ready = False
        self._closed = False
        self._request: _Asked | None = None
        self._asked = 0
        self._compiled: set[str] = set()
        self._deadline: float | None = None
        self._used_at = time.monotonic()
        self._sticky: Problem | None = None

    # ------------------------------------------------------------ what can be asked

    @property
    def label(self) -> str:
        """``LIVE · <gpu>``, with the SMs in use where a green context narrows it."""
        if self._device is None:
            return "LIVE · GPU not opened" if self._given_up else "LIVE · opening the GPU …"
        name, sms, total = self._device.name, self._device.sms, self._device.sms_total
        return f"LIVE · {name}" if sms == total else f"LIVE · {name} · {sms} of {total} SMs"

    @property
    def device(self) -> Device | None:
        """The GPU; ``None`` until a worker has opened it."""
        return self._device

    @property
    def versions(self) -> Mapping[str, str]:
        """Versions of what runs in the worker."""
        return self._versions

    @property
    def neighbours(self) -> tuple[Neighbour, ...]:
        """Other work seen on the GPU when the worker opened it."""
        return self._neighbours

    def listen(self, listener: Listener) -> None:
        """Have events sent there, from threads of this source."""
        self._listener = listener

    def start(self) -> None:
        """Start a worker; returns at once."""
        with self._changed:
            self._want()

    def offered(self, scene: Scene, chosen: Mapping[str, str]) -> bool:
        """Everything can be measured."""
        return True

    def can_show(self, scene: Scene) -> str:
        """Every scene can be tried; what it lacks is known when it is measured."""
        return ""

    def ask(self, scene: Scene, chosen: Mapping[str, str], *, again: bool = False) -> int:
        """Ask for a measurement; the request before it, if still open, is given up."""
        with self._changed:
            self._asked += 1
            self._request = _Asked(self._asked, scene, dict(chosen), again)
            if self._worker is not None and self._ready:
                # While only its choices change, such a scene keeps its worker and with it the parts that stand.
                if scene.fresh_worker and (self._compiled - {scene.id} or (again and self._compiled)):
                    self._dismiss()
                else:
                    self._send()
            self._want()
            return self._asked

    def cancel(self) -> None:
        """Give up the open request. One that the worker has not begun is answered at once, else by the worker."""
        with self._changed:
            request = self._request
            if request is None or request.cancelled:
                return
            request.cancelled = True
            if request.sent and self._worker is not None:
                self._worker.cancel(request.id)
            self._changed.notify_all()

    def close(self) -> None:
        """End the worker; blocks until it is gone: a few seconds at most, and hardly at all while it is busy."""
        with self._changed:
            self._closed = True
            busy = self._request is not None or not self._ready or self._leaving is not None
            grace = min(self._limits.leaving, _BUSY_LEAVING) if busy else self._limits.leaving
            workers = [worker for worker in (self._worker, self._leaving) if worker is not None]
            self._worker = self._leaving = self._request = None
            self._changed.notify_all()
        for worker in workers:
            worker.end(grace)
        if self._supervisor is not None and self._supervisor is not threading.current_thread():
            self._supervisor.join(grace)

    # ------------------------------------------------------------ under the lock

    def _want(self) -> None:
        self._wanted, self._given_up = True, False
        self._used_at = time.monotonic()
        if self._supervisor is None and not self._closed:
            self._supervisor = threading.Thread(target=self._supervise, name="worker supervisor", daemon=True)
            self._supervisor.start()
        self._changed.notify_all()

    def _send(self) -> None:
        """Send the open request to the worker, which is ready."""
        request, worker = self._request, self._worker
        assert request is not None
        assert worker is not None
        request.sent = True
        extra = 0.0 if request.scene.id in self._compiled else self._limits.first
        self._deadline = time.monotonic() + request.scene.limit_s + extra
        self._compiled.add(request.scene.id)
        if not worker.measure(request.id, request.scene.id, request.chosen, again=request.again):
            # Dead, or it has stopped reading: either way its end is near, and the supervisor sees to it.
            self._deadline = time.monotonic()

    def _dismiss(self) -> None:
        """Let the worker go; what it still says does not count. The supervisor sees it off first."""
        self._leaving, self._worker = self._worker, None
        self._forget()

    def _forget(self) -> None:
        self._ready, self._deadline, self._sticky = False, None, None
        self._compiled.clear()

    def _measuring(self) -> Scene | None:
        """What the worker was asked to measure."""
        return self._request.scene if self._request is not None and self._request.sent else None

    def _gone(self, problem: Problem) -> list[Event]:
        """The worker is gone: what is to be told. ``problem`` is why, unless the worker itself said why."""
        # A GPU that cannot be opened is not opened by trying again.
        refused = self._sticky is not None and not self._ready
        problem = self._sticky or problem
        request = self._request
        self._worker, self._wanted, self._given_up = None, False, True
        self._forget()
        if request is None and not refused:
            return [Lost(replace(problem, remedy="The next measurement starts a new one"), restarting=False)]
        if request is None:
            return [Failed(0, problem)]
        if not refused and not request.cancelled and request.lost < self._retries:
            request.lost, request.sent = request.lost + 1, False
            self._wanted, self._given_up = True, False
            return [Lost(replace(problem, remedy="A new one is started and asked again"), restarting=True)]
        self._request = None
        return [Failed(request.id, _cancelled() if request.cancelled else problem)]

    # ------------------------------------------------------------ the supervisor

    def _supervise(self) -> None:
        while True:
            with self._changed:
                if self._closed:
                    return
                now, request = time.monotonic(), self._request
                leaving = self._leaving
                events: list[Event] = []
                if leaving is not None:
                    pass
                elif request is not None and request.cancelled and not request.sent:
                    self._request = None
                    events = [Failed(request.id, _cancelled())]
                elif self._worker is None and self._wanted:
                    events = self._open()
                elif self._worker is not None and self._deadline is not None and now >= self._deadline:
                    events = self._overdue()
                elif self._worker is not None and now >= self._idle_at():
                    self._dismiss()
                    self._wanted = False
                    events = [Lost(_idle(self._limits.idle), restarting=False)]
                else:
                    self._changed.wait(self._until(now))
                    continue
            if leaving is not None:
                leaving.end(self._limits.leaving)
                with self._changed:
                    self._leaving = None
            self._tell(events)

    def _until(self, now: float) -> float | None:
        """Seconds until the supervisor has something to do, unless somebody wakes it."""
        if self._worker is None:
            return None
        times = [at for at in (self._deadline, self._idle_at()) if at is not None and at != float("inf")]
        return max(0.0, min(times) - now) if times else None

    def _idle_at(self) -> float:
        busy = self._request is not None or not self._ready
        return float("inf") if busy or self._presenting else self._used_at + self._limits.idle

    def _open(self) -> list[Event]:
        """Start a worker."""
        self._forget()
        self._deadline = time.monotonic() + self._limits.opening
        try:
            self._worker = WorkerProcess(self._command, self._environ, self._hear, self._end)
        except OSError as error:
            why = f"{self._command[0]} could not be started ({error})"
            return self._gone(problem("worker-start", evidence=why))
        return []

    def _overdue(self) -> list[Event]:
        """The worker did not answer in time: kill it. It may be stuck in the driver, so its end is not waited for."""
        worker = self._worker
        assert worker is not None
        worker.kill()
        self._leaving = worker
        return self._gone(_hung(self._measuring(), worker.output))

    # ------------------------------------------------------------ what workers say, on their threads

    def _hear(self, worker: WorkerProcess, reply: Reply) -> None:
        with self._changed:
            heard = worker is self._worker and self._take(reply)
            self._changed.notify_all()
        if heard:
            self._tell([reply])

    def _take(self, reply: Reply) -> bool:
        """Note a reply; whether anybody wants to hear it."""
        request = self._request
        if isinstance(reply, Ready):
            self._device, self._versions, self._neighbours = reply.device, reply.versions, reply.neighbours
            self._ready, self._deadline = True, None
            if request is not None and not request.cancelled:
                self._send()
            return True
        if isinstance(reply, Failed) and (reply.problem.sticky or not self._ready):
            # The worker ends by itself now; `_end` tells what became of the request.
            self._sticky = reply.problem
            self._deadline = time.monotonic() + self._limits.leaving
            return False
        if request is None or reply.id != request.id:
            return False
        if isinstance(reply, Progress) or (isinstance(reply, Measured) and not reply.measurement.complete):
            return not request.cancelled
        self._request, self._deadline, self._used_at = None, None, time.monotonic()
        return True

    def _end(self, worker: WorkerProcess, ending: Ending) -> None:
        events: list[Event] = []
        with self._changed:
            if worker is self._worker and not self._closed:
                events = self._gone(_crashed(self._measuring(), ending, opening=not self._ready))
            self._changed.notify_all()
        self._tell(events)

    def _tell(self, events: Sequence[Event]) -> None:
        for event in events:
            # What goes wrong on a screen that is being closed must not end the watch over the worker.
            with contextlib.suppress(Exception):
                self._listener(event)


def _doing(scene: Scene | None) -> str:
    return f"measuring {scene.id}" if scene else "nothing was being measured"


def _crashed(scene: Scene | None, ending: Ending, *, opening: bool) -> Problem:
    doing = "opening the GPU" if opening else _doing(scene)
    why = ending.text[0].upper() + ending.text[1:]
    if ending.code == -9:
        why += "; the system does so when memory runs out"
    return problem("worker-died", doing=doing, evidence=why, detail=ending.output)


def _hung(scene: Scene | None, output: str) -> Problem:
    return problem("worker-hung", doing=_doing(scene) if scene else "opening the GPU", detail=output)


def _idle(seconds: float) -> Problem:
    return problem("idle", minutes=f"{seconds / 60:.0f}")


def _cancelled() -> Problem:
    return problem("cancelled")


def _nobody(event: Event) -> None:
    """Events before anybody listens are for nobody."""
