"""Ctrl-C while modules are imported: noted at once, acted on when they are all there.

A ``KeyboardInterrupt`` inside the import of an extension module is at best a traceback from before anybody can catch
it, and has been seen to crash the interpreter. Imports nothing but the interpreter's own part of ``signal``: the rest
of that module takes milliseconds, in which Ctrl-C would still be a traceback.
"""

from __future__ import annotations

from _signal import SIG_IGN, SIGINT, default_int_handler, getsignal, signal  # type: ignore[import-not-found]

_noted: list[int] = []


def hold() -> None:
    """From now on Ctrl-C is only noted. Nothing changes where it is ignored already, as in a background job.

    For the main thread, the only one that Python lets say so.
    """
    if getsignal(SIGINT) is default_int_handler:
        signal(SIGINT, _note)


def release() -> None:
    """Let Ctrl-C interrupt again. Raises ``KeyboardInterrupt`` for one that was noted meanwhile."""
    if getsignal(SIGINT) is _note:
        signal(SIGINT, default_int_handler)
    if _noted:
        _noted.clear()
        raise KeyboardInterrupt


def end() -> None:
    """The work is done and the exit code known: Ctrl-C changes nothing any more.

    Python gives every other handler up on its way out, and would be killed by the signal instead.
    """
    signal(SIGINT, SIG_IGN)


def _note(number: int, _: object) -> None:
    _noted.append(number)
