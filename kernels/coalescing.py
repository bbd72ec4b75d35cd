"""Launchers of ``cuda/coalescing.cu``: what a warp's load costs by stride, offset and width, and what it touched.

Where a figure for memory is asked for, the L2 is flushed before each launch and every byte of the window is new; for
the L2, a window that lies within it is read round and round.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from gpu_explain.kernels.arguments import check_choice, check_number
from gpu_explain.kernels.loader import load
from gpu_explain.kernels.sources import source
from gpu_explain.scenes.base import SourceText, Timing

if TYPE_CHECKING:
    from gpu_explain.kernels.session import Session

FILE = "coalescing.cu"
WIDTHS = (1, 2, 4, 8, 16)
"""Bytes that a lane reads at a time."""
PLACES = ("L2", "DRAM")
SECTOR, LINE = 32, 128
"""Bytes of a sector and of a cache line, on every GPU since 2012."""
THREADS = 256
GRANULE = 16 * THREADS
"""Loads of a block; a launch makes a multiple of them."""
LOADS = 1 << 24
"""Loads of all lanes together in a launch that is timed."""
DOUBLING = 1.5
"""How much longer twice the stride takes at least where it needs twice the pieces: half way from 1 to 2."""
_MOST_LOADS = 1 << 30
_MOST_STRIDE = 1 << 20
_MOST_WINDOW = 1 << 32


@dataclass(frozen=True)
class Pattern:
    """Where the lanes of a launch read.

    Attributes:
        stride: Bytes from one lane to the next, a multiple of ``width``.
        offset: Bytes before the first, a multiple of ``width``.
        width: Bytes of a load, one of :data:`WIDTHS`.
        past_l1: Whether the loads leave the L1 out (width 4 only).
    """

    stride: int
    offset: int = 0
    width: int = 4
    past_l1: bool = False

    @property
    def kernel(self) -> str:
        """The kernel's name."""
        return f"read_lanes_{self.width}" + "_past_l1" * self.past_l1

    def address(self, load: int, window: int) -> int:
        """The byte that load number ``load`` begins at: the formula that the kernel's addresses are held against."""
        return (self.offset + load * self.stride) % window

    def span(self, loads: int) -> int:
        """Bytes from the first one to the last one read."""
        return self.offset + (loads - 1) * self.stride + self.width


@dataclass(frozen=True)
class Touched:
    """What the loads of one warp needed, counted in the addresses that its lanes wrote down.

    Attributes:
        bytes: Different bytes.
        sectors: Different sectors of 32 bytes.
        lines: Different lines of 128 bytes.
    """

    bytes: int
    sectors: int
    lines: int


@dataclass(frozen=True)
class Reading:
    """One pattern, timed.

    Attributes:
        pattern: Where the lanes read.
        place: ``L2`` or ``DRAM``: what answered.
        window: Bytes that were read round and round; in ``DRAM``, more than are read.
        loads: Loads of lanes in a launch.
        touched: What one load of one warp needed, on average over the warps that wrote their addresses down.
        timing: How long it took.
    """

    pattern: Pattern
    place: str
    window: int
    loads: int
    touched: tuple[float, float, float]
    timing: Timing

    @property
    def us(self) -> float:
        """Median µs less the floor of an empty launch: what the loads took."""
        return self.timing.median_us - (self.timing.floor_us or 0.0)


def addresses(gpu: Session, pattern: Pattern, *, loads: int = GRANULE, window: int = 1 << 20) -> Any:
    """The bytes at which each load of a launch began, as its lane wrote it down: int64 ``[loads]``, from 0 on.

    The lanes of warp ``w`` of the launch are entries ``32 w … 32 w + 31``. Raises ``ValueError`` naming a wrong
    argument, ``ProblemError`` ``gpu-memory`` when the window does not fit.
    """
    import torch

    _check(pattern, loads=loads, window=window)
    bytes, seen = _room(gpu, window, loads)
    written = torch.full((loads,), -1, dtype=torch.int64, device=bytes.device)
    _launch(gpu, pattern, bytes, seen, loads=loads, window=window, addresses=written)
    gpu.synchronise()
    return torch.where(written < 0, written, written - bytes.data_ptr())


def touched(addresses: Any, width: int, *, warp_size: int = 32) -> tuple[Touched, ...]:
    """What each warp's load needed: one entry for each ``warp_size`` addresses, each the first of ``width`` bytes."""
    found = []
    starts = addresses.tolist()
    for first in range(0, len(starts), warp_size):
        warp = starts[first : first + warp_size]
        needed = {at + i for at in warp for i in range(width)}
        found.append(Touched(len(needed), len({b // SECTOR for b in needed}), len({b // LINE for b in needed})))
    return tuple(found)


def read(
    gpu: Session, patterns: Sequence[Pattern], *, place: str, loads: int = LOADS, samples: int = 9
) -> tuple[Reading, ...]:
    """Time launches of ``loads`` loads, one launch a pattern, in turns.

    Raises ``ValueError`` naming a wrong argument, ``ProblemError`` ``gpu-memory`` when the window does not fit.
    """
    check_choice("place", place, PLACES)
    if not patterns:
        return ()
    check_number("loads", loads, GRANULE, _MOST_LOADS)
    if place == "DRAM":
        window = 1 << max(pattern.span(loads) - 1 for pattern in patterns).bit_length()
    else:
        window = 1 << (gpu.device.l2_bytes // 2).bit_length() - 1  # at least a quarter of the L2, at most half
    for pattern in patterns:
        _check(pattern, loads=loads, window=window)
    bytes, seen = _room(gpu, window, loads)
    counted = []
    for pattern in patterns:
        some = touched(addresses(gpu, pattern), pattern.width, warp_size=gpu.device.warp_size)
        means = (sum(getattr(one, what) for one in some) / len(some) for what in ("bytes", "sectors", "lines"))
        counted.append(tuple(means))
    timings = gpu.timer.time(
        [_launcher(gpu, pattern, bytes, seen, loads=loads, window=window) for pattern in patterns],
        samples=samples,
        cold=place == "DRAM",
    )
    return tuple(
        Reading(pattern, place, window, loads, (needed[0], needed[1], needed[2]), timing)
        for pattern, needed, timing in zip(patterns, counted, timings, strict=True)
    )


def fetched_bytes(readings: Sequence[Reading]) -> tuple[float, ...]:
    """Bytes that the place must have moved for one lane's load, found in the times alone.

    Side by side, a load costs as many bytes as it asks for. Taken that the place moves as many bytes a second at any
    stride, one that takes k times as long has moved k times as much. Where the SMs and not the place are what limits
    neighbours, the figures are too small by as much. The first reading must be one of neighbours: stride and width
    alike.

    Raises ``ValueError`` when there is no such reading.
    """
    if not readings or readings[0].pattern.stride != readings[0].pattern.width:
        raise ValueError("readings: one whose stride is its width expected first")
    base = readings[0]
    return tuple(base.pattern.width * one.us / base.us * base.loads / one.loads for one in readings)


def granularity(readings: Sequence[Reading]) -> int | None:
    """Bytes of the pieces that the place moves, found in the times: the stride from which more distance costs no more.

    While two lanes share a piece, doubling the stride doubles the pieces and the time. The first stride whose doubling
    takes less than :data:`DOUBLING` as long is the answer; ``None`` where the times have not flattened by the end.
    Readings are of one width, each stride twice the one before. Raises ``ValueError`` when they are not.
    """
    for before, after in pairwise(readings):
        if after.pattern.stride != 2 * before.pattern.stride or after.pattern.width != before.pattern.width:
            raise ValueError("readings: strides expected of which each is twice the one before, and one width")
    for before, after in pairwise(readings):
        if after.us / after.loads < DOUBLING * before.us / before.loads:
            return before.pattern.stride
    return None


def sources() -> tuple[SourceText, ...]:
    """The file behind these launches, with the line range ``read``."""
    return (source(f"cuda/{FILE}", {"read": "read_lanes"}),)


def _check(pattern: Pattern, *, loads: int, window: int) -> None:
    check_choice("width", pattern.width, WIDTHS)
    for name, value, most in (("stride", pattern.stride, _MOST_STRIDE), ("offset", pattern.offset, _MOST_STRIDE)):
        check_number(name, value, 0, most)
        if value % pattern.width:
            raise ValueError(f"{name}: a multiple of the width, {pattern.width}, expected, got {value}")
    if pattern.past_l1 and pattern.width != 4:
        raise ValueError(f"past_l1: a width of 4 expected, got {pattern.width}")
    check_number("loads", loads, GRANULE, _MOST_LOADS)
    if loads % GRANULE:
        raise ValueError(f"loads: a multiple of {GRANULE} expected, got {loads}")
    if not LINE <= window <= _MOST_WINDOW or window & (window - 1):
        raise ValueError(f"window: a power of two from {LINE} to {_MOST_WINDOW} expected, got {window}")


def _room(gpu: Session, window: int, loads: int) -> tuple[Any, Any]:
    """The bytes that are read, random, and an entry for each warp."""
    import torch

    bytes = gpu.scratch("the window", window)[:window]
    bytes.view(torch.int64).random_()
    return bytes, torch.empty(
        loads // GRANULE * (THREADS // gpu.device.warp_size), dtype=torch.int32, device=bytes.device
    )


def _launch(
    gpu: Session, pattern: Pattern, bytes: Any, seen: Any, *, loads: int, window: int, addresses: Any = 0
) -> None:
    load(gpu, FILE, pattern.kernel).launch(
        gpu, loads // GRANULE, THREADS, bytes, seen, pattern.stride, pattern.offset, window, addresses
    )


def _launcher(gpu: Session, pattern: Pattern, bytes: Any, seen: Any, *, loads: int, window: int) -> Any:
    return lambda: _launch(gpu, pattern, bytes, seen, loads=loads, window=window)
