"""The Triton twins of the kernels on threads, on the CPU."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("triton", reason="triton is not installed")


@pytest.mark.parametrize("n", [1, 2, 127, 1023, 1024, 1025, 4099])
def test_squares(n: int) -> None:
    from gpu_explain.kernels.square import reference, square

    x = torch.randn(n)
    room = torch.full((n + 64,), -12345.0)
    assert square(x, room[:n]).data_ptr() == room.data_ptr()
    assert torch.equal(room[:n], reference(x))
    assert (room[n:] == -12345.0).all()


def test_squares_of_nothing_and_of_what_is_no_number() -> None:
    from gpu_explain.kernels.square import square

    assert square(torch.empty(0)).shape == (0,)
    x = torch.tensor([float("nan"), float("inf"), -0.0, 1e-30, 3e38, -2.5])
    torch.testing.assert_close(square(x), x * x, rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize(("blocks", "block", "n"), [(3, 4, 12), (3, 4, 9), (2, 128, 300), (1, 1, 1)])
def test_owners_with_and_without_the_offset(blocks: int, block: int, n: int) -> None:
    from gpu_explain.kernels.ownership_triton import own_with_offset, own_without_offset

    def launch(kernel: object) -> tuple[list[int], list[int]]:
        owner, writes = torch.full((n + 8,), -1), torch.zeros(n + 8, dtype=torch.int32)
        kernel[(blocks,)](owner, writes, n, BLOCK=block)  # type: ignore[index]
        assert (owner[n:] == -1).all()
        assert (writes[n:] == 0).all()
        return owner[:n].tolist(), writes[:n].tolist()

    taken = min(blocks * block, n)
    assert launch(own_with_offset) == ([*range(taken), *[-1] * (n - taken)], [*[1] * taken, *[0] * (n - taken)])
    owner, writes = launch(own_without_offset)
    first = min(block, n)
    assert writes == [*[blocks] * first, *[0] * (n - first)]
    assert [one % block for one in owner[:first]] == list(range(first))
    assert set(owner[first:]) <= {-1}


@pytest.mark.parametrize("n", [1, 31, 32, 33, 1000])
def test_only_unguarded_numbers_stray(n: int) -> None:
    from gpu_explain.kernels.guard_triton import number_guarded, number_unguarded

    programs = -(-n // 32)
    for kernel, last in ((number_guarded, n), (number_unguarded, 32 * programs)):
        out = torch.full((n + 64,), -1, dtype=torch.int32)
        kernel[(programs,)](out, n, BLOCK=32)
        assert out[:last].tolist() == list(range(last))
        assert (out[last:] == -1).all()
