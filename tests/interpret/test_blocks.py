"""The arithmetic of the Triton blocks against torch. The waiting and traced ones read clocks, which the CPU has not."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("triton", reason="triton is not installed")


def chain(threads: int, blocks: int, amount: int) -> object:
    x = torch.arange(threads, dtype=torch.float64).repeat(blocks)
    for _ in range(amount):
        x = x * 0.5 + 1.0
    return x


@pytest.mark.parametrize("amount", [1, 2, 15, 16, 17, 40])
@pytest.mark.parametrize(("threads", "blocks"), [(32, 1), (64, 3), (256, 2)])
def test_every_thread_of_every_block_computes_its_chain(threads: int, blocks: int, amount: int) -> None:
    from gpu_explain.kernels.blocks_triton import compute_blocks

    out = torch.full((blocks * threads + 8,), float("nan"))
    compute_blocks[(blocks,)](out, amount, THREADS=threads)
    torch.testing.assert_close(out[:-8].double(), chain(threads, blocks, amount), rtol=1e-6, atol=0)
    assert out[-8:].isnan().all()  # nothing past the end
