"""c = a + b in Triton: the kernel in which everything that Triton takes off one's hands can be seen.

A program is responsible for ``BLOCK_SIZE`` elements at once; which thread loads which of them, and in words of how many
bytes, is the compiler's choice. The twin of ``cuda/vector_add.cu``, with the same arguments in the same order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import triton
import triton.language as tl

from gpu_explain.kernels.arguments import check_choice
from gpu_explain.kernels.pointwise import MOST_BLOCKS, check, float_dtypes
from gpu_explain.kernels.trace_triton import trace_begin, trace_end

if TYPE_CHECKING:
    from gpu_explain.kernels.session import Session
    from gpu_explain.scenes.base import Trace

BLOCK_SIZE = 512
"""Elements a program: 4 a thread with 4 warps, which is one 16-byte load from each float32 array."""
NUM_WARPS = 4
WARPS = (1, 2, 4, 8, 16, 32)
BLOCK_SIZES = tuple(2**power for power in range(17))
_MOST_TRACED = 2**16


@triton.jit
def vector_add_kernel(a, b, c, n, record, arrivals, BLOCK_SIZE: tl.constexpr, TRACED: tl.constexpr):
    """c[i] = a[i] + b[i] for i < n; contiguous, one program for ``BLOCK_SIZE`` elements.

    With ``TRACED`` each program writes into record (int64 ``[6, programs]``) what ``trace_triton.py`` says and draws a
    ticket from arrivals (int32 ``[1]``); without it the two are not looked at.
    """
    start_clock = trace_begin(record, arrivals) if TRACED else 0
    # 64 bits, or the offsets would wrap beyond 2^31 elements.
    i = tl.program_id(0).to(tl.int64) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = i < n
    total = tl.load(a + i, mask=mask).to(tl.float32) + tl.load(b + i, mask=mask).to(tl.float32)
    tl.store(c + i, total, mask=mask)
    if TRACED:
        trace_end(record, start_clock)


def vector_add(a: Any, b: Any, out: Any = None, *, block_size: int = BLOCK_SIZE, num_warps: int = NUM_WARPS) -> Any:
    """Add a and b in one launch on the current stream; returns ``out``, or a new tensor.

    Args:
        a: float32, float16 or bfloat16, contiguous, of any shape; may be empty.
        b: Like a, on the same device.
        out: Like them; may be one of them.
        block_size: Elements a program, a power of two up to 2^16.
        num_warps: Warps a program, a power of two up to 32.

    Raises:
        ValueError: Naming the argument and what was expected.
    """
    out = check(a, b, out, float_dtypes())
    n = a.numel()
    programs = _programs(n, block_size, num_warps)
    if n:
        vector_add_kernel[(programs,)](
            a, b, out, n, None, None, BLOCK_SIZE=block_size, TRACED=False, num_warps=num_warps
        )
    return out


def trace_vector_add(
    gpu: Session, a: Any, b: Any, out: Any, *, block_size: int = BLOCK_SIZE, num_warps: int = NUM_WARPS
) -> Trace:
    """The same launch with every program traced, on the session's stream; the sum is in ``out`` afterwards.

    Arguments are those of :func:`vector_add`, with at least one element and at most 65 536 programs. Raises
    ``ValueError`` naming the argument and what was expected.
    """
    from gpu_explain.kernels.trace import record_trace

    out = check(a, b, out, float_dtypes())
    n = a.numel()
    programs = _programs(n, block_size, num_warps)
    if not 1 <= programs <= _MOST_TRACED:
        raise ValueError(f"a: 1 to {_MOST_TRACED * block_size} elements expected for a trace, got {n}")

    def launch(record: Any, arrivals: Any) -> None:
        vector_add_kernel[(programs,)](
            a, b, out, n, record, arrivals, BLOCK_SIZE=block_size, TRACED=True, num_warps=num_warps
        )

    return record_trace(
        gpu,
        launch,
        blocks=programs,
        threads=num_warps * gpu.device.warp_size,
        name="vector-add",
        title=f"{programs} programs of {block_size} elements",
        kernel="vector_add_kernel",
        language="Triton",
    )


def _programs(n: int, block_size: int, num_warps: int) -> int:
    check_choice("block_size", block_size, BLOCK_SIZES)
    check_choice("num_warps", num_warps, WARPS)
    programs = -(-n // block_size)
    if programs > MOST_BLOCKS:
        raise ValueError(f"a: at most {MOST_BLOCKS * block_size} elements expected, got {n}")
    return programs


def reference(a: Any, b: Any) -> Any:
    """What torch runs for the same line."""
    return a + b


def flops(n: int) -> int:
    """Arithmetic of a + b over n elements: an add each."""
    return n


def moved_bytes(n: int, itemsize: int = 4) -> int:
    """Bytes that a + b moves: read a, read b, write c."""
    return 3 * itemsize * n
