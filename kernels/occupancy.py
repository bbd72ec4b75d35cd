"""Launchers of ``cuda/occupancy.cu``: how many blocks an SM holds, what limits it, and what a place is worth.

Three answers to the first question are kept apart: what the limits of the SM allow (:func:`limits`, arithmetic), what
the driver's occupancy API says, and how many blocks a traced launch saw together. Shared memory and L1 are one memory,
whose split (*carve-out*) is pinned at the most shared memory, so that it is no third knob.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gpu_explain.kernels.arguments import check_choice, check_number
from gpu_explain.kernels.device import checked
from gpu_explain.kernels.loader import Kernel, load
from gpu_explain.kernels.sources import source
from gpu_explain.kernels.trace import record_trace
from gpu_explain.scenes.base import Device, SourceText, Timing, Trace

if TYPE_CHECKING:
    from gpu_explain.kernels.session import Session

FILE = "occupancy.cu"
HELD = (8, 32, 64, 128, 192)
"""Numbers that a thread of the probe can hold in registers."""
WIDTHS = {"add_each": 1, "add_quads": 4}
"""The additions, and how many numbers a thread takes."""
_WORD = 16
_ITEM = 4
_LONGEST = 50_000_000
_SHARED_STEP = {7: 256, 8: 128}
"""Pieces in which shared memory is handed out, in bytes, by the major compute capability (8 and later alike)."""
_REGISTERS_STEP = 256
_SCHEDULERS = 4


@dataclass(frozen=True)
class Limits:
    """Blocks on one SM that each of its stocks would allow on its own; ``None`` where a block asks for nothing.

    Attributes:
        blocks: By places for blocks.
        threads: By places for warps.
        registers: By registers.
        shared: By shared memory.
    """

    blocks: int
    threads: int
    registers: int
    shared: int | None

    @property
    def residents(self) -> int:
        """The least of them."""
        return min(one for one in (self.blocks, self.threads, self.registers, self.shared) if one is not None)


@dataclass(frozen=True)
class Probe:
    """One shape of block, asked three ways.

    Attributes:
        held: Numbers that a thread holds.
        registers: Registers that a thread has.
        shared_bytes: Dynamic shared memory of a block.
        limits: What the SM's stocks allow.
        api: What the occupancy API of the driver says.
        trace: A launch of one block more than fits.
    """

    held: int
    registers: int
    shared_bytes: int
    limits: Limits
    api: int
    trace: Trace

    @property
    def seen(self) -> int:
        """Most blocks that were on one SM together."""
        return max(self.trace.peak_by_sm.values())


@dataclass(frozen=True)
class Bandwidth:
    """c = a + b with at most so many blocks on an SM.

    Attributes:
        kernel: ``add_each`` or ``add_quads``.
        threads: Threads in a block.
        residents: Most blocks on one SM, by the occupancy API.
        shared_bytes: The shared memory a block that makes it so.
        bytes: Bytes that were moved.
        timing: How long it took, L2 flushed.
    """

    kernel: str
    threads: int
    residents: int
    shared_bytes: int
    bytes: int
    timing: Timing

    @property
    def gb_per_s(self) -> float:
        """Bytes a second in GB/s, by the median time."""
        return self.bytes / self.timing.median_us / 1e3

    @property
    def in_flight(self) -> int:
        """Bytes that the threads on one SM can have asked for at once: two loads each."""
        return 2 * _ITEM * WIDTHS[self.kernel] * self.threads * self.residents


def limits(device: Device, *, registers: int, threads: int, shared_bytes: int, reserved: int) -> Limits:
    """How many blocks each stock of an SM allows.

    Args:
        device: The facts.
        registers: Registers a thread.
        threads: Threads a block.
        shared_bytes: Shared memory a block.
        reserved: Shared memory that the driver takes for itself, a block (:func:`reserved_shared`).

    Registers are handed out to warps, 256 at a time, from four equal parts of the SM's stock, one a scheduler; shared
    memory in pieces of 128 or 256 bytes (NVIDIA's occupancy calculator).
    """
    warps = -(-threads // device.warp_size)
    a_warp = -(-registers * device.warp_size // _REGISTERS_STEP) * _REGISTERS_STEP
    warps_by_registers = device.registers_per_sm // _SCHEDULERS // a_warp * _SCHEDULERS
    step = _SHARED_STEP[min(device.compute_capability[0], max(_SHARED_STEP))]
    a_block = -(-(shared_bytes + reserved) // step) * step
    return Limits(
        blocks=device.blocks_per_sm,
        threads=device.warps_per_sm // warps,
        registers=warps_by_registers // warps,
        shared=device.shared_per_sm // a_block if a_block else None,
    )


def reserved_shared(gpu: Session) -> int:
    """Bytes of shared memory that the driver takes for itself in each block, as it reports them."""
    from cuda.bindings import driver

    which = driver.CUdevice_attribute.CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK
    return int(checked(driver.cuDeviceGetAttribute(which, driver.CUdevice(gpu.ordinal))))


def probe(gpu: Session, *, held: int, threads: int, shared_bytes: int = 0, amount: int = 60_000) -> Probe:
    """Trace one block more than fits, each holding its registers and shared memory for ``amount`` cycles.

    Raises ``ValueError`` naming a wrong argument, also when not even one such block fits.
    """
    import torch

    check_choice("held", held, HELD)
    check_number("amount", amount, 1, _LONGEST)
    name = f"hold_registers_{held}"
    kernel, api = _pinned(gpu, name, threads, shared_bytes)
    if not api:
        raise ValueError(f"threads: fewer expected, {threads} with {kernel.registers} registers each do not fit")
    blocks = gpu.device.sms * api + 1
    numbers = torch.arange(threads + held, dtype=torch.int32, device=f"cuda:{gpu.ordinal}")
    out = gpu.empty((blocks * threads,), torch.int32, "the probe's results")

    def launch(record: Any, arrivals: Any) -> None:
        kernel.launch(gpu, blocks, threads, record, arrivals, numbers, out, amount, shared_bytes=shared_bytes)

    trace = record_trace(
        gpu,
        launch,
        blocks=blocks,
        threads=threads,
        name="occupancy",
        title=f"{blocks} blocks, one more than fit",
        kernel=name,
        language="CUDA",
    )
    wanted = held * numbers[:threads] + held * (held - 1) // 2
    if not bool((out.view(blocks, threads) == wanted).all()):
        raise RuntimeError(f"{name}: a thread did not keep its numbers")
    allowed = limits(
        gpu.device,
        registers=kernel.registers,
        threads=threads,
        shared_bytes=shared_bytes,
        reserved=reserved_shared(gpu),
    )
    return Probe(held, kernel.registers, shared_bytes, allowed, api, trace)


def add_by_residents(
    gpu: Session, *, residents: Sequence[int], n: int = 1 << 26, threads: int = 256, samples: int = 9
) -> tuple[Bandwidth, ...]:
    """Time c = a + b over n numbers, one and four a thread, with at most so many blocks on an SM.

    n is a multiple of 4. Raises ``ValueError`` naming a wrong argument or a number of residents that no amount of
    shared memory makes, ``ProblemError`` ``gpu-memory`` when the arrays do not fit.
    """
    import torch

    check_number("n", n, 4, 2**33)
    if n % 4:
        raise ValueError(f"n: a multiple of 4 expected, got {n}")
    check_number("threads", threads, 1, gpu.device.threads_per_block)
    check_number("samples", samples, 1, 10_000)
    for count in residents:
        check_number("residents", count, 1, gpu.device.blocks_per_sm)
    if not residents:
        return ()
    a, b, c = (gpu.empty((n,), torch.float32, "the arrays of the addition") for _ in range(3))
    a.normal_()
    b.normal_()
    shapes = [(name, count, *_with_residents(gpu, name, threads, count)) for count in residents for name in WIDTHS]

    def launch_of(name: str, kernel: Kernel, shared: int) -> Callable[[], object]:
        blocks = -(-n // (WIDTHS[name] * threads))
        return lambda: kernel.launch(gpu, blocks, threads, a, b, c, n, shared_bytes=shared)

    launches = [launch_of(name, kernel, shared) for name, _, kernel, shared in shapes]
    timings = gpu.timer.time(launches, samples=samples, cold=True)
    return tuple(
        Bandwidth(name, threads, count, shared, 3 * _ITEM * n, timing)
        for (name, count, _, shared), timing in zip(shapes, timings, strict=True)
    )


def sources() -> tuple[SourceText, ...]:
    """The file behind it, with the line ranges ``hold``, ``each`` and ``quads``."""
    return (source("cuda/occupancy.cu", {"hold": "hold_and_wait", "each": "add_each", "quads": "add_quads"}),)


def _pinned(gpu: Session, name: str, threads: int, shared_bytes: int) -> tuple[Kernel, int]:
    """A kernel that may take all the shared memory there is, and how many of its blocks fit."""
    check_number("threads", threads, 1, gpu.device.threads_per_block)
    check_number("shared_bytes", shared_bytes, 0, gpu.device.shared_per_block)
    kernel = load(gpu, FILE, name)
    kernel.allow_shared(gpu, gpu.device.shared_per_block)
    return kernel, kernel.residents(threads, shared_bytes)


def _with_residents(gpu: Session, name: str, threads: int, count: int) -> tuple[Kernel, int]:
    """The kernel, and the most shared memory a block with which ``count`` blocks fit on an SM."""
    kernel, most = _pinned(gpu, name, threads, 0)
    check_number("residents", count, 1, most)
    share = gpu.device.shared_per_sm // count - reserved_shared(gpu)
    shared = min(share - share % 1024, gpu.device.shared_per_block)
    if kernel.residents(threads, shared) != count:
        raise ValueError(f"residents: a number that shared memory can enforce expected, got {count}")
    return kernel, shared
