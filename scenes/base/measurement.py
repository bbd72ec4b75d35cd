"""What one scene measured at one choice of its parameters: immutable, and JSON-able as it stands."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NoReturn

from gpu_explain.scenes.base.parameter import Parameter
from gpu_explain.scenes.base.plain import is_plain
from gpu_explain.scenes.base.quantity import Kind, Quantity
from gpu_explain.scenes.base.trace import Trace

_MOST_SMS = 1 << 16
"""More than any GPU has, so that a picture of a recording that says so is not tried."""
_LONGEST_NAME = 200
_MAY_BE_ZERO = {"sm_granularity", "clock_max_mhz", "timer_step_ns"}


@dataclass(frozen=True)
class Series:
    """Points ``(x, y)`` with spread: a curve that was measured or computed.

    Attributes:
        name: Stable id inside its measurement.
        title: What the curve shows.
        kind: Kind of the ``y`` values.
        x, y: The points, ascending in ``x``; same length.
        x_unit, y_unit: Units of the axes.
        low, high: 20th and 80th percentile of ``y`` at each point; empty when there is no spread.
        method: How the points came about.
        n: Samples behind each point.
        clock_mhz: Lowest and highest SM clock over all samples, in MHz.
        floor: What the method reads for an empty launch, in ``y_unit``.
        inputs: Names of the quantities it was computed from.
        source: Code or publication.
    """

    name: str
    title: str
    kind: Kind
    x: tuple[float, ...]
    y: tuple[float, ...]
    x_unit: str
    y_unit: str
    method: str
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()
    n: int = 0
    clock_mhz: tuple[float, float] | None = None
    floor: float | None = None
    inputs: tuple[str, ...] = ()
    source: str = ""

    def __post_init__(self) -> None:
        """Refuse columns of different lengths."""
        lengths = {len(self.x), len(self.y)} | {len(c) for c in (self.low, self.high) if c}
        if len(lengths) != 1:
            raise ValueError(f"series {self.name}: columns of different lengths")

    def at(self, x: float) -> float | None:
        """The ``y`` measured exactly at ``x``, or ``None`` when that point was not measured."""
        for here, value in zip(self.x, self.y, strict=True):
            if here == x:
                return value
        return None


@dataclass(frozen=True)
class SourceText:
    """A source file as it was when it ran, so that a replay shows the true text.

    Attributes:
        path: Path from the repository's root, such as ``cuda/blocks.cu``.
        language: ``cuda``, ``python`` (Triton) … for colouring.
        text: The whole file.
        focus: Named line ranges ``(first, last)``, counted from 1, both ends included.
    """

    path: str
    language: str
    text: str
    focus: Mapping[str, tuple[int, int]] = field(default_factory=dict)


@dataclass(frozen=True)
class Capture:
    """Text that a launch wrote to standard output (device ``printf``), as captured.

    Attributes:
        name: Stable id inside its measurement.
        title: Which launch wrote it.
        text: The text, in the order it arrived.
    """

    name: str
    title: str
    text: str


@dataclass(frozen=True)
class Findings:
    """What one part of a scene found.

    Attributes:
        quantities, series, traces, captures, sources: What was found.
        missing: For a name that could not be had, the reason (``{"profiler": "CUPTI …"}``).
        seconds: How long the part took, by step (``compile``, ``measure``), in s.
    """

    quantities: tuple[Quantity, ...] = ()
    series: tuple[Series, ...] = ()
    traces: tuple[Trace, ...] = ()
    captures: tuple[Capture, ...] = ()
    sources: tuple[SourceText, ...] = ()
    missing: Mapping[str, str] = field(default_factory=dict)
    seconds: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Device:
    """The GPU as the driver describes it (all reported), plus two facts measured at start-up.

    Attributes:
        name: Product name.
        compute_capability: ``(major, minor)``.
        sms: SMs that launches can use: the green context's when one is set, else the GPU's.
        sms_total: SMs of the GPU (or of the MIG slice).
        sm_granularity: SMs come in groups of this many in a green context; 0 when unsupported.
        warp_size: Threads in a warp.
        threads_per_sm, blocks_per_sm, warps_per_sm: Most resident on one SM.
        threads_per_block: Most threads in a block.
        registers_per_sm: 32-bit registers.
        shared_per_sm, shared_per_block: Shared memory in bytes; the second with opt-in.
        l2_bytes, memory_bytes: Sizes in bytes.
        clock_max_mhz: Highest SM clock, in MHz; 0 when unknown.
        driver: Version of the driver, such as ``580.159.04``.
        driver_cuda: Newest CUDA that the driver supports, ``(major, minor)``.
        timer_step_ns: Measured: the step of ``%globaltimer``, in ns; 0 until it is.
        mig: Name of the MIG profile, empty when MIG is off.
    """

    name: str
    compute_capability: tuple[int, int]
    sms: int
    sms_total: int
    sm_granularity: int
    warp_size: int
    threads_per_sm: int
    blocks_per_sm: int
    warps_per_sm: int
    threads_per_block: int
    registers_per_sm: int
    shared_per_sm: int
    shared_per_block: int
    l2_bytes: int
    memory_bytes: int
    clock_max_mhz: int
    driver: str
    driver_cuda: tuple[int, int]
    timer_step_ns: int
    mig: str = ""

    def __post_init__(self) -> None:
        """Refuse what no GPU can be: a recording may say anything, and claims and pictures divide by these."""
        for name, value in vars(self).items():
            if isinstance(value, str) and not (is_plain(value) and len(value) <= _LONGEST_NAME):
                raise ValueError(f"device: {name} is not one short line of plain text")
            if isinstance(value, int) and value < (0 if name in _MAY_BE_ZERO else 1):
                raise ValueError(f"device: {name} cannot be {value}")
        if not self.name:
            raise ValueError("device: it has no name")
        if not self.sms <= self.sms_total <= _MOST_SMS:
            raise ValueError(f"device: it cannot have {self.sms} of {self.sms_total} SMs")
        if self.compute_capability < (1, 0):
            raise ValueError("device: its compute capability is none")


@dataclass(frozen=True)
class Neighbour:
    """Other work seen on the GPU when the measurement began.

    Attributes:
        what: ``process`` or ``utilisation``.
        text: In words, without process names or ids: ``1 other process holds 3.2 GB``.
    """

    what: str
    text: str


@dataclass(frozen=True)
class Measurement:
    """One scene at one choice of parameters.

    Attributes:
        scene: Id of the scene.
        chosen: For each parameter the id of the choice (``{"blocks": "fits+1"}``).
        parameters: The parameters as the worker resolved them, with every choice's value.
        device: The GPU that ran it.
        versions: Versions of what ran (gpu-explain, python, torch, triton, nvrtc …).
        when: UTC, ISO 8601, to the second.
        parts: What was found, by part, in the order measured. A partial measurement has fewer.
        complete: Whether every part is there.
        neighbours: Other work seen on the GPU.
    """

    scene: str
    chosen: Mapping[str, str]
    parameters: tuple[Parameter, ...]
    device: Device
    versions: Mapping[str, str]
    when: str
    parts: Mapping[str, Findings]
    complete: bool = True
    neighbours: tuple[Neighbour, ...] = ()

    def value(self, parameter: str) -> int | str:
        """The resolved value of a parameter: 265 where the choice is ``fits+1``."""
        for one in self.parameters:
            if one.id == parameter:
                value = one.choice(self.chosen[parameter]).value
                if value is None:
                    raise KeyError(f"{parameter} was not resolved")
                return value
        raise KeyError(parameter)

    @property
    def quantities(self) -> Iterator[Quantity]:
        """All quantities, in order."""
        return (q for part in self.parts.values() for q in part.quantities)

    @property
    def sources(self) -> tuple[SourceText, ...]:
        """The source files that ran, each once."""
        return tuple({s.path: s for part in self.parts.values() for s in part.sources}.values())

    def has(self, name: str) -> bool:
        """Whether a quantity, series, trace or capture of that name was found."""
        return any(
            name == found.name
            for part in self.parts.values()
            for group in (part.quantities, part.series, part.traces, part.captures)
            for found in group
        )

    def quantity(self, name: str) -> Quantity:
        """The quantity of that name. Raises ``KeyError``."""
        return next((q for q in self.quantities if q.name == name), None) or _absent(self, name)

    def number(self, name: str) -> float:
        """The value of a quantity as a float. Raises ``KeyError`` or ``ValueError``."""
        return self.quantity(name).number

    def one_series(self, name: str) -> Series:
        """The series of that name. Raises ``KeyError``."""
        found = (s for part in self.parts.values() for s in part.series if s.name == name)
        return next(found, None) or _absent(self, name)

    def trace(self, name: str) -> Trace:
        """The trace of that name. Raises ``KeyError``."""
        found = (t for part in self.parts.values() for t in part.traces if t.name == name)
        return next(found, None) or _absent(self, name)

    def capture(self, name: str) -> Capture:
        """The captured output of that name. Raises ``KeyError``."""
        found = (c for part in self.parts.values() for c in part.captures if c.name == name)
        return next(found, None) or _absent(self, name)

    def why_missing(self, name: str) -> str:
        """Why something is not there; empty when nothing was said about it."""
        for part in self.parts.values():
            if name in part.missing:
                return part.missing[name]
        return ""


def _absent(m: Measurement, name: str) -> NoReturn:
    raise KeyError(f"{m.scene}: nothing is called {name!r}")
