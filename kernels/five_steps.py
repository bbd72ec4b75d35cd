"""The five steps around a kernel, each timed: allocate, copy in, launch, copy out, free.

A kernel reads and writes the GPU's own memory, so data has to go there and come back. How fast it goes depends on
where it lies on the host: memory that the operating system may move (*pageable*, what every program gets) has to be
copied once more, through a place that it may not (*pinned*), before the GPU can fetch it. Here both kinds take the
same five calls of the driver, in turns, and the CPU does the same work for comparison.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Any

from gpu_explain.kernels.arguments import check_number
from gpu_explain.kernels.device import checked
from gpu_explain.kernels.loader import load
from gpu_explain.kernels.sources import source
from gpu_explain.kernels.square_cuda import KERNEL, THREADS
from gpu_explain.scenes.base import SourceText

if TYPE_CHECKING:
    from gpu_explain.kernels.session import Session

STEPS = ("allocate", "copy in", "launch", "copy out", "free")
MEMORIES = ("pageable", "pinned")
_ITEM = 4
_MOST = 2**34
_SEED = 1

METHOD = (
    "The host's clock from before each step until the GPU has done it (copies and launch: until the stream is empty);"
    " both kinds of memory in turns, a first round of each thrown away."
)


@dataclass(frozen=True)
class FiveSteps:
    """The five steps with one kind of host memory.

    Attributes:
        memory: ``pageable`` or ``pinned``.
        n: Numbers squared (float32).
        us: For each of :data:`STEPS` its samples in µs.
        wrong: Of the squares that came back, over all rounds, those that are not what the CPU computes.
    """

    memory: str
    n: int
    us: Mapping[str, tuple[float, ...]]
    wrong: int

    @property
    def bytes(self) -> int:
        """Bytes of one array, as many as each copy moves."""
        return _ITEM * self.n

    def median_us(self, step: str) -> float:
        """Median time of a step in µs."""
        return median(self.us[step])

    def gb_per_s(self, step: str) -> float:
        """Rate of a copy in GB/s, by its median time."""
        return self.bytes / self.median_us(step) / 1e3

    @property
    def total_us(self) -> float:
        """Median time of all five steps together in µs."""
        return median(sum(round_) for round_ in zip(*self.us.values(), strict=True))


@dataclass(frozen=True)
class HostAndDevice:
    """The same squares made on the GPU, with both kinds of memory, and on the CPU.

    Attributes:
        gpu: One entry a kind of memory, in the order of :data:`MEMORIES`.
        cpu_us: Samples of the CPU's time in µs.
        cpu_threads: Threads that the CPU used.
        method: How it was timed.
    """

    gpu: tuple[FiveSteps, ...]
    cpu_us: tuple[float, ...]
    cpu_threads: int
    method: str = METHOD


def host_and_device(gpu: Session, *, n: int, samples: int = 5) -> HostAndDevice:
    """Square n float32 numbers of the host ``samples`` times each way.

    Raises ``ValueError`` naming a wrong argument, ``ProblemError`` ``gpu-memory`` when two arrays do not fit,
    ``RuntimeError`` with the driver's own name of an error.
    """
    import torch

    check_number("n", n, 1, _MOST)
    check_number("samples", samples, 1, 1000)
    gpu.reserve(2 * _ITEM * n, "the five steps")
    x = torch.randn(n, generator=torch.Generator().manual_seed(_SEED))
    wanted = torch.empty_like(x)
    cpu = [_clocked(lambda: torch.mul(x, x, out=wanted)) for _ in range(samples + 1)][1:]
    inputs = {"pageable": x, "pinned": x.pin_memory()}
    outputs = {"pageable": torch.empty_like(x), "pinned": torch.empty_like(x).pin_memory()}
    load(gpu, "square.cu", KERNEL)  # compiled and loaded before anything counts
    taken: dict[str, list[tuple[float, ...]]] = {memory: [] for memory in MEMORIES}
    wrong = dict.fromkeys(MEMORIES, 0)
    for number in range(samples + 1):
        gpu.progress("taking the five steps", number / (samples + 1))
        for memory in MEMORIES:
            outputs[memory].fill_(float("nan"))  # poisoned, and its pages are really there
            times = _take(gpu, inputs[memory], outputs[memory])
            wrong[memory] += int((outputs[memory] != wanted).sum())
            if number:
                taken[memory].append(times)
    ways = tuple(
        FiveSteps(memory, n, dict(zip(STEPS, zip(*taken[memory], strict=True), strict=True)), wrong[memory])
        for memory in MEMORIES
    )
    return HostAndDevice(ways, tuple(cpu), int(torch.get_num_threads()))


def sources() -> tuple[SourceText, ...]:
    """The files behind it, with the line ranges ``kernel`` and ``steps``."""
    return (source("cuda/square.cu", {"kernel": KERNEL}), source("kernels/five_steps.py", {"steps": "_take"}))


def _take(gpu: Session, x: Any, y: Any) -> tuple[float, ...]:
    """The five steps: squares of the host's x into the host's y. Returns the µs of each."""
    from cuda.bindings import driver

    n, size, stream = x.numel(), _ITEM * x.numel(), driver.CUstream(int(gpu.core_stream.handle))
    kernel = load(gpu, "square.cu", KERNEL)
    on_gpu: list[Any] = []

    def allocate() -> None:
        on_gpu.extend(checked(driver.cuMemAlloc(size)) for _ in range(2))

    def copy_in() -> None:
        checked(driver.cuMemcpyHtoDAsync(on_gpu[0], x.data_ptr(), size, stream))

    def launch() -> None:
        kernel.launch(gpu, -(-n // THREADS), THREADS, int(on_gpu[0]), int(on_gpu[1]), n)

    def copy_out() -> None:
        checked(driver.cuMemcpyDtoHAsync(y.data_ptr(), on_gpu[1], size, stream))

    def free() -> None:
        while on_gpu:
            checked(driver.cuMemFree(on_gpu.pop()))

    def and_wait(step: Callable[[], None]) -> Callable[[], None]:
        def both() -> None:
            step()
            gpu.synchronise()

        return both

    gpu.synchronise()
    try:
        return tuple(map(_clocked, (allocate, and_wait(copy_in), and_wait(launch), and_wait(copy_out), free)))
    finally:
        free()


def _clocked(step: Callable[[], object]) -> float:
    """µs of a step on the host's clock."""
    began = time.perf_counter()
    step()
    return (time.perf_counter() - began) * 1e6
