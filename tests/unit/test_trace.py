"""A trace counts what its columns say."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_explain.scenes.base import Trace


def trace(*blocks: tuple[int, int, int], step_ns: int = 1) -> Trace:
    """From ``(sm, start, end)`` of each block; tickets in order of start."""
    sm, start, end = (tuple(column) for column in zip(*blocks, strict=True))
    ticket = [0] * len(blocks)
    for place, block in enumerate(sorted(range(len(blocks)), key=start.__getitem__)):
        ticket[block] = place
    cycles = tuple(2 * (e - s) for s, e in zip(start, end, strict=True))
    return Trace("t", "t", "k", "CUDA", 32, step_ns, sm, sm, start, end, cycles, tuple(ticket))


TWO_ROUNDS = trace((0, 0, 10), (1, 0, 10), (0, 10, 20))


def test_an_end_and_a_start_at_the_same_tick_are_not_two_residents() -> None:
    assert TWO_ROUNDS.peak_by_sm == {0: 1, 1: 1}
    assert TWO_ROUNDS.peak == 2


def test_the_tail_is_what_the_last_sm_works_after_half_have_ended() -> None:
    assert TWO_ROUNDS.last_sm == 0
    assert TWO_ROUNDS.tail_ns == 10
    assert TWO_ROUNDS.working_at(15) == 1
    assert TWO_ROUNDS.busy_ns == {0: 20, 1: 10}


def test_blocks_that_do_not_overlap_share_a_row_and_others_do_not() -> None:
    assert TWO_ROUNDS.rows(0) == ((0, 2),)
    assert trace((0, 0, 10), (0, 5, 15)).rows(0) == ((0,), (1,))


def test_moved_and_out_of_order_are_counted() -> None:
    assert replace(TWO_ROUNDS, sm_end=(0, 0, 0)).moved == 1
    assert replace(TWO_ROUNDS, ticket=(2, 0, 1)).out_of_order == 1
    assert TWO_ROUNDS.out_of_order == 0


def test_the_clock_is_cycles_over_time() -> None:
    assert TWO_ROUNDS.clock_mhz == 2000


def test_crooked_columns_are_refused() -> None:
    with pytest.raises(ValueError, match="different lengths"):
        replace(TWO_ROUNDS, sm=(0, 1))
    with pytest.raises(ValueError, match="ends before it starts"):
        replace(TWO_ROUNDS, end_ns=(10, 10, 9))
    with pytest.raises(ValueError, match="no blocks"):
        replace(TWO_ROUNDS, sm=(), sm_end=(), start_ns=(), end_ns=(), cycles=(), ticket=())


blocks = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 50), st.integers(1, 20)).map(lambda b: (b[0], b[1], b[1] + b[2])),
    min_size=1,
    max_size=40,
)


@given(blocks)
def test_rows_hold_every_block_once_and_none_overlap(found: list[tuple[int, int, int]]) -> None:
    t = trace(*found)
    held: list[int] = []
    for sm in t.sms:
        rows = t.rows(sm)
        assert len(rows) >= t.peak_by_sm[sm]
        for row in rows:
            held += row
            for one, other in pairwise(row):
                assert t.end_ns[one] <= t.start_ns[other]
    assert sorted(held) == list(range(t.blocks))


@given(blocks, st.integers(0, 80))
def test_residents_are_the_blocks_that_have_started_and_not_ended(found: list[tuple[int, int, int]], at: int) -> None:
    t = trace(*found)
    assert t.resident_at(at) == sum(start <= at < end for _, start, end in found)
