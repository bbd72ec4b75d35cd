"""The levels of the hierarchy: their names, and the footprints at which they are looked for on the GPU at hand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpu_explain.scenes.base import Device, Measurement
from gpu_explain.scenes.draw.sizes import KB, MB

LEVELS = ("registers", "shared", "l1", "l2", "far", "dram", "host")
"""From near to far; ``far`` is the L2's other half, which not every GPU has."""

CACHED = ("l1", "l2", "far", "dram")
"""The levels that the staircase of latency against footprint shows."""

PLACES = {
    "registers": "thread",
    "shared": "SM",
    "l1": "SM",
    "l2": "chip",
    "far": "chip",
    "dram": "package",
    "host": "host",
}
"""Where a level lies."""

KNEE_UNITS = {"l1": (KB, "KB"), "l2": (MB, "MB"), "far": (MB, "MB"), "dram": (MB, "MB")}
"""In which unit the end of a level is given: its size in bytes, and its name."""

LINE = 128


def label(level: str, *, halves: bool) -> str:
    """What a level is called; the L2 has a near and a far half only where both were found."""
    return {
        "registers": "registers",
        "shared": "shared memory",
        "l1": "L1",
        "l2": "L2, near half" if halves else "L2",
        "far": "L2, far half",
        "dram": "DRAM",
        "host": "host memory",
    }[level]


def short(level: str, *, halves: bool) -> str:
    """The same in a few letters."""
    return {
        "registers": "registers",
        "shared": "shared",
        "l1": "L1",
        "l2": "near L2" if halves else "L2",
        "far": "far L2",
        "dram": "DRAM",
        "host": "host",
    }[level]


def sms_text(count: int) -> str:
    """So many SMs: ``1 SM``, ``6 SMs``."""
    return f"{count} SM{'s' * (count != 1)}"


def present(m: Measurement) -> tuple[str, ...]:
    """The levels that this measurement knows, from near to far."""
    return tuple(level for level in LEVELS if m.has(f"level.{level}"))


def has_halves(m: Measurement) -> bool:
    """Whether two plateaus of the L2 were found."""
    return m.has("level.far")


def knee_bytes(m: Measurement, level: str) -> float:
    """Where a level's plateau ends, in bytes. Raises ``KeyError`` where it ends nowhere."""
    return m.number(f"knee.{level}") * KNEE_UNITS[level][0]


def footprints(device: Device) -> tuple[int, ...]:
    """Sizes in bytes at which the staircase is measured: densest around the ends of the L1 and of the L2.

    Up to 1.4 times what an SM can have as shared memory in steps of about a fourteenth of it (the L1 lies in the same
    memory, which is a little larger), then by halves and doubles, then by sixteenths of the L2 to one and a half of it,
    and to four times the L2.
    """
    shared, l2 = device.shared_per_sm, device.l2_bytes
    step = _power_of_two(shared / 14)
    near = [step * k for k in range(1, int(1.4 * shared / step) + 1)]
    between, size = [], 2 * _power_of_two(near[-1] * 0.75)
    while size < l2 / 4:
        between += [size, size * 3 // 2]
        size *= 2
    beyond = [l2 * k // 16 for k in (*range(4, 25), 28, 32, 40, 48, 64)]
    most = device.memory_bytes // 16
    sizes = {max(size // LINE * LINE, 2 * LINE) for size in (step // 4, step // 2, *near, *between, *beyond)}
    return tuple(sorted(size for size in sizes if size <= most))


def read_footprints(device: Device, granule: int) -> tuple[int, ...]:
    """Sizes in bytes at which bandwidth is measured: multiples of ``granule``, some at every level.

    Up to sixteen times the L2: the longer a launch reads from DRAM, the less the launch itself counts.
    """
    shared, l2 = device.shared_per_sm, device.l2_bytes
    sizes = [shared * k / 8 for k in (2, 4, 6)]
    size = 2 * shared
    while size < l2 / 4:
        sizes.append(size)
        size *= 2
    sizes += [l2 * k / 8 for k in (2, 3, 4, 5, 6, 7, 8, 10, 12, 16, 32, 64, 128)]
    most = device.memory_bytes // 16
    rounded = {max(round(size / granule), 1) * granule for size in sizes if size <= most}
    return tuple(sorted(rounded))


def name_plateaus(plateaus: tuple[Any, ...], device: Device) -> Mapping[str, Any]:
    """Which plateau (a ``kernels.plateaus.Plateau``) is which level; levels that were not found are left out.

    The L1 is the first, when it ends within twice what an SM can have as shared memory; DRAM is the last, when it
    reaches to twice the L2 or beyond; of those between, the first is the L2 (its near half when there is a second).
    """
    left = list(plateaus)
    found: dict[str, Any] = {}
    if left and left[0].end <= 2 * device.shared_per_sm:
        found["l1"] = left.pop(0)
    if left and left[-1].end >= 2 * device.l2_bytes:
        found["dram"] = left.pop()
    found |= dict(zip(("l2", "far"), left, strict=False))
    return found


def _power_of_two(size: float) -> int:
    """The power of two nearest to a size, by ratio."""
    low = 1 << max(int(size).bit_length() - 1, 0)
    return low if size / low <= 2 * low / size else 2 * low
