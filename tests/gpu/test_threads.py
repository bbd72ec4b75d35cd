"""Threads say who they are, take their elements, keep within the array, and their squares come back to the host."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from gpu_explain.kernels import five_steps, guard, hello, identity, ownership
from gpu_explain.kernels.session import Session

NAN, INF = float("nan"), float("inf")
POISON = -12345.0

Call = Callable[..., Any]


@pytest.mark.parametrize(("blocks", "threads"), [(1, 8), (3, 8), (5, 33), (2, 1024)])
def test_every_thread_says_its_name_once(gpu: Session, blocks: int, threads: int) -> None:
    said = hello.hello(gpu, blocks=blocks, threads=threads)
    assert sorted(said.order) == [(block, thread) for block in range(blocks) for thread in range(threads)]
    assert said.text.count("\n") >= blocks * threads


def test_as_many_threads_as_the_buffer_holds_lose_no_line(whole_gpu: Session) -> None:
    blocks = hello.most_threads(whole_gpu) // 128
    said = hello.hello(whole_gpu, blocks=blocks, threads=128)
    assert len(set(said.order)) == blocks * 128
    with pytest.raises(ValueError, match=f"blocks: an integer from 1 to {blocks} expected"):
        hello.hello(whole_gpu, blocks=blocks + 1, threads=128)


@pytest.mark.sanitised
@pytest.mark.parametrize("threads", [1, 8, 32, 33, 250, 256, 1024])
def test_threads_of_a_block_are_warps_of_32(gpu: Session, threads: int) -> None:
    import numpy as np

    size = gpu.device.warp_size
    found = identity.identify(gpu, blocks=3, threads=threads)
    place = np.arange(3 * threads) % threads
    assert (found.thread_x == place).all()
    assert (found.block_x == np.arange(3 * threads) // threads).all()
    assert (found.thread_y == 0).all()
    assert (found.block_y == 0).all()
    assert (found.lane == place % size).all()
    each = -(-threads // size)
    assert found.warps == 3 * each
    assert found.idle_lanes == 3 * (each * size - threads)
    # Who shares a number shares the block and the row of 32, and the mask names exactly them.
    row = found.block_x * each + place // size
    for warp in set(found.warp.tolist()):
        mine = found.warp == warp
        assert len(set(row[mine].tolist())) == 1
        assert set(found.mask[mine].tolist()) == {sum(1 << lane for lane in found.lane[mine].tolist())}
    assert sorted(set(found.warp.tolist())) == list(range(3 * each))


@pytest.mark.sanitised
def test_warps_of_two_dimensions_are_cut_from_the_row_of_threads_x_first(gpu: Session) -> None:
    import numpy as np

    found = identity.identify(gpu, blocks=(2, 3), threads=(20, 5))
    place = np.arange(600) % 100
    assert (found.thread_x == place % 20).all()
    assert (found.thread_y == place // 20).all()
    assert (found.block_x == np.arange(600) // 100 % 2).all()
    assert (found.block_y == np.arange(600) // 200).all()
    assert (found.lane == place % gpu.device.warp_size).all()
    assert found.warps == 6 * 4
    assert found.idle_lanes == 6 * 28


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"threads": 0}, "threads: an integer from 1 to"),
        ({"threads": (33, 32)}, "threads: at most 1024 in a block"),
        ({"threads": (1, 2, 3)}, "threads: a number or two"),
        ({"blocks": (1, 65536)}, "blocks: at most 65535 in y"),
        ({"blocks": 1 << 20, "threads": 1024}, "blocks: at most"),
    ],
)
def test_a_wrong_extent_is_named(whole_gpu: Session, wrong: dict[str, Any], named: str) -> None:
    with pytest.raises(ValueError, match=named):
        identity.identify(whole_gpu, **{"blocks": 2, "threads": 32, **wrong})


@pytest.mark.sanitised
@pytest.mark.parametrize("language", ownership.LANGUAGES)
@pytest.mark.parametrize(("blocks", "threads"), [(3, 4), (1, 1), (7, 32), (5, 256)])
def test_without_the_offset_all_blocks_take_the_first_elements(
    gpu: Session, language: str, blocks: int, threads: int
) -> None:
    n = blocks * threads
    without = ownership.own(gpu, blocks=blocks, threads=threads, offset=False, language=language)
    assert without.writes == (blocks,) * threads + (0,) * (n - threads)
    assert all(one % threads == i for i, one in enumerate(without.owner[:threads]))
    assert set(without.owner[threads:]) <= {ownership.NOBODY}
    with_it = ownership.own(gpu, blocks=blocks, threads=threads, offset=True, language=language)
    assert with_it.owner == tuple(range(n))
    assert with_it.writes == (1,) * n


@pytest.mark.parametrize("language", ownership.LANGUAGES)
def test_elements_and_threads_need_not_be_equally_many(whole_gpu: Session, language: str) -> None:
    few = ownership.own(whole_gpu, blocks=3, threads=4, offset=True, n=9, language=language)
    assert few.owner == tuple(range(9))
    many = ownership.own(whole_gpu, blocks=3, threads=4, offset=True, n=14, language=language)
    assert many.owner == (*range(12), -1, -1)
    none = ownership.own(whole_gpu, blocks=3, threads=4, offset=True, n=0, language=language)
    assert none.owner == none.writes == ()


@pytest.mark.sanitised
@pytest.mark.parametrize("language", guard.LANGUAGES)
@pytest.mark.parametrize(("n", "threads"), [(0, 32), (1, 32), (31, 32), (32, 32), (1000, 256), (1_000_000, 256)])
def test_the_surplus_strays_only_without_the_guard(gpu: Session, language: str, n: int, threads: int) -> None:
    with_it = guard.number_elements(gpu, n=n, threads=threads, guard=True, language=language)
    assert (with_it.written, with_it.wrong, with_it.strays, with_it.first_stray) == (n, 0, 0, None)
    without = guard.number_elements(gpu, n=n, threads=threads, guard=False, language=language)
    assert (without.written, without.wrong) == (n, 0)
    assert without.strays == without.surplus == -n % threads
    if without.strays:
        assert (without.first_stray, without.last_stray) == (n, n + without.surplus - 1)


def test_a_million_elements_in_blocks_of_256(whole_gpu: Session) -> None:
    found = guard.number_elements(whole_gpu, n=1_000_000, threads=256, guard=False)
    assert (found.blocks, found.surplus, found.strays) == (3907, 192, 192)


@pytest.mark.parametrize("language", guard.LANGUAGES)
def test_the_guard_holds_beyond_32_bits(whole_gpu: Session, language: str) -> None:
    import torch

    n = 2**31 + 5
    if torch.cuda.mem_get_info()[0] < 5 * 4 * n:
        pytest.skip("an array of 8.6 GB is more than a quarter of what is free")
    found = guard.number_elements(whole_gpu, n=n, threads=1024, guard=True, language=language)
    assert (found.written, found.strays) == (n, 0)
    whole_gpu.release()


@pytest.fixture(params=["triton", "cuda"])
def square(gpu: Session, request: pytest.FixtureRequest) -> Iterator[Call]:
    """One of the two kernels, as ``call(x, out)``."""
    from gpu_explain.kernels.square import square as in_triton
    from gpu_explain.kernels.square_cuda import square_cuda

    if request.param == "triton":
        yield in_triton
    else:
        yield lambda x, out=None: square_cuda(gpu, x, out)


@pytest.mark.sanitised
@pytest.mark.parametrize("offset", [0, 1])
def test_squares_are_torchs_to_the_last_bit_and_nothing_else_is_written(
    gpu: Session, square: Call, offset: int
) -> None:
    import torch

    for n in (1, 2, 31, 255, 256, 257, 1023, 1024, 1025, 4099):
        x = torch.randn(n + offset, device="cuda")[offset:]
        room = torch.full((n + offset + 64,), POISON, device="cuda")
        square(x, room[offset : offset + n])
        gpu.synchronise()
        assert torch.equal(room[offset : offset + n], x * x), f"n = {n}"
        assert (room[:offset] == POISON).all(), f"n = {n}"
        assert (room[offset + n :] == POISON).all(), f"n = {n}"


def test_squares_of_nothing_and_of_what_is_no_number(gpu: Session, square: Call) -> None:
    import torch

    assert square(torch.empty(0, device="cuda")).shape == (0,)
    x = torch.tensor([NAN, INF, -INF, -0.0, 1e-30, 3e38, -2.5], device="cuda")
    torch.testing.assert_close(square(x), x * x, rtol=0, atol=0, equal_nan=True)


def test_squares_beyond_32_bits(whole_gpu: Session, square: Call) -> None:
    import torch

    n = 2**31 + 5
    if torch.cuda.mem_get_info()[0] < 2.2 * 4 * n:
        pytest.skip("two arrays of 8.6 GB do not fit")
    x = torch.full((n,), 3.0, device="cuda")
    x[-3:] = 7.0
    y = torch.full((n,), POISON, device="cuda")
    square(x, y)
    assert y[-4:].tolist() == [9.0, 49.0, 49.0, 49.0]
    assert y[: n - 3].min().item() == y[: n - 3].max().item() == 9.0
    del x, y
    torch.cuda.empty_cache()


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (lambda x: (x.double(),), "x: float32 expected"),
        (lambda x: (x.view(2, -1).t(),), "x: a contiguous tensor expected"),
        (lambda x: (x, x[:-1]), "out: shape"),
        (lambda x: (x, x.half()), "out: the dtype of x"),
        (lambda x: (x, x.cpu()), "out: the device of x"),
    ],
)
def test_a_wrong_argument_is_named(whole_gpu: Session, square: Call, change: Call, named: str) -> None:
    import torch

    with pytest.raises(ValueError, match=named):
        square(*change(torch.randn(64, device="cuda")))


@pytest.mark.sanitised
@pytest.mark.parametrize("n", [1, 1000, 100_003])
def test_the_five_steps_bring_the_squares_back(gpu: Session, n: int) -> None:
    found = five_steps.host_and_device(gpu, n=n, samples=2)
    assert [way.memory for way in found.gpu] == list(five_steps.MEMORIES)
    for way in found.gpu:
        assert way.wrong == 0
        assert tuple(way.us) == five_steps.STEPS
        assert all(len(samples) == 2 and min(samples) > 0 for samples in way.us.values())
        assert way.total_us >= max(way.median_us(step) for step in five_steps.STEPS)
    assert len(found.cpu_us) == 2
    assert found.cpu_threads >= 1


def test_squares_that_do_not_come_back_are_counted(whole_gpu: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    def forgets_the_last(gpu: Session, x: Any, y: Any) -> tuple[float, ...]:
        y[:-1] = x[:-1] * x[:-1]
        return (1.0,) * 5

    monkeypatch.setattr(five_steps, "_take", forgets_the_last)
    found = five_steps.host_and_device(whole_gpu, n=1000, samples=1)
    assert [way.wrong for way in found.gpu] == [2, 2]


def test_pinned_memory_is_copied_faster(whole_gpu: Session) -> None:
    found = five_steps.host_and_device(whole_gpu, n=1 << 24, samples=3)
    pageable, pinned = found.gpu
    assert pinned.gb_per_s("copy in") > pageable.gb_per_s("copy in")
    assert pinned.gb_per_s("copy out") > pageable.gb_per_s("copy out")
