"""One worker process: its pipes, its captured output, its end."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import IO

import msgspec

from gpu_explain.scenes.base.protocol import Cancel, Measure, Quit, Reply, Request, decode_reply, encode

_LINES_KEPT = 40
_LONGEST_LINE = 256 << 20
"""Bytes. A measurement with traces of a hundred thousand blocks stays below a tenth of it."""


@dataclass(frozen=True)
class Ending:
    """How a worker ended.

    Attributes:
        code: Exit code; negative for a signal, as in ``subprocess``; ``None`` when it was killed for cause.
        garbage: What was wrong with a reply that could not be read, else empty.
        output: The last lines it wrote to its standard output and error.
    """

    code: int | None
    garbage: str
    output: str

    @property
    def text(self) -> str:
        """How it ended, as a clause: ``it was killed by SIGKILL``."""
        if self.garbage:
            return f"it sent something that is no reply ({self.garbage})"
        if self.code is None:
            return "it was ended"
        if self.code < 0:
            with contextlib.suppress(ValueError):
                return f"it was killed by {signal.Signals(-self.code).name}"
        return f"it ended by itself with exit code {self.code}"


class WorkerProcess:
    """Starts a worker at once and listens to it on a thread.

    ``heard`` is called with every reply and ``ended`` once at the end, both from that thread. The
    worker is its own session, so that Ctrl-C in the terminal is the app's alone, and its children
    (compilers) end with it.
    """

    def __init__(
        self,
        command: Sequence[str],
        environ: Mapping[str, str],
        heard: Callable[[WorkerProcess, Reply], None],
        ended: Callable[[WorkerProcess, Ending], None],
    ) -> None:
        """Raises ``OSError`` when the process cannot be started."""
        self._heard, self._ended = heard, ended
        self._lines: deque[str] = deque(maxlen=_LINES_KEPT)
        self._garbage = ""
        requests_in, self._requests = os.pipe()
        replies_out, replies_in = os.pipe()
        try:
            self._process = subprocess.Popen(
                [*command, "--requests", str(requests_in), "--replies", str(replies_in)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                pass_fds=(requests_in, replies_in),
                start_new_session=True,
                env=dict(environ),
            )
        except OSError:
            os.close(self._requests)
            os.close(replies_out)
            raise
        finally:
            os.close(requests_in)
            os.close(replies_in)
        # A worker that stopped reading must not stop the app: a full pipe raises instead.
        os.set_blocking(self._requests, False)
        self._sending = threading.Lock()
        self._reader = threading.Thread(target=self._read, args=(replies_out,), name="worker replies", daemon=True)
        self._drain = threading.Thread(target=self._capture, name="worker output", daemon=True)
        self._drain.start()
        self._reader.start()

    @property
    def output(self) -> str:
        """The last lines the worker wrote to its standard output and error."""
        return "\n".join(self._lines)

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    def send(self, request: Request) -> bool:
        """Send a request; false when the worker does not take it (it is dead, or has stopped reading)."""
        line = encode(request)
        with self._sending:
            try:
                return self._requests >= 0 and os.write(self._requests, line) == len(line)
            except OSError:
                return False

    def measure(self, id: int, scene: str, chosen: Mapping[str, str], *, again: bool) -> bool:
        """Send a measure request."""
        return self.send(Measure(id, scene, dict(chosen), again))

    def cancel(self, id: int) -> None:
        """Send a cancel request; a worker that does not take it is caught by its time limit."""
        self.send(Cancel(id))

    def kill(self) -> None:
        """End it and its children at once."""
        self._close_requests()
        if self._process.poll() is None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)

    def wait(self, seconds: float) -> bool:
        """Wait for its end; false when it has not come in time."""
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def end(self, grace_s: float) -> None:
        """Let it release the GPU and end; kill it when that takes longer than ``grace_s``. Blocks."""
        self.send(Quit())
        self._close_requests()
        if not self.wait(grace_s):
            self.kill()
            self.wait(grace_s)

    def _close_requests(self) -> None:
        with self._sending:
            if self._requests >= 0:
                os.close(self._requests)
                self._requests = -1

    def _read(self, descriptor: int) -> None:
        with os.fdopen(descriptor, "rb", buffering=1 << 16) as replies:
            self._read_lines(replies)
        if self._garbage or not self.wait(5.0):
            self.kill()
            self.wait(5.0)
        self._drain.join(1.0)
        code = None if self._garbage else self._process.returncode
        self._ended(self, Ending(code, self._garbage, self.output))

    def _read_lines(self, replies: IO[bytes]) -> None:
        while line := replies.readline(_LONGEST_LINE):
            if not line.endswith(b"\n"):
                # Cut off by the worker's death, or endless.
                self._garbage = "a line without an end" if len(line) >= _LONGEST_LINE else ""
                return
            try:
                reply = decode_reply(line)
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
                self._garbage = str(error)
                return
            self._heard(self, reply)

    def _capture(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as output:
            for line in iter(lambda: output.readline(4096), b""):
                self._lines.append(line.decode("utf-8", "replace").rstrip())
