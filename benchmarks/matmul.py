"""Triton's matmuls against cuBLAS: ``python -m benchmarks.matmul``, on a GPU machine.

Small products are timed as launches of one CUDA graph, since their times are near those of a launch; large ones by
events. Both with the operands in the L2 where they fit. The roof is what the tensor cores could do at the clock that
they ran at: under a large product a GPU reaches its power limit, and lowers it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Any

from benchmarks.compare import Contestant, Figure, Row, command, compare, graph_us, heading, markdown

if TYPE_CHECKING:
    from gpu_explain.kernels.session import Session

FLOPS_A_CLOCK = {(8, 0): 2048, (9, 0): 4096}
"""float16 arithmetic of one SM's tensor cores a clock, dense, by compute capability (NVIDIA's whitepapers)."""
_SMALL = 2048
_ROUNDS = 5


@dataclass(frozen=True)
class Product:
    """One row: square matrices of ``size``, B by rows or, where ``turned``, the transposed view of one that lies so."""

    dtype: str
    size: int
    turned: bool = False
    wanted: str = ""

    @property
    def question(self) -> str:
        """What the table calls it."""
        return f"matmul {self.dtype} {self.size}³{', B transposed' if self.turned else ''}"


PRODUCTS = (
    Product("float16", 1024, wanted="0.7 × cuBLAS"),
    Product("float16", 2048, wanted="0.85 × cuBLAS"),
    Product("float16", 4096, wanted="0.98 × cuBLAS, persistent 0.97 × ordinary"),
    Product("float16", 8192, wanted="0.98 × cuBLAS, persistent 0.97 × ordinary"),
    Product("float16", 4096, turned=True),
    Product("bfloat16", 4096),
    Product("bfloat16", 8192),
    Product("tf32", 4096),
    Product("tf32", 4096, turned=True),
    Product("float8_e4m3fn", 4096, turned=True),
    Product("float8_e4m3fn", 8192, turned=True),
)


def rows(gpu: Session) -> list[Row]:
    """Every product, each with cuBLAS, the ordinary and the persistent kernel as shipped."""
    return [_row(gpu, one) for one in PRODUCTS if "float8" not in one.dtype or gpu.device.compute_capability >= (8, 9)]


def _row(gpu: Session, product: Product) -> Row:
    from gpu_explain.kernels.matmul import along_k, flops, matmul, reference
    from gpu_explain.kernels.matmul_persistent import matmul_persistent

    a, b, out = _operands(gpu, product)
    peer = _peer(a, b, out)
    contestants = [
        Contestant("cuBLAS", peer),
        Contestant("Triton", lambda: matmul(a, b, out), ours=True),
        Contestant("Triton persistent", lambda: matmul_persistent(a, b, out, sms=gpu.device.sms), ours=True),
    ]
    wanted = reference(a[:64], b)
    for one in contestants:
        out.fill_(float("nan"))
        one.launch()
        gpu.synchronise()
        far = float((out[:64] - wanted).norm() / wanted.norm())
        if not far < 1e-2:
            raise RuntimeError(f"{one.name}, {product.question}: {far} of the result away from float64")
    counted = flops(product.size, product.size, product.size)
    if product.size <= _SMALL:
        figures = _by_graph(gpu, contestants)
    else:
        figures = compare(gpu, "", contestants, samples=9, cold=False).figures
    roof, said = _roof(gpu, product, median(figure.clock_mhz for figure in figures))
    copied = along_k(a, b)[1] is not b
    note = "ours includes turning B, which the tensor cores take along k only" if copied else ""
    return Row(product.question, figures, 0, counted, roof, said, product.wanted, note)


def _operands(gpu: Session, product: Product) -> tuple[Any, Any, Any]:
    import torch

    dtype = torch.float32 if product.dtype == "tf32" else getattr(torch, product.dtype)
    size, device = product.size, f"cuda:{gpu.ordinal}"
    a, b = (torch.randn(size, size, device=device).to(dtype) for _ in range(2))
    out = torch.empty(size, size, dtype=torch.bfloat16 if "float8" in product.dtype else dtype, device=device)
    return a, b.t() if product.turned else b, out


def _peer(a: Any, b: Any, out: Any) -> Callable[[], object]:
    import torch

    if a.element_size() == 1:
        one = torch.ones((), device=a.device)
        # With use_fast_accum, cuBLAS sums in the tensor cores as our kernel does.
        return lambda: torch._scaled_mm(a, b, one, one, out_dtype=out.dtype, use_fast_accum=True, out=out)
    torch.backends.cuda.matmul.fp32_precision = "tf32"
    return lambda: torch.matmul(a, b, out=out)


def _by_graph(gpu: Session, contestants: list[Contestant]) -> tuple[Figure, ...]:
    taken: list[list[float]] = [[] for _ in contestants]
    for _ in range(_ROUNDS):
        for times, one in zip(taken, contestants, strict=True):
            times.append(graph_us(gpu, one.launch, launches=30, samples=3))
    clock = gpu.timer.clock_mhz()
    return tuple(
        Figure(one.name, median(times), min(times), max(times), "graph", clock, one.ours)
        for times, one in zip(taken, contestants, strict=True)
    )


def _roof(gpu: Session, product: Product, clock_mhz: float) -> tuple[float, str]:
    a_clock = FLOPS_A_CLOCK.get(gpu.device.compute_capability)
    if a_clock is None:
        return 0.0, ""
    a_clock = int(a_clock * {"tf32": 0.5, "float8_e4m3fn": 2}.get(product.dtype, 1))
    said = f"{gpu.device.sms} SMs × {a_clock} a clock (published) × {clock_mhz:.0f} MHz"
    return gpu.device.sms * a_clock * clock_mhz / 1e6, said


def main() -> None:
    """Print the table."""
    from gpu_explain.kernels.opening import open_session

    gpu = open_session()
    print(heading(gpu, "Matrix products"))
    print(markdown(rows(gpu)))
    gpu.close()


if __name__ == "__main__":
    raise SystemExit(command(main))
