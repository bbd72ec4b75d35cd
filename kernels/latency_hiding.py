"""Launcher of ``cuda/latency_hiding.cu``: loads of an SM, by how many are in flight, with two clocks for each.

The ring is as large as can be (:data:`RING_BYTES`, less where memory is short) and flushed from the L2 before each
launch, and no node is visited twice, by any launch: every load goes to DRAM.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING, Any

from gpu_explain.kernels.arguments import check_choice, check_number
from gpu_explain.kernels.loader import load
from gpu_explain.kernels.ring import NODE_BYTES, Ring, lay_ring
from gpu_explain.kernels.sources import source
from gpu_explain.scenes.base import SourceText

if TYPE_CHECKING:
    from gpu_explain.kernels.session import Session

CHAINS = (1, 2, 4, 8)
WARPS = (1, 2, 4, 8, 16, 32)
RING_BYTES = 2 << 30
_MOST_ROUNDS = 64
_LAPS = 2
"""Laps of the kernel, of which it writes down the last."""
_UNWRITTEN = -1
_RECORD_BYTES = 8
"""Bytes that the two clocks of a load take."""


@dataclass(frozen=True)
class InFlight:
    """The loads of one launch.

    Attributes:
        warps: Warps of the block, of which one lane each loads.
        chains: Independent chains that each of these lanes follows.
        rounds: Loads of each chain.
        issued, arrived: When each load was issued and when its value was there, in cycles of the SM since the first
            was issued: ``[warp][round][chain]``. A lane waits for the loads of a round in order, so one that arrives
            before its predecessors is seen together with them.
    """

    warps: int
    chains: int
    rounds: int
    issued: tuple[tuple[tuple[int, ...], ...], ...]
    arrived: tuple[tuple[tuple[int, ...], ...], ...]

    @property
    def loads(self) -> int:
        """Loads of all warps."""
        return self.warps * self.chains * self.rounds

    @property
    def cycles(self) -> int:
        """Cycles from the first issue to the last arrival."""
        return max(_flat(self.arrived)) - min(_flat(self.issued))

    @property
    def per_1000_cycles(self) -> float:
        """Loads that arrive in 1000 cycles."""
        return 1000.0 * self.loads / self.cycles

    @property
    def latency(self) -> float:
        """Mean cycles from a load's issue to its arrival: a median would be of one or the other half of the memory."""
        return fmean(a - i for i, a in zip(_flat(self.issued), _flat(self.arrived), strict=True))


def loads_in_flight(
    gpu: Session, *, warps: Sequence[int] = WARPS, chains: Sequence[int] = (1,), rounds: int = 64
) -> tuple[InFlight, ...]:
    """Launch one block for every number of warps with every number of chains, the L2 flushed before each.

    Where the record of all loads does not fit into shared memory, there are fewer than ``rounds``.
    Raises ``ValueError`` naming a wrong argument, ``ProblemError`` ``gpu-memory`` when no ring of eight times the L2
    fits.
    """
    for count in warps:
        check_number("warps", count, 1, gpu.device.threads_per_block // gpu.device.warp_size)
    for count in chains:
        check_choice("chains", count, CHAINS)
    if not warps or not chains:
        return ()
    check_number("rounds", rounds, 1, _MOST_ROUNDS)
    most = gpu.device.shared_per_block // (max(warps) * max(chains) * _RECORD_BYTES)
    rounds = min(rounds, most)  # their record is kept in shared memory
    cases = [(count, each) for each in chains for count in warps]
    walks = sum(count * each for count, each in cases)
    apart = _LAPS * rounds + 1
    ring = _ring(gpu, walks=walks + max(warps) * max(chains), apart=apart)
    # Every chain of every launch begins so far from the others that none comes to where another has been. The last
    # ones are for trials, so that not even the addresses of pages are known when it counts.
    starts = ring.starts[::apart].contiguous()
    found, used = [], 0
    for number, (count, each) in enumerate(cases):
        gpu.progress("keeping loads in flight", number / len(cases))
        mine, used = starts[used : used + count * each], used + count * each
        found.append(run(gpu, mine, warps=count, chains=each, rounds=rounds, trial=starts[walks:]))
    return tuple(found)


def sources() -> tuple[SourceText, ...]:
    """The files behind it, with the line ranges ``loads``, ``kernel``, ``clock`` and ``ring``."""
    return (
        source("cuda/latency_hiding.cu", {"loads": "follow", "kernel": "keep_in_flight"}),
        source("cuda/clock.cuh", {"clock": "clock_after"}),
        source("kernels/ring.py", {"ring": "lay_ring"}),
    )


def _ring(gpu: Session, *, walks: int, apart: int) -> Ring:
    """A ring of :data:`RING_BYTES` or an eighth of the GPU's memory, and at least eight times the L2."""
    size = max(min(RING_BYTES, gpu.device.memory_bytes // 8), 8 * gpu.device.l2_bytes, 2 * walks * apart * NODE_BYTES)
    size -= size % NODE_BYTES
    # Laying it takes three arrays of 8 bytes a node for a while.
    gpu.reserve(size + 3 * 8 * (size // NODE_BYTES), "the ring")
    return lay_ring(gpu.scratch("the ring", size)[:size], size, together=walks * apart)


def run(gpu: Session, starts: Any, *, warps: int, chains: int, rounds: int, trial: Any = None) -> InFlight:
    """One launch over a ring that is laid already.

    Args:
        gpu: The session.
        starts: int64, ``[warps * chains]``: addresses of the nodes at which the chains begin.
        warps: Warps of the block, of which one lane each loads.
        chains: Independent chains that each of these lanes follows, one of :data:`CHAINS`.
        rounds: Loads of each chain that are written down; as many more come before them.
        trial: Other such addresses: with them the kernel is run once before and the L2 flushed after it; ``None``
            leaves both out.
    """
    import torch

    record = torch.full((warps, rounds, chains, 2), _UNWRITTEN, dtype=torch.int32, device=starts.device)
    kernel = load(gpu, "latency_hiding.cu", f"loads_in_flight_{chains}")
    shared = warps * rounds * chains * _RECORD_BYTES
    kernel.allow_shared(gpu, shared)

    def launch(at: Any) -> None:
        kernel.launch(gpu, 1, warps * gpu.device.warp_size, at, record, rounds, shared_bytes=shared)

    if trial is not None:
        launch(trial)
        gpu.timer.warm([gpu.timer.flush])
        record.fill_(_UNWRITTEN)
        gpu.timer.flush()
    launch(starts)
    gpu.synchronise()
    clocks = record.cpu().numpy().astype("int64")
    if (clocks == _UNWRITTEN).all(axis=-1).any():
        raise RuntimeError(f"{kernel.name}: a load left no record")
    # The record holds the lower half of the clock. The first issue is the one that no other precedes by less than 2^31.
    issued, arrived = clocks[..., 0], clocks[..., 1]
    origin = issued.flat[0] + _signed(issued - issued.flat[0]).min()
    return InFlight(warps, chains, rounds, _nested(_signed(issued - origin)), _nested(_signed(arrived - origin)))


def _signed(difference: Any) -> Any:
    """Differences of two 32-bit clocks as they are when they are less than 2^31 cycles apart."""
    return (difference + 2**31) % 2**32 - 2**31


def _nested(array: Any) -> Any:
    """A numpy array of three dimensions as tuples."""
    return tuple(tuple(map(tuple, row)) for row in array.tolist())


def _flat(nested: tuple[tuple[tuple[int, ...], ...], ...]) -> list[int]:
    return [one for warp in nested for round_ in warp for one in round_]
