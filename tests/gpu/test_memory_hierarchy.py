"""The chains and the reading on a GPU: they walk what they should, and say what a device of levels must say."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from gpu_explain.kernels import bandwidth, chase
from gpu_explain.kernels.loader import load
from gpu_explain.kernels.ring import NODE_BYTES, lay_ring
from gpu_explain.kernels.session import Session


@pytest.mark.parametrize("nodes", [2, 3, 33, 1000, 4096])
def test_a_ring_is_one_cycle_through_every_node(gpu: Session, nodes: int) -> None:
    import torch

    memory = gpu.scratch("ring", nodes * NODE_BYTES)
    ring = lay_ring(memory, nodes * NODE_BYTES, together=32)
    words = memory[: nodes * NODE_BYTES].view(torch.int64).view(nodes, -1).cpu()
    following = {memory.data_ptr() + i * NODE_BYTES: words[i].tolist() for i in range(nodes)}
    starts = ring.starts.tolist()
    order, at = [], starts[0]
    for _ in range(nodes):
        order.append(at)
        at = following[at][0]
    assert at == starts[0]
    assert len(set(order)) == nodes
    assert order[: len(starts)] == starts
    assert all(following[order[i]][1] == order[(i + 32) % nodes] for i in range(nodes))


def test_a_step_in_registers_takes_a_few_cycles(gpu: Session) -> None:
    one = chase.add_chain(gpu)
    assert all(2 < c < 8 for c in one.cycles)
    assert max(one.cycles) - min(one.cycles) < 0.2


def test_a_longer_chain_takes_as_long_a_step(gpu: Session) -> None:
    size = gpu.device.l2_bytes // 8 // NODE_BYTES * NODE_BYTES
    (short,) = chase.chase(gpu, footprints=(size,), steps=1024)
    (long,) = chase.chase(gpu, footprints=(size,), steps=8192)
    assert sorted(long.cycles)[2] == pytest.approx(sorted(short.cycles)[2], rel=0.03)
    assert sorted(chase.add_chain(gpu, steps=16384).cycles)[2] == pytest.approx(
        sorted(chase.add_chain(gpu, steps=2048).cycles)[2], rel=0.05
    )


def test_the_levels_rise(gpu: Session) -> None:
    shared = sorted(chase.shared_chase(gpu).cycles)[2]
    l2 = gpu.device.l2_bytes
    chains = chase.chase(gpu, footprints=(16 << 10, l2 // 8 // 128 * 128, 4 * l2))
    far = [sorted(one.cycles)[2] for one in chains]
    assert 10 < shared < 2 * far[0]
    assert all(after > 1.3 * before for before, after in pairwise(far))
    assert sorted(chase.host_chase(gpu).cycles)[2] > 1.2 * far[-1]


def test_the_clock_waits_for_the_value(gpu: Session) -> None:
    """A clock read before the value came would show an L2 load of a few cycles."""
    size = gpu.device.l2_bytes // 8 // 128 * 128
    (chain,) = chase.chase(gpu, footprints=(size,))
    singles = chase.single_loads(gpu, footprint=size)
    assert len(singles.cycles) == chase.MOST_SINGLE
    assert min(singles.cycles) > 0.6 * min(chain.cycles)
    assert 0 < singles.floor < 60


def test_every_sm_is_asked(gpu: Session) -> None:
    by_sm = chase.chase_by_sm(gpu, footprint=gpu.device.l2_bytes // 16 // 128 * 128)
    assert len(by_sm) == gpu.device.sms
    assert max(by_sm.values()) < 3 * min(by_sm.values())


def test_single_lines_of_the_l2_are_timed_from_every_sm(gpu: Session) -> None:
    by_sm = chase.lines_by_sm(gpu, lines=16, rounds=4)
    (l1,) = chase.chase(gpu, footprints=(16 << 10,))
    assert len(by_sm) == gpu.device.sms
    assert {len(cycles) for cycles in by_sm.values()} == {16}
    everything = [one for cycles in by_sm.values() for one in cycles]
    assert min(everything) > 2 * max(l1.cycles), "the L1 is left out"
    assert max(everything) < 4 * min(everything)


@pytest.mark.sanitised
def test_chains_stay_in_their_rings(whole_gpu: Session) -> None:
    """Launched here and not by the launchers, which flush the L2: compute-sanitizer would look at all of that."""
    import torch

    nodes, steps, threads = 64, 48, 32
    memory = torch.zeros(nodes * NODE_BYTES, dtype=torch.uint8, device="cuda")
    starts = lay_ring(memory, memory.numel(), together=threads).starts
    following = torch.arange(1, 33, dtype=torch.int32, device="cuda") % 32
    taken = torch.zeros(1, dtype=torch.int32, device="cuda")
    numbers = torch.ones(2, device="cuda")
    everywhere = 2 * whole_gpu.device.sms  # that many blocks leave none of the SMs without one
    for name, blocks, block, entries, arguments in (
        ("add_chain", 1, 1, 5, (numbers, steps, 2)),
        ("shared_chase", 1, threads, 5, (following, 32, steps, 2)),
        ("chase", 1, threads, 5, (starts, nodes, steps, 2)),
        ("host_chase", 1, 1, 5, (starts, steps, 2)),
        ("single_loads", 1, threads, 2 * steps, (starts, nodes, steps)),
        ("chase_from", 2, threads, 4, (starts, nodes, steps, -1, taken)),
        ("lines_from", everywhere, 1, steps + 1, (starts, nodes, steps, 0, taken)),
    ):
        record = torch.full((entries + 64,), -7, dtype=torch.int64, device="cuda")
        load(whole_gpu, "chase.cu", name).launch(whole_gpu, blocks, block, *arguments, record)
        whole_gpu.synchronise()
        assert (record[entries:] == -7).all(), name
        assert (record[:entries] >= 0).all(), name
    assert float(numbers[1]) == 1 + 2 * steps


@pytest.mark.parametrize("language", [*bandwidth.LANGUAGES, "CUDA, past the L1"])
@pytest.mark.parametrize(("granules", "apart"), [(1, 0), (3, 0), (37, 0), (1, 1), (5, 5)])
def test_every_word_is_read_and_none_beyond(gpu: Session, language: str, granules: int, apart: int) -> None:
    import torch

    blocks = 3
    region, gap = granules * bandwidth.GRANULE // 8, apart * bandwidth.GRANULE // 8  # in int64 words
    end = region + (blocks - 1) * gap
    words = torch.zeros(end + 64, dtype=torch.int64, device=f"cuda:{gpu.ordinal}")
    words[end:] = -1  # beyond the end: must not be seen
    never = torch.zeros(1, dtype=torch.int32, device=f"cuda:{gpu.ordinal}")
    if language == "Triton":
        launch = bandwidth._triton(gpu, words[:end], never)
    else:
        launch = bandwidth._cuda(gpu, words[:end], never, past_l1=language == "CUDA, past the L1")
    plan = bandwidth.Plan(granules, apart, granules)  # every block goes round once

    def written() -> bool:
        never.zero_()
        launch(blocks, plan)
        gpu.synchronise()
        return bool(never.item())

    assert written()  # all zero
    if not gap:
        for place in (0, 1, region // 2 - 1, region - 1):
            words[place] = 1 << 40
            assert not written()  # every block saw the one word
            words[place] = 0
        return
    words[: end : region // 3] = 1  # a few words in every block's own region
    assert not written()
    for block in range(blocks):  # one block without them wrote
        kept = words[block * gap : block * gap + region].clone()
        words[block * gap : block * gap + region] = 0
        assert written()
        words[block * gap : block * gap + region] = kept


def test_reading_a_footprint_of_the_l2_beats_dram(gpu: Session) -> None:
    l2 = gpu.device.l2_bytes // bandwidth.GRANULE * bandwidth.GRANULE
    small, large = bandwidth.read_footprints(
        gpu, languages=("CUDA",), footprints=(l2 // 8 // bandwidth.GRANULE * bandwidth.GRANULE, 4 * l2), samples=5
    )["CUDA"]
    assert small.footprint <= l2 // 8 < l2 < large.footprint <= 4 * l2
    assert large.bytes >= bandwidth.BEYOND_L2
    assert small.gb_per_s > 0.95 * large.gb_per_s
    assert 1 < bandwidth.read_host(gpu, samples=3).gb_per_s < large.gb_per_s


def test_the_l1_answers_what_fits_in_it_and_nothing_else(whole_gpu: Session) -> None:
    small, large = bandwidth.GRANULE, whole_gpu.device.l2_bytes // 8 // bandwidth.GRANULE * bandwidth.GRANULE
    through, past = (
        [
            read.gb_per_s
            for read in bandwidth.read_footprints(
                whole_gpu, languages=("CUDA",), footprints=(small, large), samples=5, past_l1=past_l1
            )["CUDA"]
        ]
        for past_l1 in (False, True)
    )
    assert through[0] > 1.5 * past[0]
    assert through[1] == pytest.approx(past[1], rel=0.05)


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda gpu: chase.chase(gpu, footprints=(1000,)), "footprint"),
        (lambda gpu: chase.chase(gpu, footprints=(128,)), "footprint"),
        (lambda gpu: chase.chase(gpu, footprints=(4096,), steps=0), "steps"),
        (lambda gpu: chase.shared_chase(gpu, nodes=5000), "nodes"),
        (lambda gpu: chase.single_loads(gpu, footprint=4096, loads=5000), "loads"),
        (lambda gpu: chase.lines_by_sm(gpu, lines=1), "lines"),
        (lambda gpu: chase.lines_by_sm(gpu, lines=1024, rounds=3), "rounds"),
        (lambda gpu: bandwidth.read_footprints(gpu, languages=("Fortran",), footprints=(65536,)), "languages"),
        (lambda gpu: bandwidth.read_footprints(gpu, footprints=(1000,)), "footprints"),
        (lambda gpu: bandwidth.read_footprints(gpu, footprints=(65536,), past_l1=True), "languages"),
    ],
)
def test_wrong_arguments_are_named(whole_gpu: Session, call: Any, named: str) -> None:
    with pytest.raises(ValueError, match=f"^{named}: .*expected"):
        call(whole_gpu)


def test_no_kernel_spills(whole_gpu: Session) -> None:
    for file, names in {
        "chase.cu": ("add_chain", "shared_chase", "chase", "host_chase", "single_loads", "chase_from", "lines_from"),
        "bandwidth.cu": ("read_footprint", "read_footprint_past_l1"),
    }.items():
        for name in names:
            assert int(load(whole_gpu, file, name).handle.attributes.local_size_bytes) == 0
