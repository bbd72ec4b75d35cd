"""The exit codes of ``gpu-explain``: the one place where they are written down."""

from __future__ import annotations

from enum import IntEnum


class Exit(IntEnum):
    """What the shell is told."""

    OK = 0
    """The walkthrough was left, or every law held (live, or on the recording that ``--replay`` asked for)."""
    FAILED = 1
    """A law failed, a scene broke, or gpu-explain itself did."""
    USAGE = 2
    """Wrong usage, unreadable input, an output that cannot be written, or packages of our own that are not there."""
    NO_GPU = 3
    """Nothing failed, but no GPU was usable, so the bundled recording's claims were checked instead."""
    INTERRUPTED = 130
    """Ctrl-C, as shells expect it (128 + SIGINT)."""
    BROKEN_PIPE = 141
    """The reader of our output went away, as shells expect it (128 + SIGPIPE)."""
