"""What ``sm-map`` launches and records: its parts, in the order they are measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from math import ceil
from statistics import median
from typing import Any

from gpu_explain.scenes.base import (
    Chosen,
    Findings,
    Kind,
    Quantity,
    Series,
    Trace,
    computed,
    measured,
    reported,
)
from gpu_explain.scenes.draw.scale import count_text
from gpu_explain.scenes.sm_map.parameters import launch_of
from gpu_explain.scenes.waves.parameters import int_of, sm_choices

WARPS_KEPT = 4096
"""Warps whose times are kept for the step inside, by whole SMs: the recording of all would weigh megabytes."""
LIMIT_NS = 500_000
"""When blocks that wait for the last one give up: a hundred times what it takes them all to start."""


def measure_launch(gpu: Any, chosen: Chosen, so_far: Mapping[str, Findings]) -> Findings:
    """Record the launch that was chosen, by block, by warp and by element."""
    from gpu_explain.kernels import grid

    launch = launch_of(chosen)
    with gpu.on_sms(int_of(chosen, "sms")) as narrowed:
        sms = narrowed.device.sms
        found = grid.record(narrowed, name="launch", title="one thread an element", **launch)
    return Findings(
        quantities=(*_limits(found, sms, launch), *_blocks(found), *_threads(found, launch)),
        series=(*_warp_times(found), _lanes(found)),
        traces=(found.trace,),
        sources=grid.sources(language=launch["language"]),
    )


def _limits(found: Any, sms: int, launch: Mapping[str, Any]) -> tuple[Quantity, ...]:
    """The grid, and how much of it has room at once."""
    blocks, threads = found.trace.blocks, launch["threads"]
    return (
        computed(
            "grid.blocks",
            "blocks",
            blocks,
            "",
            "Elements ÷ threads of a block, rounded up.",
            note=f"= {count_text(launch['elements'])} ÷ {threads}, rounded up"
            if launch["elements"] % threads
            else f"= {count_text(launch['elements'])} ÷ {threads}",
        ),
        computed(
            "grid.last",
            "the last block has",
            launch["elements"] - (blocks - 1) * threads,
            "elements",
            "What the blocks before it leave over.",
            note=f"for {threads} threads",
        ),
        reported("fit.residents", "an SM holds", found.residents, "blocks", found.method, source="kernels/grid.py"),
        computed("fit.sms", "SMs in use", sms, "", "SMs that the launch can use, by the driver."),
        computed(
            "fit.capacity",
            "fit at once",
            sms * found.residents,
            "",
            "SMs × blocks that an SM holds.",
            inputs=("fit.sms", "fit.residents"),
            note=f"= {sms} × {found.residents}",
        ),
    )


def _blocks(found: Any) -> tuple[Quantity, ...]:
    """What the trace says of the blocks."""
    trace: Trace = found.trace
    counts = sorted(len(blocks) for blocks in trace.by_sm.values())
    gaps = handovers(trace, found.residents)
    traced = "Counted in the trace of this launch."
    return (
        measured("launch.peak", "  seen at once", trace.peak, "", traced + " Most blocks resident at one time."),
        Quantity(
            "launch.spread",
            "an SM ran",
            _range(counts[0], counts[-1]),
            "",
            Kind.MEASURED,
            traced + " Fewest and most blocks on one SM, over the SMs that ran any.",
            n=len(counts),
        ),
        measured("launch.worked", "SMs that got a block", len(counts), "", traced),
        measured(
            "launch.gap",
            "a place stays free for",
            median(gaps) / 1000 if gaps else None,
            "µs",
            "From the end of a block to the start of the next on its SM, in the order of both, median over all blocks "
            "that had to wait for a place."
            if gaps
            else "No block had to wait for a place.",
            n=len(gaps),
            source="scenes/sm_map/measure.py",
        ),
        measured(
            "launch.moved", "moved to another SM", trace.moved, "blocks", traced + " Their SM differs at start and end."
        ),
        measured(
            "launch.unordered",
            "started out of order",
            trace.out_of_order,
            "blocks",
            traced + " They arrived after one with a higher number.",
            note=f"of {count_text(trace.blocks)}",
        ),
        measured(
            "launch.together",
            "with the next one's SM",
            sum(here == there for here, there in pairwise(trace.sm)),
            "blocks",
            traced + " Blocks b that share the SM of block b + 1.",
            note=f"of {count_text(trace.blocks - 1)}",
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
        measured(
            "launch.clock",
            "SM clock",
            trace.clock_mhz,
            "MHz",
            "Δclock64 ÷ Δ%globaltimer of each block, median.",
            n=trace.blocks,
        ),
    )


def _range(low: int, high: int) -> str:
    one = "block" if high == 1 else "blocks"
    return f"{count_text(low)} {one}" if low == high else f"{count_text(low)} … {count_text(high)} {one}"


def _threads(found: Any, launch: Mapping[str, Any]) -> tuple[Quantity, ...]:
    """What the warps and the elements wrote down."""
    blocks, per_block, owners = found.trace.blocks, found.warps_per_block, found.owners
    sms = [sm for sm in found.trace.sm for _ in range(per_block)]
    seen = sum(sm >= 0 for sm in found.warp_sm)
    astray = sum(here != there for here, there in zip(found.warp_sm, sms, strict=True))
    first = blocks * per_block - per_block
    idle = max(per_block - ceil((launch["elements"] - (blocks - 1) * launch["threads"]) / len(owners.lane_low)), 0)
    return (
        computed(
            "grid.warps_per_block",
            "warps in a block",
            per_block,
            "",
            "Threads ÷ threads of a warp, rounded up.",
            note=f"= {launch['threads']} ÷ {len(owners.lane_low)}",
        ),
        measured("grid.warps", "warps that reported", seen, "", "Each warp's lane 0 wrote its times and its SM."),
        measured(
            "grid.astray",
            "warps off their block's SM",
            astray,
            "",
            "Warps that wrote another SM than their block did.",
            n=seen,
        ),
        measured(
            "grid.signed",
            "elements signed",
            owners.signed,
            "",
            "Elements whose thread wrote down its warp and lane (from %laneid), over poison.",
            note=f"of {count_text(owners.elements)}",
        ),
        measured(
            "grid.strangers",
            "by another thread",
            owners.strangers,
            "",
            "Elements i signed by another thread than block i ÷ threads, thread i mod threads.",
            n=owners.elements,
        ),
        computed(
            "grid.idle_warps", "  warps without any", idle, "", "Warps of the last block that have no element at all."
        ),
        measured(
            "grid.idle_ns",
            "  they are done after",
            max(
                (
                    found.warp_end_ns[w] - found.warp_start_ns[w]
                    for w in range(first + per_block - idle, first + per_block)
                ),
                default=None,
            ),
            "ns",
            "The longest of them, from start to the end of its work." if idle else "All warps have elements.",
            n=idle,
        ),
    )


def handovers(trace: Trace, residents: int) -> list[int]:
    """For each block that had to wait for a place: ns from when one fell free on its SM to its start.

    On an SM with ``residents`` places the block that starts ``residents + k``-th cannot start before the ``k``-th end.
    """
    gaps = []
    for blocks in trace.by_sm.values():
        starts = sorted(trace.start_ns[b] for b in blocks)
        ends = sorted(trace.end_ns[b] for b in blocks)
        gaps += [start - end for start, end in zip(starts[residents:], ends, strict=False)]
    return gaps


def kept_sms(trace: Trace, warps_per_block: int) -> tuple[int, ...]:
    """The SMs whose warps are kept: that of the last block, of the first, of the last to end, then some in between.

    As many as :data:`WARPS_KEPT` allows, at least one, ascending.
    """
    order = [trace.sm[-1], trace.sm[0], trace.last_sm, *trace.sms[:: max(len(trace.sms) // 8, 1)], *trace.sms]
    kept: list[int] = []
    room = WARPS_KEPT
    for sm in dict.fromkeys(order):
        room -= len(trace.by_sm[sm]) * warps_per_block
        if kept and room < 0:
            break
        kept.append(sm)
    return tuple(sorted(kept))


def _warp_times(found: Any) -> tuple[Series, Series]:
    """Start and end of the warps that are kept, after their block's start, over the warp's number in the grid."""
    trace, per_block = found.trace, found.warps_per_block
    kept = set(kept_sms(trace, per_block))
    blocks = [b for b in range(trace.blocks) if trace.sm[b] in kept]
    warps = [b * per_block + w for b in blocks for w in range(per_block)]
    columns: Sequence[tuple[str, str, Sequence[int]]] = (
        ("warps.start", "Start of each warp", found.warp_start_ns),
        ("warps.end", "When each warp was done", found.warp_end_ns),
    )
    start, end = (
        Series(
            name,
            title,
            Kind.MEASURED,
            tuple(warps),
            tuple(column[w] - trace.start_ns[w // per_block] for w in warps),
            "warp of the grid",
            "ns after its block's start",
            "%globaltimer, written by the warp's lane 0.",
            n=1,
            source="cuda/grid.cu",
        )
        for name, title, column in columns
    )
    return start, end


def _lanes(found: Any) -> Series:
    """How far each lane's element lies from its warp's first one, over all warps."""
    owners = found.owners
    return Series(
        "lanes",
        "Distance of a lane's element from its warp's first",
        Kind.MEASURED,
        tuple(range(len(owners.lane_low))),
        owners.lane_low,
        "lane",
        "elements",
        "From the elements' signatures; low and high over all warps, -1 for a lane that never had an element.",
        low=owners.lane_low,
        high=owners.lane_high,
        n=owners.signed,
        source="kernels/grid.py",
    )


def measure_again(gpu: Any, chosen: Chosen, so_far: Mapping[str, Findings]) -> Findings:
    """Launch the same once more, and count what came out differently."""
    from gpu_explain.kernels import grid

    (first,) = so_far["launch"].traces
    with gpu.on_sms(int_of(chosen, "sms")) as narrowed:
        second = grid.record(narrowed, name="again", title="the same once more", **launch_of(chosen)).trace
    elsewhere = sum(here != there for here, there in zip(first.sm, second.sm, strict=True))
    return Findings(
        quantities=(
            measured(
                "again.elsewhere",
                "launched again: elsewhere",
                elsewhere,
                "blocks",
                "Blocks that ran on another SM in a second launch of the same grid.",
                n=first.blocks,
                note=f"of {count_text(first.blocks)}",
            ),
            measured(
                "again.unordered",
                "  out of order then",
                second.out_of_order,
                "blocks",
                "Blocks of the second launch that arrived after one with a higher number.",
                n=second.blocks,
            ),
        )
    )


def measure_flag(gpu: Any, chosen: Chosen, so_far: Mapping[str, Findings]) -> Findings:
    """Let all blocks wait for the last one: as many as fit, and one more."""
    from gpu_explain.kernels import flag

    quantities: list[Quantity] = []
    series: list[Series] = []
    traces: list[Trace] = []
    with gpu.on_sms(int_of(chosen, "sms")) as narrowed:
        threads, sms = narrowed.device.threads_per_block, narrowed.device.sms
        held = flag.residents(narrowed, threads=threads)
        for name, blocks in (("fits", sms * held), ("more", sms * held + 1)):
            found = flag.wait_for_the_last(
                narrowed,
                name=f"flag.{name}",
                title=f"{count_text(blocks)} blocks wait for the last",
                blocks=blocks,
                threads=threads,
                limit_ns=LIMIT_NS,
            )
            traces.append(found.trace)
            label = f"{count_text(blocks)} blocks"
            quantities += [
                measured(
                    f"flag.{name}.timed_out",
                    f"{label}: gave up",
                    sum(outcome == flag.TIMED_OUT for outcome in found.outcome),
                    "",
                    "Blocks that had not seen the flag by the deadline.",
                    n=blocks,
                ),
                measured(
                    f"flag.{name}.span",
                    "  took",
                    found.trace.span_ns / 1000,
                    "µs",
                    "From the first start to the last end, on %globaltimer.",
                ),
            ]
            series.append(
                Series(
                    f"flag.{name}.outcome",
                    "What became of each block",
                    Kind.MEASURED,
                    tuple(range(blocks)),
                    found.outcome,
                    "block",
                    "0 gave up, 1 saw the flag, 2 set it",
                    "Written by each block.",
                    n=1,
                    source="cuda/flag.cu",
                )
            )
    limits = (
        reported(
            "flag.residents", "an SM holds", held, "blocks", f"occupancy API of the driver at {threads} threads a block"
        ),
        computed(
            "flag.capacity",
            "fit at once",
            sms * held,
            "",
            "SMs × blocks that an SM holds.",
            inputs=("flag.residents",),
            note=f"= {sms} × {held}",
        ),
        computed("flag.limit", "all give up after", LIMIT_NS / 1000, "µs", "Set by us, so that the launch ends."),
    )
    return Findings(
        quantities=(*limits, *quantities), series=tuple(series), traces=tuple(traces), sources=flag.sources()
    )


def measure_twins(gpu: Any, chosen: Chosen, so_far: Mapping[str, Findings]) -> Findings:
    """Record a wave and a half of the same work in CUDA and in Triton; the last block has a quarter of its elements."""
    from gpu_explain.kernels import grid

    threads = int_of(chosen, "threads")
    quantities: list[Quantity] = []
    traces: list[Trace] = []
    with gpu.on_sms(int_of(chosen, "sms")) as narrowed:
        held = {language: grid.residents(narrowed, language=language, threads=threads) for language in grid.LANGUAGES}
        blocks = max(narrowed.device.sms * min(held.values()) * 3 // 2, 1)
        elements = (blocks - 1) * threads + max(threads // 4, 1)
        for language in grid.LANGUAGES:
            found = grid.record(
                narrowed,
                name=f"twin.{language}",
                title=f"{language}, {count_text(blocks)} blocks",
                language=language,
                elements=elements,
                threads=threads,
                amount=int_of(chosen, "cycles"),
            )
            traces.append(found.trace)
            quantities += _twin(found, language, elements, narrowed.device.warp_size)
    (cuda, triton), of = traces, "scenes/sm_map/measure.py"
    quantities.append(
        measured(
            "twin.ratio",
            "Triton ÷ CUDA",
            triton.span_ns / max(cuda.span_ns, 1),
            "",
            "Spans of the two traced launches.",
            inputs=("twin.CUDA.span", "twin.Triton.span"),
            source=of,
        )
    )
    sources = tuple({s.path: s for language in grid.LANGUAGES for s in grid.sources(language=language)}.values())
    return Findings(quantities=tuple(quantities), traces=tuple(traces), sources=sources)


def _twin(found: Any, language: str, elements: int, warp_size: int) -> list[Quantity]:
    """What one of the two languages did."""
    trace, per_block = found.trace, found.warps_per_block
    left_over = elements - (trace.blocks - 1) * trace.threads
    first = (trace.blocks - 1) * per_block
    idle = range(first + ceil(left_over / warp_size), first + per_block)
    stay = max((found.warp_end_ns[w] - found.warp_start_ns[w] for w in idle), default=None)
    name = f"twin.{language}"
    return [
        reported(f"{name}.residents", f"{language}: an SM holds", found.residents, "blocks", found.method),
        measured(
            f"{name}.wrong",
            "  elements gone astray",
            elements - found.owners.signed + found.owners.strangers,
            "",
            "Elements that nobody or another thread signed.",
            n=elements,
        ),
        measured(
            f"{name}.span",
            "  took",
            trace.span_ns / 1000,
            "µs",
            "From the first start to the last end, on %globaltimer.",
        ),
        measured(
            f"{name}.idle",
            "  surplus warps stay for",
            None if stay is None else stay / 1000,
            "µs",
            f"The last block has {left_over} elements for {trace.threads} threads: the longest time that a warp "
            "without any took, from its start to the end of its work."
            if idle
            else "The last block has only warps with elements.",
            n=len(idle),
            note="" if not idle else f"{len(idle)} of {per_block} warps",
        ),
        measured(
            f"{name}.duration",
            "  a block lasts",
            trace.median_duration_ns / 1000,
            "µs",
            "Median over the blocks.",
            n=trace.blocks,
        ),
    ]


def measure_smaller(gpu: Any, chosen: Chosen, so_far: Mapping[str, Findings]) -> Findings:
    """Record the same launch, two waves of the whole GPU in its largest blocks, on fewer and fewer SMs."""
    from gpu_explain.kernels import grid

    wanted = [int(choice.value or 0) for choice in sm_choices(gpu.device)]
    if len(wanted) < 2:
        why = (
            "this run is confined to a green context already"
            if gpu.device.sms < gpu.device.sms_total
            else "this driver or GPU offers no green contexts"
        )
        return Findings(missing={"smaller": why})
    language, threads = str(chosen["language"].value), gpu.device.threads_per_block
    blocks = 2 * gpu.device.sms * grid.residents(gpu, language=language, threads=threads)
    quantities: list[Quantity] = []
    traces: list[Trace] = []
    for sms in wanted:
        with gpu.on_sms(sms) as narrowed:
            real = narrowed.device.sms
            found = grid.record(
                narrowed,
                name=f"sms.{real}.trace",
                title=f"{count_text(blocks)} blocks on {real} SMs",
                language=language,
                elements=blocks * threads,
                threads=threads,
                amount=int_of(chosen, "cycles"),
            )
        traces.append(found.trace)
        quantities += _smaller(found, real, blocks * threads)
    return Findings(quantities=tuple(quantities), traces=tuple(traces))


def _smaller(found: Any, sms: int, elements: int) -> list[Quantity]:
    """What the launch did on that many SMs."""
    trace, capacity = found.trace, sms * found.residents
    name = f"sms.{sms}"
    return [
        computed(
            f"{name}.capacity",
            f"{sms} SMs hold",
            capacity,
            "blocks",
            "SMs × residents by the occupancy API.",
            note=f"= {sms} × {found.residents}",
        ),
        computed(
            f"{name}.rounds",
            "  waves needed",
            ceil(trace.blocks / capacity),
            "",
            "Blocks ÷ blocks that fit, rounded up.",
        ),
        measured(
            f"{name}.waves",
            "  waves it took",
            trace.span_ns / max(trace.median_duration_ns, 1),
            "",
            "Span ÷ median duration of a block, both from the trace.",
            n=trace.blocks,
        ),
        measured(f"{name}.span", "  took", trace.span_ns / 1000, "µs", "First start to last end, on %globaltimer."),
        measured(f"{name}.seen", "  SMs seen", len(trace.sms), "", "Different SMs in the trace.", n=trace.blocks),
        measured(
            f"{name}.wrong",
            "  elements gone astray",
            elements - found.owners.signed + found.owners.strangers,
            "",
            "Elements that nobody or another thread signed.",
            n=elements,
        ),
    ]
