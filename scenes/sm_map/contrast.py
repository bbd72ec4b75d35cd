"""The launches that ``sm-map`` holds beside the chosen one: who waits for whom, in which language, on how many SMs."""

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
    Trace,
    computed,
    measured,
    reported,
)
from gpu_explain.scenes.base.usual import int_of, sm_choices
from gpu_explain.scenes.draw.scale import count_text
from gpu_explain.scenes.sm_map.parameters import launch_of

LIMIT_NS = 500_000
"""When blocks that wait for the last one give up: a hundred times what it takes them all to start."""
TWIN_THREADS = 256
"""Threads of the blocks that are launched in both languages: some warps, so that some can be without an element."""


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
            label = count_text(blocks)
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

    launch = launch_of(gpu.device, chosen)
    threads = min(TWIN_THREADS, gpu.device.threads_per_block)
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
                **{**launch, "language": language, "elements": elements, "threads": threads},
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
    stay = max((int(found.warp_end_ns[w] - found.warp_start_ns[w]) for w in idle), default=None)
    name = f"twin.{language}"
    return [
        reported(f"{name}.residents", f"{language}: SM holds", found.residents, "blocks", found.method),
        measured(
            f"{name}.wrong",
            "  astray",
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
            "  idle warps stay",
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
            f"{name}.last",
            "  last block",
            (trace.end_ns[-1] - trace.start_ns[-1]) / 1000,
            "µs",
            "From its start to its end, on %globaltimer.",
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
    # Blocks that all wait alike, so that waves can be counted.
    launch = launch_of(gpu.device, {**chosen, "work": Choice("alike", "alike")})
    language, threads = launch["language"], gpu.device.threads_per_block
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
                **{**launch, "elements": blocks * threads, "threads": threads},
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
            "  astray",
            elements - found.owners.signed + found.owners.strangers,
            "",
            "Elements that nobody or another thread signed.",
            n=elements,
        ),
    ]
