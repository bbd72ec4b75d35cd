"""Whether SMs and lines of the L2 fall into two halves, found in how long each SM waits for each line.

Where the L2 has two halves, a line has its place in one of them, and an SM is nearer to one of them. So the waits are
a mean for the SM, a mean for the line, and a third part that is of one sign where SM and line are in the same half and
of the other where they are not. That part is looked for, as the one product of a figure an SM and a figure a line that
comes closest to what the two means leave (the first singular vectors).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Halves:
    """SMs and lines by half.

    Attributes:
        sms: The SMs of each half.
        lines: The numbers of the lines that lie in each half.
        near: Mean cycles from an SM to a line of its own half.
        far: Mean cycles to a line of the other half.
        share: How much of what the means leave is explained so, 0 … 1. Without two halves it is small.
    """

    sms: tuple[tuple[int, ...], tuple[int, ...]]
    lines: tuple[tuple[int, ...], tuple[int, ...]]
    near: float
    far: float
    share: float


def find_halves(by_sm: Mapping[int, Sequence[int]]) -> Halves | None:
    """Halves in the cycles of ``chase.lines_by_sm``; ``None`` where fewer than two SMs or lines, or no two kinds, are.

    Raises ``ValueError`` when the SMs were not asked for equally many lines.
    """
    import numpy as np

    if len({len(cycles) for cycles in by_sm.values()}) > 1:
        raise ValueError("by_sm: as many cycles for each SM expected")
    cycles = np.array(list(by_sm.values()), dtype=np.float64)
    if cycles.ndim != 2 or min(cycles.shape) < 2:
        return None
    left = cycles - cycles.mean(0) - cycles.mean(1, keepdims=True) + cycles.mean()
    of_sm, sizes, of_line = np.linalg.svd(left, full_matrices=False)
    first_sm, first_line = of_sm[:, 0] > 0, of_line[0] > 0
    if sizes[0] < 1e-6 * cycles.mean() or len(set(first_sm)) < 2 or len(set(first_line)) < 2:
        return None
    # Where both figures have the same sign the wait is longer than the means say: those are the pairs far apart.
    apart = first_sm[:, None] == first_line[None, :]
    sms, lines = np.array(list(by_sm)), np.arange(cycles.shape[1])
    return Halves(
        sms=(tuple(sms[first_sm].tolist()), tuple(sms[~first_sm].tolist())),
        lines=(tuple(lines[~first_line].tolist()), tuple(lines[first_line].tolist())),
        near=float(cycles[~apart].mean()),
        far=float(cycles[apart].mean()),
        share=float(sizes[0] ** 2 / (sizes**2).sum()),
    )
