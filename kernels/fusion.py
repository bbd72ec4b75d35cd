"""What scene ``fusion`` launches: relu(a + b) by eager torch, ``torch.compile``, Triton and CUDA.

Everything works on float32 arrays of ``n`` numbers drawn from a normal distribution, with NaN, infinities and zeros of
both signs among the first ones. Entrants are named ``eager``, ``compile``, ``triton`` and ``cuda``; times come from the
timer with the L2 flushed unless said otherwise.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from gpu_explain.kernels import calls
from gpu_explain.kernels.profiler import KernelList, kernel_list
from gpu_explain.kernels.roofs import FILE as ROOFS
from gpu_explain.kernels.roofs import MIXES, WIDTHS, roof_launch
from gpu_explain.kernels.session import SHARE_OF_MEMORY
from gpu_explain.kernels.sources import source
from gpu_explain.scenes.base import ProblemError, SourceText, Timing

if TYPE_CHECKING:
    from gpu_explain.kernels.session import Session

ENTRANTS = ("eager", "compile", "triton", "cuda")
ARRAYS = 5
"""Arrays held at once at most: a, b, tmp, c, and one result kept to compare with."""
CALLS = 5
"""Calls of which the profiler's last is kept."""
MOST = 2**28
"""The largest n: arrays of 1 GiB, 17 times the largest L2 sold today."""
_ITEM = 4
_SPECIAL = (float("nan"), float("inf"), float("-inf"), 0.0, -0.0, 1e-45, 3e38, -3e38)


def most_elements(gpu: Session) -> int:
    """The largest power of two up to :data:`MOST` whose arrays fit in a scene's share of the free memory."""
    import torch

    free, _ = torch.cuda.mem_get_info(gpu.ordinal)
    allowed = (free + torch.cuda.memory_reserved(gpu.ordinal)) * SHARE_OF_MEMORY - 2.5 * gpu.device.l2_bytes
    n = MOST
    while n > 1024 and ARRAYS * _ITEM * n > allowed:
        n //= 2
    return n


def moved_bytes(n: int) -> tuple[int, int]:
    """Bytes that eager moves and bytes that a fused kernel moves, counted beside the kernel."""
    from gpu_explain.kernels.add_relu import eager_bytes, fused_bytes

    return eager_bytes(n), fused_bytes(n)


def race(gpu: Session, *, n: int, entrants: Sequence[str], samples: int = 15) -> dict[str, Timing]:
    """Time each entrant, in turns; ``add`` and ``relu``, eager's two kernels by themselves, may be among them."""
    a, b = _inputs(gpu, n)
    runs = [_run(gpu, name, a, b) for name in entrants]
    _run_once(gpu, runs)
    return dict(zip(entrants, gpu.timer.time(runs, samples=samples, cold=True), strict=True))


def differing(gpu: Session, *, n: int, entrants: Sequence[str]) -> dict[str, int]:
    """How many of the n results differ from eager torch's: a NaN must be a NaN, ±0 are equal."""
    import torch

    a, b = _inputs(gpu, n)
    wanted = _run(gpu, "eager", a, b)()
    found = {}
    for name in entrants:
        got = _run(gpu, name, a, b)()
        found[name] = int(((got != wanted) & ~(torch.isnan(got) & torch.isnan(wanted))).sum().item())
        del got
    return found


def extra_bytes(gpu: Session, *, n: int, entrants: Sequence[str]) -> dict[str, int]:
    """Most bytes that each entrant asked torch's allocator for at one time, beyond a and b.

    Empty where the allocator keeps no such count.
    """
    import torch

    a, b = _inputs(gpu, n)
    found = {}
    for name in entrants:
        run = _run(gpu, name, a, b)
        _run_once(gpu, [run])
        torch.cuda.reset_peak_memory_stats(gpu.ordinal)
        before = torch.cuda.memory_stats(gpu.ordinal).get("requested_bytes.all.current", 0)
        run()
        gpu.synchronise()
        peak = torch.cuda.memory_stats(gpu.ordinal).get("requested_bytes.all.peak", 0)
        if peak <= before:
            return {}
        found[name] = peak - before
    return found


def sweep(
    gpu: Session, *, sizes: Sequence[int], entrants: Sequence[str], samples: int = 9
) -> dict[str, tuple[Timing, ...]]:
    """Time on the GPU of every entrant at every size, all in turns."""
    runs = _sized_runs(gpu, sizes, entrants)
    timings = gpu.timer.time(runs, samples=samples, cold=True)
    return _by_entrant(timings, sizes, entrants)


def sweep_calls(
    gpu: Session, *, sizes: Sequence[int], entrants: Sequence[str], batches: int = 7
) -> dict[str, tuple[Timing, ...]]:
    """Time of back-to-back calls of every entrant at every size, by the host's clock. See :mod:`.calls`."""
    runs = _sized_runs(gpu, sizes, entrants)
    return _by_entrant(calls.call_times(gpu, runs, batches=batches), sizes, entrants)


def calls_spoiled(gpu: Session) -> str:
    """Why call times would be wrong in this process; empty when they are right."""
    return calls.spoiled(gpu)


def beside_the_l2(gpu: Session, *, sizes: Sequence[int], samples: int = 9) -> dict[str, tuple[Timing, ...]]:
    """What the L2 has to do with it, at every size.

    ``behind``: relu right behind the add that wrote its input; ``flushed``: the same relu after the L2 was emptied;
    ``eager`` and ``triton``: the whole, with a and b out of the L2.
    """
    import torch

    a, b = _inputs(gpu, max(sizes))
    tmp = torch.empty_like(a)
    relus: list[Callable[[], object]] = []
    for n in sizes:
        relus += [_adder(a[:n], b[:n], tmp[:n]), _relu(tmp[:n]), gpu.timer.flush, _relu(tmp[:n])]
    wholes = [_run(gpu, name, a[:n], b[:n]) for n in sizes for name in ("eager", "triton")]
    _run_once(gpu, [*relus, *wholes])
    # The timer goes through them in this order, so each relu finds the L2 as the launch before left it.
    ordered = gpu.timer.time(relus, samples=samples)
    whole = gpu.timer.time(wholes, samples=samples, cold=True)
    return {"behind": ordered[1::4], "flushed": ordered[3::4], "eager": whole[0::2], "triton": whole[1::2]}


def roofs(gpu: Session, *, n: int, entrants: Sequence[str], samples: int = 9) -> dict[str, Timing]:
    """Time every roof kernel (``2r1w.1`` … ``1r1w.4``: mix and width) and the entrants, all in turns."""
    import torch

    a, b = _inputs(gpu, n)
    c = torch.empty_like(a)
    runs: dict[str, Callable[[], object]] = {
        f"{mix}.{words}": roof_launch(gpu, mix=mix, words=words, arrays=(a, b, c) if mix == "2r1w" else (a, c))
        for mix in MIXES
        for words in WIDTHS
    }
    runs |= {name: _run(gpu, name, a, b) for name in entrants}
    _run_once(gpu, runs.values())
    return dict(zip(runs, gpu.timer.time(list(runs.values()), samples=samples, cold=True), strict=True))


def compile_for(gpu: Session, *, sizes: Sequence[int]) -> str:
    """Let ``torch.compile`` compile for these sizes; returns why it could not, or nothing."""
    from gpu_explain.kernels.add_relu_compiled import compiled_for

    for n in sizes:
        gpu.progress("torch.compile is compiling")
        try:
            compiled_for(gpu, n)
        except ProblemError:
            raise
        except (
            Exception
        ) as error:  # a missing C compiler, an unsupported Python …: dozens of types, all mean "not here"
            text = str(error).strip().partition("\n")[0][:120]
            return f"torch.compile failed here ({type(error).__name__}: {text})"
    return ""


def ran(gpu: Session, *, n: int, entrants: Sequence[str]) -> dict[str, KernelList]:
    """The kernels that one call of each entrant ran, by CUPTI: the last of :data:`CALLS` in a row.

    The last, because the profiler itself makes the first launches slow.
    """
    a, b = _inputs(gpu, n)
    runs = {name: _run(gpu, name, a, b) for name in entrants}
    _run_once(gpu, runs.values())
    found = {}
    for name, run in runs.items():
        gpu.progress(f"asking the profiler about {name}")
        found[name] = _last_call(kernel_list(gpu, _repeated(run, CALLS)))
    return found


def _repeated(run: Callable[[], object], times: int) -> Callable[[], object]:
    def all_calls() -> None:
        for _ in range(times):
            run()

    return all_calls


def _last_call(listed: KernelList) -> KernelList:
    """The kernels of the last of the calls, starts counted from its first one."""
    count = len(listed.kernels)
    if not count or count % CALLS:
        return KernelList((), listed.why or f"CUPTI lost records: {count} kernels do not divide into {CALLS} calls")
    last = listed.kernels[-count // CALLS :]
    return KernelList(tuple(replace(k, start_us=k.start_us - last[0].start_us) for k in last))


def sources(*, roofs: bool = False) -> tuple[SourceText, ...]:
    """The files behind the entrants, or behind the roofs, with the lines of ``kernel`` and ``reference``."""
    if roofs:
        return (source(f"cuda/{ROOFS}", {"roof": "two_in_one_out"}),)
    return (
        source("kernels/add_relu.py", {"kernel": "add_relu_kernel", "launch": "add_relu", "eager": "reference"}),
        source("cuda/add_relu.cu", {"kernel": "add_relu_quads", "relu": "add_relu"}),
    )


# -- the entrants ----------------------------------------------------------------------------------------------------


def _inputs(gpu: Session, n: int) -> tuple[Any, Any]:
    """Inputs a and b, the room for the other arrays asked for. Raises ``ProblemError`` ``gpu-memory``."""
    import torch

    if not 1 <= n <= MOST:
        raise ValueError(f"n: 1 to {MOST} expected, got {n}")
    gpu.reserve(ARRAYS * _ITEM * n, f"{ARRAYS} arrays of {n} numbers")
    device = f"cuda:{gpu.ordinal}"
    generator = torch.Generator(device).manual_seed(n)
    a, b = (torch.randn(n, generator=generator, device=device) for _ in range(2))
    pairs = torch.tensor([(x, y) for x in _SPECIAL for y in _SPECIAL], device=device)[:n]
    a[: len(pairs)], b[: len(pairs)] = pairs[:, 0], pairs[:, 1]
    return a, b


def _run(gpu: Session, name: str, a: Any, b: Any) -> Callable[[], Any]:
    """One call of an entrant, or of ``add`` or ``relu``: allocates its result, as a program would."""
    from gpu_explain.kernels.add_relu import add_relu, reference
    from gpu_explain.kernels.add_relu_cuda import add_relu_cuda

    if name == "eager":
        return lambda: reference(a, b)
    if name == "add":
        return lambda: a + b
    if name == "relu":
        return a.relu  # any array will do: its input is flushed before
    if name == "triton":
        return lambda: add_relu(a, b)
    if name == "cuda":
        return lambda: add_relu_cuda(gpu, a, b)
    if name == "compile":
        from gpu_explain.kernels.add_relu_compiled import compiled_for

        function = compiled_for(gpu, a.numel())
        return lambda: function(a, b)
    raise ValueError(f"entrants: of {', '.join(ENTRANTS)}, add and relu expected, got {name!r}")


def _adder(a: Any, b: Any, out: Any) -> Callable[[], object]:
    import torch

    return lambda: torch.add(a, b, out=out)


def _relu(x: Any) -> Callable[[], object]:
    relu: Callable[[], object] = x.relu
    return relu


def _sized_runs(gpu: Session, sizes: Sequence[int], entrants: Sequence[str]) -> list[Callable[[], object]]:
    """The entrants at the first size, then at the next …; all on the first numbers of two arrays."""
    a, b = _inputs(gpu, max(sizes))
    runs: list[Callable[[], object]] = [_run(gpu, name, a[:n], b[:n]) for n in sizes for name in entrants]
    _run_once(gpu, runs)
    return runs


def _by_entrant(
    timings: Sequence[Timing], sizes: Sequence[int], entrants: Sequence[str]
) -> dict[str, tuple[Timing, ...]]:
    return {name: tuple(timings[place :: len(entrants)]) for place, name in enumerate(entrants)}


def _run_once(gpu: Session, runs: Iterable[Callable[[], object]]) -> None:
    """Run everything once before anything counts: nothing compiles, loads or allocates first under the clock."""
    began, counted = time.perf_counter(), gpu.compile_seconds
    for run in runs:
        run()
    gpu.synchronise()
    # Triton compiles at its first launch and tells nobody how long; what others have counted is not counted twice.
    gpu.spent_compiling(time.perf_counter() - began - (gpu.compile_seconds - counted))
