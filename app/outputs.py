"""The report files of ``--run-all``: looked at before the measuring, written whole or not at all."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from gpu_explain.app.paths import because, place
from gpu_explain.scenes.base.problem import Problem, ProblemError, problem

STANDARD_OUTPUT = "-"


def check(paths: Mapping[str, str], record: str | None = None) -> None:
    """Refuse, before anything is measured, what could not be written after it. Nothing is left anywhere.

    Args:
        paths: What was given, by the option's name. ``-`` is standard output.
        record: Where a recording goes, which is looked at by whoever writes it.

    Raises:
        ProblemError: When two options name the same file, or one cannot be written.
    """
    seen: dict[str, str] = {}
    for option, path in (*paths.items(), *([("record", record)] if record is not None else [])):
        where = _identity(path)
        if where in seen and where != os.devnull:
            both = f"--{seen[where]} and --{option} would both write to {path}"
            raise ProblemError(problem("usage", what=both, remedy="Give one of them another file"))
        seen[where] = option
    for path in paths.values():
        if path != STANDARD_OUTPUT:
            _probe(path)


def write(path: str, data: bytes) -> Problem | None:
    """Write a report, or say why it cannot be. What was there before stays until the new one is complete."""
    try:
        if path == STANDARD_OUTPUT:
            sys.stdout.flush()
            sys.stdout.buffer.write(data)
            sys.stdout.buffer.flush()
        else:
            _write_file(_target(path), data)
    except ProblemError as error:
        return error.problem
    except BrokenPipeError:
        raise
    except OSError as error:
        return _unwritable(path, error)
    return None


def _identity(path: str) -> str:
    # On Linux this leads to the file, pipe or terminal behind standard output.
    return os.path.realpath("/dev/stdout" if path == STANDARD_OUTPUT else place(path))


def _target(path: str) -> Path:
    """Where it is really written: a link stays a link."""
    return Path(os.path.realpath(place(path)))


def _unwritable(path: str, error: OSError) -> Problem:
    return problem("cannot-write", where=path, evidence=because(error))


def _replaceable(target: Path) -> bool:
    """Whether a new file can take the place of what is there: not of a device or a pipe, nor where none can be made."""
    try:
        regular = stat.S_ISREG(target.stat().st_mode)
    except FileNotFoundError:
        return True
    return regular and os.access(target.parent, os.W_OK | os.X_OK)


def _probe(path: str) -> None:
    target = _target(path)
    try:
        if target.is_dir():
            raise IsADirectoryError
        if not _replaceable(target):
            if not os.access(target, os.W_OK):
                raise PermissionError
            return
        with tempfile.TemporaryFile(dir=target.parent):  # without a name, so nothing is left when we are killed
            pass
    except OSError as error:
        raise ProblemError(_unwritable(path, error)) from None


def _write_file(target: Path, data: bytes) -> None:
    if not _replaceable(target):
        with target.open("wb", buffering=0) as file:
            left = memoryview(data)
            while left:
                left = left[file.write(left) :]
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
