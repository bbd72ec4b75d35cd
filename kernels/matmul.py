"""C = A · B in Triton: one program a tile of C, products on the tensor cores, sums in float32.

A program walks along k. At each step it loads a tile of A and a tile of B and multiplies them, so that every number
that comes from memory is used BLOCK_N (or BLOCK_M) times; Triton keeps the loads of the next steps in flight meanwhile
(``num_stages``). Programs that run at the same time should find their tiles in the L2, so they are numbered in groups
of GROUP_M rows of tiles (:func:`place_of`). What the tile sizes should be is in ``matmul_configs.py``; a program that
stays for more than one tile is in ``matmul_persistent.py``; the same in CUDA, step by step, in ``cuda/matmul_*.cu``.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import triton
import triton.language as tl

from gpu_explain.kernels.arguments import check_flag, check_launchable, check_tensor, check_written, plain_dtype
from gpu_explain.kernels.matmul_configs import Config, ladder, search_space, shipped
from gpu_explain.kernels.trace_triton import trace_begin, trace_end
from gpu_explain.kernels.turned import turned

LONGEST = 2**31 - 1024
"""The most rows or columns of an operand: indices inside one dimension are 32-bit, offsets are 64-bit."""
_MOST_PROGRAMS = 2**31 - 1
_WORD, _SEEN = 16, 16
"""Bytes that a thread loads at once at most, and the divisor that Triton tries on every integer argument."""
_FP8_SINCE = (8, 9)
_ALONG_K = (9, 10)
"""Generations whose tensor cores take other than 16-bit elements along k only."""


@triton.jit
def place_of(tile, m, n, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, GROUP_M: tl.constexpr):
    """Row and column (counted in tiles) of a tile's number: down GROUP_M rows, then one column to the right.

    Tiles that run together then form a block and not a long row: for as many tiles of C, fewer of A and B are needed.
    """
    tiles_m, tiles_n = tl.cdiv(m, BLOCK_M), tl.cdiv(n, BLOCK_N)
    first_row = tile // (GROUP_M * tiles_n) * GROUP_M
    rows = min(tiles_m - first_row, GROUP_M)
    inside = tile % (GROUP_M * tiles_n)
    return first_row + inside % rows, inside // rows


@triton.jit
def multiple(x, UNIT: tl.constexpr):
    """x, of which the compiler now knows that UNIT divides it; a stride of 1, a constant to it, stays as it is."""
    if isinstance(x, tl.tensor):
        x = x // UNIT * UNIT
    return x


@triton.jit
def product_of(
    a,
    b,
    tile_m,
    tile_n,
    m,
    n,
    k,
    stride_am,
    stride_ak,
    stride_bk,
    stride_bn,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    EVEN_K: tl.constexpr,
    UNIT: tl.constexpr,
):
    """One tile of a · b in float32: its rows of a times its columns of b, BLOCK_K steps of k at a time."""
    n, k = multiple(n, UNIT), multiple(k, UNIT)
    stride_am, stride_ak = multiple(stride_am, UNIT), multiple(stride_ak, UNIT)
    stride_bk, stride_bn = multiple(stride_bk, UNIT), multiple(stride_bn, UNIT)
    # 64 bits, or offsets would wrap beyond 2^31 elements.
    rows = (tile_m * BLOCK_M + tl.arange(0, BLOCK_M)).to(tl.int64)
    columns = (tile_n * BLOCK_N + tl.arange(0, BLOCK_N)).to(tl.int64)
    steps = tl.arange(0, BLOCK_K)
    # What lies past an end wraps around: it reads what is there, and is not stored (rows, columns) or masked (steps).
    # It spares the loop two masks. And an index that came out of a division is no longer taken apart by the compiler,
    # which would have to put each address together again at every step; steps wrap for that reason alone.
    along = (steps % k).to(tl.int64)
    a_tile = a + (rows % m)[:, None] * stride_am + along[None, :] * stride_ak
    b_tile = b + along[:, None] * stride_bk + (columns % n)[None, :] * stride_bn
    total = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    # Otherwise ptxas allows for a loop that never runs, and on Hopper then waits after every matrix instruction.
    tl.assume(k > 0)
    for done in tl.range(0, k, BLOCK_K):
        if EVEN_K:
            a_now, b_now = tl.load(a_tile), tl.load(b_tile)
        else:
            # Steps past the end must add nothing, whatever lies in memory there: an infinity times 0 is NaN.
            a_now = tl.load(a_tile, mask=steps[None, :] < k - done, other=0.0)
            b_now = tl.load(b_tile, mask=steps[:, None] < k - done, other=0.0)
        total = tl.dot(a_now, b_now, total)
        a_tile += tl.cast(stride_ak, tl.int64) * BLOCK_K
        b_tile += tl.cast(stride_bk, tl.int64) * BLOCK_K
    return total


@triton.jit
def store_tile(
    c, total, row, column, m, n, stride_cm, stride_cn, ROWS: tl.constexpr, COLUMNS: tl.constexpr, UNIT: tl.constexpr
):
    """Store ``total`` from that row and column of c on, as c's elements; nothing outside it."""
    n, stride_cm, stride_cn = multiple(n, UNIT), multiple(stride_cm, UNIT), multiple(stride_cn, UNIT)
    rows = (row + tl.arange(0, ROWS)).to(tl.int64)
    columns = (column + tl.arange(0, COLUMNS)).to(tl.int64)
    inside = (rows < m)[:, None] & (columns < n)[None, :]
    c_tile = c + rows[:, None] * stride_cm + columns[None, :] * stride_cn
    tl.store(c_tile, total.to(c.dtype.element_ty), mask=inside)


@triton.jit
def matmul_kernel(
    record,
    arrivals,
    a,
    b,
    c,
    m,
    n,
    k,
    stride_am,
    stride_ak,
    stride_bk,
    stride_bn,
    stride_cm,
    stride_cn,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    GROUP_M: tl.constexpr,
    EVEN_K: tl.constexpr,
    UNIT: tl.constexpr,
    TRACED: tl.constexpr,
):
    """c[m, n] = a[m, k] · b[k, n], any strides, k of at least 1; launch cdiv(m, BLOCK_M) * cdiv(n, BLOCK_N) programs.

    ``EVEN_K`` says that BLOCK_K divides k, and UNIT what divides n, k and all strides but those of 1 (:func:`unit_of`).
    ``record`` and ``arrivals`` are those of ``trace_triton.py`` where TRACED, else ``None``.
    """
    start_clock = trace_begin(record, arrivals) if TRACED else 0
    tile_m, tile_n = place_of(tl.program_id(0), m, n, BLOCK_M, BLOCK_N, GROUP_M)
    total = product_of(
        a,
        b,
        tile_m,
        tile_n,
        m,
        n,
        k,
        stride_am,
        stride_ak,
        stride_bk,
        stride_bn,
        BLOCK_M,
        BLOCK_N,
        BLOCK_K,
        EVEN_K,
        UNIT,
    )
    store_tile(c, total, tile_m * BLOCK_M, tile_n * BLOCK_N, m, n, stride_cm, stride_cn, BLOCK_M, BLOCK_N, UNIT)
    if TRACED:
        trace_end(record, start_clock)


def matmul(a: Any, b: Any, out: Any = None, *, config: Config | None = None, tune: bool = False) -> Any:
    """A · B in one launch on the current stream; returns ``out``, or a new tensor.

    Of float32 operands the tensor cores take the first 10 bits of the mantissa (tf32); float8 needs compute
    capability 8.9. Sums are kept in float32 (on Hopper's float8 path, in what its tensor cores keep: about 14 bits).
    Operands of these may be copied first (:func:`along_k`).

    Args:
        a: ``[m, k]`` of float32, float16, bfloat16, float8_e4m3fn or float8_e5m2; any strides, any size, also 0.
        b: ``[k, n]``, of the same dtype on the same device.
        out: ``[m, n]`` of float32, float16 or bfloat16, apart from a and b in memory; by default of a's dtype
            (bfloat16 for float8, whose products float16 cannot hold).
        config: Tile sizes; by default those shipped for this GPU, dtype and size.
        tune: Time the whole search space first, some seconds, unless this shape was tuned before on this machine
            (Triton keeps the outcome on disk). Not together with ``config``.

    Raises:
        ValueError: Naming the argument and what was expected.
    """
    out = check(a, b, out)
    check_flag("tune", tune)
    check_config(config)
    a, b = along_k(a, b)
    (m, k), n = a.shape, b.shape[1]
    if tune and config is not None:
        raise ValueError("config: None expected together with tune")
    if not out.numel():
        return out
    if k == 0:
        return out.zero_()
    arguments = (None, None, a, b, out, m, n, k, *a.stride(), *b.stride(), *out.stride())
    if tune:
        _tuned()[lambda chosen: (_tiles(m, n, chosen["BLOCK_M"], chosen["BLOCK_N"]),)](
            *arguments, UNIT=unit_of(a, b, out), TRACED=False
        )
        return out
    config = config or shipped_for(a, b)
    matmul_kernel[(_tiles(m, n, config.block_m, config.block_n),)](
        *arguments,
        **config.meta,
        EVEN_K=k % config.block_k == 0,
        UNIT=unit_of(a, b, out),
        TRACED=False,
        **config.options,
    )
    return out


def matmul_traced(record: Any, arrivals: Any, a: Any, b: Any, out: Any, *, config: Config | None = None) -> Any:
    """The same, and each program writes down where and when it ran; needs m, n and k of at least 1.

    Args:
        record: int64 ``[6, programs(m, n, config)]``, columns as in ``trace_triton.py``.
        arrivals: int32 ``[1]``, 0 before the launch.
        a: As for :func:`matmul`; so are the others.
        b: ``[k, n]``.
        out: ``[m, n]``.
        config: Tile sizes.

    Raises:
        ValueError: Naming the argument and what was expected.
    """
    import torch

    check(a, b, out)
    check_config(config)
    a, b = along_k(a, b)
    (m, k), n = a.shape, b.shape[1]
    config = config or shipped_for(a, b)
    check_tensor("a", a, at_least=1, contiguous=False)
    check_tensor("b", b, at_least=1, contiguous=False)
    check_tensor("record", record, dtypes=(torch.int64,), shape=(6, programs(m, n, config)), beside=("a", a))
    check_tensor("arrivals", arrivals, dtypes=(torch.int32,), shape=(1,), beside=("a", a))
    arguments = (record, arrivals, a, b, out, m, n, k, *a.stride(), *b.stride(), *out.stride())
    matmul_kernel[(programs(m, n, config),)](
        *arguments,
        **config.meta,
        EVEN_K=k % config.block_k == 0,
        UNIT=unit_of(a, b, out),
        TRACED=True,
        **config.options,
    )
    return out


def programs(m: int, n: int, config: Config) -> int:
    """How many programs :func:`matmul` launches: one a tile."""
    return _tiles(m, n, config.block_m, config.block_n)


def check(a: Any, b: Any, out: Any = None) -> Any:
    """Check the arguments of :func:`matmul` and its persistent twin; returns ``out``, or a new tensor for it.

    Raises ``ValueError`` naming the argument and what was expected.
    """
    import torch

    fp8 = (torch.float8_e4m3fn, torch.float8_e5m2)
    plain = (torch.float32, torch.float16, torch.bfloat16)
    check_tensor("a", a, dtypes=(*plain, *fp8), dims=2, contiguous=False)
    check_launchable("a", a)
    check_tensor("b", b, like=("a", a), dims=2, contiguous=False)
    if b.shape[0] != a.shape[1]:
        raise ValueError(f"b: {a.shape[1]} rows expected, as many as a has columns, got shape {tuple(b.shape)}")
    longest = max(*a.shape, *b.shape)
    if longest > LONGEST:
        raise ValueError(f"a, b: at most {LONGEST} rows or columns expected, got {longest}")
    if a.dtype in fp8 and a.is_cuda and torch.cuda.get_device_capability(a.device) < _FP8_SINCE:
        raise ValueError(f"a: {' or '.join(map(plain_dtype, plain))} expected on this GPU, got {plain_dtype(a.dtype)}")
    shape = (a.shape[0], b.shape[1])
    if out is None:
        return torch.empty(shape, dtype=torch.bfloat16 if a.dtype in fp8 else a.dtype, device=a.device)
    check_tensor("out", out, dtypes=plain, shape=shape, beside=("a", a), contiguous=False)
    check_written("out", out, ("a", a), ("b", b))
    return out


def check_config(config: Any) -> None:
    """Check that tile sizes are a :class:`Config`, or ``None``. Raises ``ValueError``."""
    if config is not None and not isinstance(config, Config):
        raise ValueError(f"config: a Config expected, got {config!r}")


def unit_of(a: Any, b: Any, out: Any) -> int:
    """What the kernel should be told divides n, k and the strides, in elements; 1 when it is nothing new.

    A thread can load 16 bytes at once where rows begin at multiples of 16 bytes. Triton looks whether 16 divides a
    number, and misses rows of 8 · 513 float16.
    """
    if not a.is_cuda:  # Triton's interpreter, to which a stride of 1 is no constant
        return 1
    unit = _WORD // a.element_size()
    numbers = [x for x in (a.shape[1], b.shape[1], *a.stride(), *b.stride(), *out.stride()) if x != 1]
    return unit if all(x % unit == 0 for x in numbers) and any(x % _SEEN for x in numbers) else 1


def along_k(a: Any, b: Any) -> tuple[Any, Any]:
    """The operands, copied where the tensor cores would have to have them the other way round.

    Those of Hopper and Blackwell multiply out of shared memory. They take 16-bit elements along k or across, others
    along k only: turning each tile on its way costs several times what turning the matrix once does.
    """
    import torch

    across = a.is_cuda and torch.cuda.get_device_capability(a.device)[0] in _ALONG_K
    if not across or a.element_size() == 2:
        return a, b
    return a if a.stride(1) == 1 else turned(a.t()), b if b.stride(0) == 1 else turned(b).t()


def shipped_for(a: Any, b: Any) -> Config:
    """The shipped configuration for two operands that passed :func:`check`, on their device."""
    import torch

    if not a.is_cuda:  # Triton's interpreter, where small tiles are quick
        return Config(32, 32, 32, group_m=2)
    device = torch.cuda.get_device_properties(a.device)
    rungs = ladder((device.major, device.minor), a.element_size())
    return shipped(rungs, device.multi_processor_count, a.shape[0], b.shape[1])


def reference(a: Any, b: Any) -> Any:
    """The product in float64, of the numbers that a and b really hold."""
    import torch

    return a.to(torch.float64) @ b.to(torch.float64)


def flops(m: int, n: int, k: int) -> int:
    """Arithmetic of one product: a multiplication and an addition for each of m·n·k."""
    return 2 * m * n * k


def bytes_needed(m: int, n: int, k: int, item: int, out_item: int) -> int:
    """Bytes that must be moved at least: A and B read once, C written once."""
    return item * (m * k + k * n) + out_item * m * n


def bytes_loaded(m: int, n: int, k: int, item: int, config: Config) -> int:
    """Bytes that programs load, from memory or the L2: each its rows of A and its columns of B."""
    return item * k * programs(m, n, config) * (config.block_m + config.block_n)


@cache
def _tuned() -> Any:
    """The kernel under Triton's autotuner: searched once a shape, layout and dtype, kept on disk."""
    import torch

    def fitting(configs: list[Any], arguments: dict[str, Any], **_: Any) -> list[Any]:
        a = arguments["a"]
        allowed = search_space(torch.cuda.get_device_capability(a.device), a.element_size())
        return [triton.Config(config.meta, **config.options) for config in allowed]

    even = triton.heuristics({"EVEN_K": lambda arguments: arguments["k"] % arguments["BLOCK_K"] == 0})(matmul_kernel)
    return triton.autotune(
        configs=[triton.Config({}), triton.Config({})],  # stand-ins: what fits the GPU at hand is known at a call
        key=["m", "n", "k", "stride_am", "stride_ak", "stride_bk", "stride_bn"],
        prune_configs_by={"early_config_prune": fitting},
        cache_results=True,
    )(even)


def _tiles(m: int, n: int, block_m: int, block_n: int) -> int:
    tiles = -(-m // block_m) * -(-n // block_n)
    if tiles > _MOST_PROGRAMS:
        raise ValueError(f"a, b: at most {_MOST_PROGRAMS} tiles of {block_m} × {block_n} expected, got {tiles}")
    return tiles
