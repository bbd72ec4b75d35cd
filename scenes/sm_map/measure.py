"""What ``sm-map`` launches and records first: the launch that was chosen, at every level, and once more."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
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
from gpu_explain.scenes.base.usual import int_of
from gpu_explain.scenes.draw.scale import count_text
from gpu_explain.scenes.sm_map.facts import handovers, kept_sms, late_starts, lateness_ns
from gpu_explain.scenes.sm_map.parameters import launch_of


def measure_launch(gpu: Any, chosen: Chosen, so_far: Mapping[str, Findings]) -> Findings:
    """Record the launch that was chosen, by block, by warp and by element."""
    from gpu_explain.kernels import grid

    launch = launch_of(gpu.device, chosen)
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
            note=f"= ⌈{count_text(launch['elements'])} ÷ {count_text(threads)}⌉",
        ),
        computed(
            "grid.last",
            "the last block has",
            launch["elements"] - (blocks - 1) * threads,
            "elements",
            "What the blocks before it leave over.",
            note=f"of {count_text(threads)}",
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
    lasts = [end - start for start, end in zip(trace.start_ns, trace.end_ns, strict=True)]
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
        measured("launch.worked", "SMs that worked", len(counts), "", traced),
        measured(
            "launch.gap",
            "a place stays free",
            median(gaps) / 1000 if gaps else None,
            "µs",
            "From the end of a block to the start of the next on its SM, in the order of both, median over all blocks "
            "that had to wait for a place."
            if gaps
            else "No block had to wait for a place.",
            n=len(gaps),
            source="scenes/sm_map/measure.py",
        ),
        measured("launch.moved", "moved", trace.moved, "blocks", traced + " Their SM differs at start and end."),
        measured(
            "launch.unordered",
            "out of order",
            len(late_starts(trace)),
            "blocks",
            "Blocks that started after one with a higher number, by more than one step of %globaltimer.",
            note=f"of {count_text(trace.blocks)}",
        ),
        measured(
            "launch.latest",
            "  at most by",
            max(lateness_ns(trace)),
            "ns",
            "The longest that a block started after one with a higher number.",
            n=trace.blocks,
        ),
        measured(
            "launch.together",
            "beside the next",
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
            note=f"{min(lasts) / 1000:.0f} … {max(lasts) / 1000:.0f}" if trace.blocks > 1 else "",
        ),
        measured("launch.span", "all of it lasts", trace.span_ns / 1000, "µs", "On %globaltimer, over all blocks."),
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
    import numpy as np

    trace, per_block, owners = found.trace, found.warps_per_block, found.owners
    width = len(owners.lane_low)
    warp = np.arange(trace.blocks * per_block)
    block = warp // per_block
    first_element = block * launch["threads"] + warp % per_block * width
    busy = first_element < launch["elements"]
    lasts = np.maximum(np.subtract(trace.end_ns, trace.start_ns), 1)
    stays = found.warp_end_ns - found.warp_start_ns
    shares = (stays / lasts[block])[busy]
    seen = int((found.warp_sm >= 0).sum())
    astray = int((found.warp_sm != np.asarray(trace.sm)[block]).sum())
    idle = int((~busy).sum())
    return (
        computed(
            "grid.warps_per_block",
            "warps in a block",
            per_block,
            "",
            "Threads ÷ threads of a warp, rounded up.",
            note=f"= {count_text(launch['threads'])} ÷ {width}",
        ),
        measured("grid.warps", "warps seen", seen, "", "Each warp's lane 0 wrote its times and its SM."),
        measured(
            "grid.shortest",
            "shortest warp",
            float(shares.min()),
            "of its block's",
            "Time from a warp's start to the end of its work ÷ its block's, least of all warps that have an element.",
            n=len(shares),
        ),
        measured(
            "grid.astray",
            "on another SM",
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
            "  done after",
            int(stays[~busy].max()) if idle else None,
            "ns",
            "The longest of them, from start to the end of its work." if idle else "All warps have elements.",
            n=idle,
        ),
    )


def _warp_times(found: Any) -> tuple[Series, Series]:
    """Start and end of the warps that are kept, after their block's start, over the warp's number in the grid."""
    trace, per_block = found.trace, found.warps_per_block
    kept = set(kept_sms(trace, per_block))
    blocks = [b for b in range(trace.blocks) if trace.sm[b] in kept]
    warps = [b * per_block + w for b in blocks for w in range(per_block)]
    columns: Sequence[tuple[str, str, Any]] = (
        ("warps.start", "Start of each warp", found.warp_start_ns),
        ("warps.end", "When each warp was done", found.warp_end_ns),
    )
    start, end = (
        Series(
            name,
            title,
            Kind.MEASURED,
            tuple(warps),
            tuple(int(column[w]) - trace.start_ns[w // per_block] for w in warps),
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
        second = grid.record(narrowed, name="again", title="the same once more", **launch_of(gpu.device, chosen)).trace
    elsewhere = sum(here != there for here, there in zip(first.sm, second.sm, strict=True))
    return Findings(
        quantities=(
            measured(
                "again.elsewhere",
                "again: elsewhere",
                elsewhere,
                "blocks",
                "Blocks that ran on another SM in a second launch of the same grid.",
                n=first.blocks,
                note=f"of {count_text(first.blocks)}",
            ),
            measured(
                "again.late",
                "  out of order",
                len(late_starts(second)),
                "blocks",
                "Blocks of the second launch that started after one with a higher number, by more than one step of "
                "%globaltimer.",
                n=second.blocks,
                note=f"of {count_text(second.blocks)}",
            ),
        )
    )
