"""Keeps Python's garbage collector away from what stays until the end of the process.

Importing torch and its compiler makes over a million objects that are never freed. The collector, which runs every so
many new objects, looks at all of them again and again: a third of the time that importing the compiler takes, and 0.2 s
more at the end of every scene.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def lasting() -> Iterator[None]:
    """Run something that imports or compiles much: nothing is collected meanwhile, and what is there then stays."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if collecting:
            gc.enable()
