"""A made-up GPU behind the interface of ``kernels/fusion.py``: bytes over bandwidths, and a host that takes its time.

Its memory grows with its SMs, its L2 is three times as fast, and a launch costs a fixed time on the GPU and on the
host. Only tests use it.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from gpu_explain.kernels.profiler import KernelList, KernelRecord
from gpu_explain.scenes.base import SourceText, Timing

ENTRANTS = ("eager", "compile", "triton", "cuda")
MOST = 2**28
FLOOR_US = 3.0
GAP_US = 1.0
HOST_US = {"eager": 12.0, "compile": 15.0, "triton": 14.0, "cuda": 8.0}
_ELEMENTWISE = "void at::native::vectorized_elementwise_kernel<4, "
_ADD = (
    f"{_ELEMENTWISE}at::native::CUDAFunctor_add<float>, std::array<char*, 3ul> >"
    "(int, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul>)"
)
_RELU = (
    f"{_ELEMENTWISE}at::native::(anonymous namespace)::launch_clamp_scalar(at::TensorIteratorBase&, c10::Scalar,"
    " c10::Scalar, at::native::detail::ClampLimits)::{lambda()#1}::operator()() const::{lambda(float)#1},"
    " std::array<char*, 2ul> >(int, float, std::array<char*, 2ul>)"
)
NAMES = {
    "eager": (_ADD, _RELU),
    "compile": ("triton_poi_fused_add_relu_0",),
    "triton": ("add_relu_kernel",),
    "cuda": ("add_relu_quads",),
}
_ITEM = 4


def _dram(gpu: Any) -> float:
    """Bytes a µs of the made-up memory."""
    return 30e3 * float(gpu.device.sms)


def _us(gpu: Any, from_memory: float, from_l2: float = 0.0) -> float:
    return from_memory / _dram(gpu) + from_l2 / (3 * _dram(gpu))


def _kernels(gpu: Any, name: str, n: int) -> tuple[float, ...]:
    """Durations in µs of an entrant's kernels, its inputs out of the L2."""
    array = float(_ITEM * n)
    add = _us(gpu, 3 * array)
    if name == "add":
        return (add,)
    if name == "relu":
        return (_us(gpu, 2.05 * array),)
    if name == "eager":
        return (add, _behind(gpu, n))
    return (add * {"compile": 1.012, "triton": 1.0, "cuda": 0.998}[name],)


def _behind(gpu: Any, n: int) -> float:
    """relu right behind add: what of tmp fits in half the L2 comes from there."""
    array = float(_ITEM * n)
    kept = array if array <= gpu.device.l2_bytes / 2 else 0.0
    return _us(gpu, 2.05 * array - kept, kept)


def _timing(us: float, samples: int, seed: object, method: str = "simulated") -> Timing:
    noise = random.Random(str(seed))
    took = tuple(us * (1 + noise.random() * 0.004) for _ in range(samples))
    return Timing(took, (1500.0,) * samples, FLOOR_US, cold=True, method=method)


def most_elements(gpu: Any) -> int:
    """The largest power of two whose five arrays fit in a quarter of the memory."""
    n = MOST
    while n > 1024 and 5 * _ITEM * n > gpu.device.memory_bytes / 4:
        n //= 2
    return n


def moved_bytes(n: int) -> tuple[int, int]:
    """a, b, tmp, tmp again and c; a, b and c."""
    return 5 * _ITEM * n, 3 * _ITEM * n


def _time(gpu: Any, name: str, n: int, samples: int) -> Timing:
    kernels = _kernels(gpu, name, n)
    return _timing(FLOOR_US + sum(kernels) + GAP_US * (len(kernels) - 1), samples, (name, n))


def race(gpu: Any, *, n: int, entrants: Sequence[str], samples: int = 15) -> dict[str, Timing]:
    """As ``kernels.fusion.race``."""
    return {name: _time(gpu, name, n, samples) for name in entrants}


def differing(gpu: Any, *, n: int, entrants: Sequence[str]) -> dict[str, int]:
    """On paper all agree."""
    return dict.fromkeys(entrants, 0)


def extra_bytes(gpu: Any, *, n: int, entrants: Sequence[str]) -> dict[str, int]:
    """tmp and c for eager, c for the others."""
    return {name: (2 if name == "eager" else 1) * _ITEM * n for name in entrants}


def sweep(
    gpu: Any, *, sizes: Sequence[int], entrants: Sequence[str], samples: int = 9
) -> dict[str, tuple[Timing, ...]]:
    """As ``kernels.fusion.sweep``."""
    return {name: tuple(_time(gpu, name, n, samples) for n in sizes) for name in entrants}


def sweep_calls(
    gpu: Any, *, sizes: Sequence[int], entrants: Sequence[str], batches: int = 7
) -> dict[str, tuple[Timing, ...]]:
    """The host's time or the GPU's, whichever is more."""
    return {
        name: tuple(
            _timing(max(HOST_US[name], sum(_kernels(gpu, name, n))), batches, ("call", name, n), "simulated calls")
            for n in sizes
        )
        for name in entrants
    }


def calls_spoiled(gpu: Any) -> str:
    """No profiler here."""
    return ""


def beside_the_l2(gpu: Any, *, sizes: Sequence[int], samples: int = 9) -> dict[str, tuple[Timing, ...]]:
    """As ``kernels.fusion.beside_the_l2``."""
    return {
        "behind": tuple(_timing(FLOOR_US + _behind(gpu, n), samples, ("behind", n)) for n in sizes),
        "flushed": tuple(_time(gpu, "relu", n, samples) for n in sizes),
        "eager": tuple(_time(gpu, "eager", n, samples) for n in sizes),
        "triton": tuple(_time(gpu, "triton", n, samples) for n in sizes),
    }


def roofs(gpu: Any, *, n: int, entrants: Sequence[str], samples: int = 9) -> dict[str, Timing]:
    """As ``kernels.fusion.roofs``: four words a thread are the best."""
    array = float(_ITEM * n)
    found = {}
    for mix, moved in (("2r1w", 3 * array), ("1r1w", 2.05 * array)):
        for words in (1, 2, 4):
            us = FLOOR_US + _us(gpu, moved) * (1 + 0.002 * (4 - words))
            found[f"{mix}.{words}"] = _timing(us, samples, (mix, words))
    return found | {name: _time(gpu, name, n, samples) for name in entrants}


def compile_for(gpu: Any, *, sizes: Sequence[int]) -> str:
    """Compiles at once."""
    return ""


def ran(gpu: Any, *, n: int, entrants: Sequence[str]) -> dict[str, KernelList]:
    """One record a kernel, a short gap between two."""
    found = {}
    for name in entrants:
        at, records = 0.0, []
        for kernel, us in zip(NAMES[name], _kernels(gpu, name, n), strict=True):
            records.append(KernelRecord(kernel, at, us))
            at += us + GAP_US
        found[name] = KernelList(tuple(records))
    return found


def sources(*, roofs: bool = False) -> tuple[SourceText, ...]:
    """A stand-in for the files that ran, marked as such."""
    text = "// simulated relu(a + b)\nread();\nadd_relu();\nwrite();\n"
    name = "roofs" if roofs else "add_relu"
    focus = {"roof": (2, 4)} if roofs else {"kernel": (2, 4), "relu": (3, 3)}
    return (SourceText(f"tests/simulated/{name}.cu", "cuda", text, focus),)
