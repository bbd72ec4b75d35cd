"""The walkthrough in the terminal. Importing this imports no terminal library; :func:`run` does."""

from __future__ import annotations

import contextlib
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gpu_explain.app.source import Source
    from gpu_explain.app.walkthrough.application import Walkthrough
    from gpu_explain.scenes.base import Problem

SOON = 0.3
"""Seconds without a word that nobody minds."""


def run(source: Source, *, scene: str | None, presenting: bool = False, notice: Problem | None = None) -> int:
    """Walk through the scenes until the viewer quits, or a signal ends it.

    Args:
        source: Where measurements come from; it is started here and closed at the end.
        scene: Id or number of the scene to open, or ``None`` for the start screen.
        presenting: In front of a room: nothing leaves a scene by accident.
        notice: Why there is no live mode, for the start screen.

    Returns:
        An exit code; that of a signal, as shells write it, when one ended the walkthrough.

    Raises:
        ProblemError: There is no such scene.
        Exception: A mistake of our own, after the terminal is as it was.
    """
    from gpu_explain.app.walkthrough.application import Walkthrough
    from gpu_explain.app.walkthrough.ending import OF_A_SIGNAL, signals_to
    from gpu_explain.scenes.registry import all_scenes, find_scene

    first = find_scene(scene).id if scene is not None else None
    app = Walkthrough(source, all_scenes, scene=first, presenting=presenting, notice=notice)
    try:
        with signals_to(app.end_by):
            # Without the mouse the terminal's own selection keeps working; nothing here needs to be clicked.
            code = app.run(mouse=False)
    finally:
        _see_off(app)
        source.close()
    if app.ended_by is not None:
        return OF_A_SIGNAL + app.ended_by
    if app.fault is not None:
        raise app.fault
    return code or 0


def _see_off(app: Walkthrough) -> None:
    """Wait for what the source started to end; say so when it takes its time, since the screen is gone."""
    if app.closing is None:
        return
    app.closing.join(SOON)
    if app.closing.is_alive():
        with contextlib.suppress(OSError):  # the terminal may be gone, which may be why it ends
            sys.stderr.write("gpu-explain: waiting for the GPU worker to end …\n")
            sys.stderr.flush()
    app.closing.join()
