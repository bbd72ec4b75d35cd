"""Which block sizes attention is launched with on which GPU, and whether the copy engine fetches its blocks.

Measured on sm_90 (``benchmarks/attention.py``); elsewhere chosen by what the compiler says: no spills, shared memory
under the architecture's limit. ``tests/compile/test_attention.py`` holds both for every architecture.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Configuration:
    """Sizes of one compiled kernel.

    Attributes:
        block_m: Queries a program.
        block_n: Keys and values a step of its loop.
        num_warps: Warps a program.
        num_stages: Blocks of keys and values in flight.
    """

    block_m: int
    block_n: int
    num_warps: int
    num_stages: int


HOPPER = 9
"""Major compute capability of Hopper."""
HEADS = (64, 128)
"""Elements of a head for which there are configurations."""

_BY_COPY_ENGINE = {  # by major compute capability and elements of a head; elements of 2 bytes
    HOPPER: {64: Configuration(64, 128, 4, 2), 128: Configuration(64, 64, 4, 3)},
    10: {64: Configuration(128, 64, 4, 2), 128: Configuration(128, 128, 8, 2)},
}
_BY_THREADS = {  # by bytes of an element and elements of a head
    2: {64: Configuration(128, 64, 4, 2), 128: Configuration(128, 64, 8, 2)},
    # Float32 is split in three products of tf32 with all their operands in registers: only small blocks do not spill.
    4: {64: Configuration(64, 16, 4, 2), 128: Configuration(32, 16, 4, 2)},
}

_WRITTEN_FOR_HOPPER = {64: Configuration(64, 128, 4, 2), 128: Configuration(64, 128, 4, 2)}


def copy_engine_helps(capability: tuple[int, int], item: int) -> bool:
    """Whether blocks of elements of ``item`` bytes should come through tensor descriptors, if the tensors allow it.

    Hopper and the Blackwell of data centres multiply straight out of shared memory, where the copy engine puts them.
    Elsewhere, and for float32, operands go through registers anyway.
    """
    return item == 2 and capability[0] in _BY_COPY_ENGINE


def configuration(capability: tuple[int, int], item: int, head: int, *, descriptors: bool) -> Configuration:
    """The configuration for a compute capability, elements of ``item`` bytes and heads of ``head`` elements.

    ``descriptors`` says whether the copy engine fetches the blocks or the threads do, which costs them registers.
    """
    return _BY_COPY_ENGINE[capability[0]][head] if descriptors else _BY_THREADS[item][head]


def hopper_configuration(head: int) -> Configuration:
    """The configuration of ``attention_hopper.py``: queries, warps of each of its groups, blocks in its rings."""
    return _WRITTEN_FOR_HOPPER[head]
