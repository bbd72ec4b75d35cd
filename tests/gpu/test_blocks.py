"""The blocks that are traced write what they say and nothing beside it: small launches, for compute-sanitizer too."""

from __future__ import annotations

from typing import Any

import pytest

from gpu_explain.kernels.loader import load
from gpu_explain.kernels.session import Session
from gpu_explain.kernels.trace import COLUMNS

POISON = -77
BAND = 32


def room(*shape: int, dtype: str = "int64") -> tuple[Any, Any]:
    """A poisoned tensor, and the whole of which it is a part: with a band on each side."""
    import math

    import torch

    whole = torch.full((math.prod(shape) + 2 * BAND,), POISON, dtype=getattr(torch, dtype), device="cuda")
    return whole[BAND:-BAND].view(shape), whole


def untouched(whole: Any) -> bool:
    return bool((whole[:BAND] == POISON).all() and (whole[-BAND:] == POISON).all())


@pytest.mark.sanitised
@pytest.mark.parametrize(("blocks", "threads"), [(1, 1), (5, 33), (3, 256), (2, 1024)])
def test_traced_blocks_fill_their_record(whole_gpu: Session, blocks: int, threads: int) -> None:
    import torch

    record, all_of_it = room(COLUMNS, blocks)
    arrivals = torch.zeros(1, dtype=torch.int32, device="cuda")
    load(whole_gpu, "blocks.cu", "traced_wait_blocks").launch(whole_gpu, blocks, threads, record, arrivals, 500)
    whole_gpu.synchronise()
    assert untouched(all_of_it)
    sm, sm_end, start, end, cycles, ticket = record.tolist()
    assert sm == sm_end
    assert sorted(ticket) == list(range(blocks))
    assert arrivals.item() == blocks
    assert all(e >= s for s, e in zip(start, end, strict=True))
    assert min(cycles) >= 500


@pytest.mark.sanitised
@pytest.mark.parametrize(("blocks", "threads"), [(1, 1), (5, 33), (3, 256)])
def test_computing_blocks_write_one_result_a_thread(whole_gpu: Session, blocks: int, threads: int) -> None:
    import torch

    x = torch.arange(threads, dtype=torch.float64).repeat(blocks)
    for _ in range(17):
        x = x * 0.5 + 1.0
    record, all_of_record = room(COLUMNS, blocks)
    arrivals = torch.zeros(1, dtype=torch.int32, device="cuda")
    for name, extra in (("compute_blocks", ()), ("traced_compute_blocks", (record, arrivals))):
        out, all_of_out = room(blocks * threads, dtype="float32")
        load(whole_gpu, "blocks.cu", name).launch(whole_gpu, blocks, threads, *extra, out, 17)
        whole_gpu.synchronise()
        torch.testing.assert_close(out.cpu().double(), x, rtol=1e-6, atol=0)
        assert untouched(all_of_out)
    assert untouched(all_of_record)
    assert bool((record != POISON).all())


@pytest.mark.sanitised
@pytest.mark.parametrize(("n", "threads"), [(1, 32), (100, 48), (1000, 256)])
def test_a_traced_grid_signs_its_elements(whole_gpu: Session, n: int, threads: int) -> None:
    import torch

    blocks, warps = -(-n // threads), -(-threads // whole_gpu.device.warp_size)
    record, all_of_record = room(COLUMNS, blocks)
    by_warp, all_of_warps = room(3, blocks * warps)
    owner, all_of_owner = room(n, dtype="int32")
    arrivals = torch.zeros(1, dtype=torch.int32, device="cuda")
    kernel = load(whole_gpu, "grid.cu", "traced_elements")
    kernel.launch(whole_gpu, blocks, threads, record, arrivals, by_warp, owner, n, 300, 100)
    whole_gpu.synchronise()
    assert all(map(untouched, (all_of_record, all_of_warps, all_of_owner)))
    assert bool((record != POISON).all())
    assert bool((by_warp != POISON).all())
    i = torch.arange(n)
    size = whole_gpu.device.warp_size
    signed = (i // threads * warps + i % threads // size) * size + i % threads % size
    assert torch.equal(owner.cpu().long(), signed)


@pytest.mark.sanitised
def test_blocks_see_the_flag_of_the_last(whole_gpu: Session) -> None:
    import torch

    from gpu_explain.kernels import flag

    record, all_of_record = room(COLUMNS, 4)
    outcome, all_of_outcome = room(4)
    state = torch.zeros(2, dtype=torch.int64, device="cuda")
    arrivals = torch.zeros(1, dtype=torch.int32, device="cuda")
    kernel = load(whole_gpu, "flag.cu", flag.KERNEL)
    kernel.launch(whole_gpu, 4, 64, record, arrivals, state[:1], state[1:], outcome, 100_000_000)
    whole_gpu.synchronise()
    assert untouched(all_of_record)
    assert untouched(all_of_outcome)
    assert outcome.tolist() == [flag.SEEN, flag.SEEN, flag.SEEN, flag.SET]
