"""The walkthrough in the terminal. Importing this imports no terminal library; :func:`run` does."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gpu_explain.app.source import Source
    from gpu_explain.scenes.base import Problem


def run(source: Source, *, scene: str | None, presenting: bool = False, notice: Problem | None = None) -> int:
    """Walk through the scenes until the viewer quits.

    Args:
        source: Where measurements come from; it is started here and closed at the end.
        scene: Id or number of the scene to open, or ``None`` for the start screen.
        presenting: In front of a room: nothing leaves a scene by accident.
        notice: Why there is no live mode, for the start screen.

    Returns:
        An exit code.

    Raises:
        ProblemError: There is no such scene.
        Exception: A mistake of our own, after the terminal is as it was.
    """
    from gpu_explain.app.walkthrough.application import Walkthrough
    from gpu_explain.scenes.registry import all_scenes, find_scene

    first = find_scene(scene).id if scene is not None else None
    app = Walkthrough(source, all_scenes, scene=first, presenting=presenting, notice=notice)
    try:
        # Without the mouse the terminal's own selection keeps working; nothing here needs to be clicked.
        code = app.run(mouse=False)
    finally:
        source.close()
    if app.fault is not None:
        raise app.fault
    return code or 0
