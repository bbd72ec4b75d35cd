"""Softmax over the rows of a matrix in Triton: one kernel where eager torch, written out, runs five.

Two paths. A row that fits into a program's registers is loaded whole: its maximum, the exponentials, their sum and the
quotients never leave the chip (short rows are taken several to a program, so that there is enough to load). A wider row
is walked over twice: first an *online* pass (Milakov and Gimelshein, "Online normalizer calculation for softmax", 2018)
finds maximum and sum in one reading, then the row is read again, for the most part from the L2, and written.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import triton
import triton.language as tl

from gpu_explain.kernels.arguments import check_launchable, check_tensor, check_written
from gpu_explain.kernels.pointwise import MOST_BLOCKS, float_dtypes

MOST_COLUMNS = 2**30
ENOUGH = 1024
"""Programs enough to fill any GPU: as long as there are fewer, rows are not put together."""
_LOWEST = tl.constexpr(-3.4028234663852886e38)


# Not specialised: UNIT says what the compiler is to know of these numbers, and one compiled kernel serves all others.
@triton.jit(do_not_specialize=["rows", "columns", "x_stride", "y_stride"])
def softmax_rows_kernel(
    x, y, rows, columns, x_stride, y_stride, ROWS: tl.constexpr, BLOCK_SIZE: tl.constexpr, UNIT: tl.constexpr
):
    """Rows that fit: ``ROWS`` of them a program, ``BLOCK_SIZE`` at least columns; strides are elements from row to row.

    ``UNIT`` divides columns and strides. Said as a product, the compiler knows it, and may use words of that size.
    """
    columns = columns // UNIT * UNIT
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)[:, None]
    column = tl.arange(0, BLOCK_SIZE)[None, :]
    mask = (row < rows) & (column < columns)
    # What lies beyond the row is -inf: it is never the maximum, and its exponential is 0.
    z = tl.load(x + row * (x_stride // UNIT * UNIT) + column, mask=mask, other=-float("inf")).to(tl.float32)
    # Without the maximum taken off, exp would overflow from 89 on.
    z = tl.exp(z - tl.max(z, axis=1, keep_dims=True))
    z *= 1.0 / tl.sum(z, axis=1, keep_dims=True)
    tl.store(y + row * (y_stride // UNIT * UNIT) + column, z, mask=mask)


@triton.jit(do_not_specialize=["columns", "x_stride", "y_stride"])
def softmax_wide_kernel(x, y, columns, x_stride, y_stride, BLOCK_SIZE: tl.constexpr, UNIT: tl.constexpr):
    """One row a program, walked over in blocks of ``BLOCK_SIZE`` columns, twice."""
    columns = columns // UNIT * UNIT
    row = tl.program_id(0).to(tl.int64)
    x += row * (x_stride // UNIT * UNIT)
    y += row * (y_stride // UNIT * UNIT)
    lane = tl.arange(0, BLOCK_SIZE)
    last = (tl.cdiv(columns, BLOCK_SIZE) - 1) * BLOCK_SIZE
    # The lowest number, and not -inf, whose difference from another -inf would be NaN.
    highest = tl.full((), _LOWEST, tl.float32)
    total = tl.full((), 0.0, tl.float32)
    for start in tl.range(0, last, BLOCK_SIZE):
        z = tl.load(x + (start + lane), eviction_policy="evict_last").to(tl.float32)
        higher = tl.maximum(highest, tl.max(z, axis=0))
        # Online: the sum so far is shrunk to what it would be with the new maximum taken off.
        total = total * tl.exp(highest - higher) + tl.sum(tl.exp(z - higher), axis=0)
        highest = higher
    # The last block is not read again: it stays in the registers.
    mask = last + lane < columns
    z = tl.load(x + (last + lane), mask=mask, other=-float("inf"), eviction_policy="evict_first").to(tl.float32)
    higher = tl.maximum(highest, tl.max(z, axis=0))
    z = tl.exp(z - higher)
    # 1 / 0 in a row of nothing but -inf: the 0 of each element times that is NaN, as in torch.
    scale = 1.0 / (total * tl.exp(highest - higher) + tl.sum(z, axis=0))
    # .cs: nobody reads it soon, so it shall not push out of the L2 what is still to be read again.
    tl.store(y + (last + lane), z * scale, mask=mask, cache_modifier=".cs")
    for start in tl.range(0, last, BLOCK_SIZE):
        z = tl.load(x + (start + lane), eviction_policy="evict_first").to(tl.float32)
        tl.store(y + (start + lane), tl.exp(z - higher) * scale, cache_modifier=".cs")


@dataclass(frozen=True)
class Path:
    """How a matrix is worked on.

    Attributes:
        wide: Whether rows are walked over instead of held.
        rows: Rows a program.
        block_size: Columns a program holds at once.
        unit: A number that divides columns and strides: so many elements may be loaded as one word.
        num_warps: Warps a program.
        programs: Programs of the launch.
    """

    wide: bool
    rows: int
    block_size: int
    unit: int
    num_warps: int
    programs: int


def path_for(rows: int, columns: int, itemsize: int = 4, unit: int = 16) -> Path:
    """The one place that decides on the path, the same on every GPU; the numbers were the fastest of those tried.

    ``itemsize`` is a column's bytes, ``unit`` see :class:`Path`.
    """
    if columns > (32768 if itemsize == 4 else 16384):
        # Halves that are loaded one by one: smaller programs, of which two are on an SM.
        block_size = 8192 if unit * itemsize < 4 else 16384
        return Path(wide=True, rows=1, block_size=block_size, unit=unit, num_warps=16, programs=rows)
    block_size = triton.next_power_of_2(columns)
    together = 1
    while together * columns * itemsize < 1600 and rows >= 2 * together * ENOUGH:
        together *= 2
    # About 16 columns a thread. A block is up to twice as long as its row: what counts is what there is to load.
    warps = together * block_size // 512 if together > 1 else columns // 384
    num_warps = min(2 ** max(warps.bit_length() - 1, 0), 32)
    programs = -(-rows // together)
    return Path(wide=False, rows=together, block_size=block_size, unit=unit, num_warps=num_warps, programs=programs)


def softmax(x: Any, out: Any = None) -> Any:
    """The softmax of each row in one launch on the current stream; returns ``out``, or a new tensor.

    Computed in float32 whatever the dtype. As in torch a row is NaN if it holds NaN or +inf, or nothing but -inf.

    Args:
        x: float32, float16 or bfloat16, ``[rows, columns]``, columns next to each other, rows at any stride;
            at most 2^30 columns; may be empty.
        out: Like x, on the same device, its rows not overlapping; may be x.

    Raises:
        ValueError: Naming the argument and what was expected.
    """
    import torch

    _check_rows("x", x)
    check_launchable("x", x)
    if out is None:
        out = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    else:
        check_tensor("out", out, shape=tuple(x.shape), like=("x", x), contiguous=False)
        _check_rows("out", out)
        check_written("out", out, ("x", x), in_place=True)
    rows, columns = x.shape
    if not 0 <= columns <= MOST_COLUMNS or rows > MOST_BLOCKS:
        raise ValueError(f"x: at most {MOST_BLOCKS} rows of {MOST_COLUMNS} columns expected, got {tuple(x.shape)}")
    if x.numel():
        launch(x, out, path_of(x, out))
    return out


def path_of(x: Any, out: Any) -> Path:
    """The path for these tensors."""
    rows, columns = x.shape
    return path_for(rows, columns, x.element_size(), unit_of(columns, x.stride(0), out.stride(0)))


def launch(x: Any, out: Any, path: Path) -> Any:
    """Launch on checked tensors, by a path that may also be chosen by hand; returns the compiled kernel."""
    rows, columns = x.shape
    strides = x.stride(0), out.stride(0)
    grid, options = (path.programs,), {"BLOCK_SIZE": path.block_size, "UNIT": path.unit, "num_warps": path.num_warps}
    if path.wide:
        return softmax_wide_kernel[grid](x, out, columns, *strides, **options)
    return softmax_rows_kernel[grid](x, out, rows, columns, *strides, ROWS=path.rows, **options)


def unit_of(*counts: int) -> int:
    """The largest power of two up to 16 that divides them all: so many elements may be loaded as one word."""
    return next(unit for unit in (16, 8, 4, 2, 1) if all(count % unit == 0 for count in counts))


def _check_rows(name: str, tensor: Any) -> None:
    check_tensor(name, tensor, dtypes=float_dtypes(), dims=2, contiguous=False)
    if tensor.shape[1] > 1 and tensor.stride(1) != 1:
        raise ValueError(f"{name}: columns next to each other expected, got strides {tensor.stride()}")


def reference(x: Any) -> Any:
    """Softmax as five eager kernels: maximum, difference, exponential, sum, quotient."""
    z = (x - x.amax(dim=1, keepdim=True)).exp()
    return z / z.sum(dim=1, keepdim=True)


def flops(rows: int, columns: int) -> int:
    """Arithmetic of softmax: a comparison, a difference, an exponential, an addition and a product an element."""
    return 5 * rows * columns


def moved_bytes(rows: int, columns: int, itemsize: int = 4) -> int:
    """Bytes that must be moved: each element read once and written once."""
    return 2 * itemsize * rows * columns


def eager_bytes(rows: int, columns: int, itemsize: int = 4) -> int:
    """Bytes that :func:`reference` moves: each kernel reads the matrix (or writes it), or both; rows' values too."""
    matrix, column = itemsize * rows * columns, itemsize * rows
    return (matrix + column) + (2 * matrix + column) + 2 * matrix + (matrix + column) + (2 * matrix + column)
