"""Launcher of ``cuda/reduction.cu``: the sum of all elements, on any rung of its ladder."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpu_explain.kernels.arguments import check_choice, check_tensor
from gpu_explain.kernels.loader import Kernel, load
from gpu_explain.kernels.pointwise import MOST_BLOCKS

if TYPE_CHECKING:
    from gpu_explain.kernels.session import Session

FILE = "reduction.cu"
RUNGS = (
    "sum_atomic_each",
    "sum_atomic_warps",
    "sum_atomic_blocks",
    "sum_atomic_strided",
    "sum_atomic_quads",
    "block_sums",
)
"""The kernels, slowest first."""
BEST = RUNGS[-1]
THREADS = 256
_LAST_THREADS = 1024
_ONE_NUMBER_A_THREAD = RUNGS[:3]
_WORDS = RUNGS[4:]
_WORD = 16


def reduce_sum_cuda(gpu: Session, x: Any, *, rung: str = BEST) -> Any:
    """The sum of all elements on the session's stream, added up in float32.

    ``block_sums`` (two launches) has the same bits in every run on a GPU; the others add atomically, in the order in
    which blocks come, into a total that is set to zero before (a launch as well).

    Args:
        gpu: The session.
        x: float32, contiguous, on the session's GPU, of any shape; may be empty. For ``sum_atomic_quads`` and
            ``block_sums`` it begins at a multiple of 16 bytes.
        rung: One of :data:`RUNGS`.

    Returns:
        A float32 tensor of no dimensions.

    Raises:
        ValueError: Naming the argument and what was expected.
    """
    import torch

    check_tensor("x", x, dtypes=(torch.float32,), ordinal=gpu.ordinal)
    check_choice("rung", rung, RUNGS)
    if rung in _WORDS and x.data_ptr() % _WORD:
        raise ValueError(f"x: an address divisible by {_WORD} expected for {rung}, got one that is not")
    n = x.numel()
    kernel = load(gpu, FILE, rung)
    blocks = blocks_for(gpu, kernel, n, rung)
    if blocks > MOST_BLOCKS:
        raise ValueError(f"x: at most {MOST_BLOCKS * THREADS} elements expected, got {n}")
    total = torch.empty((), dtype=torch.float32, device=x.device)
    if rung != BEST or n == 0:
        total.zero_()
    if n == 0:
        return total
    if rung != BEST or blocks == 1:
        kernel.launch(gpu, blocks, THREADS, x, total, n)
        return total
    sums = torch.empty(blocks, dtype=torch.float32, device=x.device)
    kernel.launch(gpu, blocks, THREADS, x, sums, n)
    kernel.launch(gpu, 1, _LAST_THREADS, sums, total, blocks)
    return total


def blocks_for(gpu: Session, kernel: Kernel, n: int, rung: str) -> int:
    """Blocks of a launch: a thread for every number, or as many as fit on the GPU at once where threads stride."""
    numbers = 4 if rung in _WORDS else 1
    needed = -(-n // (THREADS * numbers))
    if rung in _ONE_NUMBER_A_THREAD:
        return needed
    return max(1, min(needed, gpu.device.sms * kernel.residents(THREADS)))
