"""Signals that end a process: here they end the walkthrough, so that the terminal is left as it was found."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager

ENDING = tuple(
    number
    for name in ("SIGTERM", "SIGHUP", "SIGINT", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGALRM", "SIGXCPU")
    if (number := getattr(signal, name, None)) is not None
)
"""Whatever ends a process that does not care and can be cared for; a platform may lack some."""

OF_A_SIGNAL = 128
"""What shells add to a signal's number to get the exit code of what it ended."""


@contextmanager
def signals_to(end: Callable[[int], None]) -> Iterator[None]:
    """Have ``end`` called with the number of any of them; those that are ignored stay so, as ``nohup`` wants it.

    ``end`` is called on the main thread between any two of its instructions, so it must do next to nothing.
    """
    before = {number: signal.getsignal(number) for number in ENDING}
    taken = {number: handler for number, handler in before.items() if handler not in (signal.SIG_IGN, None)}
    for number in taken:
        signal.signal(number, lambda number, _: end(number))
    try:
        yield
    finally:
        for number, handler in taken.items():
            signal.signal(number, handler)
