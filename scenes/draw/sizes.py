"""Words for amounts of memory and for rates."""

from __future__ import annotations

KB, MB, GB = 1 << 10, 1 << 20, 1 << 30


def size_text(size: float) -> str:
    """A number of bytes as caches are described: ``208 KB``, ``28 MB``, ``26.2 MB`` (1 KB is 1024 bytes).

    >>> size_text(212_992)
    '208 KB'
    >>> size_text(27_525_120)
    '26.2 MB'
    """
    for unit, name in ((GB, "GB"), (MB, "MB"), (KB, "KB")):
        if size >= unit:
            value = size / unit
            text = f"{value:.0f}" if value >= 100 or value == int(value) else f"{value:.1f}".removesuffix(".0")
            return f"{text} {name}"
    return f"{size:.0f} B"


def rate_text(gb_per_s: float) -> str:
    """A rate in 10⁹ bytes a second: ``4.37 TB/s``, ``55.3 GB/s``.

    >>> rate_text(4371)
    '4.37 TB/s'
    >>> rate_text(845.2)
    '845 GB/s'
    """
    if gb_per_s >= 1000:
        return f"{gb_per_s / 1000:.3g} TB/s"
    return f"{gb_per_s:.3g} GB/s"
