"""Bank conflicts on the GPU: queues from real addresses, every load made, and cycles that follow the longest queue."""

from __future__ import annotations

from typing import Any

import pytest

from gpu_explain.kernels.bank_conflicts import BANKS, expected_sum, measure, queues
from gpu_explain.kernels.session import Session

STRIDES = (0, 1, 2, 3, 4, 7, 8, 16, 32, 33)
LONGEST = {0: 1, 1: 1, 2: 2, 3: 1, 4: 4, 7: 1, 8: 8, 16: 16, 32: 32, 33: 1}


def test_a_load_takes_as_many_turns_as_the_longest_queue(gpu: Session) -> None:
    found = measure(gpu, STRIDES, steps=2048)
    one = found[1]
    for conflict in found:
        assert conflict.addresses == tuple(4 * lane * conflict.stride for lane in range(32))
        assert conflict.longest == LONGEST[conflict.stride]
        assert sum(conflict.queues) == (32 if conflict.stride else 1)
        # 8 warps, a turn each: the load of a warp takes its turns and next to nothing else.
        assert conflict.cycles == pytest.approx(8 * conflict.longest, rel=0.15)
        # And one more turn makes a lone load later by a cycle or two.
        more = conflict.chain_cycles - one.chain_cycles
        assert 0.9 * (conflict.longest - 1) - 0.5 < more < 2.2 * (conflict.longest - 1) + 0.5


@pytest.mark.sanitised
def test_every_load_is_made(gpu: Session) -> None:
    for warps in (1, 3, 8):
        for conflict in measure(gpu, (0, 1, 5, 32, 256), warps=warps, steps=64):
            wanted = [expected_sum(lane, conflict.stride, 64) for lane in range(32)]
            assert conflict.sums == tuple(wanted * warps)


def test_a_longer_loop_takes_as_long_a_step(gpu: Session) -> None:
    (short,), (long,) = measure(gpu, (8,), steps=512), measure(gpu, (8,), steps=8192)
    assert long.cycles == pytest.approx(short.cycles, rel=0.02)
    assert long.chain_cycles == pytest.approx(short.chain_cycles, rel=0.03)


def test_queues_are_of_words_and_not_of_lanes() -> None:
    assert queues([0] * 32) == (1,) + (0,) * (BANKS - 1)
    assert queues([0, 128, 256, 4]) == (3, 1) + (0,) * (BANKS - 2)
    assert queues([]) == (0,) * BANKS


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda gpu: measure(gpu, (1,), warps=0), "warps: an integer from 1"),
        (lambda gpu: measure(gpu, (1,), warps=33), "warps: an integer from 1"),
        (lambda gpu: measure(gpu, (1,), steps=100), "steps: a multiple of 16"),
        (lambda gpu: measure(gpu, (257,)), "strides: an integer from 0 to 256"),
        (lambda gpu: measure(gpu, (-1,)), "strides: an integer from 0"),
    ],
)
def test_a_wrong_argument_is_named(whole_gpu: Session, call: Any, named: str) -> None:
    with pytest.raises(ValueError, match=named):
        call(whole_gpu)


def test_no_strides_are_no_launch(whole_gpu: Session) -> None:
    assert measure(whole_gpu, ()) == ()
