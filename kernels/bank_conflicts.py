"""Launchers of ``cuda/bank_conflicts.cu``: cycles a load from shared memory takes, and the queue at each bank."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpu_explain.kernels.arguments import check_number
from gpu_explain.kernels.loader import load
from gpu_explain.kernels.sources import source
from gpu_explain.scenes.base import SourceText

if TYPE_CHECKING:
    from gpu_explain.kernels.session import Session

FILE = "bank_conflicts.cu"
BANKS, BANK_BYTES = 32, 4
"""Banks of an SM's shared memory and bytes that each is wide, on every GPU since 2012."""
UNROLL = 16
"""Loads between two looks at the loop's counter; steps are a multiple of them."""
MOST_STRIDE = 256
_MOST_STEPS = 1 << 20
_UNWRITTEN = -1


@dataclass(frozen=True)
class Conflict:
    """One stride, measured both ways.

    Attributes:
        stride: Words of 4 bytes from one lane to the next.
        warps: Warps that kept the banks busy in the first loop.
        cycles: Cycles of the SM for one load of each of ``warps`` warps, loads independent of each other: throughput.
        chain_cycles: Cycles for one load of a single warp that waits for each: latency.
        addresses: The bytes from the first word on that the lanes of one load read at, as the lanes wrote them down.
        sums: What each thread's loads of the first loop brought together, modulo 2^32.
    """

    stride: int
    warps: int
    cycles: float
    chain_cycles: float
    addresses: tuple[int, ...]
    sums: tuple[int, ...]

    @property
    def queues(self) -> tuple[int, ...]:
        """Different words that were wanted of each bank."""
        return queues(self.addresses)

    @property
    def longest(self) -> int:
        """Words in the longest queue: the turns that the load takes."""
        return max(self.queues)


def queues(addresses: Sequence[int]) -> tuple[int, ...]:
    """How many different words the lanes of one load want of each bank; one entry a bank."""
    wanted = Counter(word % BANKS for word in {at // BANK_BYTES for at in addresses})
    return tuple(wanted[bank] for bank in range(BANKS))


def measure(gpu: Session, strides: Sequence[int], *, warps: int = 8, steps: int = 1024) -> tuple[Conflict, ...]:
    """Loads from shared memory by one block, for each stride in words.

    Raises ``ValueError`` naming a wrong argument.
    """
    import torch

    warp = gpu.device.warp_size
    check_number("warps", warps, 1, gpu.device.threads_per_block // warp)
    check_number("steps", steps, UNROLL, _MOST_STEPS)
    if steps % UNROLL:
        raise ValueError(f"steps: a multiple of {UNROLL} expected, got {steps}")
    for stride in strides:
        check_number("strides", stride, 0, min(MOST_STRIDE, (gpu.device.shared_per_block // 4 - 32 * UNROLL) // 31))
    if not strides:
        return ()
    loads, chain = load(gpu, FILE, "bank_loads"), load(gpu, FILE, "bank_chain")
    most = _shared_bytes(max(strides))
    for kernel in (loads, chain):
        kernel.allow_shared(gpu, most)
    place = f"cuda:{gpu.ordinal}"
    found = []
    for stride in strides:
        sums = torch.full((warps * warp,), _UNWRITTEN, dtype=torch.int32, device=place)
        clocks = torch.full((warps, 2), _UNWRITTEN, dtype=torch.int64, device=place)
        rows = torch.full((UNROLL, warp), _UNWRITTEN, dtype=torch.int64, device=place)
        latency = torch.full((1,), _UNWRITTEN, dtype=torch.int64, device=place)
        ends = torch.full((warp,), _UNWRITTEN, dtype=torch.int64, device=place)
        for _ in range(2):  # the first fetches the code
            loads.launch(gpu, 1, warps * warp, sums, stride, steps, clocks, rows, shared_bytes=most)
            chain.launch(gpu, 1, warp, stride, steps, latency, ends, shared_bytes=most)
        gpu.synchronise()
        start, end = clocks.cpu().unbind(1)
        if _UNWRITTEN in clocks or _UNWRITTEN in latency:
            raise RuntimeError("bank_loads: a warp left no record")
        if ends.tolist() != rows[0].tolist():
            raise RuntimeError("bank_chain: a lane left its place")
        found.append(
            Conflict(
                stride=stride,
                warps=warps,
                cycles=(int(end.max()) - int(start.min())) / steps,
                chain_cycles=int(latency) / steps,
                addresses=tuple(rows[0].tolist()),
                sums=tuple(one % 2**32 for one in sums.tolist()),
            )
        )
    return tuple(found)


def expected_sum(lane: int, stride: int, steps: int) -> int:
    """What the loads of a lane must bring together, modulo 2^32: word w holds w + 1, a step moves on by 32 words."""
    once = sum(lane * stride + BANKS * k + 1 for k in range(UNROLL))
    return once * (steps // UNROLL) % 2**32


def sources() -> tuple[SourceText, ...]:
    """The file behind these launches, with the line ranges ``loads`` and ``chain``."""
    return (source(f"cuda/{FILE}", {"loads": "bank_loads", "chain": "bank_chain"}),)


def _shared_bytes(stride: int) -> int:
    return BANK_BYTES * (31 * stride + 32 * UNROLL)
