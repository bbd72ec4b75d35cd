"""What ``fusion`` launches and records: its parts, in the order they are measured.

Call times come before anything that profiles: CUPTI, once attached, slows every later launch of its process.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gpu_explain.scenes.base import (
    Capture,
    Chosen,
    Findings,
    Kind,
    Quantity,
    Series,
    Timing,
    computed,
    measured,
    reported,
)
from gpu_explain.scenes.draw.scale import count_text
from gpu_explain.scenes.fusion.parameters import NAMES

ITEM = 4
"""Bytes of a float32."""
EAGER_TRIPS, FUSED_TRIPS = 5, 3
"""Arrays moved: a, b, tmp, tmp again and c; without tmp a, b and c."""
OWN = ("triton", "cuda")
SMALLEST = 2**10
SHARES = (1 / 16, 1 / 8, 1 / 4, 1 / 2, 1, 2, 4)
"""Sizes of tmp as parts of the L2."""
WELL_INSIDE, WELL_OUTSIDE = 1 / 8, 4
"""Parts of the L2 that certainly fit, other arrays beside them, and that certainly do not."""
BUSY = 1.25
"""From a call this many times as long as the GPU's own time on, the GPU counts as waiting for the host."""


DECIMAL = "1 GB is 10^9 bytes here, 1 MB 10^6; the sizes of caches (step 5) are in powers of two."


def unit_of(n: int) -> tuple[float, str]:
    """Bytes in the unit, and the unit, that suit arrays of n float32."""
    size = ITEM * n
    return (1e9, "GB") if size >= 1e9 else (1e6, "MB") if size >= 1e5 else (1e3, "KB")


def sweep_sizes(most: int) -> tuple[int, ...]:
    """Every fourth power of four's worth of numbers, 2^10, 2^12 …, up to the largest."""
    sizes = [SMALLEST]
    while sizes[-1] * 4 <= most:
        sizes.append(sizes[-1] * 4)
    return tuple(sizes)


def measure_race(gpu: Any, chosen: Chosen, so_far: Mapping[str, Findings]) -> Findings:
    """Time eager, its two kernels by themselves, Triton and CUDA at the chosen n; compare their results."""
    from gpu_explain.kernels import fusion

    n = int(chosen["n"].value or 0)
    times = fusion.race(gpu, n=n, entrants=("eager", "add", "relu", *OWN))
    differ = fusion.differing(gpu, n=n, entrants=OWN)
    extra = fusion.extra_bytes(gpu, n=n, entrants=("eager", *OWN))
    scale, unit = unit_of(n)
    eager, fused = fusion.moved_bytes(n)
    counted = "Counted: arrays moved × n × 4 bytes; at sizes near the L2's, part of it never leaves the chip."
    quantities: list[Quantity] = [
        computed("race.n", "numbers", n, "", "The n that was chosen."),
        computed("bytes.array", "an array", ITEM * n / scale, unit, f"n × 4 bytes. {DECIMAL}"),
        computed("bytes.eager", "eager moves", eager / scale, unit, counted, note=f"{EAGER_TRIPS} trips"),
        computed("bytes.fused", "fused moves", fused / scale, unit, counted, note=f"{FUSED_TRIPS} trips"),
        computed(
            "bytes.allow",
            "bytes allow",
            eager / fused,
            "×",
            "Bytes that eager moves ÷ bytes that a fused kernel moves.",
            inputs=("bytes.eager", "bytes.fused"),
            note="= 5/3",
        ),
        times["eager"].quantity("time.eager", "eager"),
        times["add"].quantity("time.add", "  add alone"),
        times["relu"].quantity("time.relu", "  relu alone"),
        *(times[name].quantity(f"time.{name}", NAMES[name]) for name in OWN),
    ]
    for name in OWN:
        quantities += _against(name, n, fused, times["eager"], times[name], differ[name])
    quantities += _asked_for(n, extra)
    missing = {} if extra else {"memory": "torch's allocator keeps no count here"}
    return Findings(quantities=tuple(quantities), sources=fusion.sources(), missing=missing)


def _asked_for(n: int, extra: Mapping[str, int]) -> tuple[Quantity, ...]:
    """The bytes that entrants asked torch's allocator for, in the unit that suits arrays of n numbers."""
    scale, unit = unit_of(n)
    return tuple(
        measured(
            f"memory.{name}",
            f"{NAMES[name]} asks for",
            size / scale,
            unit,
            "Most bytes requested from torch's allocator at one time during a call, beyond a and b.",
            source="kernels/fusion.py",
        )
        for name, size in extra.items()
    )


def _against(name: str, n: int, moved: int, eager: Timing, fused: Timing, differ: int) -> tuple[Quantity, ...]:
    """A fused entrant's speed-up over eager in the same round, its rate on ``moved`` bytes, and its results."""
    return (
        measured(
            f"speedup.{name}",
            f"{NAMES[name]} wins by",
            eager.median_us / fused.median_us,
            "×",
            "Median time of eager ÷ median time of the fused kernel, samples taken in turns.",
            inputs=("time.eager", f"time.{name}"),
        ),
        measured(
            f"rate.{name}",
            f"{NAMES[name]} moves",
            moved / fused.median_us / 1e3,
            "GB/s",
            "Counted bytes (3 × n × 4) ÷ measured time.",
            inputs=("bytes.fused", f"time.{name}"),
        ),
        measured(
            f"same.{name}",
            "results differ",
            differ,
            "",
            "Numbers that are not equal to eager torch's; NaN must meet NaN, ±0 are equal. Inputs: a normal"
            " distribution, NaN, infinities, zeros of both signs and the smallest number in front.",
            note=f"of {count_text(n)}",
            source="kernels/fusion.py",
        ),
    )


def measure_calls(gpu: Any, chosen: Chosen, so_far: Mapping[str, Findings]) -> Findings:
    """Time on the GPU and time of back-to-back calls from 2^10 numbers to the largest n."""
    from gpu_explain.kernels import fusion

    sizes = sweep_sizes(fusion.most_elements(gpu))
    entrants = ("eager", *OWN)
    why = fusion.calls_spoiled(gpu)
    calls = {} if why else fusion.sweep_calls(gpu, sizes=sizes, entrants=entrants)
    on_gpu = fusion.sweep(gpu, sizes=sizes, entrants=entrants)
    series = [_sweep(f"gpu.{name}", f"{NAMES[name]}, time on the GPU", sizes, on_gpu[name]) for name in entrants]
    series += [_sweep(f"call.{name}", f"{NAMES[name]}, a call", sizes, calls[name]) for name in calls]
    quantities = [on_gpu["eager"][0].quantity("gpu.small", "  on the GPU")]
    if calls:
        quantities += [calls[name][0].quantity(f"small.{name}", f"{NAMES[name]} call") for name in entrants]
        busy = [
            n
            for n, c, g in zip(sizes, calls["eager"], on_gpu["eager"], strict=True)
            if c.median_us < BUSY * g.median_us
        ]
        if busy:
            quantities.append(
                measured(
                    "calls.edge",
                    "GPU busy from",
                    busy[0],
                    "",
                    f"Smallest n measured at which a call of eager takes less than {BUSY} × its time on the GPU.",
                    inputs=("call.eager", "gpu.eager"),
                )
            )
    return Findings(tuple(quantities), tuple(series), missing={"calls": why} if why else {})


def _sweep(name: str, title: str, sizes: Sequence[int], timings: Sequence[Timing], x_unit: str = "numbers") -> Series:
    """Timings over n as a measured series in µs."""
    clocks = [mhz for t in timings for mhz in t.clock_mhz]
    return Series(
        name,
        title,
        Kind.MEASURED,
        tuple(float(n) for n in sizes),
        tuple(t.median_us for t in timings),
        x_unit,
        "µs",
        timings[0].method,
        low=tuple(t.at(0.2) for t in timings),
        high=tuple(t.at(0.8) for t in timings),
        n=len(timings[0].samples_us),
        clock_mhz=(min(clocks), max(clocks)) if clocks else None,
        floor=timings[0].floor_us,
        source="kernels/fusion.py",
    )


def measure_cache(gpu: Any, chosen: Chosen, so_far: Mapping[str, Findings]) -> Findings:
    """Time relu right behind the add that wrote tmp, and after the L2 was emptied, for tmp from L2/16 to 4 × L2."""
    from gpu_explain.kernels import fusion

    l2, most = gpu.device.l2_bytes, fusion.most_elements(gpu)
    # Whole kilo-elements, so that every array still divides into 16-byte words.
    sizes = {share: int(share * l2 / ITEM) // 1024 * 1024 for share in SHARES}
    sizes = {share: n for share, n in sizes.items() if 1024 <= n <= most}
    if not sizes:
        return Findings(missing={"cache": "the driver names no L2, or there is no memory for arrays of its size"})
    found = fusion.beside_the_l2(gpu, sizes=tuple(sizes.values()))
    titles = {
        "behind": "relu right behind add",
        "flushed": "relu, L2 emptied before",
        "eager": "eager, a and b out of the L2",
        "triton": "Triton, a and b out of the L2",
    }
    # On the x axis the part of the L2, so that every GPU's picture is the same.
    series = [
        Series(
            f"cache.{name}",
            titles[name],
            Kind.MEASURED,
            tuple(sizes),
            tuple(t.median_us for t in timings),
            "of the L2",
            "µs",
            timings[0].method,
            low=tuple(t.at(0.2) for t in timings),
            high=tuple(t.at(0.8) for t in timings),
            n=len(timings[0].samples_us),
            floor=timings[0].floor_us,
            source="kernels/fusion.py",
        )
        for name, timings in found.items()
    ]
    quantities: list[Quantity] = [reported("cache.l2", "L2", l2 / 1e6, "MB", "The driver's cudaDevAttrL2CacheSize.")]
    for share, where in ((WELL_INSIDE, "inside"), (WELL_OUTSIDE, "outside")):
        if share in sizes:
            at = list(sizes).index(share)
            behind, flushed = found["behind"][at], found["flushed"][at]
            quantities += [
                behind.quantity(f"cache.{where}.behind", f"tmp {share_text(share)}: behind"),
                flushed.quantity(f"cache.{where}.flushed", "  L2 emptied"),
                measured(
                    f"cache.{where}.ratio",
                    "  takes",
                    behind.median_us / flushed.median_us * 100,
                    "%",
                    "Median of relu right behind add ÷ median of relu after the L2 was emptied, in turns.",
                    inputs=(f"cache.{where}.behind", f"cache.{where}.flushed"),
                ),
                measured(
                    f"cache.{where}.gain",
                    "  fusion wins",
                    found["eager"][at].median_us / found["triton"][at].median_us,
                    "×",
                    "Median of eager ÷ median of Triton at that size, a and b out of the L2.",
                    inputs=("cache.eager", "cache.triton"),
                ),
            ]
    return Findings(tuple(quantities), tuple(series))


def share_text(share: float) -> str:
    """A part of the L2 in words: ``1/8 L2``, ``4 × L2``."""
    if share >= 1:
        return "1 × L2" if share == 1 else f"{share:.0f} × L2"
    return f"1/{round(1 / share)} L2"


def measure_roofs(gpu: Any, chosen: Chosen, so_far: Mapping[str, Findings]) -> Findings:
    """Find the roof of each mix, and how near to it torch's kernels and the fused ones come, at the largest n."""
    from gpu_explain.kernels import fusion

    n = fusion.most_elements(gpu)
    times = fusion.roofs(gpu, n=n, entrants=("eager", "add", "relu", *OWN))
    moves = {"2r1w": 3, "1r1w": 2, "add": 3, "relu": 2, "triton": 3, "cuda": 3}
    rates = {
        name: moves[name.partition(".")[0]] * ITEM * n / t.median_us / 1e3
        for name, t in times.items()
        if name != "eager"
    }
    best = {
        mix: max((name for name in rates if name.startswith(mix)), key=rates.__getitem__) for mix in ("2r1w", "1r1w")
    }
    labels = {"2r1w": "roof, 2 reads : 1", "1r1w": "roof, 1 read : 1", "add": "  torch add", "relu": "  torch relu"}
    labels |= {name: f"  {NAMES[name]}" for name in OWN}

    def rate(name: str, value: float, how: str) -> Quantity:
        return measured(
            f"roof.{name}",
            labels[name],
            value,
            "GB/s",
            f"{how}; counted bytes ({moves[name]} × n × 4) ÷ measured time, n = {count_text(n)}.",
            n=len(times["eager"].samples_us),
            source="kernels/roofs.py" if name in best else "kernels/fusion.py",
        )

    quantities = [
        computed("roof.n", "numbers", n, "", "The largest n whose arrays fit in a quarter of the free memory.")
    ]
    for mix, members in (("2r1w", ("add", *OWN)), ("1r1w", ("relu",))):
        words = best[mix].partition(".")[2]
        quantities.append(
            rate(mix, rates[best[mix]], f"Best of three kernels of this mix ({words} × 16 bytes a thread)")
        )
        quantities += [rate(name, rates[name], "Median") for name in members]
    roof2, roof1 = rates[best["2r1w"]], rates[best["1r1w"]]
    quantities += [
        computed(
            "roof.expected",
            "roofs allow",
            1 + 2 / 3 * roof2 / roof1,
            "×",
            "Eager at the roofs, 3/roof(2 reads : 1 write) + 2/roof(1 : 1), ÷ fused at its roof, 3/roof(2 : 1).",
            inputs=("roof.2r1w", "roof.1r1w"),
        ),
        measured(
            "roof.speedup",
            "speed-up, Triton",
            times["eager"].median_us / times["triton"].median_us,
            "×",
            f"Median of eager ÷ median of Triton at n = {count_text(n)}, in turns.",
        ),
    ]
    return Findings(tuple(quantities), sources=fusion.sources(roofs=True))


def measure_compile(gpu: Any, chosen: Chosen, so_far: Mapping[str, Findings]) -> Findings:
    """Compile with torch.compile for a few sizes; time it on the GPU and back to back."""
    from gpu_explain.kernels import fusion
    from gpu_explain.kernels.sources import source

    every = sweep_sizes(fusion.most_elements(gpu))
    sizes = tuple(sorted({every[0], every[len(every) // 2], every[-1]}))
    why = fusion.compile_for(gpu, sizes=sizes)
    if why:
        return Findings(missing={"compile": why})
    spoiled = fusion.calls_spoiled(gpu)
    calls = {} if spoiled else fusion.sweep_calls(gpu, sizes=sizes, entrants=("compile",))
    on_gpu = fusion.sweep(gpu, sizes=sizes, entrants=("compile",))
    name = NAMES["compile"]
    series = [_sweep("gpu.compile", f"{name}, time on the GPU", sizes, on_gpu["compile"])]
    quantities: list[Quantity] = []
    if calls:
        series.append(_sweep("call.compile", f"{name}, a call", sizes, calls["compile"]))
        quantities.append(calls["compile"][0].quantity("small.compile", "compile call"))
    # What it compiles is the eager line, which lies in the Triton kernel's file.
    compiles = source("kernels/add_relu_compiled.py", {"compiled": "compiled_for"})
    return Findings(tuple(quantities), tuple(series), sources=(compiles,))


def measure_compiled(gpu: Any, chosen: Chosen, so_far: Mapping[str, Findings]) -> Findings:
    """Let torch.compile race against eager at the chosen n."""
    from gpu_explain.kernels import fusion

    n = int(chosen["n"].value or 0)
    why = fusion.compile_for(gpu, sizes=(n,))
    if why:
        return Findings(missing={"compile": why})
    times = fusion.race(gpu, n=n, entrants=("eager", "compile"))
    differ = fusion.differing(gpu, n=n, entrants=("compile",))
    extra = fusion.extra_bytes(gpu, n=n, entrants=("compile",))
    return Findings(
        (
            times["compile"].quantity("time.compile", NAMES["compile"]),
            *_against("compile", n, fusion.moved_bytes(n)[1], times["eager"], times["compile"], differ["compile"]),
            *_asked_for(n, extra),
        )
    )


def measure_kernels(gpu: Any, chosen: Chosen, so_far: Mapping[str, Findings]) -> Findings:
    """Ask CUPTI which kernels one call of each entrant ran. Last, since it slows what comes after."""
    from gpu_explain.kernels import fusion

    n = int(chosen["n"].value or 0)
    compiled = any(q.name == "time.compile" for q in so_far["compiled"].quantities)
    entrants = tuple(name for name in NAMES if name != "compile" or compiled)
    quantities, series, captures, missing = [], [], [], {}
    for name, found in fusion.ran(gpu, n=n, entrants=entrants).items():
        if not found.kernels:
            missing[f"ran.{name}"] = found.why
            continue
        method = "Kernel records of CUPTI through torch.profiler, of the last of several calls in a row."
        starts = tuple(k.start_us for k in found.kernels)
        lasts = tuple(k.duration_us for k in found.kernels)
        series.append(
            Series(f"ran.{name}", f"Kernels of {NAMES[name]}", Kind.MEASURED, starts, lasts, "µs", "µs", method, n=1)
        )
        captures.append(Capture(f"ran.{name}", f"Kernels of {NAMES[name]}", "\n".join(k.name for k in found.kernels)))
        quantities += [
            measured(f"ran.{name}.count", f"{NAMES[name]} ran", len(lasts), _kernels(len(lasts)), method),
            measured(f"ran.{name}.us", "  in", sum(lasts), "µs", method + " Sum of the durations."),
        ]
    return Findings(tuple(quantities), tuple(series), captures=tuple(captures), missing=missing)


def _kernels(count: int) -> str:
    return "kernel" if count == 1 else "kernels"
