"""Vector add, add+relu, softmax and sum against torch: ``python -m benchmarks.pointwise``. Prints a table."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from benchmarks.compare import Contestant, Row, arrays_of, command, compare, heading, markdown, roof_gb_per_s

if TYPE_CHECKING:
    from gpu_explain.kernels.session import Session

N = 2**28
LADDER_N = 2**24
"""Small enough for the rung with an atomic for each number."""
ELEMENTS = 2**26
COLUMNS = (256, 257, 512, 1000, 1024, 2048, 4096, 4097, 8192, 16384, 32768, 50257, 65536)
HALVES_COLUMNS = (256, 257, 1024, 4096, 16384, 32768, 50257, 65536)
FEW = ((1, 65536), (16, 16384), (128, 4096))
SAMPLES = 11


def rows(gpu: Session) -> list[Row]:
    """All rows of the table. Needs 3 GiB."""
    roof = {mix: roof_gb_per_s(gpu, mix) for mix in ("2r1w", "1r1w")}
    return [*_adds(gpu, roof["2r1w"]), *_softmaxes(gpu, roof["1r1w"]), *_sums(gpu)]


def _compiled(function: Callable[..., Any], *arguments: Any) -> Callable[[], object]:
    """The function through ``torch.compile``, for these shapes, called once."""
    import torch

    compiled = torch.compile(function, dynamic=False, fullgraph=True)
    compiled(*arguments)
    return lambda: compiled(*arguments)


def _adds(gpu: Session, roof: float) -> list[Row]:
    import torch

    from gpu_explain.kernels import add_relu, vector_add
    from gpu_explain.kernels.add_relu_compiled import compiled_for
    from gpu_explain.kernels.add_relu_cuda import add_relu_cuda
    from gpu_explain.kernels.vector_add_cuda import vector_add_cuda

    a, b, c = arrays_of(gpu, 3, 4 * N)
    fused = compiled_for(gpu, N)
    found = []
    for name, contestants, moved, flops in (
        (
            "a + b",
            (
                Contestant("torch", lambda: torch.add(a, b, out=c)),
                Contestant("torch.compile", _compiled(vector_add.reference, a, b)),
                Contestant("Triton", lambda: vector_add.vector_add(a, b, c), ours=True),
                Contestant("CUDA float4", lambda: vector_add_cuda(gpu, a, b, c), ours=True),
                Contestant("CUDA scalar", lambda: vector_add_cuda(gpu, a, b, c, rung="each"), ours=True),
            ),
            vector_add.moved_bytes(N),
            vector_add.flops(N),
        ),
        (
            "relu(a + b)",
            (
                Contestant("torch", lambda: add_relu.reference(a, b)),
                Contestant("torch add alone", lambda: torch.add(a, b, out=c)),
                Contestant("torch.compile", lambda: fused(a, b)),
                Contestant("Triton", lambda: add_relu.add_relu(a, b, c), ours=True),
                Contestant("CUDA float4", lambda: add_relu_cuda(gpu, a, b, c), ours=True),
                Contestant("CUDA scalar", lambda: add_relu_cuda(gpu, a, b, c, rung="each"), ours=True),
            ),
            add_relu.fused_bytes(N),
            add_relu.flops(N),
        ),
    ):
        for contestant in contestants:
            contestant.launch()
        found.append(
            compare(
                gpu,
                f"{name}, fp32, 2^28",
                contestants,
                samples=SAMPLES,
                bytes=moved,
                flops=flops,
                roof=roof,
                roof_name="2 reads : 1 write",
                wanted="0.99 × torch and torch.compile, 0.98 of the roof",
                note="torch's own relu(a + b) is two kernels and moves 5/3 of these bytes" if "relu" in name else "",
            )
        )
    found.append(_halves(gpu, a, b, c, roof))
    return found


def _halves(gpu: Session, a: Any, b: Any, c: Any, roof: float) -> Row:
    """The same memory read as twice as many bfloat16; random bits, NaN and infinities among them."""
    import torch

    from gpu_explain.kernels.vector_add import moved_bytes, vector_add

    x, y, z = (tensor.view(torch.bfloat16) for tensor in (a, b, c))
    contestants = (
        Contestant("torch", lambda: torch.add(x, y, out=z)),
        Contestant("Triton", lambda: vector_add(x, y, z), ours=True),
    )
    for contestant in contestants:
        contestant.launch()
    moved = moved_bytes(2 * N, itemsize=2)
    return compare(
        gpu,
        "a + b, bf16, 2^29",
        contestants,
        samples=SAMPLES,
        bytes=moved,
        roof=roof,
        roof_name="2 reads : 1 write",
        wanted="0.99 × torch",
    )


def _softmaxes(gpu: Session, roof: float) -> list[Row]:
    import torch

    shapes = [(torch.float32, ELEMENTS // columns, columns) for columns in COLUMNS]
    shapes += [(torch.float32, *shape) for shape in FEW]
    shapes += [(torch.float16, ELEMENTS // columns, columns) for columns in HALVES_COLUMNS]
    return [_softmax(gpu, roof, *shape) for shape in shapes]


def _softmax(gpu: Session, roof: float, dtype: Any, rows: int, columns: int) -> Row:
    import torch

    from gpu_explain.kernels import softmax

    x = torch.randn(rows, columns, device=f"cuda:{gpu.ordinal}").to(dtype)
    out = torch.empty_like(x)
    named = (rows, columns) == (16384, 4096) and dtype == torch.float32
    contestants = [
        Contestant("torch.softmax", lambda: torch.softmax(x, dim=1)),
        Contestant("Triton", lambda: softmax.softmax(x, out), ours=True),
    ]
    if named:
        contestants.append(Contestant("five eager kernels", lambda: softmax.reference(x)))
        contestants.append(Contestant("torch.compile", _compiled(softmax.reference, x)))
    for contestant in contestants:
        contestant.launch()
    path = softmax.path_of(x, out)
    held = f"walked over by {path.block_size}" if path.wide else f"held, {path.rows} a program"
    return compare(
        gpu,
        f"softmax, {'fp32' if dtype == torch.float32 else 'fp16'}, {rows} × {columns}",
        contestants,
        samples=SAMPLES,
        bytes=softmax.moved_bytes(rows, columns, x.element_size()),
        flops=softmax.flops(rows, columns),
        roof=roof,
        roof_name="1 read : 1 write",
        wanted="1.5 × torch.softmax, 0.93 of the roof" if named else "0.95 × torch.softmax",
        note=f"rows {held}, {path.num_warps} warp{'s' * (path.num_warps != 1)}",
    )


def _sums(gpu: Session) -> list[Row]:
    from gpu_explain.kernels.read_once import read_once
    from gpu_explain.kernels.reduce_sum import flops, moved_bytes, reduce_sum
    from gpu_explain.kernels.reduction import RUNGS, reduce_sum_cuda

    (x,) = arrays_of(gpu, 1, 4 * N)
    sums = read_once(gpu, x)
    (read,) = gpu.timer.time([lambda: read_once(gpu, x, sums)], samples=SAMPLES, cold=True)
    found = []
    for n, rungs in ((LADDER_N, RUNGS), (N, RUNGS[1:])):
        part = x[:n]
        contestants = [
            Contestant("torch.sum", part.sum),
            Contestant("Triton", lambda part=part: reduce_sum(part), ours=True),  # type: ignore[misc]
        ]
        for rung in rungs:
            contestants.append(
                Contestant(
                    rung,
                    lambda part=part, rung=rung: reduce_sum_cuda(gpu, part, rung=rung),  # type: ignore[misc]
                    ours=True,
                )
            )
        for contestant in contestants:
            contestant.launch()
        found.append(
            compare(
                gpu,
                f"sum, fp32, 2^{n.bit_length() - 1}",
                contestants,
                samples=SAMPLES,
                bytes=moved_bytes(n),
                flops=flops(n),
                roof=moved_bytes(N) / read.median_us / 1e3,
                roof_name="reads only, at 2^28",
                wanted="0.99 × torch.sum" if n == N else "",
                note="launches included that set a total to zero, or add partial sums up",
            )
        )
    return found


def main() -> None:
    """Print the table."""
    from gpu_explain.kernels.opening import open_session

    gpu = open_session()
    print(heading(gpu, "Vector add, softmax, sum"))
    print(markdown(rows(gpu)))
    gpu.close()


if __name__ == "__main__":
    raise SystemExit(command(main))
