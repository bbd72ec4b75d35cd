"""What ``waves`` teaches, as statements that can fail."""

from __future__ import annotations

from itertools import pairwise

from gpu_explain.scenes.base import Claim, Measurement, Series, expectation, law
from gpu_explain.scenes.base.traced import blocks_stay


def claims(m: Measurement) -> tuple[Claim, ...]:
    """Every claim of the scene over a complete measurement."""
    return (*_residents(m), *_edge(m), *_staircase(m), *_competition(m), *_million(m), _smaller(m))


def _residents(m: Measurement) -> tuple[Claim, ...]:
    fits = m.trace("fits")
    residents, capacity = int(m.number("fit.residents")), int(m.number("fit.capacity"))
    stray = sum(peak != residents for peak in fits.peak_by_sm.values())
    return (
        law(
            "residents-as-computed",
            "Every SM holds as many blocks at once as the occupancy API says, no more and no fewer",
            stray,
            (None, 0),
            "SMs that differ",
            "registers, shared memory, threads and block slots are hard limits, and a block takes a free place at once",
            inputs=("fits", "fit.residents"),
            source="kernels/trace.py",
        ),
        law(
            "all-at-once",
            "As many blocks as fit are all resident at the same time",
            fits.peak,
            (capacity, capacity),
            "blocks",
            "SMs × residents; no block can end before the last one started, or this count falls short",
            inputs=("fits", "fit.capacity"),
            source="kernels/trace.py",
        ),
        law(
            "tracing-changes-nothing",
            "The traced kernel fits as often on an SM as the untraced one that is timed",
            m.number("fit.traced") - m.number("fit.residents"),
            (0, 0),
            "blocks",
            "else the picture would show another launch than the one that was timed",
            inputs=("fit.traced", "fit.residents"),
            source="kernels/blocks.py",
        ),
        blocks_stay(m, "fits", "more", "launch"),
    )


def _edge(m: Measurement) -> tuple[Claim, ...]:
    more = m.trace("more")
    late = max(range(more.blocks), key=more.ticket.__getitem__)
    waited = more.start_ns[late] - min(more.end_ns)
    sharing = m.value("work") == "compute"
    one = m.number("fits.duration")
    working = more.working_at(more.span_ns - more.tail_ns / 2)
    step = m.number("time.step") / one
    step_claim = (
        expectation(
            "one-more-shares",
            "One computing block more costs less than the blocks of a full wave take",
            step,
            (0.02, 0.9),
            "block times",
            "it adds one block's arithmetic to one SM, and starts as soon as the first of the others ends",
            likely="an SM that holds a single block: one more then is a whole round",
            inputs=("time.step", "fits.duration"),
        )
        if sharing
        else law(
            "one-more-costs-a-round",
            "One waiting block more than fits costs the time of one whole block",
            step,
            (0.85, 1.05),
            "block times",
            "the block has no place until another ends, and then takes as long as any; blocks of a wave are handed out "
            "over up to 15 % of a block's time (see flat-between), and it takes the place that falls free first",
            inputs=("time.step", "fits.duration"),
            source="kernels/timing.py",
        )
    )
    return (
        step_claim,
        law(
            "the-one-more-waits",
            "The block that does not fit starts only after another has ended",
            waited,
            (-more.step_ns, None),
            "ns",
            "all places are taken; one step of %globaltimer of slack for its resolution",
            inputs=("more",),
            source="kernels/trace.py",
        ),
        expectation(
            "one-sm-works-on",
            "In the middle of the tail, one SM works and all others have nothing left",
            working,
            (1, 1),
            "SMs",
            "a single block can only keep a single SM busy",
            likely="blocks of unequal length, which end the first wave raggedly",
            inputs=("more",),
            source="scenes/base/trace.py",
        ),
    )


def _staircase(m: Measurement) -> tuple[Claim, ...]:
    stairs, one, capacity = m.one_series("staircase"), m.number("stair.duration"), int(m.number("stair.capacity"))
    # The first launch on each stair: one block more than a whole number of waves.
    firsts = [(k, at) for k in range(6) if (at := stairs.at(k * capacity + 1)) is not None]
    rises = [(after - before) / one for (k, before), (j, after) in pairwise(firsts) if j == k + 1]
    flats = [
        ((stairs.at(k * capacity) or 0) - (stairs.at((k - 1) * capacity + 1) or 0)) / one
        for k in range(2, 6)
        if stairs.at(k * capacity) is not None and stairs.at((k - 1) * capacity + 1) is not None
    ]
    return (
        law(
            "every-step-is-a-block",
            "From stair to stair the time grows by one block's time",
            max(rises, key=lambda rise: abs(rise - 1)),
            (0.95, 1.05),
            "block times (the step farthest from 1)",
            "each new wave lasts as long as its blocks; between the first launches of two stairs nothing else changes",
            inputs=("staircase", "stair.duration"),
            source="kernels/timing.py",
        ),
        law(
            "flat-between",
            "Between the steps, more blocks cost next to nothing",
            max(flats),
            (-0.15, 0.15),
            "block times (the largest)",
            "they run beside the others; 15 % for handing out a whole wave of blocks",
            inputs=("staircase", "stair.duration"),
            source="kernels/timing.py",
        ),
    )


def _competition(m: Measurement) -> tuple[Claim, ...]:
    waiting, computing = m.number("compete.wait.step"), m.number("compete.compute.step")
    return (
        expectation(
            "computing-costs-far-less",
            "One block more costs blocks that compute less than half of what it costs blocks that wait",
            computing / waiting,
            (None, 0.5),
            "of the waiting blocks' step",
            "it adds one block's arithmetic to an SM that has several already; among blocks that wait it is a round",
            likely="blocks so large that a lone one fills the SM, or an SM that holds only one or two of them",
            inputs=("compete.compute.step", "compete.wait.step"),
            source="kernels/timing.py",
        ),
        expectation(
            "half-a-wave-is-cheaper",
            "Half as many computing blocks need clearly less time, half as many waiting ones do not",
            _at_half(m.one_series("compete.compute"), m.number("compete.compute.capacity"))
            - _at_half(m.one_series("compete.wait"), m.number("compete.wait.capacity")),
            (None, -0.2),
            "of a full wave's time",
            "waiting blocks use nothing that the others could use; computing ones do",
            likely="a kernel bound by latency at full occupancy",
            inputs=("compete.compute", "compete.wait"),
            source="kernels/timing.py",
        ),
    )


def _at_half(series: Series, capacity: float) -> float:
    found = series.at(int(capacity / 2))
    return float("nan") if found is None else found


def _million(m: Measurement) -> tuple[Claim, ...]:
    best = m.number("million.best")
    needed = -(-int(m.number("million.blocks")) // int(m.number("million.capacity")))
    return (
        law(
            "never-above-the-limit",
            "Of a million elements' blocks, never more are resident than fit",
            m.trace("million").peak,
            (None, m.number("million.capacity")),
            "blocks",
            "SMs × residents by the occupancy API",
            inputs=("million", "million.capacity"),
            source="kernels/trace.py",
        ),
        expectation(
            "best-is-not-reached",
            "The launch takes whole waves: the best figure, rounded up",
            m.number("million.waves"),
            (needed * 0.99, needed * 1.1),
            "waves",
            f"{best:.2f} waves at best; a started wave lasts as long as a full one, and handing out its blocks adds a "
            "little to each: up to 10 %",
            likely="blocks drifted apart, or another process had the GPU for a while",
            inputs=("million.waves", "million.best"),
            source="scenes/waves/measure.py",
        ),
    )


def _smaller(m: Measurement) -> Claim:
    steps = [q.number for q in m.quantities if q.name.startswith("sms.") and q.name.endswith(".step")]
    return law(
        "smaller-gpus-step-too",
        "On a smaller GPU the same kernel steps at that GPU's own limit, by one block's time",
        max(steps, key=lambda step: abs(step - 1)) if steps else None,
        (0.9, 1.1),
        "block times (the one farthest from 1)",
        "waves follow from SMs × residents, whatever their number",
        unchecked="" if steps else m.why_missing("smaller") or "no smaller GPU was measured",
        inputs=("time.step",),
        source="kernels/timing.py",
    )
