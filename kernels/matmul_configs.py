"""Tile sizes for the Triton matmuls: what is shipped for which GPU, and what the autotuner may try. One place for both.

Two things pull at a tile. Larger ones load less: an SM that computes BLOCK_M × BLOCK_N numbers loads BLOCK_M + BLOCK_N
for each step of k. Smaller ones share the work out better: one tile more than there are SMs takes as long as twice as
many. So a ladder is shipped for each kind of GPU, largest tile first, and :func:`shipped` reckons which is quickest.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache

from gpu_explain.kernels.arguments import check_number

TMA_SINCE = (9, 0)
"""Compute capability from which tiles can be moved by descriptors."""
_LOAD = 50
"""How many multiply-adds loading one number weighs, from measurements of square products on an H200."""
_BARRIERS = 1024
"""Bytes of shared memory left for the barriers that say when a tile has arrived."""


@dataclass(frozen=True)
class Config:
    """One choice of tile sizes.

    Attributes:
        block_m, block_n: Rows and columns of C a program computes at a time; powers of two, as is ``block_k``.
        block_k: Steps of k that are loaded at a time.
        group_m: Rows of tiles that are walked down before the next column.
        num_warps: Warps a program; on Hopper, 4 warps share one matrix instruction.
        num_stages: How many tiles of A and B are in flight.
        store_parts: In how many parts a persistent program stores its tile; with 2, the room in shared memory halves.
    """

    block_m: int
    block_n: int
    block_k: int
    group_m: int = 8
    num_warps: int = 4
    num_stages: int = 3
    store_parts: int = 1

    def __post_init__(self) -> None:
        """Raises ``ValueError`` naming the field and what was expected."""
        for name, low, high in (("block_m", 16, 512), ("block_n", 16, 512), ("block_k", 16, 512), ("num_warps", 1, 32)):
            value = getattr(self, name)
            check_number(name, value, low, high)
            if value & (value - 1):
                raise ValueError(f"{name}: a power of two expected, got {value}")
        check_number("group_m", self.group_m, 1, 2**20)
        check_number("num_stages", self.num_stages, 1, 16)
        check_number("store_parts", self.store_parts, 1, 2)

    @property
    def meta(self) -> dict[str, int]:
        """The kernel's compile-time constants."""
        return {
            "BLOCK_M": self.block_m,
            "BLOCK_N": self.block_n,
            "BLOCK_K": self.block_k,
            "GROUP_M": self.group_m,
        }

    @property
    def options(self) -> dict[str, int]:
        """The compiler's options."""
        return {"num_warps": self.num_warps, "num_stages": self.num_stages}

    def shared_bytes(self, item: int, stored_item: int = 0) -> int:
        """Shared memory that the tiles in flight take, for elements of ``item`` bytes.

        With ``stored_item``, also that of a part of C with elements of so many bytes, which a persistent program stores
        while it loads; an ordinary one stores when nothing is in flight any more.
        """
        loading = self.num_stages * (self.block_m + self.block_n) * self.block_k * item
        return loading + self.block_m * self.block_n // self.store_parts * stored_item


# For 2-byte elements; others get a block_k of as many bytes (:func:`_for_item`).
_LADDERS: dict[str, tuple[Config, ...]] = {
    "ampere": (  # 8.0: 163 KB of shared memory a block
        Config(128, 256, 64, num_warps=8, num_stages=3),
        Config(128, 128, 64, num_warps=4, num_stages=3),
        Config(128, 64, 64, num_warps=4, num_stages=4),
        Config(64, 64, 64, num_warps=4, num_stages=4),
    ),
    "hopper": (  # 9.0: 227 KB
        Config(128, 256, 64, num_warps=8, num_stages=3),
        Config(128, 128, 64, num_warps=8, num_stages=3),
        Config(64, 128, 64, num_warps=4, num_stages=4),
        Config(64, 64, 64, num_warps=4, num_stages=4),
    ),
    "blackwell": (  # 10.x: 227 KB, and sums in tensor memory
        Config(128, 256, 64, num_warps=8, num_stages=3),
        Config(128, 128, 64, num_warps=8, num_stages=4),
        Config(128, 64, 64, num_warps=4, num_stages=4),
        Config(64, 64, 64, num_warps=4, num_stages=4),
    ),
    "small": (  # 8.6, 8.9, 12.x: 99 KB
        Config(128, 128, 32, num_warps=4, num_stages=4),
        Config(128, 64, 32, num_warps=4, num_stages=4),
        Config(64, 64, 32, num_warps=4, num_stages=4),
    ),
}
# Where another choice is better for programs that stay.
_PERSISTENT_LADDERS = {
    "ampere": (
        Config(128, 256, 64, num_warps=8, num_stages=3),
        Config(128, 128, 64, num_warps=8, num_stages=3),
        Config(128, 64, 64, num_warps=4, num_stages=4),
        Config(64, 64, 64, num_warps=4, num_stages=4),
    ),
    "hopper": (
        Config(128, 256, 64, group_m=16, num_warps=8, num_stages=4),
        Config(128, 128, 64, num_warps=4, num_stages=4),
        Config(64, 128, 128, num_warps=4, num_stages=3),
        Config(64, 64, 128, num_warps=4, num_stages=3),
    ),
}
_SHARED_LIMIT = {"ampere": 163 << 10, "hopper": 227 << 10, "blackwell": 227 << 10, "small": 99 << 10}


def kind_of(capability: tuple[int, int]) -> str:
    """Which ladder a GPU of that compute capability takes: those that are not known get the one that fits anywhere."""
    if capability == (8, 0):
        return "ampere"
    return {9: "hopper", 10: "blackwell"}.get(capability[0], "small")


def shared_limit(capability: tuple[int, int]) -> int:
    """Most shared memory a block may have in bytes, by compute capability (CUDA's programming guide)."""
    return _SHARED_LIMIT[kind_of(capability)]


def ladder(capability: tuple[int, int], item: int) -> tuple[Config, ...]:
    """All configurations shipped for a GPU and elements of ``item`` bytes, largest tile first."""
    return _rungs(_LADDERS, kind_of(capability), item)


def persistent_ladder(capability: tuple[int, int], item: int, stored_item: int) -> tuple[Config, ...]:
    """The same for the persistent kernel, which with descriptors stores elements of ``stored_item`` bytes as it loads.

    Where there is no room for both, a tile is stored in halves, or one tile less is in flight.
    """
    kind = kind_of(capability)
    rungs = _rungs(_LADDERS | _PERSISTENT_LADDERS, kind, item)
    if capability < TMA_SINCE:
        return rungs
    found = []
    for config in rungs:
        choices = [
            replace(config, num_stages=config.num_stages - fewer, store_parts=parts)
            for fewer in range(config.num_stages - 1)
            for parts in (1, 2)
        ]
        fitting = (c for c in choices if c.shared_bytes(item, stored_item) <= _SHARED_LIMIT[kind] - _BARRIERS)
        found.append(next(fitting, choices[-1]))
    return tuple(found)


def shipped(rungs: tuple[Config, ...], sms: int, m: int, n: int) -> Config:
    """The rung of a ladder to use without a search: the one whose rounds of tiles should take the least time."""

    def time(config: Config) -> int:
        rounds = -(-(-(-m // config.block_m) * -(-n // config.block_n)) // sms)
        return rounds * (config.block_m * config.block_n + _LOAD * (config.block_m + config.block_n))

    return min(rungs, key=time)


@cache
def search_space(capability: tuple[int, int], item: int) -> tuple[Config, ...]:
    """What the autotuner tries: the ladder and its neighbours, as far as shared memory and registers allow."""
    rungs = ladder(capability, item)
    tiles = ((64, 64), (64, 128), (128, 64), (128, 128), (64, 256), (128, 256), (256, 128))
    tried = (
        Config(block_m, block_n, rungs[0].block_k, 8, num_warps, num_stages)
        for block_m, block_n in tiles
        for num_warps in (4, 8)
        for num_stages in (3, 4)
        # A thread's share of the sums: at most half of the 255 registers that a thread can have, and no less than is
        # worth the loads.
        if 32 <= block_m * block_n // (32 * num_warps) <= 128
    )
    fitting = (config for config in tried if config.shared_bytes(item) <= shared_limit(capability))
    return tuple(dict.fromkeys((*rungs, *fitting)))


def _rungs(ladders: dict[str, tuple[Config, ...]], kind: str, item: int) -> tuple[Config, ...]:
    # Sums come back from tensor memory to registers: 128 × 256 float32 results have no room beside the addresses.
    first = 1 if kind == "blackwell" and item == 4 else 0
    return tuple(_for_item(config, item) for config in ladders[kind][first:])


def _for_item(config: Config, item: int) -> Config:
    return replace(config, block_k=config.block_k * 2 // item)
