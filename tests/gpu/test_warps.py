"""What warps do: walk paths one after the other, cost the same half empty, and hide each other's waiting."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from gpu_explain.kernels import divergence, latency_hiding, partial_warps
from gpu_explain.kernels.session import Session

PATHS = (1, 2, 3, 4, 8, 16, 32)


@pytest.mark.sanitised
@pytest.mark.parametrize("by", divergence.BY)
@pytest.mark.parametrize(("paths", "warps"), [(1, 1), (3, 2), (32, 1), (32, 32)])
def test_every_thread_walks_its_path_with_those_who_share_it(gpu: Session, by: str, paths: int, warps: int) -> None:
    found = divergence.diverge(gpu, paths=paths, by=by, warps=warps, strides=2)
    size = gpu.device.warp_size
    for thread in range(warps * size):
        warp, lane = divmod(thread, size)
        assert found.path[thread] == (lane if by == "lane" else warp) % paths
        together = [other for other in range(size) if by == "warp" or other % paths == lane % paths]
        assert found.mask[thread] == sum(1 << other for other in together)
        assert found.before[thread] <= found.start[thread] < found.end[thread] <= found.after[thread]
        wanted = divergence.expected(found.path[thread], thread, found.steps)
        assert found.result[thread] == pytest.approx(wanted, rel=1e-6)


def test_paths_of_a_warp_are_walked_one_after_the_other(gpu: Session) -> None:
    found = divergence.diverge(gpu, paths=32, by="lane")
    spans = sorted(zip(found.start, found.end, strict=True))
    assert all(end <= start for (_, end), (start, _) in pairwise(spans))


def test_each_path_of_a_warp_costs_as_much_as_the_first(gpu: Session) -> None:
    cycles = {paths: divergence.diverge(gpu, paths=paths, by="lane").cycles for paths in PATHS}
    assert cycles[1] > 4 * 1024  # a dependent multiply-add takes at least four cycles on every GPU since Volta
    for paths, taken in cycles.items():
        assert taken == pytest.approx(paths * cycles[1], rel=0.05)


def test_paths_of_different_warps_cost_no_more_than_one(gpu: Session) -> None:
    for paths in PATHS:
        alike = divergence.diverge(gpu, paths=1, by="warp", warps=paths).cycles
        assert divergence.diverge(gpu, paths=paths, by="warp", warps=paths).cycles == pytest.approx(alike, rel=0.15)


def test_paths_are_equally_long(gpu: Session) -> None:
    cycles = divergence.diverge(gpu, paths=32, by="lane").path_cycles
    assert len(cycles) == 32
    # The loop of one path lies in the cache of instructions as that of another does not: up to two cycles a turn.
    assert max(cycles.values()) <= 1.04 * min(cycles.values())


def test_a_warp_costs_the_same_however_many_lanes_it_has(gpu: Session) -> None:
    one, *rest = partial_warps.partial_warps(gpu, samples=5)
    assert (one.threads, one.warps) == (32, 1)
    for size in rest:
        assert size.timing.median_us == pytest.approx(size.warps * one.timing.median_us, rel=0.1)


@pytest.mark.sanitised
def test_every_thread_of_a_partial_warp_computes_its_chains(gpu: Session) -> None:
    import torch

    from gpu_explain.kernels.loader import load

    for threads, steps in ((1, 1), (33, 7), (250, 8), (256, 9)):
        out = torch.full((3 * threads + 64,), float("nan"), device="cuda")
        load(gpu, "partial_warps.cu", partial_warps.KERNEL).launch(gpu, 3, threads, out, steps)
        gpu.synchronise()
        x = torch.arange(threads, dtype=torch.float64)[:, None] + torch.arange(partial_warps.CHAINS)
        for _ in range(steps):
            x = x * 0.5 + 1.0
        got = out[: 3 * threads].double().cpu().view(3, threads)
        torch.testing.assert_close(got, x.sum(1).expand(3, -1), rtol=1e-6, atol=0)
        assert out[3 * threads :].isnan().all()


@pytest.mark.sanitised
@pytest.mark.parametrize(("warps", "chains"), [(1, 1), (3, 2), (32, 4), (2, 8)])
def test_every_load_has_its_two_clocks_in_order(whole_gpu: Session, warps: int, chains: int) -> None:
    import torch

    from gpu_explain.kernels.ring import lay_ring

    memory = torch.empty(1 << 20, dtype=torch.uint8, device="cuda")
    ring = lay_ring(memory, memory.numel(), together=warps * chains * 7)
    found = latency_hiding.run(whole_gpu, ring.starts[::7].contiguous(), warps=warps, chains=chains, rounds=3)
    assert found.loads == warps * chains * 3
    for issued, arrived in zip(found.issued, found.arrived, strict=True):
        flat_issued, flat_arrived = [[c for r in rows for c in r] for rows in (issued, arrived)]
        assert flat_issued == sorted(flat_issued)
        assert all(a > i for i, a in zip(flat_issued, flat_arrived, strict=True))
        for earlier, later in zip(arrived, issued[1:], strict=False):
            assert max(earlier) <= min(later)  # the next round needs what this one brings


def test_more_warps_bring_more_loads_and_none_of_them_sooner(gpu: Session) -> None:
    found = latency_hiding.loads_in_flight(gpu, warps=(1, 4, 16), chains=(1,))
    one, four, sixteen = found
    assert four.per_1000_cycles > 3 * one.per_1000_cycles
    assert sixteen.per_1000_cycles > 3 * four.per_1000_cycles
    for case in found:
        assert case.latency == pytest.approx(one.latency, rel=0.15)


def test_more_chains_bring_more_loads_of_one_warp(gpu: Session) -> None:
    one, two, four, eight = latency_hiding.loads_in_flight(gpu, warps=(1,), chains=latency_hiding.CHAINS)
    assert two.per_1000_cycles > 1.6 * one.per_1000_cycles
    assert four.per_1000_cycles > 1.6 * two.per_1000_cycles
    assert eight.per_1000_cycles > 1.6 * four.per_1000_cycles


def test_the_loads_come_from_dram(gpu: Session) -> None:
    """Half of the chase's own figure for a ring beyond the L2 would be an L2 hit."""
    from gpu_explain.kernels.chase import chase

    l2 = gpu.device.l2_bytes
    (far,) = chase(gpu, footprints=(4 * l2 - 4 * l2 % 128,), laps=2)
    (one,) = latency_hiding.loads_in_flight(gpu, warps=(1,), chains=(1,))
    assert one.latency == pytest.approx(min(far.cycles), rel=0.2)


def test_nodes_that_were_visited_are_answered_by_the_l2(gpu: Session) -> None:
    """What the flush and the fresh starts of every launch are for."""
    import torch

    from gpu_explain.kernels.ring import lay_ring

    memory = torch.empty(64 << 20, dtype=torch.uint8, device="cuda")
    starts = lay_ring(memory, memory.numel(), together=8 * 65).starts[::65].contiguous()
    gpu.timer.flush()
    first, again = (latency_hiding.run(gpu, starts, warps=8, chains=1, rounds=32) for _ in range(2))
    assert again.latency < 0.7 * first.latency


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda gpu: divergence.diverge(gpu, paths=33, by="lane"), "paths: an integer from 1 to 32"),
        (lambda gpu: divergence.diverge(gpu, paths=2, by="block"), "by: one of lane, warp"),
        (lambda gpu: divergence.diverge(gpu, paths=2, by="warp", warps=33), "warps: an integer from 1 to 32"),
        (lambda gpu: partial_warps.partial_warps(gpu, sizes=(0,)), "sizes: an integer from 1"),
        (lambda gpu: latency_hiding.loads_in_flight(gpu, warps=(64,)), "warps: an integer from 1 to 32"),
        (lambda gpu: latency_hiding.loads_in_flight(gpu, chains=(3,)), "chains: one of 1, 2, 4, 8"),
    ],
)
def test_a_wrong_argument_is_named(whole_gpu: Session, call: Any, named: str) -> None:
    with pytest.raises(ValueError, match=named):
        call(whole_gpu)
