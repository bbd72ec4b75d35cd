"""Launchers of ``cuda/transpose.cu``: a transpose that is nearly as fast as a copy, and the steps that lead there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpu_explain.kernels.arguments import check_choice, check_tensor, check_written
from gpu_explain.kernels.loader import load

if TYPE_CHECKING:
    from gpu_explain.kernels.session import Session

FILE = "transpose.cu"
METHODS = ("naive", "tile", "padded", "swizzled", "wide")
"""A ladder; ``padded`` and ``swizzled`` are alike. Only ``wide`` asks something of its arrays; see `takes_wide`."""

_SIDE = 64
_THREADS, _WIDE_THREADS = (64, 8), 256
_WORD = 16
_ITEM = 4
_MOST_BLOCKS = 2**31 - 1


def transpose(gpu: Session, a: Any, out: Any = None, *, method: str = "") -> Any:
    """The transpose of a matrix in one launch on the session's stream; returns ``out``, or a new tensor.

    Args:
        gpu: The session.
        a: float32 ``[rows, columns]``, contiguous, on the session's GPU; may be empty.
        out: float32 ``[columns, rows]``, contiguous, in other memory than a.
        method: One of :data:`METHODS`; by default ``wide`` where the arrays allow it, else ``swizzled``.

    Raises:
        ValueError: Naming the argument and what was expected.
    """
    import torch

    check_tensor("a", a, dtypes=(torch.float32,), dims=2, ordinal=gpu.ordinal)
    rows, columns = a.shape
    if out is None:
        out = torch.empty((columns, rows), dtype=a.dtype, device=a.device)
    check_tensor("out", out, like=("a", a), shape=(columns, rows))
    check_written("out", out, ("a", a))
    if method == "":
        method = "wide" if takes_wide(a, out) else "swizzled"
    check_choice("method", method, METHODS)
    if method == "wide" and not takes_wide(a, out):
        raise ValueError(
            f"a: sizes that are multiples of 4 and addresses that are multiples of {_WORD} expected for wide, got"
            f" {tuple(a.shape)}, a {a.data_ptr() % _WORD} and out {out.data_ptr() % _WORD} bytes past one"
        )
    blocks = -(-rows // _SIDE) * -(-columns // _SIDE)
    if blocks > _MOST_BLOCKS:
        raise ValueError(f"a: at most {_MOST_BLOCKS} tiles of {_SIDE} × {_SIDE} expected, got {blocks}")
    if a.numel():
        threads = _WIDE_THREADS if method == "wide" else _THREADS
        load(gpu, FILE, f"transpose_{method}").launch(gpu, blocks, threads, a, out, rows, columns)
    return out


def takes_wide(a: Any, out: Any) -> bool:
    """Whether 16 bytes a lane are possible on both sides: addresses and both sizes in whole words of 16 bytes."""
    sizes = all(size % (_WORD // _ITEM) == 0 for size in a.shape)
    return sizes and a.data_ptr() % _WORD == 0 and out.data_ptr() % _WORD == 0


def reference(a: Any) -> Any:
    """The same by torch."""
    return a.t().contiguous()


def moved_bytes(rows: int, columns: int) -> int:
    """Bytes that must move: each number is read once and written once."""
    return 2 * _ITEM * rows * columns
