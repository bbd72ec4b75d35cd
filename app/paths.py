"""Paths as they were given on the command line, and what the system says about them, in words."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import IO

from gpu_explain.scenes.base.problem import ProblemError, problem

_SAID: dict[type[OSError], str] = {
    FileNotFoundError: "There is no such file or folder",
    NotADirectoryError: "Something on the way there is not a folder",
    IsADirectoryError: "It is a folder",
    PermissionError: "It is not allowed",
}


def place(path: str) -> Path:
    """The path, with ``~`` as the shell takes it: that of a user who is not there stays as it is.

    Raises:
        ProblemError: When it starts from the current folder, and that is gone.
    """
    found = Path(os.path.expanduser(path))  # noqa: PTH111 — Path.expanduser raises for such a user
    if not found.is_absolute():
        try:
            Path.cwd()
        except OSError:
            gone = problem("usage", what="The current folder is gone", remedy="Change to one that is there, as with cd")
            raise ProblemError(gone) from None
    return found


def because(error: OSError) -> str:
    """Why, without number and repeated path: ``No space left on device``."""
    return _SAID.get(type(error)) or error.strerror or str(error) or type(error).__name__


def open_file(path: Path, most: int) -> IO[bytes]:
    """A file for reading, when it is a regular one of at most ``most`` bytes.

    A pipe would keep us waiting and a device would never end, so the kind is looked at before anything is read.

    Raises:
        OSError: When it cannot be opened.
        ValueError: When it is something else, or larger; the message is a sentence.
    """
    # Opening a pipe without a writer would wait for one.
    file = open(os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)), "rb")  # noqa: PTH123, SIM115
    try:
        found = os.fstat(file.fileno())
        if not stat.S_ISREG(found.st_mode):
            raise ValueError("It is not a regular file")
        if found.st_size > most:
            raise ValueError(f"It is larger than {most >> 20} MB, which no recording is")
    except BaseException:
        file.close()
        raise
    return file
