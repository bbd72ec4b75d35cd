"""The same product by programs that stay: as many as there are SMs, each going from tile to tile of C.

An ordinary program (``matmul.py``) pays at both ends of its life: nothing is loaded yet when it starts, and the tensor
cores wait while it stores. A persistent one loads for its next tile while it still multiplies and stores the last.

Where GPU and layout allow, tiles are moved by the Tensor Memory Accelerator (compute capability 9.0 on): one thread
asks for a whole tile by its coordinates, with a *descriptor* that knows the matrix's shape and strides, so that no
registers go into addresses and no masks are needed (what lies outside reads as 0 and is not written). Otherwise the
same kernel is handed pointers.
"""

from __future__ import annotations

from typing import Any

import triton
import triton.language as tl

from gpu_explain.kernels.arguments import check_number, check_tensor
from gpu_explain.kernels.matmul import (
    along_k,
    check,
    check_config,
    place_of,
    product_of,
    programs,
    store_tile,
    unit_of,
)
from gpu_explain.kernels.matmul_configs import TMA_SINCE, Config, persistent_ladder, shipped
from gpu_explain.kernels.trace_triton import globaltimer_ns, trace_begin, trace_end

_TMA_BYTES = 16
"""Addresses and strides in bytes that a descriptor takes are multiples of this."""
_TMA_STRIDE = 2**40


@triton.jit
def ask_for_tile(source, row, column, TURNED: tl.constexpr):
    """A tile of a matrix by its descriptor, or by that of its transpose where TURNED; 0 outside it."""
    if TURNED:
        tile = source.load([column, row]).T
    else:
        tile = source.load([row, column])
    return tile


@triton.jit
def put_tile(
    c,
    total,
    row,
    column,
    m,
    n,
    stride_cm,
    stride_cn,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
    UNIT: tl.constexpr,
    TMA: tl.constexpr,
):
    """Store a tile by c's descriptor, or by pointers."""
    if TMA:
        c.store([row, column], total.to(c.dtype))
    else:
        store_tile(c, total, row, column, m, n, stride_cm, stride_cn, ROWS, COLUMNS, UNIT)


@triton.jit
def matmul_persistent_kernel(
    record,
    arrivals,
    done,
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
    STORE_PARTS: tl.constexpr,
    ACROSS: tl.constexpr,
    TMA: tl.constexpr,
    A_TURNED: tl.constexpr,
    B_TURNED: tl.constexpr,
    TRACED: tl.constexpr,
):
    """c[m, n] = a[m, k] · b[k, n] as ``matmul_kernel`` does it, by any number of programs; k is at least 1.

    a, b and c are descriptors where TMA, of the transposes where A_TURNED and B_TURNED, else pointers. ACROSS loads for
    the next tile before the last is stored (descriptors only). STORE_PARTS is 1 or 2; for EVEN_K and UNIT see there.
    Where TRACED, ``record`` and ``arrivals`` are those of ``trace_triton.py``, and ``done`` (int64 ``[2, tiles]``) is
    told which program did a tile and when, on the GPU's timer, it had asked for it to be stored; else all are ``None``.
    """
    start_clock = trace_begin(record, arrivals) if TRACED else 0
    tiles = tl.cdiv(m, BLOCK_M) * tl.cdiv(n, BLOCK_N)
    tl.assume(k > 0)
    # Flattened, the two loops are one over all steps of all tiles, and loads run ahead across the end of a tile.
    for tile in tl.range(tl.program_id(0), tiles, tl.num_programs(0), flatten=ACROSS):
        tile_m, tile_n = place_of(tile, m, n, BLOCK_M, BLOCK_N, GROUP_M)
        row, column = tile_m * BLOCK_M, tile_n * BLOCK_N
        if TMA:
            total = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
            for step in tl.range(0, tl.cdiv(k, BLOCK_K)):
                a_now = ask_for_tile(a, row, step * BLOCK_K, A_TURNED)
                b_now = ask_for_tile(b, step * BLOCK_K, column, B_TURNED)
                total = tl.dot(a_now, b_now, total)
        else:
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
        if STORE_PARTS == 1:
            put_tile(c, total, row, column, m, n, stride_cm, stride_cn, BLOCK_M, BLOCK_N, UNIT, TMA)
        else:
            # The left half, then the right one, through half the shared memory: room for one more tile in flight.
            left, right = tl.split(tl.permute(tl.reshape(total, (BLOCK_M, 2, BLOCK_N // 2)), (0, 2, 1)))
            half: tl.constexpr = BLOCK_N // 2
            put_tile(c, left, row, column, m, n, stride_cm, stride_cn, BLOCK_M, half, UNIT, TMA)
            put_tile(c, right, row, column + half, m, n, stride_cm, stride_cn, BLOCK_M, half, UNIT, TMA)
        if TRACED:
            tl.store(done + tile, tl.program_id(0).to(tl.int64))
            tl.store(done + tiles + tile, globaltimer_ns())
    if TRACED:
        trace_end(record, start_clock)


def matmul_persistent(
    a: Any, b: Any, out: Any = None, *, sms: int | None = None, config: Config | None = None, tma: bool | None = None
) -> Any:
    """A · B in one launch of at most ``sms`` programs on the current stream; returns ``out``, or a new tensor.

    Args:
        a: As for :func:`gpu_explain.kernels.matmul.matmul`; so are b, out and config.
        b: ``[k, n]``.
        out: ``[m, n]``.
        sms: SMs that the stream can use, ``gpu.device.sms``; by default all of the device.
        config: Tile sizes.
        tma: Whether descriptors are used; by default where they can be (:func:`why_no_tma`).

    Raises:
        ValueError: Naming the argument and what was expected.
    """
    out = check(a, b, out)
    check_config(config)
    _sms(a, sms)
    if not out.numel():
        return out
    if a.shape[1] == 0:
        return out.zero_()
    a, b = along_k(a, b)
    _launch((None, None, None), a, b, out, sms, config, tma)
    return out


def matmul_persistent_traced(
    record: Any,
    arrivals: Any,
    done: Any,
    a: Any,
    b: Any,
    out: Any,
    *,
    sms: int | None = None,
    config: Config | None = None,
    tma: bool | None = None,
) -> Any:
    """The same, and each program writes down where and when it ran, and its tiles; needs m, n and k of at least 1.

    Args:
        record: int64 ``[6, stay(a, b, out, sms, config)]``, columns as in ``trace_triton.py``.
        arrivals: int32 ``[1]``, 0 before the launch.
        done: int64 ``[2, tiles]``: the program that did a tile, and the GPU's time in ns when it had.
        a: As for :func:`matmul_persistent`; so are the others.
        b: ``[k, n]``.
        out: ``[m, n]``.
        sms: SMs that the stream can use.
        config: Tile sizes.
        tma: Whether descriptors are used.

    Raises:
        ValueError: Naming the argument and what was expected.
    """
    import torch

    check(a, b, out)
    check_config(config)
    a, b = along_k(a, b)
    config = config or persistent_config(a, b, out, _sms(a, sms))
    check_tensor("a", a, at_least=1, contiguous=False)
    check_tensor("b", b, at_least=1, contiguous=False)
    check_tensor("record", record, dtypes=(torch.int64,), shape=(6, stay(a, b, out, sms, config)), beside=("a", a))
    check_tensor("arrivals", arrivals, dtypes=(torch.int32,), shape=(1,), beside=("a", a))
    tiles = programs(a.shape[0], b.shape[1], config)
    check_tensor("done", done, dtypes=(torch.int64,), shape=(2, tiles), beside=("a", a))
    _launch((record, arrivals, done), a, b, out, sms, config, tma)
    return out


def stay(a: Any, b: Any, out: Any, sms: int | None = None, config: Config | None = None) -> int:
    """How many programs are launched: one an SM, or one a tile where there are fewer tiles."""
    sms = _sms(a, sms)
    config = config or persistent_config(a, b, out, sms)
    return min(sms, programs(a.shape[0], b.shape[1], config))


def persistent_config(a: Any, b: Any, out: Any, sms: int) -> Config:
    """The shipped configuration for operands that passed ``check``, on their device."""
    import torch

    if not a.is_cuda:  # Triton's interpreter, where small tiles are quick
        return Config(32, 32, 32, group_m=2)
    capability = torch.cuda.get_device_capability(a.device)
    rungs = persistent_ladder(capability, a.element_size(), out.element_size())
    return shipped(rungs, sms, a.shape[0], b.shape[1])


def why_no_tma(a: Any, b: Any, out: Any) -> str:
    """Why these operands cannot be moved with descriptors; empty when they can."""
    import torch

    if a.is_cuda and torch.cuda.get_device_capability(a.device) < TMA_SINCE:
        return "the GPU has no Tensor Memory Accelerator: compute capability 9.0 or newer is needed"
    for name, tensor in (("a", a), ("b", b), ("out", out)):
        if tensor.data_ptr() % _TMA_BYTES:
            return f"{name} does not begin at a multiple of {_TMA_BYTES} bytes"
        turned = name != "out" and _turned(tensor)
        far, near = tensor.stride() if not turned else tensor.stride()[::-1]
        if near != 1:
            return f"{name} has no dimension whose elements lie side by side: strides {tensor.stride()}"
        bytes = far * tensor.element_size()
        if bytes % _TMA_BYTES or not 0 < bytes < _TMA_STRIDE:
            return f"{name} has rows that do not begin at multiples of {_TMA_BYTES} bytes: strides {tensor.stride()}"
    return ""


def _launch(
    trace: tuple[Any, Any, Any], a: Any, b: Any, out: Any, sms: int | None, config: Config | None, tma: bool | None
) -> None:
    sms = _sms(a, sms)
    config = config or persistent_config(a, b, out, sms)
    why = why_no_tma(a, b, out)
    if tma and why:
        raise ValueError(f"tma: operands that a descriptor takes expected, but {why}")
    use = not why if tma is None else tma
    a_turned, b_turned = use and _turned(a), use and _turned(b)
    operands = (a, b, out)
    if use:
        part = config.block_n // config.store_parts
        operands = (
            _descriptor(a, config.block_m, config.block_k, a_turned),
            _descriptor(b, config.block_k, config.block_n, b_turned),
            _descriptor(out, config.block_m, part, False),
        )
    (m, k), n = a.shape, b.shape[1]
    launched = stay(a, b, out, sms, config)
    matmul_persistent_kernel[(launched,)](
        *trace,
        *operands,
        m,
        n,
        k,
        *a.stride(),
        *b.stride(),
        *out.stride(),
        **config.meta,
        EVEN_K=k % config.block_k == 0,
        UNIT=1 if use else unit_of(a, b, out),
        STORE_PARTS=config.store_parts,
        ACROSS=use and programs(m, n, config) > launched,
        TMA=use,
        A_TURNED=a_turned,
        B_TURNED=b_turned,
        TRACED=trace[0] is not None,
        **config.options,
    )


def _descriptor(tensor: Any, rows: int, columns: int, turned: bool) -> Any:
    from triton.tools.tensor_descriptor import TensorDescriptor

    if turned:
        return TensorDescriptor.from_tensor(tensor.t(), [columns, rows])
    return TensorDescriptor.from_tensor(tensor, [rows, columns])


def _turned(tensor: Any) -> bool:
    """Whether a matrix lies column by column, as the transposed view of another does."""
    return bool(tensor.stride(0) == 1 and tensor.stride(1) != 1)


def _sms(a: Any, sms: int | None) -> int:
    import torch

    if not a.is_cuda:  # Triton's interpreter
        check_number("sms", 4 if sms is None else sms, 1, 2**20)
        return 4 if sms is None else sms
    most = int(torch.cuda.get_device_properties(a.device).multi_processor_count)
    if sms is None:
        return most
    check_number("sms", sms, 1, most)
    return sms
