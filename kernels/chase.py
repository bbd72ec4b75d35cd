"""Launchers of ``cuda/chase.cu``: how many cycles one dependent step takes, by where its data lies.

A first lap of every chain is thrown away: in it, the code is fetched and the clock rises. The L1 is made as large as
the GPU allows, and after a ring has been laid the L2 is flushed by reading, so that no line in it is a written one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gpu_explain.kernels.arguments import check_number
from gpu_explain.kernels.carveout import LARGEST_L1, prefer_shared
from gpu_explain.kernels.loader import Kernel, load
from gpu_explain.kernels.ring import NODE_BYTES, Ring, lay_ring
from gpu_explain.kernels.sources import source
from gpu_explain.scenes.base import SourceText

if TYPE_CHECKING:
    from gpu_explain.kernels.session import Session

MOST_SINGLE = 2048
"""Most loads that ``single_loads`` times one by one; their times are kept in shared memory while they run."""
MOST_SHARED_NODES = 1024
_MOST_STEPS = 1_000_000
_HOST_NODES = 512
_UNWRITTEN = -1


@dataclass(frozen=True)
class Chain:
    """One chain, timed in laps.

    Attributes:
        cycles: Cycles of the SM that one step takes, one figure a lap.
        ns: The same in ns on ``%globaltimer``.
        steps: Steps in a lap.
        sm: The SM that followed it (a virtual number).
    """

    cycles: tuple[float, ...]
    ns: tuple[float, ...]
    steps: int
    sm: int

    @property
    def clock_mhz(self) -> tuple[float, ...]:
        """The SM's clock in each lap: its cycles over the ns of ``%globaltimer``, which does not follow it."""
        return tuple(1e3 * cycles / ns for cycles, ns in zip(self.cycles, self.ns, strict=True))


@dataclass(frozen=True)
class Singles:
    """Loads timed one by one.

    Attributes:
        cycles: Cycles of each load in the order of the ring, both reads of the clock included.
        floor: Median cycles between the same two reads of the clock with no load in between.
    """

    cycles: tuple[int, ...]
    floor: float


def add_chain(gpu: Session, *, steps: int = 4096, laps: int = 5) -> Chain:
    """Registers: float32 additions, each of which needs the sum before."""
    import torch

    _check_laps(steps, laps)
    _wake(gpu)
    out = torch.ones(2, dtype=torch.float32, device=f"cuda:{gpu.ordinal}")
    kernel = load(gpu, "chase.cu", "add_chain")
    return _laps(gpu, steps, laps, lambda record: kernel.launch(gpu, 1, 1, out, steps, laps + 1, record))


def shared_chase(gpu: Session, *, nodes: int = 1024, steps: int = 2048, laps: int = 5) -> Chain:
    """Shared memory: a ring of ``nodes`` 4-byte words, each with the shared-memory address of the next."""
    import torch

    _check_laps(steps, laps)
    if not 2 <= nodes <= MOST_SHARED_NODES:
        raise ValueError(f"nodes: 2 to {MOST_SHARED_NODES} expected, got {nodes}")
    order = torch.randperm(nodes, generator=torch.Generator().manual_seed(1))
    following = torch.empty(nodes, dtype=torch.int32)
    following[order] = order.roll(-1).to(torch.int32)
    following = following.to(f"cuda:{gpu.ordinal}")
    kernel = load(gpu, "chase.cu", "shared_chase")
    return _laps(gpu, steps, laps, lambda record: kernel.launch(gpu, 1, 256, following, nodes, steps, laps + 1, record))


def chase(gpu: Session, *, footprints: Sequence[int], steps: int = 2048, laps: int = 5) -> tuple[Chain, ...]:
    """Global memory: for each footprint in bytes, a warm ring that fills it, followed from one SM.

    Raises ``ValueError`` naming a wrong argument, ``ProblemError`` ``gpu-memory`` when the largest does not fit.
    """
    _check_laps(steps, laps)
    for footprint in footprints:
        _check_footprint(footprint)
    if not footprints:
        return ()
    _wake(gpu)
    kernel = _kernel(gpu, "chase")
    memory = gpu.scratch("the ring", max(footprints))
    found = []
    for number, footprint in enumerate(footprints):
        gpu.progress("following loads", number / len(footprints))
        ring = _laid(gpu, memory, footprint)
        found.append(
            _laps(
                gpu,
                steps,
                laps,
                lambda record, ring=ring: kernel.launch(
                    gpu, 1, ring.together, ring.starts, ring.nodes, steps, laps + 1, record
                ),
            )
        )
    return tuple(found)


def host_chase(gpu: Session, *, laps: int = 5) -> Chain:
    """The host's memory, pinned: a ring of 512 nodes, followed once a lap; no load may be answered by a cache."""
    import torch

    _check_laps(1, laps)
    memory = torch.empty(_HOST_NODES * NODE_BYTES, dtype=torch.uint8).pin_memory()
    ring = lay_ring(memory, memory.numel(), together=1)
    starts = ring.starts.to(f"cuda:{gpu.ordinal}")
    kernel = load(gpu, "chase.cu", "host_chase")
    return _laps(gpu, _HOST_NODES, laps, lambda record: kernel.launch(gpu, 1, 1, starts, _HOST_NODES, laps + 1, record))


def single_loads(gpu: Session, *, footprint: int, loads: int = MOST_SINGLE) -> Singles:
    """Loads around a warm ring of ``footprint`` bytes, timed one by one."""
    import torch

    _check_footprint(footprint)
    if not 1 <= loads <= MOST_SINGLE:
        raise ValueError(f"loads: 1 to {MOST_SINGLE} expected, got {loads}")
    _wake(gpu)
    kernel = _kernel(gpu, "single_loads")
    ring = _laid(gpu, gpu.scratch("the ring", footprint), footprint)
    record = torch.empty((2, loads), dtype=torch.int64, device=f"cuda:{gpu.ordinal}")
    for _ in range(2):  # the first fetches the code; the ring is warmed again by the second
        record.fill_(_UNWRITTEN)
        kernel.launch(gpu, 1, ring.together, ring.starts, ring.nodes, loads, record)
    gpu.synchronise()
    cycles, empty = record.tolist()
    if _UNWRITTEN in cycles or _UNWRITTEN in empty:
        raise RuntimeError("single_loads: a load left no record")
    return Singles(tuple(cycles), float(sorted(empty)[loads // 2]))


def chase_by_sm(gpu: Session, *, footprint: int, steps: int = 1024) -> dict[int, float]:
    """Cycles a load from each SM, one SM at a time, around the same ring: ``{SM: cycles}``, by SM.

    An SM on which no block of the launches meant for it ever ran is left out.
    """
    import torch

    _check_laps(steps, 1)
    _check_footprint(footprint)
    _wake(gpu)
    kernel = _kernel(gpu, "chase_from")
    ring = _laid(gpu, gpu.scratch("the ring", footprint), footprint)
    blocks = 2 * gpu.device.sms
    place = f"cuda:{gpu.ordinal}"
    everywhere = torch.full((blocks, 2), _UNWRITTEN, dtype=torch.int64, device=place)
    taken = torch.zeros(1, dtype=torch.int32, device=place)
    kernel.launch(gpu, blocks, ring.together, ring.starts, ring.nodes, 16, -1, taken, everywhere)
    gpu.synchronise()
    sms = sorted({sm for _, sm in everywhere.tolist()})
    taken = torch.zeros(len(sms), dtype=torch.int32, device=place)
    record = torch.full((len(sms), 2), _UNWRITTEN, dtype=torch.int64, device=place)
    for row, sm in enumerate(sms):
        kernel.launch(
            gpu, blocks, ring.together, ring.starts, ring.nodes, steps, sm, taken[row : row + 1], record[row : row + 1]
        )
    gpu.synchronise()
    return {sm: cycles / steps for sm, (cycles, seen) in zip(sms, record.tolist(), strict=True) if seen == sm}


def lines_by_sm(gpu: Session, *, lines: int = 128, rounds: int = 8) -> dict[int, tuple[int, ...]]:
    """Fewest cycles of a load from each SM to each of a few lines that lie in the L2: ``{SM: a figure a line}``.

    The loads leave the L1 out and are made one SM at a time, one at a time; both reads of the clock are in the figures.
    An SM on which no block of the launches meant for it ever ran is left out. Raises ``ValueError`` naming a wrong
    argument.
    """
    import torch

    check_number("lines", lines, 2, MOST_SINGLE)
    check_number("rounds", rounds, 1, MOST_SINGLE // lines)
    _wake(gpu)
    kernel = load(gpu, "chase.cu", "lines_from")
    ring = _laid(gpu, gpu.scratch("the ring", lines * NODE_BYTES), lines * NODE_BYTES)
    loads = lines * rounds
    place = f"cuda:{gpu.ordinal}"
    sms = range(gpu.device.sms_total)  # where a number is missing or not ours, a row stays unwritten
    taken = torch.zeros(len(sms), dtype=torch.int32, device=place)
    record = torch.full((len(sms), loads + 1), _UNWRITTEN, dtype=torch.int64, device=place)
    for sm in sms:
        kernel.launch(gpu, 32 * gpu.device.sms, 1, ring.starts, lines, loads, sm, taken[sm : sm + 1], record[sm])
    gpu.synchronise()
    found = {}
    for sm, row in zip(sms, record.cpu(), strict=True):
        if int(row[-1]) == sm:
            found[sm] = tuple(row[:-1].view(rounds, lines).min(0).values.tolist())
    return found


def sources() -> tuple[SourceText, ...]:
    """The files behind these launches, with a line range for each kind of chain."""
    return (
        source(
            "cuda/chase.cu",
            {
                "add": "add_chain",
                "shared": "shared_chase",
                "chase": "follow",
                "warm": "warm_ring",
                "single": "single_loads",
                "from": "chase_from",
                "host": "host_chase",
            },
        ),
        source("cuda/clock.cuh", {"clock": "clock_after"}),
        source("kernels/ring.py", {"ring": "lay_ring"}),
    )


def _check_laps(steps: int, laps: int) -> None:
    if not 1 <= steps <= _MOST_STEPS:
        raise ValueError(f"steps: 1 to {_MOST_STEPS} expected, got {steps}")
    if not 1 <= laps <= 1000:
        raise ValueError(f"laps: 1 to 1000 expected, got {laps}")


def _check_footprint(footprint: int) -> None:
    if footprint % NODE_BYTES or footprint < 2 * NODE_BYTES:
        raise ValueError(
            f"footprint: a multiple of {NODE_BYTES} of at least {2 * NODE_BYTES} expected, got {footprint}"
        )


def _wake(gpu: Session) -> None:
    """Let the clock rise: cycles to the L2 and beyond depend on the SM's clock, which sleeps on an idle GPU."""
    gpu.timer.warm([gpu.timer.flush])


def _kernel(gpu: Session, name: str) -> Kernel:
    """A kernel of ``chase.cu`` with the largest L1 that the GPU offers."""
    kernel = load(gpu, "chase.cu", name)
    prefer_shared(gpu, kernel, LARGEST_L1)
    return kernel


def _laid(gpu: Session, memory: Any, footprint: int) -> Ring:
    """A ring in the first ``footprint`` bytes of ``memory``, and none of it left in the L2 as written lines."""
    ring = lay_ring(memory, footprint, together=gpu.device.threads_per_block)
    gpu.timer.flush()
    return ring


def _laps(gpu: Session, steps: int, laps: int, launch: Any) -> Chain:
    """Run ``launch(record)``, which times ``laps + 1`` laps, and drop the first."""
    import torch

    record = torch.full((2 * (laps + 1) + 1,), _UNWRITTEN, dtype=torch.int64, device=f"cuda:{gpu.ordinal}")
    launch(record)
    gpu.synchronise()
    *times, sm = record.tolist()
    if _UNWRITTEN in times:
        raise RuntimeError("the chain left no record")
    return Chain(tuple(c / steps for c in times[2::2]), tuple(n / steps for n in times[3::2]), steps, sm)
