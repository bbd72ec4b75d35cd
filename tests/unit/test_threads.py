"""What of the kernels on threads, warps and blocks can be proven without a GPU: arithmetic and refusals."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from gpu_explain.kernels import (
    divergence,
    five_steps,
    guard,
    hello,
    identity,
    latency_hiding,
    occupancy,
    ownership,
    partial_warps,
)
from tests.unit import made_up

pytest.importorskip("torch", reason="torch is not installed")

GPU: Any = SimpleNamespace(device=made_up.device())


def residents(*, registers: int = 16, threads: int = 256, shared_bytes: int = 0, **device: Any) -> occupancy.Limits:
    on = replace(made_up.device(), **device)
    return occupancy.limits(on, registers=registers, threads=threads, shared_bytes=shared_bytes, reserved=1024)


def test_each_stock_of_an_sm_limits_the_blocks_on_its_own() -> None:
    found = residents()
    assert (found.blocks, found.threads, found.registers, found.shared) == (32, 8, 16, 164)
    assert found.residents == 8
    assert residents(threads=32).residents == 32
    assert residents(shared_bytes=40 * 1024).residents == 4
    assert residents(shared_bytes=40 * 1024 - 1).residents == 4
    assert residents(shared_bytes=40 * 1024 - 128).shared == 4


@pytest.mark.parametrize(
    ("registers", "threads", "blocks"),
    [
        (32, 256, 8),
        (33, 256, 6),  # 40 are handed out: 12 warps a scheduler
        (40, 96, 16),
        (64, 256, 4),
        (65, 256, 3),  # 72: 7 warps a scheduler
        (128, 256, 2),
        (129, 256, 1),
        (255, 256, 1),
        (255, 288, 0),
        (168, 96, 4),
    ],
)
def test_registers_are_handed_out_to_warps_of_a_scheduler(registers: int, threads: int, blocks: int) -> None:
    assert residents(registers=registers, threads=threads).registers == blocks


def test_shared_memory_comes_in_larger_pieces_on_older_gpus() -> None:
    sizes: dict[str, Any] = {"registers": 16, "threads": 32, "shared_bytes": 3201, "reserved": 0}
    new, old = made_up.device(), replace(made_up.device(), compute_capability=(7, 5))
    assert occupancy.limits(new, **sizes).shared == new.shared_per_sm // 3328
    assert occupancy.limits(old, **sizes).shared == old.shared_per_sm // 3328
    assert occupancy.limits(new, **{**sizes, "shared_bytes": 3200}).shared == new.shared_per_sm // 3200
    assert occupancy.limits(old, **{**sizes, "shared_bytes": 3200}).shared == old.shared_per_sm // 3328
    assert occupancy.limits(old, **{**sizes, "shared_bytes": 0}).shared is None


def test_what_a_path_computes_tends_to_twice_its_constant() -> None:
    assert divergence.expected(0, 5, 0) == 5.0
    assert divergence.expected(0, 4, 1) == 3.0
    assert divergence.expected(30, 31, 200) == 62.0


def test_a_clock_that_ran_over_is_told_from_one_that_ran_back() -> None:
    import numpy as np

    seen = np.array([2**31 - 5, -(2**31) + 5, -1, 3])
    assert latency_hiding._signed(seen - seen[0])[:2].tolist() == [0, 10]
    assert latency_hiding._signed(np.array([-1, 3]) - 3).tolist() == [-4, 0]


def test_loads_are_counted_against_the_time_they_took_together() -> None:
    found = latency_hiding.InFlight(2, 1, 2, (((0,), (700,)), ((10,), (720,))), (((690,), (1400,)), ((710,), (1610,))))
    assert (found.loads, found.cycles) == (4, 1610)
    assert found.per_1000_cycles == pytest.approx(4000 / 1610)
    assert found.latency == (690 + 700 + 700 + 890) / 4


def test_a_copy_is_as_fast_as_its_bytes_over_its_time() -> None:
    steps = dict(
        zip(five_steps.STEPS, [(1.0, 2.0, 9.0), (4.0, 4.0, 5.0), (1.0,) * 3, (2.0,) * 3, (3.0,) * 3], strict=True)
    )
    way = five_steps.FiveSteps("pinned", 4000, steps, 0)
    assert way.bytes == 16000
    assert way.gb_per_s("copy in") == 4.0
    assert way.total_us == 12.0


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda: hello.hello(GPU, blocks=1, threads=1025), "threads: an integer from 1 to 1024"),
        (lambda: ownership.own(GPU, blocks=0, threads=4, offset=True), "blocks: an integer from 1 to"),
        (lambda: ownership.own(GPU, blocks=1, threads=3, offset=True, language="Triton"), "threads: a power of two"),
        (lambda: ownership.own(GPU, blocks=1, threads=3, offset=True, n=-1), "n: an integer from 0 to"),
        (lambda: guard.number_elements(GPU, n=-1, threads=32, guard=True), "n: an integer from 0 to"),
        (lambda: guard.number_elements(GPU, n=2**32, threads=32, guard=True), "n: an integer from 0 to"),
        (
            lambda: guard.number_elements(GPU, n=1, threads=32, guard=True, language="C"),
            "language: one of CUDA, Triton",
        ),
        (lambda: divergence.diverge(GPU, paths=0, by="lane"), "paths: an integer from 1 to 32"),
        (lambda: partial_warps.partial_warps(GPU, sizes=(32, 2000)), "sizes: an integer from 1 to 1024"),
        (lambda: latency_hiding.loads_in_flight(GPU, rounds=1000), "rounds: an integer from 1"),
        (lambda: five_steps.host_and_device(GPU, n=0), "n: an integer from 1 to"),
        (lambda: occupancy.probe(GPU, held=7, threads=32), "held: one of 8, 32, 64, 128, 192"),
        (lambda: occupancy.add_by_residents(GPU, residents=(1,), n=6), "n: a multiple of 4"),
    ],
)
def test_a_wrong_argument_is_named_with_what_was_expected(call: Any, named: str) -> None:
    with pytest.raises(ValueError, match=rf"^{named}\b.* expected.*, got "):
        call()


@pytest.mark.parametrize(
    "sources",
    [
        hello.sources,
        five_steps.sources,
        identity.sources,
        ownership.sources,
        lambda: ownership.sources(language="Triton"),
        guard.sources,
        lambda: guard.sources(language="Triton"),
        divergence.sources,
        partial_warps.sources,
        latency_hiding.sources,
        occupancy.sources,
    ],
)
def test_the_lines_of_what_runs_are_found_in_its_files(sources: Any) -> None:
    for one in sources():
        lines = one.text.splitlines()
        assert one.focus
        for first, last in one.focus.values():
            assert 1 <= first < last <= len(lines)
