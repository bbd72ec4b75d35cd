"""Catches what a launch writes to the process's own standard output: device ``printf`` lands there."""

from __future__ import annotations

import ctypes
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress


class Captured:
    """What was caught; filled in when the block that caught it ends."""

    text = ""


def flush_c_output() -> None:
    """Flush C's own buffers: device ``printf`` sits in them when standard output is no terminal."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).fflush(None)


@contextmanager
def captured_output(synchronise: Callable[[], None] = lambda: None) -> Iterator[Captured]:
    """Redirect descriptor 1 while the block runs; ``synchronise`` waits for the GPU before it is read."""
    caught = Captured()
    sys.stdout.flush()
    flush_c_output()
    kept = os.dup(1)
    with tempfile.TemporaryFile() as file:
        os.dup2(file.fileno(), 1)
        try:
            yield caught
            synchronise()
        finally:
            sys.stdout.flush()
            flush_c_output()
            os.dup2(kept, 1)
            os.close(kept)
            file.seek(0)
            caught.text = file.read().decode(errors="replace")
