"""Results in poisoned rooms: what a kernel left unwritten, or wrote beside its result, is seen."""

from __future__ import annotations

from typing import Any

POISON = -12345.0
BAND = 64
"""Poisoned elements before and behind a result."""


class Guarded:
    """A result tensor of ``n`` elements, poisoned, in the middle of a poisoned room.

    Attributes:
        tensor: The result; begins ``offset`` elements behind a multiple of 256 bytes.
    """

    def __init__(self, n: int, dtype: Any, *, offset: int = 0) -> None:
        import torch

        self._room = torch.full((BAND + offset + n + BAND,), POISON, dtype=dtype, device="cuda")
        self._first, self._end = BAND + offset, BAND + offset + n
        self.tensor = self._room[self._first : self._end]

    def untouched(self) -> bool:
        """Whether the bands on both sides are as they were."""
        poison = self._room.new_tensor(POISON)
        return bool((self._room[: self._first] == poison).all() and (self._room[self._end :] == poison).all())


def equal_bits(got: Any, wanted: Any) -> bool:
    """Whether two tensors are the same to the last bit, except that any NaN is a NaN."""
    import torch

    whole = torch.int32 if got.dtype == torch.float32 else torch.int16
    nan = torch.isnan(got) & torch.isnan(wanted)
    same = got.contiguous().view(whole) == wanted.contiguous().view(whole)
    return got.dtype == wanted.dtype and got.shape == wanted.shape and bool((same | nan).all())
