"""Attention forward against torch's own backends, by name: ``python -m benchmarks.attention``.

16 heads, batch 1, fp16. Arithmetic is counted as the papers do (``kernels/attention.flops``); the roof is what
torch.matmul reaches in the same run.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

from benchmarks.compare import Contestant, Row, command, compare, heading, markdown
from gpu_explain.kernels.attention import attention, flops, reference
from gpu_explain.kernels.attention_configs import HOPPER
from gpu_explain.kernels.opening import open_session
from gpu_explain.kernels.session import Session

LENGTHS = (4096, 16384)
HEADS = (64, 128)
BATCH, NUMBER_OF_HEADS = 1, 16
WANTED = "at least 1.1 × SDPA flash and 0.65 × SDPA cuDNN"
_UNFUSED_UP_TO = 4096
_SAMPLES = {4096: 15, 16384: 7}
_SQUARE = 8192


def sdpa(backend: str, q: Any, k: Any, v: Any, causal: bool) -> Callable[[], object]:
    """The scaled_dot_product_attention of torch by one backend, which it must use or refuse."""
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.nn.functional import scaled_dot_product_attention

    chosen = getattr(SDPBackend, backend)

    def launch() -> object:
        with sdpa_kernel(chosen):
            return scaled_dot_product_attention(q, k, v, is_causal=causal)

    return launch


def matmul_tflop_per_s(gpu: Session) -> float:
    """What torch.matmul reaches in fp16, in TFLOP/s."""
    import torch

    a, b = (torch.randn(_SQUARE, _SQUARE, device=f"cuda:{gpu.ordinal}", dtype=torch.float16) for _ in range(2))
    out = torch.empty_like(a)
    (timing,) = gpu.timer.time([lambda: torch.matmul(a, b, out=out)], samples=9)
    return 2 * _SQUARE**3 / timing.median_us / 1e6


def row(gpu: Session, length: int, head: int, *, causal: bool, roof: float) -> Row:
    """One length, head and mask."""
    import torch

    shape = (BATCH, NUMBER_OF_HEADS, length, head)
    q, k, v = (torch.randn(shape, device=f"cuda:{gpu.ordinal}", dtype=torch.float16) for _ in range(3))
    out = torch.empty_like(q)
    contestants = [
        Contestant("Triton", lambda: attention(q, k, v, causal=causal, out=out), ours=True),
        Contestant("SDPA flash", sdpa("FLASH_ATTENTION", q, k, v, causal)),
        Contestant("SDPA cuDNN", sdpa("CUDNN_ATTENTION", q, k, v, causal)),
    ]
    if gpu.device.compute_capability[0] == HOPPER:
        from gpu_explain.kernels.attention_hopper import attention_hopper

        launch = lambda: attention_hopper(q, k, v, causal=causal, out=out)  # noqa: E731
        contestants.insert(1, Contestant("Gluon", launch, ours=True))
    if length <= _UNFUSED_UP_TO:
        contestants.append(Contestant("torch, unfused", lambda: reference(q, k, v, causal=causal)))
    return compare(
        gpu,
        f"attention fp16, {NUMBER_OF_HEADS} heads of {head}, N = {length}{', causal' * causal}",
        contestants,
        samples=_SAMPLES[length],
        flops=flops(BATCH, NUMBER_OF_HEADS, length, length, head, causal=causal),
        roof=roof,
        roof_name=f"torch.matmul fp16 at {_SQUARE}",
        wanted=WANTED,
    )


def rows(gpu: Session) -> list[Row]:
    """A row a length, head and mask."""
    roof = matmul_tflop_per_s(gpu)
    questions = product(LENGTHS, HEADS, (False, True))
    return [row(gpu, length, head, causal=causal, roof=roof) for length, head, causal in questions]


def main() -> None:
    """Print the table."""
    gpu = open_session()
    print(heading(gpu, "Attention forward"))
    print(markdown(rows(gpu)))


if __name__ == "__main__":
    raise SystemExit(command(main))
