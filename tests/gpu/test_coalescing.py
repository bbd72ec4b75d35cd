"""What lanes wrote down of their loads: the addresses of the formula, every byte read, and times in their order."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from gpu_explain.kernels import coalescing
from gpu_explain.kernels.coalescing import GRANULE, THREADS, WIDTHS, Pattern, addresses, read, touched
from gpu_explain.kernels.loader import load
from gpu_explain.kernels.session import Session

WARPS = THREADS // 32
PATTERNS = [Pattern(w * s, w * o, w) for w in WIDTHS for s, o in ((1, 0), (1, 1), (2, 0), (3, 5), (32, 7), (0, 0))]
PATTERNS += [Pattern(4 * s, 4, past_l1=True) for s in (1, 8, 33)]


@pytest.mark.parametrize("window", [1 << 12, 1 << 20])
def test_the_addresses_are_those_of_the_formula(gpu: Session, window: int) -> None:
    loads = 3 * GRANULE
    for pattern in PATTERNS:
        written = addresses(gpu, pattern, loads=loads, window=window).tolist()
        assert written == [pattern.address(i, window) for i in range(loads)], pattern


@pytest.mark.sanitised
def test_what_was_read_is_what_lay_there(gpu: Session) -> None:
    """Every warp's exclusive or, with guard bands that must not be seen or touched."""
    import numpy as np
    import torch

    window, loads, guard = 1 << 14, 2 * GRANULE, 4096
    room = torch.randint(0, 256, (window + 2 * guard,), dtype=torch.uint8, device="cuda")
    kept = room.clone()
    bytes = room[guard : guard + window]
    there = bytes.cpu().numpy()
    for pattern in PATTERNS:
        seen = torch.full((2 * WARPS + 64,), -7, dtype=torch.int32, device="cuda")
        coalescing._launch(gpu, pattern, bytes, seen, loads=loads, window=window)
        gpu.synchronise()
        at = np.array([pattern.address(i, window) for i in range(loads)])
        read = there[at[:, None] + np.arange(pattern.width)].reshape(2, -1, WARPS, 32, pattern.width)
        by_byte = np.bitwise_xor.reduce(read, axis=(1, 3)).reshape(2 * WARPS, -1).astype(np.int64)
        wanted = np.zeros(2 * WARPS, dtype=np.int64)
        for place in range(pattern.width):
            wanted ^= by_byte[:, place] << 8 * (place % 4)
        assert (seen[: 2 * WARPS].cpu().numpy().astype(np.int64) % 2**32 == wanted).all(), pattern
        assert (seen[2 * WARPS :] == -7).all()
    assert torch.equal(room, kept)


@pytest.mark.parametrize(
    ("pattern", "bytes", "sectors", "lines"),
    [
        (Pattern(4), 128, 4, 1),
        (Pattern(8), 128, 8, 2),
        (Pattern(32), 128, 32, 8),
        (Pattern(128), 128, 32, 32),
        (Pattern(4, 4), 128, 5, 2),
        (Pattern(0), 4, 1, 1),
        (Pattern(16, 0, 16), 512, 16, 4),
        (Pattern(1, 0, 1), 32, 1, 1),
    ],
)
def test_sectors_are_counted_in_the_addresses(
    gpu: Session, pattern: Pattern, bytes: int, sectors: int, lines: int
) -> None:
    for warp in touched(addresses(gpu, pattern, window=1 << 20), pattern.width):
        assert (warp.bytes, warp.sectors, warp.lines) == (bytes, sectors, lines)


def test_lanes_further_apart_take_longer_and_a_sector_is_found_in_the_times(whole_gpu: Session) -> None:
    strides = (1, 2, 4, 8, 16, 32)
    near = read(whole_gpu, [Pattern(4 * s, past_l1=True) for s in strides], place="L2", samples=5)
    far = read(whole_gpu, [Pattern(4 * s) for s in strides], place="DRAM", samples=5)
    for readings in (near, far):
        us = [one.us for one in readings]
        assert all(after > 1.3 * before for before, after in pairwise(us[:4]))
        assert coalescing.granularity(readings) in (coalescing.SECTOR, 2 * coalescing.SECTOR, coalescing.LINE)
        fetched = coalescing.fetched_bytes(readings)
        assert fetched[0] == 4
        assert 20 < fetched[3] < 40  # a sector of 32 bytes for 4
    assert coalescing.granularity(near) == coalescing.SECTOR
    assert far[-1].us > near[-1].us
    assert near[0].window <= whole_gpu.device.l2_bytes // 2
    whole_gpu.release()


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda gpu: addresses(gpu, Pattern(4, 0, 3)), "width: one of 1, 2, 4, 8, 16 expected"),
        (lambda gpu: addresses(gpu, Pattern(6)), "stride: a multiple of the width"),
        (lambda gpu: addresses(gpu, Pattern(4, 2)), "offset: a multiple of the width"),
        (lambda gpu: addresses(gpu, Pattern(-4)), "stride: an integer from 0"),
        (lambda gpu: addresses(gpu, Pattern(8, 0, 8, True)), "past_l1: a width of 4"),
        (lambda gpu: addresses(gpu, Pattern(4), loads=100), "loads: an integer from"),
        (lambda gpu: addresses(gpu, Pattern(4), loads=GRANULE + 1), "loads: a multiple of"),
        (lambda gpu: addresses(gpu, Pattern(4), window=1000), "window: a power of two"),
        (lambda gpu: read(gpu, [Pattern(4)], place="L3"), "place: one of L2, DRAM"),
    ],
)
def test_a_wrong_argument_is_named(whole_gpu: Session, call: Any, named: str) -> None:
    with pytest.raises(ValueError, match=named):
        call(whole_gpu)


def test_no_kernel_spills(whole_gpu: Session) -> None:
    for name in (*(f"read_lanes_{w}" for w in WIDTHS), "read_lanes_4_past_l1"):
        assert int(load(whole_gpu, coalescing.FILE, name).handle.attributes.local_size_bytes) == 0
