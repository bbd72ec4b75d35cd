"""Contestants timed in turns, A B A B, and the table that comes of it. A benchmark prints ratios and fails nothing.

Each row of a table is one question (a kernel at one size), each contestant a way of doing it. Times are the timer's
(events on a held stream); those of short launches are CUPTI's as well, which sums all the kernels of a launch. With
``graph``, a launch is captured many times into one CUDA graph and its share of that graph's time is what counts.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Any

from gpu_explain.scenes.base import ProblemError

if TYPE_CHECKING:
    from gpu_explain.kernels.session import Session

Launch = Callable[[], object]
SHORT_US = 20.0
"""Below this many µs by events, CUPTI's figure is used: events cost about 2 µs themselves."""
_PROFILED = 11
UNUSABLE, INTERRUPTED = 2, 130
"""Exit codes: what keeps a benchmark from running at all, said in a sentence; and Ctrl-C, as shells expect it."""


def command(measure: Callable[[], None]) -> int:
    """A benchmark as a command: what is known to go wrong is one sentence on standard error and no traceback.

    Returns 0, :data:`UNUSABLE` after a ``ProblemError`` (no GPU, no package for it), :data:`INTERRUPTED` after Ctrl-C.
    """
    try:
        measure()
    except ProblemError as error:
        print(error.problem.sentence, file=sys.stderr)
        return UNUSABLE
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return INTERRUPTED
    return 0


@dataclass(frozen=True)
class Contestant:
    """One way of doing it.

    Attributes:
        name: What the table calls it.
        launch: Queues it on the session's stream; must not compile or allocate for the first time.
        ours: Whether it is one of our kernels (their ratios are asked for).
    """

    name: str
    launch: Launch
    ours: bool = False


@dataclass(frozen=True)
class Figure:
    """What one contestant took.

    Attributes:
        name: The contestant.
        us: Median time on the GPU in µs, by ``by``.
        low, high: 20th and 80th percentile of the event times in µs.
        by: ``events`` or ``CUPTI``.
        clock_mhz: Median SM clock of its samples.
        ours: Whether it is ours.
    """

    name: str
    us: float
    low: float
    high: float
    by: str
    clock_mhz: float
    ours: bool


@dataclass(frozen=True)
class Row:
    """One question, answered.

    Attributes:
        question: Kernel, dtype and size.
        figures: One a contestant, in the order they were named.
        bytes: Bytes that must be moved, 0 when that is not the point.
        flops: Arithmetic that must be done, 0 when that is not the point.
        roof: GB/s or TFLOP/s that the limit allows, 0 when none is known.
        roof_name: What that limit is.
        wanted: The ratios aimed at, in words.
        note: Anything that the figures need.
    """

    question: str
    figures: tuple[Figure, ...]
    bytes: int = 0
    flops: int = 0
    roof: float = 0.0
    roof_name: str = ""
    wanted: str = ""
    note: str = ""

    def rate(self, figure: Figure) -> float:
        """GB/s when bytes are the point, else TFLOP/s, else 0."""
        if self.bytes:
            return self.bytes / figure.us / 1e3
        return self.flops / figure.us / 1e6

    @property
    def unit(self) -> str:
        """Unit of ``rate``."""
        return "GB/s" if self.bytes else "TFLOP/s" if self.flops else ""

    def us(self, name: str) -> float:
        """Median time of a contestant in µs. Raises ``KeyError``."""
        return {figure.name: figure.us for figure in self.figures}[name]


def compare(
    gpu: Session,
    question: str,
    contestants: Sequence[Contestant],
    *,
    samples: int = 15,
    cold: bool = True,
    bytes: int = 0,
    flops: int = 0,
    roof: float = 0.0,
    roof_name: str = "",
    wanted: str = "",
    note: str = "",
) -> Row:
    """Time the contestants in turns. ``cold`` flushes the L2 by reading before each sample."""
    timings = gpu.timer.time([one.launch for one in contestants], samples=samples, cold=cold)
    by_events = [median(timing.samples_us) for timing in timings]
    by_profiler = [
        _by_profiler(gpu, c.launch, cold) if us < SHORT_US else None
        for c, us in zip(contestants, by_events, strict=True)
    ]
    figures = []
    for one, timing, us, profiler in zip(contestants, timings, by_events, by_profiler, strict=True):
        ordered = sorted(timing.samples_us)
        figures.append(
            Figure(
                name=one.name,
                us=us if profiler is None else profiler,
                low=ordered[len(ordered) // 5],
                high=ordered[-1 - len(ordered) // 5],
                by="events" if profiler is None else "CUPTI",
                clock_mhz=median(timing.clock_mhz),
                ours=one.ours,
            )
        )
    return Row(question, tuple(figures), bytes, flops, roof, roof_name, wanted, note)


def _by_profiler(gpu: Session, launch: Launch, cold: bool) -> float | None:
    """Median over launches of the summed durations of one launch's kernels in µs; ``None`` where CUPTI refuses.

    Each launch follows a flush, whose kernel parts the records of one launch from those of the next.
    """
    from gpu_explain.kernels.profiler import kernel_list

    def run() -> None:
        for _ in range(_PROFILED):
            gpu.timer.flush()
            if not cold:
                launch()  # after the flush, so that the second finds in the L2 what the first left there
            launch()

    sums: list[list[float]] = []
    for kernel in kernel_list(gpu, run).kernels:
        if kernel.name == "read_all":
            sums.append([])
        elif sums:
            sums[-1].append(kernel.duration_us)
    if len({len(durations) for durations in sums}) != 1 or not sums[0]:
        return None
    return median(sum(durations if cold else durations[len(durations) // 2 :]) for durations in sums)


def graph_us(gpu: Session, launch: Launch, *, launches: int = 50, samples: int = 15) -> float:
    """Median time of one of ``launches`` equal launches in one CUDA graph in µs; L2 warm, launch cost nearly gone."""
    import torch

    graph = torch.cuda.CUDAGraph()
    gpu.synchronise()
    with torch.cuda.graph(graph, stream=gpu.stream):
        for _ in range(launches):
            launch()
    graph.replay()
    gpu.synchronise()
    (timing,) = gpu.timer.time([graph.replay], samples=samples)
    return timing.median_us / launches


def markdown(rows: Sequence[Row]) -> str:
    """The rows as a Markdown table, a line a contestant; ratios are the others' time over that of each of ours."""
    lines = [
        "| question | contestant | µs (p20 … p80) | by | rate | of roof | ratios | clock MHz |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for row in rows:
        for number, figure in enumerate(row.figures):
            rate = row.rate(figure)
            against = [o for o in row.figures if o is not figure and not o.ours] if figure.ours else []
            ratios = ", ".join(f"{other.us / figure.us:.3f} × {other.name}" for other in against)
            lines.append(
                f"| {row.question if number == 0 else ''} | {figure.name} | {figure.us:.2f}"
                f" ({figure.low:.2f} … {figure.high:.2f}) | {figure.by} | {f'{rate:.0f} {row.unit}' if rate else ''}"
                f" | {f'{rate / row.roof:.3f}' if row.roof and rate else ''} | {ratios} | {figure.clock_mhz:.0f} |"
            )
        said = "; ".join(
            part
            for part in (
                f"roof {row.roof:.0f} {row.unit} ({row.roof_name})" if row.roof else "",
                f"wanted {row.wanted}" if row.wanted else "",
                row.note,
            )
            if part
        )
        if said:
            lines.append(f"| | *{said}* | | | | | | |")
    return "\n".join(lines)


def heading(gpu: Session, title: str) -> str:
    """Title, day, device and versions, as the head of a result file."""
    import datetime as dt

    device = gpu.device
    day = dt.datetime.now(dt.UTC).date().isoformat()
    versions = ", ".join(f"{name} {version}" for name, version in gpu.versions.items())
    busy = ", ".join(neighbour.text for neighbour in gpu.neighbours()) or "none seen"
    return (
        f"# {title}\n\n{day}, {device.name}, {device.sms} SMs, {device.l2_bytes} bytes of L2, at most"
        f" {device.clock_max_mhz} MHz; {versions}. Other work on the GPU: {busy}.\n"
    )


def roof_gb_per_s(gpu: Session, mix: str, *, bytes_an_array: int = 1 << 30, samples: int = 9) -> float:
    """The fastest that this GPU's memory was seen to take a mix (``2r1w``, ``1r1w``), L2 flushed, in GB/s."""
    from gpu_explain.kernels.roofs import WIDTHS, roof_launch

    arrays = arrays_of(gpu, 3 if mix == "2r1w" else 2, bytes_an_array)
    launches = [roof_launch(gpu, mix=mix, words=words, arrays=arrays) for words in WIDTHS]
    timings = gpu.timer.time(launches, samples=samples, cold=True)
    return max(len(arrays) * bytes_an_array / timing.median_us / 1e3 for timing in timings)


def arrays_of(gpu: Session, count: int, bytes: int) -> tuple[Any, ...]:
    """Float32 arrays of that many bytes each, filled with random numbers."""
    import torch

    return tuple(torch.randn(bytes // 4, device=f"cuda:{gpu.ordinal}") for _ in range(count))
