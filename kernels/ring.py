"""Rings of addresses to be followed: one random cycle through every cache line of a piece of memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

NODE_BYTES = 128
"""A node is a cache line: word 0 holds the next node's address, word 1 that of the node ``together`` steps on."""

_WORDS = NODE_BYTES // 8


@dataclass(frozen=True)
class Ring:
    """A ring laid into memory.

    Attributes:
        memory: The bytes that it lies in; kept so that they stay.
        starts: int64, the addresses of its first nodes in order, at most ``together`` of them.
        nodes: How many nodes it has.
        together: How many nodes a block of that many threads reads at a time.
    """

    memory: Any
    starts: Any
    nodes: int
    together: int


def lay_ring(memory: Any, size: int, *, together: int, seed: int = 1) -> Ring:
    """Lay a ring over the first ``size`` bytes of ``memory`` (a uint8 tensor on the GPU, or pinned on the host).

    The order is one random cycle (the same for the same ``seed``, size and device): a walk meets every node once
    before it comes back. Raises ``ValueError`` naming a wrong argument.
    """
    import torch

    if together < 1:
        raise ValueError(f"together: at least 1 expected, got {together}")
    if size % NODE_BYTES or not 2 * NODE_BYTES <= size <= memory.numel():
        raise ValueError(
            f"size: a multiple of {NODE_BYTES} from {2 * NODE_BYTES} to {memory.numel()} expected, got {size}"
        )
    if memory.data_ptr() % NODE_BYTES:
        raise ValueError(f"memory: an address that is a multiple of {NODE_BYTES} expected")
    nodes = size // NODE_BYTES
    generator = torch.Generator(device=memory.device)
    generator.manual_seed(seed)
    order = torch.randperm(nodes, generator=generator, device=memory.device)
    addresses = order * NODE_BYTES + memory.data_ptr()
    words = memory[:size].view(torch.int64).view(nodes, _WORDS)
    words[order, 0] = addresses.roll(-1)
    words[order, 1] = addresses.roll(-together)
    return Ring(memory, addresses[:together].contiguous(), nodes, together)
