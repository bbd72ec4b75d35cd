"""Figures of other people for other GPUs. Each names its source; methods differ, so compare order, not tenths."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gpu_explain.scenes.base import Quantity, published
from gpu_explain.scenes.draw.scale import count_text
from gpu_explain.scenes.draw.sizes import KB

_BENCHES = "RRZE gpu-benches, gpu-latency (github.com/RRZE-HPC/gpu-benches)"
_KERNELS = "M. Dewing, AI_kernels, latency (github.com/markdewing/AI_kernels)"


@dataclass(frozen=True)
class Other:
    """Another GPU's distances in cycles, by level."""

    id: str
    name: str
    cycles: Mapping[str, float]
    source: str


OTHERS: tuple[Other, ...] = (
    Other("l40", "L40", {"l1": 36, "l2": 277, "dram": 631}, _BENCHES),
    Other("rtx4090", "RTX 4090", {"l1": 40, "l2": 296, "dram": 636}, _KERNELS),
    Other("a100", "A100 SXM", {"l1": 39, "l2": 210, "dram": 550}, _KERNELS),
    Other("h100pcie", "H100 PCIe", {"l1": 34, "l2": 266, "far": 475, "dram": 650}, _BENCHES),
    Other("h100", "H100 SXM", {"l1": 40, "l2": 291, "dram": 700}, _KERNELS),
    Other("b200", "B200", {"l1": 40, "l2": 295, "dram": 860}, _KERNELS),
)

_UNIFIED_KB = {
    (7, 5): 96,
    (8, 0): 192,
    (8, 6): 128,
    (8, 7): 192,
    (8, 9): 128,
    (9, 0): 256,
    (10, 0): 256,
    (10, 3): 256,
    (12, 0): 128,
    (12, 1): 128,
}


def quantities() -> tuple[Quantity, ...]:
    """The published figures as quantities, ``published.<gpu>.<level>`` in cycles."""
    return tuple(
        published(f"published.{one.id}.{level}", f"{one.name}, {level}", cycles, "cycles", one.source)
        for one in OTHERS
        for level, cycles in one.cycles.items()
    )


def unified(capability: tuple[int, int]) -> Quantity | None:
    """The memory of an SM that L1 and shared memory divide between them, in KB; ``None`` where we know of no figure."""
    size = _UNIFIED_KB.get(capability)
    if size is None:
        return None
    return published(
        "l1.unified",
        "L1 + shared, an SM",
        size,
        "KB",
        "CUDA C++ Programming Guide, technical specifications per compute capability",
        f"Unified data cache of compute capability {capability[0]}.{capability[1]}; 1 KB is {count_text(KB)} bytes.",
    )
