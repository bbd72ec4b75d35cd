"""Standard output and error that may be closed, full, or of few letters: a sentence instead of a traceback.

A program that is started with ``>&-`` has ``None`` for standard output, one with ``>/dev/full`` learns at the next
flush (or at exit, when nobody catches it any more) that nothing was written.
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Iterator
from typing import Any, TextIO, cast

from gpu_explain.app.paths import because
from gpu_explain.scenes.base.problem import ProblemError, problem


class _Watched:
    """A stream in whose place it stands; what goes wrong with it is a ``ProblemError``, or nothing when ``silent``.

    A reader that went away (``BrokenPipeError``) is passed on: shells expect a program to end then.
    """

    def __init__(self, stream: TextIO | None, name: str, *, silent: bool) -> None:
        self._closed = stream is None
        self._stream: TextIO = io.StringIO() if stream is None else stream
        self._name, self._silent = name, silent

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    @property
    def buffer(self) -> _Watched:
        """The same for bytes."""
        return _Watched(None if self._closed else cast("TextIO", self._stream.buffer), self._name, silent=self._silent)

    def write(self, text: Any) -> int:
        with self._failing():
            if self._closed:
                raise OSError("It is closed")
            try:
                return self._stream.write(text)
            except UnicodeEncodeError:
                return self._stream.write(text.encode(self.encoding, "replace").decode(self.encoding))
        return len(text)

    def flush(self) -> None:
        with self._failing():
            self._stream.flush()

    @contextlib.contextmanager
    def _failing(self) -> Iterator[None]:
        try:
            yield
        except BrokenPipeError:
            self._discard()
            if not self._silent:
                raise
        except OSError as error:
            self._discard()
            if not self._silent:
                raise ProblemError(problem("cannot-write", where=self._name, evidence=because(error))) from None

    def _discard(self) -> None:
        """Let what is left in the buffer go nowhere: Python would try again at exit, and say so."""
        with contextlib.suppress(OSError):
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self._stream.fileno())
            os.close(nowhere)


@contextlib.contextmanager
def watched() -> Iterator[None]:
    """Have standard output and error watched inside. What cannot be said on standard error is not said."""
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # else the next file or pipe would become standard output
    before = sys.stdout, sys.stderr
    sys.stdout = cast("TextIO", _Watched(sys.stdout, "Standard output", silent=False))
    sys.stderr = cast("TextIO", _Watched(sys.stderr, "Standard error", silent=True))
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before
