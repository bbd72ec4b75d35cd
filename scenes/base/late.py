"""Functions that are imported when they are first called.

A scene's description is read for ``--list`` and the start screen, thirty of them in a blink; how it measures,
draws and judges is only needed once somebody looks at it.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any


def late(package: str) -> Callable[[str], Callable[..., Any]]:
    """For a package (``__name__``), a way to name its functions as ``module.function``.

    >>> of = late("gpu_explain.scenes.waves")
    >>> frame = of("pictures.frame")  # nothing is imported yet

    A name that does not exist raises when it is called; ``tests/unit/test_scenes.py`` calls them all.
    """

    def of(name: str) -> Callable[..., Any]:
        module, _, function = name.rpartition(".")

        def call(*arguments: Any, **named: Any) -> Any:
            return getattr(importlib.import_module(f"{package}.{module}"), function)(*arguments, **named)

        call.__qualname__ = call.__name__ = function
        return call

    return of
