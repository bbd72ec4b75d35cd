"""What can be changed in ``memory-hierarchy``: which load the ladder follows, and where single loads go."""

from __future__ import annotations

from collections.abc import Mapping

from gpu_explain.scenes.base import Choice, Chosen, Device, Measurement, Parameter
from gpu_explain.scenes.draw.sizes import KB, MB
from gpu_explain.scenes.memory_hierarchy.levels import LEVELS, LINE, present

FOLLOWED = ("shared", "l1", "l2", "far", "dram", "host")
"""Levels that a load can go to. Whether the L2 has a far half is known only once it was measured."""


def parameters(device: Device, chosen: Mapping[str, str]) -> tuple[Parameter, ...]:
    """The level that the ladder follows, and the footprint of the loads that are timed one by one."""
    sizes = (
        ("l1", device.shared_per_sm // 2),
        ("l2", device.l2_bytes // 8),
        ("far", device.l2_bytes * 13 // 16),
        ("dram", device.l2_bytes * 4),
    )
    names = {"shared": "shared", "l1": "L1", "l2": "L2", "far": "far", "dram": "DRAM", "host": "host"}
    return (
        Parameter(
            "level",
            "follow",
            tuple(Choice(level, level, names[level]) for level in FOLLOWED),
            "dram",
            help="Which load step 1 follows. Changes its picture, measures nothing anew.",
        ),
        Parameter(
            "footprint",
            "ring",
            tuple(Choice(name, kilobytes(size), _label(size)) for name, size in sizes),
            "l2",
            typed=(1, device.l2_bytes * 4 // KB),
            help="Size in KB (1 024 bytes) of the ring whose loads step 3 times: it fits into the L1, the L2, neither.",
        ),
    )


def _label(size: int) -> str:
    """A size in as few letters as say it: ``114K``, ``49M``."""
    return f"{round(size / MB, 1 if size < 10 * MB else None):g}M" if size >= MB else f"{size // KB}K"


def kilobytes(size: int) -> int:
    """Whole kilobytes, at least one."""
    return max(size // KB, 1)


def footprint_of(chosen: Chosen) -> int:
    """The footprint of the single loads in bytes: whole cache lines."""
    return max(int(chosen["footprint"].value or 0) * KB // LINE, 2) * LINE


def followed(m: Measurement) -> str:
    """The level that the ladder follows: the one chosen, or the next nearer one that this GPU was found to have."""
    wanted = LEVELS.index(str(m.value("level")))
    return max((level for level in present(m) if LEVELS.index(level) <= wanted), key=LEVELS.index)
