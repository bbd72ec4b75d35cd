"""The transpose of a matrix as a matrix of its own: read by rows, written by rows.

A tile is read along its rows and written along its columns, so that neighbouring threads touch neighbouring addresses
both times; in between, Triton exchanges it between the threads through shared memory. The steps that lead there are in
``cuda/transpose.cu``.
"""

from __future__ import annotations

from typing import Any

import triton
import triton.language as tl

from gpu_explain.kernels.arguments import check_launchable, check_tensor

BLOCKS = {1: 128, 2: 64, 4: 64, 8: 32}
"""Rows and columns of a tile, by bytes of an element: 64 bytes or more of each row."""
_MOST_PROGRAMS = 2**31 - 1


@triton.jit
def turn_kernel(x, y, rows, columns, stride_row, stride_column, BLOCK: tl.constexpr):
    """y[j, i] = x[i, j]; y lies by rows. One program a tile of BLOCK × BLOCK."""
    across = tl.cdiv(columns, BLOCK)
    # 64 bits, or offsets would wrap beyond 2^31 elements.
    i = (tl.program_id(0) // across).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    j = (tl.program_id(0) % across).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = (i < rows)[:, None] & (j < columns)[None, :]
    tile = tl.load(x + i[:, None] * stride_row + j[None, :] * stride_column, mask=inside)
    tl.store(y + j[:, None] * rows + i[None, :], tl.trans(tile), mask=tl.trans(inside))


def turned(x: Any) -> Any:
    """``x.t().contiguous()`` in one launch on the current stream.

    Args:
        x: Two dimensions, elements of 1, 2, 4 or 8 bytes, any strides; may be empty.

    Raises:
        ValueError: Naming the argument and what was expected.
    """
    import torch

    check_tensor("x", x, dims=2, contiguous=False)
    check_launchable("x", x)
    rows, columns = x.shape
    y = torch.empty((columns, rows), dtype=x.dtype, device=x.device)
    item = x.element_size()
    if item not in BLOCKS:
        raise ValueError(f"x: elements of 1, 2, 4 or 8 bytes expected, got {x.dtype}")
    tiles = triton.cdiv(rows, BLOCKS[item]) * triton.cdiv(columns, BLOCKS[item])
    if tiles > _MOST_PROGRAMS:
        raise ValueError(f"x: at most {_MOST_PROGRAMS} tiles of {BLOCKS[item]} × {BLOCKS[item]} expected, got {tiles}")
    if tiles:
        # Moved as integers: what the bits mean does not matter, and not every GPU knows float8.
        bits = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[item]
        turn_kernel[(tiles,)](x.view(bits), y.view(bits), rows, columns, *x.stride(), BLOCK=BLOCKS[item], num_warps=4)
    return y


def bytes_moved(rows: int, columns: int, item: int) -> int:
    """Bytes that must be moved: each element read and written once."""
    return 2 * item * rows * columns
