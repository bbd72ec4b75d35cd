"""Launcher of ``cuda/grid.cu`` and its Triton twin: one launch written down by block, by warp and by element.

Each of ``ceil(elements / threads)`` blocks has ``threads`` threads, each thread at most one element. A thread with an
element signs it and waits, in some blocks longer than in others where that is asked for. The signatures of all
elements come back and are checked one by one.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gpu_explain.kernels.loader import load
from gpu_explain.kernels.sources import source
from gpu_explain.kernels.trace import COLUMNS, record_trace
from gpu_explain.scenes.base import SourceText, Trace

if TYPE_CHECKING:
    from gpu_explain.kernels.session import Session

LANGUAGES = ("CUDA", "Triton")
_WARP_COLUMNS = 3
_LONGEST = 50_000_000
"""The most cycles: a block of that length lasts about a display watchdog's patience on its own."""
_MOST_SIGNATURES = 2**31 - 1
_UNWRITTEN = -1
_START_NS = 2  # TRACE_START_NS of cuda/trace.cuh
_CHUNK = 1 << 22

KERNEL = "traced_elements"


@dataclass(frozen=True)
class Owners:
    """Who had which element, counted over all elements.

    Attributes:
        elements: Elements of the launch.
        signed: Elements that a thread signed.
        strangers: Elements signed by another thread than ``block = i // threads``, ``thread = i % threads``, of which
            the warp is ``thread // warp_size`` and the lane ``thread % warp_size``.
        lane_low, lane_high: For each lane the smallest and largest distance of its element from its warp's first one;
            -1 for a lane that never had an element.
    """

    elements: int
    signed: int
    strangers: int
    lane_low: tuple[int, ...]
    lane_high: tuple[int, ...]


@dataclass(frozen=True)
class Recorded:
    """One launch at every level.

    Attributes:
        trace: The blocks.
        warps_per_block: Warps of a block; warp ``w`` of block ``b`` is entry ``b * warps_per_block + w`` below.
        warp_start_ns, warp_end_ns: When each warp began and was done, in ns since the first block's start
            (numpy int64, one entry a warp).
        warp_sm: The SM that each warp ran on, -1 where a warp wrote nothing (numpy int64).
        owners: Who had which element.
        residents: Most blocks of this kernel on one SM, by the occupancy API.
        registers: 32-bit registers a thread.
        method: Where ``residents`` comes from.
    """

    trace: Trace
    warps_per_block: int
    warp_start_ns: Any
    warp_end_ns: Any
    warp_sm: Any
    owners: Owners
    residents: int
    registers: int
    method: str


@dataclass(frozen=True)
class _Ready:
    """The kernel, compiled and launched once: ``launch(blocks, arguments)`` queues it."""

    launch: Callable[[int, tuple[Any, ...]], object]
    residents: int
    registers: int


def residents(gpu: Session, *, language: str, threads: int) -> int:
    """Most blocks of ``threads`` threads on one SM, by the occupancy API. Raises ``ValueError`` as :func:`record`."""
    _check(gpu, language=language, threads=threads, elements=1, least=1)
    return _ready(gpu, language, threads).residents


def record(
    gpu: Session,
    *,
    name: str,
    title: str,
    language: str,
    elements: int,
    threads: int,
    least: int,
    spread: int = 0,
) -> Recorded:
    """Launch one thread an element, in blocks of ``threads``, each waiting ``least`` cycles of its SM's clock or more.

    How much more is fixed by the block's number, between 0 and ``spread`` cycles, the same in every launch.
    ``name`` and ``title`` are the trace's. Raises ``ValueError`` naming a wrong argument, ``ProblemError``
    ``gpu-memory`` when the records do not fit.
    """
    import torch

    _check(gpu, language=language, threads=threads, elements=elements, least=least, spread=spread)
    blocks = -(-elements // threads)
    warps_per_block = -(-threads // gpu.device.warp_size)
    ready = _ready(gpu, language, threads)
    by_warp = gpu.empty((_WARP_COLUMNS, blocks * warps_per_block), torch.int64, "the record of the warps")
    owner = gpu.empty((elements,), torch.int32, "the elements' signatures")

    blocks_record: list[Any] = []

    def launch(record: Any, arrivals: Any) -> None:
        # Poisoned before every launch: a warp or thread that never wrote cannot pass for one that did.
        by_warp.fill_(_UNWRITTEN)
        owner.fill_(_UNWRITTEN)
        blocks_record[:] = [record]
        ready.launch(blocks, (record, arrivals, by_warp, owner, elements, least, spread))

    trace = record_trace(
        gpu,
        launch,
        blocks=blocks,
        threads=threads,
        name=name,
        title=title,
        kernel=KERNEL,
        language=language,
    )
    begin = int(blocks_record[0][_START_NS].min().item())  # the trace counts from here, the warps do not yet
    starts, ends, sms = by_warp.cpu().numpy()
    return Recorded(
        trace=trace,
        warps_per_block=warps_per_block,
        warp_start_ns=starts - begin,
        warp_end_ns=ends - begin,
        warp_sm=sms,
        owners=count_owners(owner.cpu().numpy(), threads=threads, warp_size=gpu.device.warp_size),
        residents=ready.residents,
        registers=ready.registers,
        method=f"occupancy API of the driver for {KERNEL} ({language}) at {threads} threads a block",
    )


def count_owners(owner: Any, *, threads: int, warp_size: int) -> Owners:
    """Check every element's signature: numpy int32, ``warp of the grid * warp_size + lane``, -1 where there is none."""
    import numpy as np

    if threads % warp_size == 0 and (owner == np.arange(len(owner), dtype=owner.dtype)).all():
        # Full warps make the expected signature of element i the number i: the usual case, at a glance.
        lanes = tuple(lane if lane < len(owner) else -1 for lane in range(warp_size))
        return Owners(len(owner), len(owner), 0, lanes, lanes)
    warps_per_block = -(-threads // warp_size)
    low = np.full(warp_size, np.iinfo(np.int64).max)
    high = np.full(warp_size, -1, dtype=np.int64)
    signed = strangers = 0
    whole_blocks = max(_CHUNK // threads, 1) * threads
    for begin in range(0, len(owner), whole_blocks):  # in pieces: a hundred million elements need no gigabytes
        signatures = owner[begin : begin + whole_blocks].astype(np.int64)
        i = np.arange(begin, begin + len(signatures), dtype=np.int64)
        written = signatures >= 0
        block, thread = np.divmod(i, threads)
        expected = (block * warps_per_block + thread // warp_size) * warp_size + thread % warp_size
        signed += int(written.sum())
        strangers += int((written & (signatures != expected)).sum())
        signatures, i = signatures[written], i[written]
        if not len(i):
            continue
        warp, lane = np.divmod(signatures, warp_size)
        order = np.lexsort((i, warp)) if (np.diff(warp) < 0).any() else slice(None)
        warp, lane, i = warp[order], lane[order], i[order]
        opens = np.concatenate(([True], warp[1:] != warp[:-1]))
        distance = i - i[opens][np.cumsum(opens) - 1]
        np.minimum.at(low, lane, distance)
        np.maximum.at(high, lane, distance)
    seen = high >= 0
    return Owners(
        elements=len(owner),
        signed=signed,
        strangers=strangers,
        lane_low=tuple(np.where(seen, low, -1).tolist()),
        lane_high=tuple(high.tolist()),
    )


def sources(*, language: str) -> tuple[SourceText, ...]:
    """The files behind the launch, with the line ranges ``kernel`` and ``trace``."""
    if language == "CUDA":
        return (source("cuda/grid.cu", {"kernel": KERNEL}), source("cuda/trace.cuh", {"trace": "trace_begin"}))
    return (
        source("kernels/grid_triton.py", {"kernel": KERNEL, "who": "lane_of"}),
        source("kernels/trace_triton.py", {"trace": "trace_begin"}),
    )


def _check(gpu: Session, *, language: str, threads: int, elements: int, least: int, spread: int = 0) -> None:
    if language not in LANGUAGES:
        raise ValueError(f"language: one of {', '.join(LANGUAGES)} expected, got {language!r}")
    device = gpu.device
    if not 1 <= threads <= device.threads_per_block:
        raise ValueError(f"threads: 1 to {device.threads_per_block} expected, got {threads}")
    warps = threads // device.warp_size
    if language == "Triton" and (threads % device.warp_size or warps & (warps - 1)):
        raise ValueError(f"threads: a power of two of at least {device.warp_size} expected for Triton, got {threads}")
    if not 1 <= least <= _LONGEST:
        raise ValueError(f"least: 1 to {_LONGEST} expected, got {least}")
    if not 0 <= spread <= _LONGEST:
        raise ValueError(f"spread: 0 to {_LONGEST} expected, got {spread}")
    # A signature, lanes that do not exist included, must fit an int32.
    most = _MOST_SIGNATURES // (-(-threads // device.warp_size) * device.warp_size) * threads
    if not 1 <= elements <= most:
        raise ValueError(f"elements: 1 to {most} expected, got {elements}")


def _ready(gpu: Session, language: str, threads: int) -> _Ready:
    return _ready_cuda(gpu, threads) if language == "CUDA" else _ready_triton(gpu, threads)


def _ready_cuda(gpu: Session, threads: int) -> _Ready:
    kernel = load(gpu, "grid.cu", KERNEL)

    def launch(blocks: int, arguments: tuple[Any, ...]) -> None:
        kernel.launch(gpu, blocks, threads, *arguments)

    # Modules load lazily: the first launch must not fall into the recording.
    launch(1, _trial(gpu, threads))
    gpu.synchronise()
    return _Ready(launch, kernel.residents(threads), kernel.registers)


def _ready_triton(gpu: Session, threads: int) -> _Ready:
    from cuda.bindings import driver

    began = time.perf_counter()
    from gpu_explain.kernels.device import checked
    from gpu_explain.kernels.grid_triton import traced_elements

    warp = gpu.device.warp_size

    def launch(blocks: int, arguments: tuple[Any, ...]) -> Any:
        return traced_elements[(blocks,)](*arguments, THREADS=threads, WARP=warp, num_warps=threads // warp)

    compiled = launch(1, _trial(gpu, threads))
    gpu.synchronise()
    gpu.spent_compiling(time.perf_counter() - began)
    handle, shared = driver.CUfunction(int(compiled.function)), int(compiled.metadata.shared)
    held = checked(driver.cuOccupancyMaxActiveBlocksPerMultiprocessor(handle, threads, shared))
    return _Ready(launch, int(held), int(compiled.n_regs))


def _trial(gpu: Session, threads: int) -> tuple[Any, ...]:
    """Arguments for a launch of one block that does next to nothing."""
    import torch

    warps = -(-threads // gpu.device.warp_size)
    return (
        gpu.empty((COLUMNS, 1), torch.int64),
        gpu.empty((1,), torch.int32).zero_(),
        gpu.empty((_WARP_COLUMNS, warps), torch.int64),
        gpu.empty((threads,), torch.int32),
        threads,
        2,
        0,
    )
