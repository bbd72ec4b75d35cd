"""Launchers of the blocks of ``cuda/blocks.cu`` and of their Triton twins, plain and traced.

``work`` is ``wait`` (blocks that do not slow each other down) or ``compute`` (blocks that share an SM's arithmetic),
``language`` is ``CUDA`` or ``Triton``. ``amount`` is cycles to wait, or dependent multiply-adds a thread.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gpu_explain.kernels.loader import Kernel, load
from gpu_explain.kernels.sources import source
from gpu_explain.kernels.trace import COLUMNS, record_trace
from gpu_explain.scenes.base import SourceText, Timing, Trace

if TYPE_CHECKING:
    from gpu_explain.kernels.session import Session

WORKS = ("wait", "compute")
LANGUAGES = ("CUDA", "Triton")
_LONGEST = 50_000_000
"""The largest amount: a block of that length lasts about a display watchdog's patience on its own."""
_MOST_BLOCKS = 2**31 - 1


@dataclass(frozen=True)
class Fit:
    """How many blocks fit on one SM, and of what they are made.

    Attributes:
        residents: Most blocks on one SM at once, untraced kernel.
        registers: 32-bit registers a thread, untraced kernel.
        shared_bytes: Shared memory a block, static and dynamic, untraced kernel.
        traced_residents, traced_registers: The same for the traced kernel.
        method: Where the numbers come from.
    """

    residents: int
    registers: int
    shared_bytes: int
    traced_residents: int
    traced_registers: int
    method: str


@dataclass(frozen=True)
class _Ready:
    """A kernel compiled and launched once: ``launch(blocks, threads, arguments)`` queues it."""

    name: str
    launch: Callable[[int, tuple[Any, ...]], object]
    residents: int
    registers: int
    shared_bytes: int


def fit(gpu: Session, *, work: str, language: str, threads: int, shared_bytes: int = 0) -> Fit:
    """How many such blocks fit on one SM, by the driver's occupancy API, for the plain and the traced kernel.

    ``shared_bytes`` is dynamic shared memory a block (CUDA only). Raises ``ValueError`` naming a wrong argument.
    """
    _check(gpu, work=work, language=language, threads=threads, shared_bytes=shared_bytes)
    plain = _ready(gpu, work, language, threads, shared_bytes, traced=False)
    traced = _ready(gpu, work, language, threads, shared_bytes, traced=True)
    return Fit(
        residents=plain.residents,
        registers=plain.registers,
        shared_bytes=plain.shared_bytes,
        traced_residents=traced.residents,
        traced_registers=traced.registers,
        method=f"occupancy API of the driver for {plain.name} at {threads} threads a block",
    )


def trace_blocks(
    gpu: Session,
    *,
    name: str,
    title: str,
    work: str,
    language: str,
    blocks: int,
    threads: int,
    amount: int,
    shared_bytes: int = 0,
) -> Trace:
    """Launch ``blocks`` traced blocks and give back what each of them did.

    ``name`` and ``title`` are the trace's. Raises ``ValueError`` naming a wrong argument, ``ProblemError``
    ``gpu-memory`` when the records or results do not fit.
    """
    _check(gpu, work=work, language=language, threads=threads, shared_bytes=shared_bytes, amount=amount, blocks=blocks)
    ready = _ready(gpu, work, language, threads, shared_bytes, traced=True)
    out = _results(gpu, work, blocks, threads)
    return record_trace(
        gpu,
        lambda record, arrivals: ready.launch(blocks, (record, arrivals, *out, amount)),
        blocks=blocks,
        threads=threads,
        name=name,
        title=title,
        kernel=ready.name,
        language=language,
    )


def time_blocks(
    gpu: Session, *, work: str, language: str, sizes: Sequence[int], threads: int, amount: int, samples: int = 15
) -> tuple[Timing, ...]:
    """Time launches of the plain kernel, one for each number of blocks in ``sizes``, in turns.

    Raises ``ValueError`` naming a wrong argument, and as ``Timer.time`` does.
    """
    for blocks in sizes:
        _check(gpu, work=work, language=language, threads=threads, shared_bytes=0, amount=amount, blocks=blocks)
    if not sizes:
        return ()
    ready = _ready(gpu, work, language, threads, 0, traced=False)
    out = _results(gpu, work, max(sizes), threads)

    def launch_of(blocks: int) -> Callable[[], object]:
        return lambda: ready.launch(blocks, (*out, amount))

    return gpu.timer.time([launch_of(blocks) for blocks in sizes], samples=samples, names=[ready.name] * len(sizes))


def sources(*, work: str, language: str) -> tuple[SourceText, ...]:
    """The files behind these blocks, with the line ranges ``kernel``, ``wait`` or ``compute``, and ``trace``."""
    _check_words(work, language)
    if language == "CUDA":
        return (
            source("cuda/blocks.cu", {"kernel": f"{work}_blocks", work: work, "trace": f"traced_{work}_blocks"}),
            source("cuda/trace.cuh", {"trace": "trace_begin", "trace-end": "trace_end"}),
        )
    return (
        source("kernels/blocks_triton.py", {"kernel": f"{work}_blocks", work: work, "trace": f"traced_{work}_blocks"}),
        source("kernels/trace_triton.py", {"trace": "trace_begin", "trace-end": "trace_end"}),
    )


# -- arguments -------------------------------------------------------------------------------------------------------


def _check_words(work: str, language: str) -> None:
    if work not in WORKS:
        raise ValueError(f"work: one of {', '.join(WORKS)} expected, got {work!r}")
    if language not in LANGUAGES:
        raise ValueError(f"language: one of {', '.join(LANGUAGES)} expected, got {language!r}")


def _check(
    gpu: Session,
    *,
    work: str,
    language: str,
    threads: int,
    shared_bytes: int,
    amount: int = 1,
    blocks: int = 1,
) -> None:
    _check_words(work, language)
    device = gpu.device
    if not 1 <= threads <= device.threads_per_block:
        raise ValueError(f"threads: 1 to {device.threads_per_block} expected, got {threads}")
    warps = threads // device.warp_size
    if language == "Triton" and (threads % device.warp_size or warps & (warps - 1)):
        raise ValueError(f"threads: a power of two of at least {device.warp_size} expected for Triton, got {threads}")
    if language == "Triton" and shared_bytes:
        raise ValueError(f"shared_bytes: 0 expected for Triton, which sizes shared memory itself, got {shared_bytes}")
    if not 0 <= shared_bytes <= device.shared_per_block:
        raise ValueError(f"shared_bytes: 0 to {device.shared_per_block} expected, got {shared_bytes}")
    if not 1 <= amount <= _LONGEST:
        raise ValueError(f"amount: 1 to {_LONGEST} expected, got {amount}")
    if not 1 <= blocks <= _MOST_BLOCKS:
        raise ValueError(f"blocks: 1 to {_MOST_BLOCKS} expected, got {blocks}")


def _results(gpu: Session, work: str, blocks: int, threads: int) -> tuple[Any, ...]:
    """Where computing blocks leave their results: one float32 a thread."""
    if work == "wait":
        return ()
    import torch

    return (gpu.empty((blocks * threads,), torch.float32, "the blocks' results"),)


# -- the two languages -----------------------------------------------------------------------------------------------


def _ready(gpu: Session, work: str, language: str, threads: int, shared_bytes: int, *, traced: bool) -> _Ready:
    if language == "CUDA":
        return _ready_cuda(gpu, work, threads, shared_bytes, traced=traced)
    return _ready_triton(gpu, work, threads, traced=traced)


def _ready_cuda(gpu: Session, work: str, threads: int, shared_bytes: int, *, traced: bool) -> _Ready:
    kernel: Kernel = load(gpu, "blocks.cu", f"traced_{work}_blocks" if traced else f"{work}_blocks")
    if shared_bytes:
        kernel.allow_shared(gpu, shared_bytes)

    def launch(blocks: int, arguments: tuple[Any, ...]) -> None:
        kernel.launch(gpu, blocks, threads, *arguments, shared_bytes=shared_bytes)

    # Modules load lazily: the first launch must not fall into a recording or a held stream.
    launch(1, _trial(gpu, work, threads, traced=traced))
    gpu.synchronise()
    static = int(kernel.handle.attributes.shared_size_bytes)
    return _Ready(kernel.name, launch, kernel.residents(threads, shared_bytes), kernel.registers, static + shared_bytes)


def _ready_triton(gpu: Session, work: str, threads: int, *, traced: bool) -> _Ready:
    from cuda.bindings import driver

    began = time.perf_counter()
    from gpu_explain.kernels import blocks_triton
    from gpu_explain.kernels.device import checked

    function = getattr(blocks_triton, f"traced_{work}_blocks" if traced else f"{work}_blocks")
    options: dict[str, int] = {"num_warps": threads // gpu.device.warp_size}
    if work == "compute":
        options["THREADS"] = threads

    def launch(blocks: int, arguments: tuple[Any, ...]) -> Any:
        return function[(blocks,)](*arguments, **options)

    compiled = launch(1, _trial(gpu, work, threads, traced=traced))
    gpu.synchronise()
    gpu.spent_compiling(time.perf_counter() - began)
    shared = int(compiled.metadata.shared)
    handle = driver.CUfunction(int(compiled.function))
    residents = checked(driver.cuOccupancyMaxActiveBlocksPerMultiprocessor(handle, threads, shared))
    return _Ready(function.__name__, launch, int(residents), int(compiled.n_regs), shared)


def _trial(gpu: Session, work: str, threads: int, *, traced: bool) -> tuple[Any, ...]:
    """Arguments for a launch of one block that does next to nothing."""
    import torch

    trace: tuple[Any, ...] = ()
    if traced:
        trace = (gpu.empty((COLUMNS, 1), torch.int64), gpu.empty((1,), torch.int32).zero_())
    return (*trace, *_results(gpu, work, 1, threads), 2)
