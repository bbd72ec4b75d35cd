"""Numbers as this scene prints them: sizes to the quarter that they have, and quotients that a reader can check."""

from __future__ import annotations

from itertools import product

from gpu_explain.scenes.draw.sizes import GB, KB, MB

MOST_DECIMALS = 6


def bytes_text(size: float) -> str:
    """A number of bytes with the digits that the measured column has: ``56.25 MB``, ``240 KB`` (1 KB is 1024 bytes).

    >>> bytes_text(58_982_400)
    '56.25 MB'
    >>> bytes_text(245_760)
    '240 KB'
    """
    for unit, name in ((GB, "GB"), (MB, "MB"), (KB, "KB")):
        if size >= unit:
            value = size / unit
            text = f"{value:.{1 if value >= 100 else 2}f}"
            return f"{text.rstrip('0').rstrip('.')} {name}"
    return f"{size:.0f} B"


def operands(over: float, under: float) -> tuple[str, str]:
    """Dividend and divisor with the fewest decimals at which the printed ones give the rounded quotient.

    >>> operands(693.43, 4.128)
    ('693', '4.13')
    """
    wanted = round(over / under)
    tried = sorted(product(range(MOST_DECIMALS + 1), repeat=2), key=lambda pair: (sum(pair), pair))
    for more, less in tried:
        # A small divisor to a tenth at least: "4" for 4.1 would not be found again in the picture.
        shown = round(over, more), round(under, less)
        if (less or under >= 100) and shown[1] and round(shown[0] / shown[1]) == wanted:
            return _grouped(over, more), _grouped(under, less)
    return _grouped(over, MOST_DECIMALS), _grouped(under, MOST_DECIMALS)


def _grouped(value: float, decimals: int) -> str:
    return f"{value:,.{decimals}f}".replace(",", " ")


def share_text(share: float) -> str:
    """A share in whole per cent, which says all or none only of all or none.

    >>> share_text(99.95), share_text(100), share_text(0.2)
    ('99 %', '100 %', 'under 1 %')
    """
    if 0 < share < 1:
        return "under 1 %"
    return f"{share if share == 100 else min(round(share), 99):.0f} %"
