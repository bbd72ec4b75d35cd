"""Calculations that are printed with their operands: what is printed comes out when it is done by hand."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gpu_explain.scenes.base import number_text

_MORE = 3
"""Decimals that are added at most until a calculation comes out."""


def operands(values: Sequence[float], result: Callable[[Sequence[float]], str], said: str) -> tuple[str, ...] | None:
    """The values with as few decimals as it takes for ``result`` of what is printed to read as ``said``.

    ``None`` where no number of decimals does it: then the result was not made of these values.

    >>> operands((1237.248, 731.168), lambda v: f"{v[0] / v[1]:.2f}", "1.69")
    ('1 237', '731.2')
    >>> operands((10.816, 6.496), lambda v: f"{v[0] / v[1]:.2f}", "1.67")
    ('10.816', '6.496')
    """
    for more in range(_MORE + 1):
        decimals = [_decimals(value) + more for value in values]
        if result([round(value, places) for value, places in zip(values, decimals, strict=True)]) == said:
            return tuple(
                f"{value:,.{places}f}".replace(",", " ") for value, places in zip(values, decimals, strict=True)
            )
    return None


def apart(one: float, other: float) -> str:
    """How far two numbers are apart as they are printed, no more exactly than the less exact of them.

    >>> apart(1237.248, 731.168), apart(10.816, 6.496)
    ('506', '4.32')
    """
    places = min(_decimals(one), _decimals(other))
    gap = abs(round(one, _decimals(one)) - round(other, _decimals(other)))
    return f"{gap:,.{places}f}".replace(",", " ")


def _decimals(value: float) -> int:
    """Decimals that the panel gives a number."""
    return len(number_text(float(value)).partition(".")[2])
