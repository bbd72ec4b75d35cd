"""Checks of a launcher's arguments: the error names the argument, what was expected and what came."""

from __future__ import annotations

import os
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
    beside: tuple[str, Any] | None = None,
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
        beside: Another argument, with its name, whose device alone it must share.
        ordinal: The number of the GPU it must lie on.
        contiguous: Whether its elements must lie row by row without gaps.
        at_least: The fewest elements.

    Raises:
        ValueError: Naming the argument, what was expected and what came.
    """
    _check_kind(name, tensor)
    if dtypes is not None and tensor.dtype not in dtypes:
        raise _unexpected(name, " or ".join(map(plain_dtype, dtypes)), plain_dtype(tensor.dtype))
    if like is not None:
        other, reference = like
        if tensor.dtype != reference.dtype:
            raise _unexpected(name, f"the dtype of {other}, {plain_dtype(reference.dtype)},", plain_dtype(tensor.dtype))
        beside = like
    if beside is not None and tensor.device != beside[1].device:
        raise _unexpected(name, f"the device of {beside[0]}, {beside[1].device},", str(tensor.device))
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


def _check_kind(name: str, tensor: Any) -> None:
    """Whether it is a tensor whose elements lie in its memory: that is what a kernel reads."""
    import torch

    if not isinstance(tensor, torch.Tensor):
        raise _unexpected(name, "a tensor", type(tensor).__name__)
    if tensor.layout is not torch.strided or tensor.is_nested:
        raise _unexpected(name, "a dense tensor", "a nested one" if tensor.is_nested else str(tensor.layout))
    if tensor.is_neg() or tensor.is_conj():
        raise _unexpected(name, "a tensor whose sign is in its memory (resolve_neg, resolve_conj)", "a lazy one")


def check_launchable(name: str, tensor: Any) -> None:
    """Check that Triton can launch on a tensor: one on the current GPU, or on the CPU in Triton's interpreter.

    Raises ``ValueError`` naming the argument.
    """
    import torch

    if tensor.is_cuda:
        if tensor.device.index != torch.cuda.current_device():
            raise _unexpected(
                name, f"a tensor on the current GPU, cuda:{torch.cuda.current_device()},", str(tensor.device)
            )
    elif tensor.device.type != "cpu" or os.environ.get("TRITON_INTERPRET") != "1":
        raise _unexpected(name, "a tensor on a GPU", str(tensor.device))


def check_written(name: str, out: Any, *read: tuple[str, Any], in_place: bool = False) -> None:
    """Check that a result can be written: each element has its own address, apart from what is read meanwhile.

    Args:
        name: The result's name.
        out: The tensor that is written.
        read: Names and tensors that are read.
        in_place: Whether out may be one of them, element for element.

    Raises:
        ValueError: Naming the result. Spans of memory are compared, so of two tensors that lie in one another's gaps
            the result is refused as well.
    """
    extent = 1
    for stride, size in sorted(
        (stride, size) for stride, size in zip(out.stride(), out.shape, strict=True) if size > 1
    ):
        if stride < extent:
            raise _unexpected(name, "an address for each element", f"strides {out.stride()}")
        extent += (size - 1) * stride
    for other, tensor in read:
        same = in_place and tensor.data_ptr() == out.data_ptr() and tensor.stride() == out.stride()
        if not same and tensor.device == out.device and _meet(_span(out), _span(tensor)):
            apart = f"memory apart from {other}'s" + (f", or {other} itself," if in_place else "")
            raise _unexpected(name, apart, "an overlap")


def _span(tensor: Any) -> tuple[int, int]:
    """First and last address, the latter exclusive; of a tensor without elements nothing."""
    if not tensor.numel():
        return 0, 0
    last = sum((size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride(), strict=True))
    start = tensor.data_ptr()
    return start, start + (last + 1) * tensor.element_size()


def _meet(one: tuple[int, int], other: tuple[int, int]) -> bool:
    return max(one[0], other[0]) < min(one[1], other[1])


def check_flag(name: str, value: object) -> None:
    """Check that a value is True or False. Raises ``ValueError`` naming the argument."""
    if not isinstance(value, bool):
        raise _unexpected(name, "True or False", repr(value))


def check_number(name: str, value: object, low: int, high: int) -> None:
    """Check that an integer lies between two, both allowed. Raises ``ValueError`` naming the argument."""
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise _unexpected(name, f"an integer from {low} to {high}", repr(value))


def check_choice(name: str, value: object, choices: Sequence[object]) -> None:
    """Check that a value is one of a few, and of its type: True is no 1. Raises ``ValueError`` naming the argument."""
    if not any(type(value) is type(choice) and value == choice for choice in choices):
        raise _unexpected(name, f"one of {', '.join(map(str, choices))}", repr(value))


def plain_dtype(dtype: Any) -> str:
    """A torch dtype without ``torch.``: ``float32``."""
    return str(dtype).removeprefix("torch.")


def _unexpected(name: str, expected: str, came: str) -> ValueError:
    return ValueError(f"{name}: {expected} expected, got {came}")
