"""What ``waves`` launches and records: its parts, in the order they are measured."""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil
from typing import Any

from gpu_explain.scenes.base import (
    Choice,
    Chosen,
    Findings,
    Kind,
    Quantity,
    Series,
    Timing,
    computed,
    measured,
    published,
    reported,
)
from gpu_explain.scenes.base.usual import int_of, sm_choices
from gpu_explain.scenes.draw.scale import count_text
from gpu_explain.scenes.waves.parameters import fit_of, launch_of

ELEMENTS = 1_000_000
SMALL_BLOCK = 256
"""Threads of the blocks in the steps on competition and on a million elements: the size most tutorials use."""


def measure_launch(gpu: Any, chosen: Chosen, so_far: Mapping[str, Findings]) -> Findings:
    """Trace the launch that was chosen."""
    from gpu_explain.kernels import blocks

    launch, count = launch_of(chosen), int_of(chosen, "blocks")
    with gpu.on_sms(int_of(chosen, "sms")) as narrowed:
        sms = narrowed.device.sms
        fit = fit_of(narrowed, launch)
        trace = blocks.trace_blocks(narrowed, name="launch", title=f"{count} blocks", blocks=count, **launch)
    capacity, traced = sms * fit.residents, "Counted in the trace of this launch."
    rounds = ceil(count / capacity)
    last = count - (rounds - 1) * capacity
    idle = 1 - sum(trace.busy_ns.values()) / (sms * trace.span_ns) if trace.span_ns else 0.0
    quantities = (
        reported("fit.residents", "an SM holds", fit.residents, "blocks", fit.method, source="kernels/blocks.py"),
        reported(
            "fit.traced", "traced, it holds", fit.traced_residents, "blocks", fit.method, source="kernels/blocks.py"
        ),
        reported("fit.sms", "SMs in use", sms, "", "SMs that the launch can use, by the driver."),
        computed(
            "fit.capacity",
            "fit at once",
            capacity,
            "",
            "SMs × blocks that an SM holds.",
            inputs=("fit.sms", "fit.residents"),
            note=f"= {sms} × {fit.residents}",
        ),
        measured("launch.peak", "  seen at once", trace.peak, "", traced + " Most blocks resident at one time."),
        measured(
            "launch.moved",
            "moved to another SM",
            trace.moved,
            "",
            traced + " Blocks whose SM differs between start and end.",
        ),
        measured(
            "launch.unordered",
            "started out of order",
            trace.out_of_order,
            "",
            traced + " Blocks that arrived after one with a higher number.",
        ),
        measured(
            "launch.duration",
            "a block lasts",
            trace.median_duration_ns / 1000,
            "µs",
            "Median over the blocks of end minus start, on %globaltimer.",
            n=trace.blocks,
        ),
        measured(
            "launch.span", "first start to last end", trace.span_ns / 1000, "µs", "On %globaltimer, over all blocks."
        ),
        computed(
            "launch.rounds",
            "waves needed",
            rounds,
            "",
            "Blocks ÷ blocks that fit, rounded up.",
            inputs=("fit.capacity",),
        ),
        computed(
            "launch.last",
            "the last one uses",
            last,
            "",
            "Blocks left over for the last wave.",
            inputs=("fit.capacity",),
            note=f"of {count_text(capacity)} places",
        ),
        measured(
            "launch.tail",
            "last SM works on for",
            trace.tail_ns / 1000,
            "µs",
            "From the end of half of the SMs to the end of the last.",
        ),
        measured(
            "launch.idle",
            "SM time without a block",
            idle * 100,
            "%",
            "Share of SMs × span in which an SM held no block.",
        ),
        measured(
            "launch.clock",
            "SM clock",
            trace.clock_mhz,
            "MHz",
            "Δclock64 ÷ Δ%globaltimer of each block, median.",
            n=trace.blocks,
        ),
    )
    sources = blocks.sources(work=launch["work"], language=launch["language"])
    return Findings(quantities=quantities, traces=(trace,), sources=sources)


def measure_edge(gpu: Any, chosen: Chosen, so_far: Mapping[str, Findings]) -> Findings:
    """Trace and time as many blocks as fit, and one more."""
    from gpu_explain.kernels import blocks

    launch = launch_of(chosen)
    with gpu.on_sms(int_of(chosen, "sms")) as narrowed:
        capacity = narrowed.device.sms * fit_of(narrowed, launch).residents
        fits, more = (
            blocks.trace_blocks(narrowed, name=name, title=f"{count} blocks", blocks=count, **launch)
            for name, count in (("fits", capacity), ("more", capacity + 1))
        )
        t_fits, t_more = blocks.time_blocks(narrowed, sizes=(capacity, capacity + 1), **launch)
    step = t_more.median_us - t_fits.median_us
    return Findings(
        quantities=(
            t_fits.quantity("time.fits", f"{count_text(capacity)} blocks"),
            t_more.quantity("time.more", f"{count_text(capacity + 1)} blocks"),
            measured(
                "time.step",
                "one block more",
                step,
                "µs",
                "Difference of the two medians, samples taken in turn. The share is of what fits, launch included.",
                inputs=("time.more", "time.fits"),
                note=f"+{step / t_fits.median_us * 100:.0f} %",
            ),
            measured(
                "fits.duration",
                "a block (median)",
                fits.median_duration_ns / 1000,
                "µs",
                "Median over the blocks of the trace.",
                n=fits.blocks,
            ),
        ),
        traces=(fits, more),
    )


def measure_staircase(gpu: Any, chosen: Chosen, so_far: Mapping[str, Findings]) -> Findings:
    """Time blocks that wait, at and around the multiples of what fits."""
    from gpu_explain.kernels import blocks

    launch = launch_of({**chosen, "work": Choice("wait", "wait")})
    with gpu.on_sms(int_of(chosen, "sms")) as narrowed:
        capacity = narrowed.device.sms * fit_of(narrowed, launch).residents
        edges = {n for wave in range(1, 5) for n in (wave * capacity, wave * capacity + 1)}
        between = {int((wave + part) * capacity) for wave in range(5) for part in (1 / 3, 2 / 3)}
        sizes = tuple(sorted((edges | between | {1, 5 * capacity}) - {0}))
        trace = blocks.trace_blocks(narrowed, name="waiting", title="waiting blocks", blocks=capacity, **launch)
        timings = blocks.time_blocks(narrowed, sizes=sizes, **launch)
    one = trace.median_duration_ns / 1000
    # What is not waves: launch and events, taken from the smallest launch of all.
    floor = timings[0].median_us - one
    stairs = _series("staircase", "Time of blocks that wait", sizes, timings)
    waves = Series(
        "waves",
        "Waves × one block's time, and what a launch costs",
        Kind.COMPUTED,
        stairs.x,
        tuple(floor + ceil(n / capacity) * one for n in sizes),
        "blocks",
        "µs",
        "ceil(blocks ÷ blocks that fit) × the traced duration of one block, plus what a launch of one block takes "
        "beyond it.",
        inputs=("stair.duration", "stair.capacity"),
    )
    return Findings(
        quantities=(
            computed(
                "stair.capacity", "waiting blocks that fit", capacity, "", "SMs × residents by the occupancy API."
            ),
            measured(
                "stair.duration",
                "one waiting block",
                one,
                "µs",
                "Median over the blocks of a trace of as many as fit.",
                n=trace.blocks,
            ),
        ),
        series=(stairs, waves),
    )


def _series(name: str, title: str, sizes: tuple[int, ...], timings: tuple[Timing, ...], per: float = 1.0) -> Series:
    """Timings over block counts as a measured series, divided by ``per`` µs."""
    clocks = [mhz for t in timings for mhz in t.clock_mhz]
    return Series(
        name,
        title,
        Kind.MEASURED,
        tuple(float(n) for n in sizes),
        tuple(t.median_us / per for t in timings),
        "blocks",
        "µs" if per == 1.0 else "×",
        timings[0].method,
        low=tuple(t.at(0.2) / per for t in timings),
        high=tuple(t.at(0.8) / per for t in timings),
        n=len(timings[0].samples_us),
        clock_mhz=(min(clocks), max(clocks)) if clocks else None,
        floor=timings[0].floor_us,
        source="kernels/timing.py",
    )


def measure_competition(gpu: Any, chosen: Chosen, so_far: Mapping[str, Findings]) -> Findings:
    """Time the same block counts for blocks that wait and for blocks that compute."""
    from gpu_explain.kernels import blocks

    found: list[Any] = []
    series: list[Series] = []
    with gpu.on_sms(int_of(chosen, "sms")) as narrowed:
        for work in ("wait", "compute"):
            launch = launch_of({**chosen, "work": Choice(work, work), "threads": Choice("small", SMALL_BLOCK)})
            capacity = narrowed.device.sms * fit_of(narrowed, launch).residents
            sizes = tuple(
                sorted({int(capacity * k / 4) + extra for k in range(1, 9) for extra in (0, 1 if k in (4, 8) else 0)})
            )
            timings = dict(zip(sizes, blocks.time_blocks(narrowed, sizes=sizes, samples=11, **launch), strict=True))
            full, more = timings[capacity].median_us, timings[capacity + 1].median_us
            series.append(_series(f"compete.{work}", f"Blocks that {work}", sizes, tuple(timings.values()), per=full))
            found += [
                computed(
                    f"compete.{work}.capacity",
                    f"fit at once, {work}",
                    capacity,
                    "",
                    "SMs × residents by the occupancy API.",
                ),
                timings[capacity].quantity(f"compete.{work}.full", f"a full wave, {work}"),
                measured(
                    f"compete.{work}.step",
                    f"one more, {work}",
                    (more - full) / full * 100,
                    "%",
                    f"Time of {capacity + 1} blocks of {SMALL_BLOCK} threads over that of {capacity}, less 1.",
                    inputs=(f"compete.{work}.full",),
                ),
            ]
    return Findings(quantities=tuple(found), series=tuple(series))


def measure_million(gpu: Any, chosen: Chosen, so_far: Mapping[str, Findings]) -> Findings:
    """Trace as many blocks as a million elements need at one element a thread."""
    from gpu_explain.kernels import blocks

    launch = launch_of({**chosen, "work": Choice("wait", "wait"), "threads": Choice("small", SMALL_BLOCK)})
    count = ceil(ELEMENTS / SMALL_BLOCK)
    with gpu.on_sms(int_of(chosen, "sms")) as narrowed:
        capacity = narrowed.device.sms * fit_of(narrowed, launch).residents
        trace = blocks.trace_blocks(narrowed, name="million", title=f"{count} blocks", blocks=count, **launch)
    lasts = trace.median_duration_ns
    # The L40S: 142 SMs (data sheet), 1536 threads each (compute capability 8.9, CUDA C++ Programming Guide).
    theirs = 142 * (1536 // SMALL_BLOCK)
    return Findings(
        quantities=(
            computed(
                "million.blocks", "blocks for 1 000 000", count, "", f"Elements ÷ {SMALL_BLOCK} threads, rounded up."
            ),
            computed("million.capacity", "fit at once", capacity, "", "SMs × residents by the occupancy API."),
            computed(
                "million.best",
                "waves at best",
                count / capacity,
                "",
                "Blocks ÷ blocks that fit.",
                inputs=("million.blocks", "million.capacity"),
            ),
            measured(
                "million.waves",
                "waves it took",
                trace.span_ns / lasts,
                "",
                "Span of the traced launch ÷ median duration of its blocks.",
                n=trace.blocks,
            ),
            measured(
                "million.span",
                "first start to last end",
                trace.span_ns / 1000,
                "µs",
                "On %globaltimer, over all blocks.",
            ),
            published(
                "million.theirs",
                "L40S holds",
                theirs,
                "blocks",
                "NVIDIA L40S data sheet (142 SMs) and CUDA C++ Programming Guide (1536 threads an SM at compute "
                "capability 8.9)",
            ),
            computed(
                "million.published",
                "  waves at best",
                count / theirs,
                "",
                "Blocks ÷ blocks that fit an L40S.",
                inputs=("million.blocks", "million.theirs"),
            ),
        ),
        traces=(trace,),
    )


def measure_smaller(gpu: Any, chosen: Chosen, so_far: Mapping[str, Findings]) -> Findings:
    """Time the edge of the first two waves on smaller GPUs, made by green contexts."""
    from gpu_explain.kernels import blocks

    launch = launch_of({**chosen, "work": Choice("wait", "wait")})
    wanted = [int(choice.value or 0) for choice in sm_choices(gpu.device)]
    if len(wanted) < 2:
        why = (
            "this run is confined to a green context already"
            if gpu.device.sms < gpu.device.sms_total
            else "this driver or GPU offers no green contexts"
        )
        return Findings(missing={"smaller": why})
    quantities: list[Quantity] = []
    series: list[Series] = []
    for sms in wanted:
        with gpu.on_sms(sms) as narrowed:
            real = narrowed.device.sms
            capacity = real * fit_of(narrowed, launch).residents
            sizes = (capacity - 1, capacity, capacity + 1, 2 * capacity, 2 * capacity + 1)
            trace = blocks.trace_blocks(
                narrowed, name=f"sms.{real}.trace", title=f"{real} SMs", blocks=capacity, **launch
            )
            timings = blocks.time_blocks(narrowed, sizes=sizes, samples=11, **launch)
        one = trace.median_duration_ns / 1000
        series.append(_series(f"sms.{real}", f"{real} SMs", sizes, timings))
        quantities += [
            computed(
                f"sms.{real}.capacity",
                f"{real} SMs hold",
                capacity,
                "blocks",
                "SMs × residents by the occupancy API.",
                note=f"= {real} × {capacity // real}",
            ),
            measured(
                f"sms.{real}.step",
                "  one more costs",
                (timings[2].median_us - timings[1].median_us) / one,
                "block times",
                "Time of one block more than fits, less that of as many as fit, ÷ the traced duration of a block.",
            ),
            measured(
                f"sms.{real}.seen", "  SMs seen", len(trace.sms), "", "Different SMs in the trace.", n=trace.blocks
            ),
        ]
    return Findings(quantities=tuple(quantities), series=tuple(series))
