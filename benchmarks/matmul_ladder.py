"""The fp32 matmul ladder against cuBLAS: ``python -m benchmarks.matmul_ladder``. Prints two tables.

The first is the table that all benchmarks print, contestants in turns. The second says of each rung what it won over
the one before and what it is made of: registers, shared memory and residents as compiled, and the loads from global
memory that its counted twin counted.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from statistics import median
from typing import TYPE_CHECKING

from benchmarks.compare import Contestant, Row, command, compare, heading, markdown
from gpu_explain.kernels.matmul_cuda import RUNGS, count_loads, flops, kernel_of, matmul_cuda

if TYPE_CHECKING:
    from gpu_explain.kernels.session import Session

SIDES = (4096,)
CUBLAS = "cuBLAS fp32, no tf32"
_SAMPLES = 5
_COUNTED_SIDE = 256
_LANES = {(7, 5): 64, (8, 0): 64, (8, 6): 128, (8, 9): 128, (9, 0): 128, (10, 0): 128, (12, 0): 128}
"""fp32 multiply-adds a cycle and SM, by compute capability (CUDA C++ Programming Guide, arithmetic throughput)."""


@contextmanager
def true_fp32() -> Iterator[None]:
    """Let torch do fp32 in fp32, without tf32, whatever was set before."""
    import torch

    before = torch.backends.cuda.matmul.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = False
    try:
        yield
    finally:
        torch.backends.cuda.matmul.allow_tf32 = before


def rows(gpu: Session) -> list[Row]:
    """One row a size: every rung and cuBLAS."""
    return [_row(gpu, side) for side in SIDES]


def _row(gpu: Session, side: int) -> Row:
    import torch

    a, b = (torch.randn(side, side, device=f"cuda:{gpu.ordinal}") for _ in range(2))
    out = torch.empty_like(a)
    contestants = [
        Contestant(rung.kernel, lambda name=rung.name: matmul_cuda(gpu, a, b, out, rung=name), ours=True)  # type: ignore[misc]
        for rung in RUNGS
    ]
    contestants.append(Contestant(CUBLAS, lambda: torch.mm(a, b, out=out)))
    with true_fp32():
        row = compare(
            gpu,
            f"matmul fp32 {side}",
            contestants,
            samples=_SAMPLES,
            cold=False,
            flops=flops(side, side, side),
            wanted=f"best rung at least 0.75 × {CUBLAS}; each rung faster than the last",
        )
    lanes = _LANES.get(gpu.device.compute_capability, 0)
    clock = median(figure.clock_mhz for figure in row.figures)
    roof = 2 * lanes * gpu.device.sms * clock / 1e6
    return replace(row, roof=roof, roof_name=f"{lanes} multiply-adds a cycle and SM at {clock:.0f} MHz")


def ladder(gpu: Session, row: Row) -> str:
    """The ladder as a Markdown table, from a row of :func:`rows`."""
    import torch

    k = SIDES[-1]
    a = torch.randn(_COUNTED_SIDE, k, device=f"cuda:{gpu.ordinal}")
    b = torch.randn(k, _COUNTED_SIDE, device=f"cuda:{gpu.ordinal}")
    outputs = _COUNTED_SIDE**2
    lines = [
        f"Loads an output at k = {k}: 4-byte words, load instructions of whole warps, 32-byte sectors they touch.",
        "",
        "| rung | TFLOP/s | × last | of cuBLAS | registers | shared B | blocks × warps | words | requests | sectors |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    last = 0.0
    for rung in RUNGS:
        us = row.us(rung.kernel)
        kernel = kernel_of(gpu, rung.name)
        loads = count_loads(gpu, a, b, rung=rung.name)
        threads = math.prod(rung.threads)
        residents = kernel.residents(threads)
        lines.append(
            f"| {rung.kernel} | {row.flops / us / 1e6:.2f} | {f'{last / us:.2f}' if last else ''}"
            f" | {row.us(CUBLAS) / us:.3f} | {kernel.registers} | {int(kernel.handle.attributes.shared_size_bytes)}"
            f" | {residents} × {threads // gpu.device.warp_size} | {loads.words / outputs:.1f}"
            f" | {loads.requests / outputs:.2f} | {loads.sectors / outputs:.1f} |"
        )
        last = us
    return "\n".join(lines)


def main() -> None:
    """Open the GPU, measure, print."""
    from gpu_explain.kernels.opening import open_session

    gpu = open_session()
    try:
        found = rows(gpu)
        print(heading(gpu, "The fp32 matmul ladder"))
        print(markdown(found), end="\n\n")
        print(ladder(gpu, found[-1]))
    finally:
        gpu.close()


if __name__ == "__main__":
    raise SystemExit(command(main))
