"""The report files of ``--run-all``: looked at before the measuring, written whole or not at all.

What already is open (``/dev/stdout``, ``/dev/fd/3``, another process's ``/proc/…/fd/4``) is written to and never
replaced, whatever lies behind it.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import shutil
import stat
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from gpu_explain.app.paths import because, place
from gpu_explain.scenes.base.problem import Problem, ProblemError, problem

STANDARD_OUTPUT = "-"
_STANDARD_ERROR = 2
_OPEN = re.compile(r"/dev/fd|/proc/(\d+)(?:/task/\d+)?/fd")
"""Folders whose entries are what a process has open."""
_MOST_LINKS = 40
"""As in Linux (``MAXSYMLINKS``)."""


def meant(path: str) -> str:
    """The path, or ``-`` where it is another name of standard output, such as ``/dev/stdout``."""
    opened = None if path == STANDARD_OUTPUT else _opened(path)
    return STANDARD_OUTPUT if opened is not None and _our_descriptor(opened) == 1 else path


def check(paths: Mapping[str, str], record: str | None = None) -> dict[str, int]:
    """Refuse, before anything is measured, what could not be written after it. Nothing is left anywhere.

    Args:
        paths: What was given, by the option's name, as :func:`meant` has it. ``-`` is standard output.
        record: Where a recording goes, which is looked at by whoever writes it.

    Returns:
        Descriptors of the named pipes among the paths, open for :func:`write`: to open one and close it again would
        tell its reader that this was all.

    Raises:
        ProblemError: When two options name the same file, or one cannot be written.
    """
    seen: dict[object, str] = {}
    streams = _redirected()
    for option, path in (*paths.items(), *([("record", record)] if record is not None else [])):
        where = _identity(path)
        others = seen if path == STANDARD_OUTPUT or _opened(path) is not None else {**streams, **seen}
        if where in others and where != _identity(os.devnull):
            named = "standard output" if path == STANDARD_OUTPUT else path
            both = f"{others[where]} and --{option} would both write to {named}"
            raise ProblemError(
                problem("usage", what=both[0].upper() + both[1:], remedy="Give one of them another file")
            )
        seen[where] = f"--{option}"
    pipes: dict[str, int] = {}
    for path in paths.values():
        if path != STANDARD_OUTPUT:
            try:
                if (pipe := _probe(path)) is not None:
                    pipes[path] = pipe
            except OSError as error:
                raise ProblemError(_unwritable(path, error)) from None
    return pipes


def write(path: str, data: bytes, pipe: int | None = None) -> Problem | None:
    """Write a report, or say why it cannot be. What was there before stays until the new one is complete.

    Args:
        path: Where, as for :func:`check`.
        data: The report.
        pipe: What :func:`check` opened for that path.
    """
    try:
        if path == STANDARD_OUTPUT:
            sys.stdout.flush()
            sys.stdout.buffer.write(data)
            sys.stdout.buffer.flush()
        elif pipe is not None:
            _write_all(pipe, data)
        elif (opened := _opened(path)) is not None:
            sys.stderr.flush()
            _write_all(_open_again(opened), data)
        else:
            _write_file(_target(path), data)
    except ProblemError as error:
        return error.problem
    except BrokenPipeError:
        raise
    except OSError as error:
        return _unwritable(path, error)
    return None


# ---------------------------------------------------------------- what a path leads to


def _opened(path: str) -> str | None:
    """The entry under ``/dev/fd`` or ``/proc/…/fd`` that a path leads to, links followed up to it and no further."""
    here = str(place(path))
    for _ in range(_MOST_LINKS):
        folder, name = os.path.split(here)
        folder = os.path.realpath(folder)
        here = os.path.join(folder, name)  # noqa: PTH118  (a Path would lose nothing, and cost twice)
        if name.isdecimal() and _OPEN.fullmatch(folder):
            return here
        try:
            here = os.path.join(folder, os.readlink(here))  # noqa: PTH115, PTH118
        except OSError:  # not a link, or not there
            return None
    return None


def _our_descriptor(opened: str) -> int | None:
    """The number of a descriptor of this process; ``None`` for another's."""
    folder, name = os.path.split(opened)
    found = _OPEN.fullmatch(folder)
    return int(name) if found is not None and found[1] in {None, str(os.getpid())} else None


def _identity(path: str) -> object:
    """What two names of one file have in common: device and inode, or the place where nothing is yet."""
    try:
        if path == STANDARD_OUTPUT:
            found = os.fstat(1)
        else:
            opened = _opened(path)
            found = os.stat(opened or place(path))  # noqa: PTH116
    except OSError:
        return path if path == STANDARD_OUTPUT else os.path.realpath(place(path))
    return found.st_dev, found.st_ino


def _redirected() -> dict[object, str]:
    """The files that standard output and error were redirected to."""
    found: dict[object, str] = {}
    for descriptor, name in ((_STANDARD_ERROR, "standard error"), (1, "standard output")):
        with contextlib.suppress(OSError):
            behind = os.fstat(descriptor)
            if stat.S_ISREG(behind.st_mode):
                found[behind.st_dev, behind.st_ino] = name
    return found


def _target(path: str) -> Path:
    """Where it is really written: a link stays a link."""
    return Path(os.path.realpath(place(path)))


def _unwritable(path: str, error: OSError) -> Problem:
    why = "Nobody reads from this pipe" if error.errno == errno.ENXIO else because(error)
    return problem("cannot-write", where=path, evidence=why)


def _replaceable(target: Path) -> bool:
    """Whether a new file can take the place of what is there: not of a device or a pipe, nor where none can be made."""
    try:
        regular = stat.S_ISREG(target.stat().st_mode)
    except FileNotFoundError:
        return True
    return regular and os.access(target.parent, os.W_OK | os.X_OK)


# ---------------------------------------------------------------- before and after the measuring


def _probe(path: str) -> int | None:
    """Raise ``OSError`` for what cannot be written; the descriptor of a named pipe, which stays open."""
    opened = _opened(path)
    if opened is not None:
        os.close(_open_again(opened))
        return None
    target = _target(path)
    if target.is_dir():
        raise IsADirectoryError
    if target.is_fifo():
        return _open_waiting_for_nobody(target)
    if not _replaceable(target):
        if not os.access(target, os.W_OK):
            raise PermissionError
        return None
    with tempfile.TemporaryFile(dir=target.parent):  # without a name, so nothing is left when we are killed
        return None


def _open_again(opened: str) -> int:
    """A descriptor for what is open already, at its end: what was written there stays."""
    ours = _our_descriptor(opened)
    if ours is None:
        return _open_waiting_for_nobody(Path(opened))
    if ours == _STANDARD_ERROR and sys.__stderr__ is None:
        raise OSError(errno.EBADF, "It is closed")
    try:
        copy = os.dup(ours)
    except OSError:
        raise OSError(errno.EBADF, "It is closed") from None
    if not _open_for_writing(copy):
        os.close(copy)
        raise OSError(errno.EBADF, "It is open for reading only")
    return copy


def _open_for_writing(descriptor: int) -> bool:
    try:
        import fcntl
    except ImportError:  # not a Unix
        return True
    return fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_ACCMODE != os.O_RDONLY


def _open_waiting_for_nobody(path: Path) -> int:
    """Open for writing at the end. A pipe that nobody reads from is an error (``ENXIO``), not a wait for ever."""
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0))
    os.set_blocking(descriptor, True)
    return descriptor


def _write_all(descriptor: int, data: bytes) -> None:
    """Write everything and close."""
    with open(descriptor, "wb", buffering=0) as file:
        left = memoryview(data)
        while left:
            left = left[file.write(left) or 0 :]


def _write_file(target: Path, data: bytes) -> None:
    if target.is_fifo():
        _write_all(_open_waiting_for_nobody(target), data)
        return
    if not _replaceable(target):
        with target.open("wb", buffering=0) as file:
            _write_all(os.dup(file.fileno()), data)
        return
    passing = target.with_name(f".{target.name[:200]}.{os.getpid()}")
    try:
        with passing.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if target.exists():
            shutil.copymode(target, passing)
        passing.replace(target)
    finally:
        with contextlib.suppress(OSError):
            passing.unlink(missing_ok=True)
