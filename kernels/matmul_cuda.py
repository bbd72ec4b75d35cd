"""Launchers of the fp32 matmul ladder, ``cuda/matmul_1_naive.cu`` to ``cuda/matmul_8_warp_tile.cu``: C = A · B.

Every rung adds the same products in the same order; they differ in how words get to the arithmetic. So all of them give
the same bits, but for the sign of a zero: where a rung fills the last chunk of k up with zeros, a sum that has
underflowed to -0 becomes +0. ``cuda/matmul.cuh`` says how to read the ladder.

``count_loads`` runs a rung's counted twin, the same code with a counter behind each load from global memory;
``words_expected`` says what must come of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gpu_explain.kernels.arguments import check_choice, check_tensor, check_written
from gpu_explain.kernels.loader import Kernel, load

if TYPE_CHECKING:
    from gpu_explain.kernels.session import Session

_WORD_BYTES = 4
_WIDE_LOAD_BYTES = 16
_MOST_BLOCKS = 2**31 - 1


@dataclass(frozen=True)
class Rung:
    """One kernel of the ladder.

    Attributes:
        name: What it is called; its file is ``matmul_{number}_{name}.cu``.
        number: Its place on the ladder, from 1.
        tile: The block tile: rows and columns of C that one block computes.
        reuse: Outputs, down and across, that share what is loaded from global memory once: the block tile where a block
            shares its words in shared memory, and 1 × 1 where each thread loads its own.
        threads: Threads of a block.
        wide: Whether it loads 16 bytes at a time, where rows begin at multiples of 16 bytes.
    """

    name: str
    number: int
    tile: tuple[int, int]
    reuse: tuple[int, int]
    threads: tuple[int, ...]
    wide: bool = False

    @property
    def kernel(self) -> str:
        """The kernel's name."""
        return f"matmul_{self.number}_{self.name}"

    @property
    def file(self) -> str:
        """The file in ``cuda/``."""
        return f"{self.kernel}.cu"


RUNGS = (
    Rung("naive", 1, (32, 32), (1, 1), (32, 32)),
    Rung("coalesced", 2, (32, 32), (1, 1), (32, 32)),
    Rung("shared_tile", 3, (32, 32), (32, 32), (32, 32)),
    Rung("register_column", 4, (64, 64), (64, 64), (512,)),
    Rung("register_tile", 5, (128, 128), (128, 128), (256,)),
    Rung("vectorised", 6, (128, 128), (128, 128), (256,), wide=True),
    Rung("pipelined", 7, (128, 128), (128, 128), (256,), wide=True),
    Rung("warp_tile", 8, (128, 128), (128, 128), (128,), wide=True),
)
"""The ladder from the bottom."""
BEST = RUNGS[-1].name


@dataclass(frozen=True)
class Loads:
    """What the loads of A and B in one launch added up to, as the kernel itself counted.

    Attributes:
        words: 4-byte words that threads asked for.
        requests: Load instructions, counted once for all lanes of a warp that ran it together.
        sectors: 32-byte sectors that each request touched, summed over requests.
    """

    words: int
    requests: int
    sectors: int


def matmul_cuda(gpu: Session, a: Any, b: Any, out: Any = None, *, rung: str = BEST) -> Any:
    """C = A · B in one launch on the session's stream; returns ``out``, or a new tensor.

    Args:
        gpu: The session.
        a: float32, m × k, contiguous, on the session's GPU. It may begin at any element; m, n and k may be 0.
        b: Like a, k × n.
        out: Like them, m × n; must not overlap them.
        rung: The name of one of :data:`RUNGS`.

    Raises:
        ValueError: Naming the argument and what was expected.
    """
    chosen = find_rung(rung)
    out = _checked(gpu, a, b, out, chosen)
    if out.numel():
        kernel = kernel_of(gpu, rung, any_alignment=not _aligned(a, b, out))
        (m, n), k = out.shape, a.shape[1]
        kernel.launch(gpu, _blocks(out, chosen), chosen.threads, a, b, out, m, n, k)
    return out


def count_loads(gpu: Session, a: Any, b: Any, out: Any = None, *, rung: str) -> Loads:
    """Run the counted twin of a rung and read its counter; waits for it. Arguments and errors as ``matmul_cuda``."""
    import torch

    chosen = find_rung(rung)
    out = _checked(gpu, a, b, out, chosen)
    counts = torch.zeros(3, dtype=torch.int64, device=a.device)
    if out.numel():
        kernel = kernel_of(gpu, rung, any_alignment=not _aligned(a, b, out), counted=True)
        (m, n), k = out.shape, a.shape[1]
        kernel.launch(gpu, _blocks(out, chosen), chosen.threads, a, b, out, m, n, k, counts)
    gpu.synchronise()
    return Loads(*counts.tolist())


def kernel_of(gpu: Session, rung: str, *, any_alignment: bool = False, counted: bool = False) -> Kernel:
    """The compiled kernel of a rung: to launch it, or to ask for its registers and how many blocks an SM has room for.

    ``any_alignment`` asks for the variant that a rung with 16-byte loads uses for rows that begin elsewhere,
    ``counted`` for the twin that counts. Raises ``ValueError`` naming a wrong rung.
    """
    chosen = find_rung(rung)
    name = chosen.kernel + "_any" * (chosen.wide and any_alignment) + "_counted" * counted
    # Looked up by name first: finding it through its file takes the host longer than a small launch may last.
    kernel = gpu.loaded.get(name)
    if kernel is None:
        kernel = gpu.loaded[name] = load(gpu, chosen.file, name)
    found: Kernel = kernel
    return found


def find_rung(name: str) -> Rung:
    """The rung of that name. Raises ``ValueError``."""
    check_choice("rung", name, tuple(rung.name for rung in RUNGS))
    return next(rung for rung in RUNGS if rung.name == name)


def reference(a: Any, b: Any) -> Any:
    """A · B by torch in float64."""
    return a.double() @ b.double()


def error_bound(a: Any, b: Any) -> Any:
    """The most by which each output may be off in float32, whatever the order: k · 2^-24 · |A| · |B|, in float64.

    Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., section 3.5, without its terms of second order.
    """
    return a.shape[1] * 2.0**-24 * reference(a.abs(), b.abs())


def flops(m: int, n: int, k: int) -> int:
    """Arithmetic of A · B: a multiplication and an addition for each output and step along k."""
    return 2 * m * n * k


def least_bytes(m: int, n: int, k: int) -> int:
    """Bytes that must be moved at least: A and B read once, C written once."""
    return _WORD_BYTES * (m * k + k * n + m * n)


def words_expected(rung: str, m: int, n: int, k: int) -> int:
    """Words that a rung must load, where down × across outputs share them (``Rung.reuse``).

    Each word of A is loaded once for every ``across`` columns of C, each of B once for every ``down`` rows. Where
    nothing is shared that is 2 k words an output, and 2 k / t where t × t outputs share.
    """
    down, across = find_rung(rung).reuse
    return m * k * -(-n // across) + k * n * -(-m // down)


def _checked(gpu: Session, a: Any, b: Any, out: Any, rung: Rung) -> Any:
    """Check the arguments; returns ``out``, or a new tensor for it."""
    import torch

    check_tensor("a", a, dtypes=(torch.float32,), dims=2, ordinal=gpu.ordinal)
    check_tensor("b", b, like=("a", a), dims=2)
    check_tensor("b", b, shape=(a.shape[1], b.shape[1]))
    shape = (a.shape[0], b.shape[1])
    if out is None:
        out = torch.empty(shape, dtype=a.dtype, device=a.device)
    check_tensor("out", out, like=("a", a), shape=shape)
    check_written("out", out, ("a", a), ("b", b))
    if _blocks(out, rung) > _MOST_BLOCKS:
        raise ValueError(f"out: at most {_MOST_BLOCKS} tiles of {rung.tile} expected, got {_blocks(out, rung)}")
    return out


def _blocks(out: Any, rung: Rung) -> int:
    """Blocks of a launch: one for each block tile."""
    (rows, columns), (m, n) = rung.tile, out.shape
    return int(-(-m // rows) * -(-n // columns))


def _aligned(a: Any, b: Any, out: Any) -> bool:
    """Whether every row of the three begins at a multiple of 16 bytes and is a multiple of that long."""
    return all(
        tensor.data_ptr() % _WIDE_LOAD_BYTES == 0 and tensor.shape[1] * _WORD_BYTES % _WIDE_LOAD_BYTES == 0
        for tensor in (a, b, out)
    )
