"""What ``memory-hierarchy`` launches and records: its parts, in the order they are measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

from gpu_explain.scenes.base import Chosen, Findings, Kind, Quantity, Series, computed, measured, reported
from gpu_explain.scenes.draw.scale import count_text
from gpu_explain.scenes.draw.sizes import KB, MB
from gpu_explain.scenes.memory_hierarchy import published
from gpu_explain.scenes.memory_hierarchy.figures import bytes_text
from gpu_explain.scenes.memory_hierarchy.levels import (
    CACHED,
    KNEE_UNITS,
    footprints,
    label,
    name_plateaus,
    short,
    sms_text,
)
from gpu_explain.scenes.memory_hierarchy.parameters import footprint_of

CHAIN = (
    "One thread follows a chain in which each step needs the one before; cycles of the SM over steps, by lap, the first"
    " lap dropped."
)
RING = (
    "One thread follows a ring of addresses, one random cycle through every 128-byte line of the footprint, the whole"
    " ring read once before in the same order; the largest L1 that the GPU offers; cycles of the SM over loads."
)
WIDE = 4
"""Cycles in one column of the histograms that compare footprints."""
BEYOND = 0.05
"""Share of the loads, the slowest, that histograms leave out: they met a refresh or a miss of the address translation
and took up to several times as long."""


def measure_chains(gpu: Any, chosen: Chosen, so_far: Mapping[str, Findings]) -> Findings:
    """Follow the chains whose place is known beforehand: registers, shared memory, the host's memory."""
    from gpu_explain.kernels import chase

    gpu.progress("following a chain of additions")
    chains = {"registers": chase.add_chain(gpu), "shared": chase.shared_chase(gpu), "host": chase.host_chase(gpu)}
    methods = {
        "registers": CHAIN + " A step is a float32 addition.",
        "shared": CHAIN + " A step is a load from a random ring of 4-byte words.",
        "host": CHAIN + " A step is a load (ld.cv) from a random ring of 512 lines in the host's pinned memory.",
    }
    found: list[Quantity] = []
    for level, chain in chains.items():
        found += _level(level, label(level, halves=False), chain.cycles, chain.ns, methods[level])
    return Findings(quantities=tuple(found), sources=chase.sources())


def _level(name: str, called: str, cycles: Sequence[float], ns: Sequence[float], method: str) -> tuple[Quantity, ...]:
    """A level's distance in cycles and in ns."""
    far, time = median(cycles), median(ns)
    ordered = sorted(cycles)
    clock = sorted(c / n * 1000 for c, n in zip(cycles, ns, strict=True) if n > 0)
    return (
        measured(
            f"level.{name}",
            called,
            far,
            "cycles",
            method,
            low=ordered[len(ordered) // 5],
            high=ordered[-1 - len(ordered) // 5],
            minimum=ordered[0],
            n=len(cycles),
            clock_mhz=(clock[0], clock[-1]) if clock else None,
            source="kernels/chase.py",
            note=f"= {time:.3g} ns" if time < 1000 else f"= {time / 1000:.3g} µs",
        ),
        measured(
            f"level.{name}.ns",
            f"{called}, in ns",
            time,
            "ns",
            method + " Here on %globaltimer.",
            n=len(ns),
            source="kernels/chase.py",
        ),
    )


def measure_staircase(gpu: Any, chosen: Chosen, so_far: Mapping[str, Findings]) -> Findings:
    """Follow rings of growing footprint; find the levels and their ends in the curve."""
    from gpu_explain.kernels import chase, plateaus

    sizes = footprints(gpu.device)
    chains = chase.chase(gpu, footprints=sizes)
    found = name_plateaus(plateaus.find_sure_plateaus(sizes, [one.cycles for one in chains]), gpu.device)
    clocks = [c / n * 1000 for one in chains for c, n in zip(one.cycles, one.ns, strict=True) if n > 0]
    stairs = Series(
        "staircase",
        "Latency against footprint",
        Kind.MEASURED,
        tuple(float(size) for size in sizes),
        tuple(round(median(one.cycles), 2) for one in chains),
        "bytes",
        "cycles",
        f"{RING} Median of {len(chains[0].cycles)} laps of {count_text(chains[0].steps)} loads.",
        low=tuple(round(min(one.cycles), 2) for one in chains),
        high=tuple(round(max(one.cycles), 2) for one in chains),
        n=len(chains[0].cycles),
        clock_mhz=(min(clocks), max(clocks)) if clocks else None,
        source="kernels/chase.py",
    )
    quantities: list[Quantity] = []
    missing: dict[str, str] = {}
    halves = "far" in found
    for level in CACHED:
        one = found.get(level)
        if one is None:
            missing[f"plateau.{level}"] = (
                "the curve has one plateau for the L2: all of it is equally far"
                if level == "far"
                else f"the curve is nowhere level where {label(level, halves=False)} should be"
            )
            if level == "far":
                continue
        at = _points(level, one, sizes, gpu.device.l2_bytes)
        quantities += _level(
            level,
            label(level, halves=halves),
            [c for i in at for c in chains[i].cycles],
            [n for i in at for n in chains[i].ns],
            f"{RING} Over the {len(at)} footprints of this plateau of the curve."
            if one is not None
            else f"{RING} No plateau was found: taken at {bytes_text(sizes[at[0]])}.",
        )
        if one is not None:
            quantities += _plateau(level, one, halves)
    quantities += _sizes(gpu)
    return Findings(quantities=tuple(quantities), series=(stairs,), sources=chase.sources(), missing=missing)


def _points(level: str, plateau: Any, sizes: Sequence[int], l2: int) -> range:
    """Indices of the footprints at which a level was measured; without a plateau, one where the level must lie."""
    if plateau is not None:
        return range(plateau.first, plateau.last + 1)
    at = {"l1": 0, "dram": len(sizes) - 1}.get(level)
    if at is None:
        at = min(range(len(sizes)), key=lambda i: abs(sizes[i] - l2 / 8))
    return range(at, at + 1)


def _plateau(level: str, one: Any, halves: bool) -> tuple[Quantity, ...]:
    """Where a level's plateau ends, and how sure that is."""
    called = short(level, halves=halves)
    sure = computed(
        f"plateau.{level}.sure",
        f"  {called} plateau, sure",
        round(one.confidence * 100),
        "%",
        "Share of 40 rounds that found the same plateau (its end at most one point off) when every point was replaced"
        " by one of its laps, drawn anew. How plateaus are found: kernels/plateaus.py.",
        inputs=("staircase",),
        source="kernels/plateaus.py",
    )
    start = measured(
        f"plateau.{level}.start",
        f"  {called} plateau from",
        one.start / KB,
        "KB",
        "Smallest footprint on the plateau.",
        source="kernels/plateaus.py",
    )
    if one.beyond is None:
        return start, sure
    unit, unit_name = KNEE_UNITS[level]
    return (
        start,
        measured(
            f"knee.{level}",
            f"  {called} ends at",
            one.end / unit,
            unit_name,
            f"Largest footprint still on the plateau; at the next one measured, {bytes_text(one.beyond)}, the load"
            " takes longer. 1 KB is 1 024 bytes.",
            high=one.beyond / unit,
            low=one.end / unit,
            inputs=("staircase",),
            source="kernels/plateaus.py",
            note=f"not at {bytes_text(one.beyond)}",
        ),
        sure,
    )


def _sizes(gpu: Any) -> tuple[Quantity, ...]:
    unified = published.unified(gpu.device.compute_capability)
    l2 = reported("size.l2", "L2, by the driver", gpu.device.l2_bytes / MB, "MB", "1 MB is 1 024 KB.")
    shared = reported(
        "size.shared", "shared, an SM", gpu.device.shared_per_sm / KB, "KB", "Most shared memory an SM can have."
    )
    return (l2, shared, *((unified,) if unified else ()))


def measure_single(gpu: Any, chosen: Chosen, so_far: Mapping[str, Findings]) -> Findings:
    """Time loads one by one around a ring of the chosen footprint, and the chain around the same ring."""
    from gpu_explain.kernels import chase, heaps

    size = footprint_of(chosen)
    (chain,) = chase.chase(gpu, footprints=(size,))
    singles = chase.single_loads(gpu, footprint=size)
    found = heaps.find_heaps(singles.cycles)
    ordered = sorted(singles.cycles)
    count = len(ordered)
    method = (
        "The clock read before each load and again when its value has arrived (a comparison of the value stands before"
        " the second read); loads around a warm random ring, from one thread."
    )
    quantities = [
        measured("single.footprint", "the ring's footprint", size / KB, "KB", "As chosen, in whole lines."),
        measured(
            "single.latency",
            "a single load",
            float(median(ordered)),
            "cycles",
            method + " Median; both reads of the clock are in it.",
            low=ordered[count // 5],
            high=ordered[-1 - count // 5],
            minimum=ordered[0],
            n=count,
            samples=tuple(float(c) for c in singles.cycles),
            floor=singles.floor,
            source="kernels/chase.py",
        ),
        measured(
            "single.mean",
            "  mean of all",
            sum(ordered) / count,
            "cycles",
            method + " The mean, since a chain's time per load is one too.",
            n=count,
            floor=singles.floor,
            source="kernels/chase.py",
        ),
        measured(
            "single.floor",
            "  the clock itself",
            singles.floor,
            "cycles",
            "Median between the same two reads of the clock with no load in between; shown, never subtracted.",
            n=count,
            source="kernels/chase.py",
        ),
        measured(
            "single.chain",
            "in the chain",
            median(chain.cycles),
            "cycles",
            RING,
            n=len(chain.cycles),
            source="kernels/chase.py",
        ),
        measured(
            "single.heaps",
            "heaps",
            len(found),
            "",
            "Heaps in the histogram that a valley of half their height parts, each with at least 5 % of the loads.",
            inputs=("single.latency",),
            source="kernels/heaps.py",
        ),
    ]
    for number, heap in enumerate(found, 1):
        quantities.append(
            measured(
                f"heap.{number}",
                f"  heap {number} at",
                heap.centre,
                "cycles",
                "Median of the heap's loads.",
                low=heap.low,
                high=heap.high,
                n=round(heap.share * count),
                source="kernels/heaps.py",
                note=f"{heap.share * 100:.0f} % of the loads",
            )
        )
    return Findings(quantities=tuple(quantities), sources=chase.sources())


def measure_distance(gpu: Any, chosen: Chosen, so_far: Mapping[str, Findings]) -> Findings:
    """Time single loads in the L2, near its limit and far beyond it; and from every SM in turn."""
    from gpu_explain.kernels import chase

    l2 = gpu.device.l2_bytes
    sizes = {"l2": l2 // 8, "far": l2 * 13 // 16, "dram": l2 * 4}
    series, quantities = [], []
    for name, size in sizes.items():
        size = size // 128 * 128
        singles = chase.single_loads(gpu, footprint=size)
        series.append(_histogram(f"distance.{name}", f"Single loads in {bytes_text(size)}", singles.cycles))
        quantities.append(
            measured(
                f"distance.{name}",
                f"median in {bytes_text(size)}",
                float(median(singles.cycles)),
                "cycles",
                "Loads around a warm random ring timed one by one; the reads of the clock are in it.",
                n=len(singles.cycles),
                floor=singles.floor,
                source="kernels/chase.py",
            )
        )
    gpu.progress("following loads from every SM")
    by_sm = chase.chase_by_sm(gpu, footprint=l2 // 16 // 128 * 128)
    series.append(
        Series(
            "by_sm",
            "Distance of the L2 from each SM",
            Kind.MEASURED,
            tuple(float(sm) for sm in by_sm),
            tuple(by_sm.values()),
            "SM",
            "cycles",
            f"{RING} One SM at a time, the same ring of {bytes_text(l2 // 16)} for all; %smid is a virtual number.",
            source="kernels/chase.py",
        )
    )
    for name, called, value in (
        ("least", "nearest SM", min(by_sm.values())),
        ("most", "farthest SM", max(by_sm.values())),
    ):
        quantities.append(
            measured(
                f"by_sm.{name}",
                called,
                value,
                "cycles",
                f"Over {sms_text(len(by_sm))}, each alone, mean of its loads around the same ring.",
                n=len(by_sm),
                inputs=("by_sm",),
                source="kernels/chase.py",
            )
        )
    return Findings(quantities=tuple(quantities), series=tuple(series), sources=chase.sources())


def _histogram(name: str, title: str, cycles: Sequence[int]) -> Series:
    """Shares in % by columns of :data:`WIDE` cycles, the slowest (:data:`BEYOND`) left out."""
    ordered = sorted(cycles)
    top = ordered[int(len(ordered) * (1 - BEYOND))]
    columns = range(ordered[0] // WIDE, top // WIDE + 1)
    counts = dict.fromkeys(columns, 0)
    for one in ordered:
        if one // WIDE in counts:
            counts[one // WIDE] += 1
    return Series(
        name,
        title,
        Kind.MEASURED,
        tuple(float(column * WIDE) for column in columns),
        tuple(counts[column] / len(ordered) * 100 for column in columns),
        "cycles",
        "%",
        f"Single loads in columns of {WIDE} cycles; the slowest 5 % lie beyond.",
        n=len(ordered),
        source="kernels/chase.py",
    )


def measure_others(gpu: Any, chosen: Chosen, so_far: Mapping[str, Findings]) -> Findings:
    """Nothing to launch: the figures that others published."""
    return Findings(quantities=published.quantities())
