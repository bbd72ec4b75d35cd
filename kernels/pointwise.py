"""What the launchers of c = f(a, b) share: the check of their arguments, and the choice between CUDA's two rungs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gpu_explain.kernels.arguments import check_choice, check_launchable, check_tensor, check_written
from gpu_explain.kernels.loader import load

if TYPE_CHECKING:
    from gpu_explain.kernels.session import Session

RUNGS = ("each", "quads")
"""One number a thread, or four as one 16-byte word."""
THREADS = 256
MOST_BLOCKS = 2**31 - 1
"""The most blocks (programs) that one launch may have along x."""
_WORD = 16


def check(a: Any, b: Any, out: Any, dtypes: Sequence[Any], *, ordinal: int | None = None) -> Any:
    """Check two inputs and a result of one shape, dtype and device; returns ``out``, or a new tensor for it.

    ``ordinal`` is the number of the GPU that they must lie on; ``None`` is wherever Triton can launch. Raises
    ``ValueError`` naming the argument and what was expected.
    """
    import torch

    check_tensor("a", a, dtypes=dtypes, ordinal=ordinal)
    if ordinal is None:
        check_launchable("a", a)
    shape = tuple(a.shape)
    check_tensor("b", b, dtypes=dtypes, shape=shape, like=("a", a))
    if out is None:
        return torch.empty_like(a)
    check_tensor("out", out, dtypes=dtypes, shape=shape, like=("a", a))
    check_written("out", out, ("a", a), ("b", b), in_place=True)
    return out


def float_dtypes() -> tuple[Any, ...]:
    """The dtypes that the Triton kernels take: float32, float16, bfloat16."""
    import torch

    return (torch.float32, torch.float16, torch.bfloat16)


def launch_rung(gpu: Session, file: str, stem: str, a: Any, b: Any, out: Any, rung: str | None) -> None:
    """Launch ``<stem>_each`` or ``<stem>_quads`` of a file of ``cuda/`` on the session's stream.

    Args:
        gpu: The session.
        file: File in ``cuda/``.
        stem: What both kernels' names begin with.
        a: Checked float32 tensor, as are the others.
        b: Like a.
        out: Like a.
        rung: One of :data:`RUNGS`; ``None`` is ``quads`` where every array begins at a multiple of 16 bytes.

    Raises:
        ValueError: Naming the argument and what was expected.
    """
    n = a.numel()
    crooked = [name for name, t in (("a", a), ("b", b), ("out", out)) if t.data_ptr() % _WORD]
    if rung is None:
        rung = "each" if crooked else "quads"
    elif rung == "quads" and crooked:
        raise ValueError(f"{crooked[0]}: an address divisible by {_WORD} expected for quads, got one that is not")
    else:
        check_choice("rung", rung, RUNGS)
    threads = n // 4 + n % 4 if rung == "quads" else n
    blocks = -(-threads // THREADS)
    if blocks > MOST_BLOCKS:
        raise ValueError(f"a: at most {MOST_BLOCKS * THREADS} threads' worth of elements expected, got {n}")
    if n:
        name = f"{stem}_{rung}"
        # Found by its name and not through its path: a call's cost on the host is part of what scenes measure.
        kernel = gpu.loaded.get(name)
        if kernel is None:
            kernel = gpu.loaded[name] = load(gpu, file, name)
        kernel.launch(gpu, blocks, THREADS, a, b, out, n)
