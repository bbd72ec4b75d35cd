"""Checks of a launcher's arguments: the error names the argument, what was expected and what came."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def check_tensor(
    name: str,
    tensor: Any,
    *,
    dtypes: Sequence[Any] | None = None,
    shape: tuple[int, ...] | None = None,
    dims: int | None = None,
    like: tuple[str, Any] | None = None,
    ordinal: int | None = None,
    contiguous: bool = True,
    at_least: int = 0,
) -> None:
    """Check one tensor; ``None`` leaves a thing unchecked.

    Args:
        name: The argument's name.
        tensor: The torch tensor.
        dtypes: The dtypes that are taken.
        shape: The shape it must have.
        dims: The number of dimensions it must have.
        like: Another argument, with its name, whose dtype and device it must share.
        ordinal: The number of the GPU it must lie on.
        contiguous: Whether its elements must lie row by row without gaps.
        at_least: The fewest elements.

    Raises:
        ValueError: Naming the argument, what was expected and what came.
    """
    if dtypes is not None and tensor.dtype not in dtypes:
        raise _unexpected(name, " or ".join(map(plain_dtype, dtypes)), plain_dtype(tensor.dtype))
    if like is not None:
        other, reference = like
        if tensor.dtype != reference.dtype:
            raise _unexpected(name, f"the dtype of {other}, {plain_dtype(reference.dtype)},", plain_dtype(tensor.dtype))
        if tensor.device != reference.device:
            raise _unexpected(name, f"the device of {other}, {reference.device},", str(tensor.device))
    if shape is not None and tuple(tensor.shape) != shape:
        raise _unexpected(name, f"shape {shape}", str(tuple(tensor.shape)))
    if dims is not None and tensor.dim() != dims:
        raise _unexpected(name, f"{dims} dimensions", f"shape {tuple(tensor.shape)}")
    if tensor.numel() < at_least:
        raise _unexpected(name, f"at least {at_least} element{'s' * (at_least != 1)}", str(tensor.numel()))
    if ordinal is not None and (tensor.device.type != "cuda" or tensor.device.index != ordinal):
        raise _unexpected(name, f"a tensor on cuda:{ordinal}", str(tensor.device))
    if contiguous and not tensor.is_contiguous():
        raise _unexpected(name, "a contiguous tensor", f"strides {tensor.stride()}")


def check_number(name: str, value: object, low: int, high: int) -> None:
    """Check that an integer lies between two, both allowed. Raises ``ValueError`` naming the argument."""
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise _unexpected(name, f"an integer from {low} to {high}", repr(value))


def check_choice(name: str, value: object, choices: Sequence[object]) -> None:
    """Check that a value is one of a few. Raises ``ValueError`` naming the argument."""
    if value not in choices:
        raise _unexpected(name, f"one of {', '.join(map(str, choices))}", repr(value))


def plain_dtype(dtype: Any) -> str:
    """A torch dtype without ``torch.``: ``float32``."""
    return str(dtype).removeprefix("torch.")


def _unexpected(name: str, expected: str, came: str) -> ValueError:
    return ValueError(f"{name}: {expected} expected, got {came}")
