"""A value with its unit as people say it: counts are whole numbers, and one of them is singular."""

from __future__ import annotations

import re

from gpu_explain.scenes.base import number_text

_PLURAL = re.compile(r"^((?:[a-z]+ )?)(?!its\b)([A-Za-z]{2,})s\b(?!')")
"""A unit that counts things: ``blocks``, ``SMs``, ``late blocks``; not ``ns`` or ``of its block's time``."""


def value_text(value: float, unit: str) -> str:
    """A value and its unit: ``2 kernels``, ``1 SM``, ``23.68 µs``.

    >>> value_text(1.0, "results that differ")
    '1 result that differs'
    >>> value_text(1.0, "of its block's time")
    "1.00 of its block's time"
    """
    counts = _PLURAL.match(unit)
    if counts is None or value != value or abs(value) == float("inf") or value != int(value):
        return f"{number_text(value)} {unit}".strip()
    if value == 1:
        unit = f"{counts[1]}{_singular(counts[2] + 's')}{unit[counts.end() :]}"
        unit = unit.replace(" that differ", " that differs")
    return f"{number_text(int(value))} {unit}"


def _singular(noun: str) -> str:
    return noun[:-2] if noun.endswith(("ches", "shes", "sses", "xes")) else noun[:-1]
