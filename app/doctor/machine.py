"""The machine that is examined: everything that checks look at, so that a test can hand in another one."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from gpu_explain.app.driver import LIMIT_S
from gpu_explain.scenes.base.conditions import Platform, look
from gpu_explain.scenes.base.places import python_include


@dataclass(frozen=True)
class Terminal:
    """What is known of the terminal.

    Attributes:
        terminal: Whether standard input, output and error are one.
        encoding: That of standard output.
        size: Columns and rows; ``None`` when standard output is no terminal and no variable tells.
    """

    terminal: bool
    encoding: str
    size: tuple[int, int] | None


@dataclass(frozen=True)
class Machine:
    """What checks look at.

    Attributes:
        environ: The variables, as the worker would inherit them.
        root: Where /dev, /proc, /sys and the like are looked for.
        path: Folders of Python packages, ``sys.path``.
        include: Where Python.h should be.
        python: Version of Python.
        platform: The machine as remedies see it.
        terminal: The terminal.
        limit_s: What a child process is given, in s.
    """

    environ: Mapping[str, str]
    root: Path
    path: tuple[str, ...]
    include: Path
    python: tuple[int, int]
    platform: Platform
    terminal: Terminal
    limit_s: float = LIMIT_S


def this_machine() -> Machine:
    """The machine that this runs on."""
    environ = dict(os.environ)
    return Machine(
        environ=environ,
        root=Path("/"),
        path=tuple(sys.path),
        include=python_include(),
        python=(sys.version_info.major, sys.version_info.minor),
        platform=look(environ),
        terminal=_terminal(environ),
    )


def _terminal(environ: Mapping[str, str]) -> Terminal:
    size: tuple[int, int] | None = None
    columns, rows = environ.get("COLUMNS", ""), environ.get("LINES", "")
    if columns.isdigit() and rows.isdigit():
        size = (int(columns), int(rows))
    elif sys.stdout.isatty():
        there = os.get_terminal_size(sys.stdout.fileno())
        size = (there.columns, there.lines)
    tty = all(stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr))
    return Terminal(tty, sys.stdout.encoding or "", size)
