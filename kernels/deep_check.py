"""Really compiles and launches: what ``gpu-explain doctor --deep`` runs, in a process of its own.

Started as ``python -m gpu_explain.kernels.deep_check --report FD [--device N] TRIAL…`` with names from
``scenes/base/deep.py``; ``open`` is always done first, and reported when it is named. Says what became of each on
the descriptor, at once. What is printed meanwhile goes to standard error. It is started with cache folders of its
own, so that kernels are compiled and not found.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from gpu_explain.kernels.faults import problem_of
from gpu_explain.scenes.base import Problem, ProblemError
from gpu_explain.scenes.base.conditions import problem
from gpu_explain.scenes.base.deep import TRIALS, Tried, encode

NUMBERS = 1 << 20
"""How many numbers each kernel works on: some microseconds' worth."""

CUDA_KERNEL, TRITON_KERNEL = "add_relu_quads", "add_relu_kernel"
"""What CUPTI should call the kernels that are launched."""

_DOING = {trial.id: trial.doing for trial in TRIALS}


@dataclass(frozen=True)
class Bench:
    """An open GPU and a small sum on it.

    Attributes:
        gpu: The session.
        a: float32, ``NUMBERS`` random numbers, negative ones among them, and a NaN.
        b: Like a.
        expected: relu(a + b) as eager torch computes it.
    """

    gpu: Any
    a: Any
    b: Any
    expected: Any


def open_bench(device: int | None) -> Bench:
    """Open the GPU. Raises :class:`ProblemError` like ``open_session``."""
    from gpu_explain.kernels.opening import open_session

    gpu = open_session(device)
    import torch

    from gpu_explain.kernels.add_relu import reference

    a, b = (torch.randn(NUMBERS, device=f"cuda:{gpu.ordinal}") for _ in "ab")
    a[7] = float("nan")  # torch keeps it, and a maximum that is not told to does not
    return Bench(gpu, a, b, reference(a, b))


def try_cuda(bench: Bench) -> tuple[str, ...]:
    """Compile ``cuda/add_relu.cu`` with NVRTC, launch it, compare. Raises :class:`ProblemError`."""
    from gpu_explain.kernels.add_relu_cuda import add_relu_cuda
    from gpu_explain.kernels.loader import nvrtc_version

    _compare(bench, add_relu_cuda(bench.gpu, bench.a, bench.b), "The CUDA kernel")
    return (f"NVRTC {nvrtc_version()}",)


def try_triton(bench: Bench) -> tuple[str, ...]:
    """Compile ``kernels/add_relu.py``, launch it, compare. Raises :class:`ProblemError`."""
    import triton

    from gpu_explain.kernels.add_relu import add_relu

    _compare(bench, add_relu(bench.a, bench.b), "The Triton kernel")
    return (f"triton {triton.__version__}",)


def try_profiler(bench: Bench) -> tuple[str, ...]:
    """Launch both under CUPTI; both must be recorded, once each. Raises :class:`ProblemError`."""
    from gpu_explain.kernels.add_relu import add_relu
    from gpu_explain.kernels.add_relu_cuda import add_relu_cuda
    from gpu_explain.kernels.profiler import kernel_list

    def both() -> None:
        add_relu_cuda(bench.gpu, bench.a, bench.b)
        add_relu(bench.a, bench.b)

    both()  # compiled already, or the profiler would see what compiling launches
    recorded = kernel_list(bench.gpu, both)
    if recorded.problem is not None:
        raise ProblemError(recorded.problem)
    counts = recorded.counts()
    if counts != {CUDA_KERNEL: 1, TRITON_KERNEL: 1}:
        seen = ", ".join(f"{name} × {count}" for name, count in counts.items())
        evidence = f"{CUDA_KERNEL} and {TRITON_KERNEL} were launched once each, it recorded {seen}"
        raise ProblemError(problem("cupti-wrong", evidence=evidence))
    return tuple(f"{one.name} {one.duration_us:.1f} µs" for one in recorded.kernels)


def try_compile(bench: Bench) -> tuple[str, ...]:
    """Run the same line through torch.compile, compare. Raises what it raises."""
    from gpu_explain.kernels.add_relu_compiled import compiled_for

    _compare(bench, compiled_for(bench.gpu, NUMBERS)(bench.a, bench.b), "The kernel of torch.compile")
    return ()


TRIED: Mapping[str, tuple[str, Callable[[Bench], tuple[str, ...]]]] = {
    "cuda": ("a CUDA kernel compiled, ran and was right", try_cuda),
    "triton": ("a Triton kernel compiled, ran and was right", try_triton),
    "profiler": ("CUPTI recorded both kernels", try_profiler),
    "compile": ("torch.compile made a kernel that was right", try_compile),
}
"""For each trial what it shows, and how."""


def _compare(bench: Bench, result: Any, who: str) -> None:
    bench.gpu.synchronise()
    wrong = int((~((result == bench.expected) | (result.isnan() & bench.expected.isnan()))).sum())
    if wrong:
        evidence = f"{who} differs from torch in {wrong} of {result.numel()} numbers"
        raise ProblemError(problem("wrong-result", evidence=evidence))


def run(
    wanted: Sequence[str],
    say: Callable[[Tried], None],
    open_gpu: Callable[[], Any],
    tried: Mapping[str, tuple[str, Callable[[Any], tuple[str, ...]]]] = TRIED,
) -> int:
    """Try what is wanted, in the order given. Returns 1 when the GPU cannot be opened, or is lost on the way."""
    began = time.perf_counter()
    try:
        bench = open_gpu()
    except Exception as error:
        say(Tried("open", seconds=time.perf_counter() - began, problem=_problem(error, "open", None)))
        return 1
    if "open" in wanted:
        say(Tried("open", "the GPU opens in a process with torch", time.perf_counter() - began))
    for id in wanted:
        if id == "open":
            continue
        text, attempt = tried[id]
        began = time.perf_counter()
        try:
            evidence = attempt(bench)
        except Exception as error:
            met = _problem(error, id, bench)
            say(Tried(id, seconds=time.perf_counter() - began, problem=met))
            if met.sticky:  # nothing runs in this process any more
                return 1
        else:
            say(Tried(id, text, time.perf_counter() - began, evidence))
    return 0


def _problem(error: Exception, id: str, bench: Any) -> Problem:
    alive = bench.gpu.synchronise if bench is not None else lambda: None
    met = problem_of(error, doing=_DOING[id], alive=alive)
    if id == "profiler" and met.id == "scene-broken":
        met = replace(problem("cupti-refused", evidence=met.why), detail=met.detail)
    return met


def main(arguments: list[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m gpu_explain.kernels.deep_check", description=__doc__)
    parser.add_argument("--report", type=int, required=True, help="descriptor to report on")
    parser.add_argument("--device", type=int, help="CUDA number of the GPU; the first usable one by default")
    parser.add_argument("trials", nargs="+", choices=[trial.id for trial in TRIALS])
    given = parser.parse_args(arguments)
    os.dup2(2, 1)

    def say(tried: Tried) -> None:
        os.write(given.report, encode(tried))

    return run(given.trials, say, lambda: open_bench(given.device))


if __name__ == "__main__":
    sys.exit(main())
