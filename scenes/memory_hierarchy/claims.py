"""What ``memory-hierarchy`` teaches, as statements that can fail."""

from __future__ import annotations

from itertools import pairwise

from gpu_explain.scenes.base import Claim, Measurement, Series, expectation, law
from gpu_explain.scenes.draw.sizes import MB
from gpu_explain.scenes.memory_hierarchy.levels import CACHED, has_halves, present, sms_text
from gpu_explain.scenes.memory_hierarchy.published import OTHERS


def claims(m: Measurement) -> tuple[Claim, ...]:
    """Every claim of the scene over a complete measurement."""
    return (*_ladder(m), *_knees(m), *_single(m), *_distance(m), *_bandwidth(m), _others(m))


def _ladder(m: Measurement) -> tuple[Claim, ...]:
    far = {level: m.number(f"level.{level}") for level in present(m)}
    cached = [far[level] for level in CACHED if level in far]
    return (
        law(
            "registers-nearest",
            "The nearest load takes at least twice as long as an addition in registers",
            min(far["shared"], far["l1"]) / far["registers"],
            (2, None),
            "×",
            "a load computes an address, reads a memory array and travels back; an addition only passes its pipeline",
            inputs=("level.registers", "level.shared", "level.l1"),
            source="kernels/chase.py",
        ),
        expectation(
            "addition-takes-few-cycles",
            "A dependent addition takes 4 to 6 cycles",
            far["registers"],
            (3.5, 6.5),
            "cycles",
            "the depth of the arithmetic pipeline since compute capability 7.0; half a cycle for the loop around it",
            likely="another process ran on the same SM",
            inputs=("level.registers",),
            source="cuda/chase.cu",
        ),
        law(
            "levels-rise",
            "Each level that the curve shows is farther than the one before",
            min(after / before for before, after in pairwise(cached)),
            (1.05, None),
            "× (the smallest rise)",
            "a cache that is no nearer than what lies behind it would be none; 5 % for noise",
            inputs=tuple(f"level.{level}" for level in CACHED if level in far),
            source="kernels/plateaus.py",
        ),
        expectation(
            "dram-is-far",
            "DRAM is at least 1.3 times as far as the L2",
            far["dram"] / far["l2"],
            (1.3, None),
            "×",
            "the miss is found in the L2 first, then the way to the memory chips and back comes on top",
            likely="the L2 was held by another process, so that it missed as well",
            inputs=("level.dram", "level.l2"),
            source="kernels/chase.py",
        ),
        expectation(
            "host-is-farthest",
            "The host's memory is the farthest",
            far["host"] / far["dram"],
            (1.2, None),
            "× DRAM",
            "the load leaves the GPU, crosses the bus and comes back",
            likely="GPU and CPU share one memory here, as on integrated GPUs",
            inputs=("level.host", "level.dram"),
            source="kernels/chase.py",
        ),
    )


def _knees(m: Measurement) -> tuple[Claim, ...]:
    unified = m.number("l1.unified") if m.has("l1.unified") else None
    l1 = m.number("knee.l1") if m.has("knee.l1") else None
    outer = next((name for name in ("knee.far", "knee.l2") if m.has(name)), "")
    l2 = m.number(outer) / m.number("size.l2") if outer else None
    sure = [m.number(f"plateau.{level}.sure") for level in CACHED if m.has(f"plateau.{level}.sure")]
    why = m.why_missing("plateau.l1") or "no published size for this compute capability"
    return (
        expectation(
            "l1-ends-where-it-should",
            "The L1 ends at half to all of the memory that it shares with shared memory",
            l1 / unified if l1 and unified else None,
            (0.5, 1.05),
            "of the SM's memory",
            "shared memory was asked to take as little as possible; the driver keeps some of the rest",
            unchecked="" if l1 and unified else why,
            likely="the driver gave the L1 less than the largest share",
            inputs=("knee.l1", "l1.unified"),
            source="kernels/plateaus.py",
        ),
        expectation(
            "l2-ends-where-it-should",
            "The L2 answers up to a footprint of 0.2 to 1.2 times its size",
            l2,
            (0.2, 1.2),
            "of the L2's size",
            "a random ring just too large for a cache misses almost everywhere, and part of the L2 may be another's",
            unchecked="" if outer else m.why_missing("plateau.l2") or "no end of the L2 was found",
            likely="another process holds part of the L2, or this is a slice of a GPU that reports all of it",
            inputs=(outer or "staircase", "size.l2"),
            source="kernels/plateaus.py",
        ),
        expectation(
            "plateaus-are-sure",
            "Every plateau is found again in at least four of five rounds with redrawn samples",
            min(sure) if sure else 0,
            (80, None),
            "% (the least sure)",
            "a plateau that noise can move is none",
            likely="other work on the GPU while the curve was measured",
            inputs=tuple(f"plateau.{level}.sure" for level in CACHED if m.has(f"plateau.{level}.sure")),
            source="kernels/plateaus.py",
        ),
    )


def _single(m: Measurement) -> tuple[Claim, ...]:
    chain, floor = m.number("single.chain"), m.number("single.floor")
    l1, l2 = m.number("level.l1"), m.number("level.l2")
    samples = m.quantity("single.latency").samples
    agree = law(
        "singles-agree-with-the-chain",
        "Timed one by one, loads take as long as in the chain, apart from what reading the clock costs",
        m.number("single.mean") - chain,
        (-0.05 * chain, 0.1 * chain + 2 * floor),
        "cycles more",
        "the same loads around the same ring; a tenth for interruptions, twice the clock's own cycles for reading it",
        inputs=("single.mean", "single.chain", "single.floor"),
        source="kernels/chase.py",
    )
    ordered = sorted(samples)
    spread = ordered[-1 - len(ordered) // 10] - ordered[len(ordered) // 10]
    if chain < (l1 + l2) / 2:
        nature = expectation(
            "l1-answers-alike",
            "Loads that the L1 answers all take the same time, but for the slowest and quickest tenth",
            spread,
            (None, 4),
            "cycles from the 10th to the 90th percentile",
            "one memory array, one way to it",
            likely="the ring does not quite fit into the L1",
            inputs=("single.latency",),
            source="kernels/chase.py",
        )
    elif chain < l2 * 1.15:
        nature = expectation(
            "l2-answers-differ",
            "Loads that the L2 answers differ by more than 5 % from one address to another",
            spread / m.number("single.latency") * 100,
            (5, None),
            "% from the 10th to the 90th percentile",
            "the L2 is many slices spread over the chip; some are nearer to this SM than others",
            likely="a small GPU, whose slices lie close together",
            inputs=("single.latency",),
            source="kernels/chase.py",
        )
    else:
        nature = expectation(
            "a-miss-shows",
            "Of the loads, most take longer than an answer from the near L2",
            sum(one - floor > 1.1 * l2 for one in samples) / len(samples) * 100,
            (50, None),
            "% of the loads",
            "the ring is too large for what lies near, so its loads are answered from farther away",
            likely="the ring is only a little too large, and part of it is still near",
            inputs=("single.latency", "level.l2"),
            source="kernels/chase.py",
        )
    return agree, nature


def _above(series: Series, cycles: float) -> float:
    """Share in % of a histogram's loads in columns at or above ``cycles``."""
    total = sum(series.y)
    return sum(y for x, y in zip(series.x, series.y, strict=True) if x >= cycles) / total * 100 if total else 0.0


def _distance(m: Measurement) -> tuple[Claim, ...]:
    halves = has_halves(m)
    between = (m.number("level.l2") + m.number("level.far")) / 2 if halves else 0.0
    return (
        expectation(
            "far-half-answers-later",
            "Of the loads in a ring larger than half of the L2, many come from the far half",
            _above(m.one_series("distance.far"), between) if halves else None,
            (30, None),
            "% later than midway",
            "the half near this SM cannot hold the ring, the whole L2 can",
            unchecked="" if halves else m.why_missing("plateau.far") or "no far half was found",
            likely="the near half keeps more of the ring than a least-recently-used one would",
            inputs=("distance.far", "level.l2", "level.far"),
            source="kernels/chase.py",
        ),
        law(
            "dram-answers-last",
            "A load that misses the L2 takes longer than one that hits it",
            m.number("distance.dram") / m.number("distance.l2"),
            (1.1, None),
            "× (medians)",
            "the L2 is asked first either way",
            inputs=("distance.dram", "distance.l2"),
            source="kernels/chase.py",
        ),
        expectation(
            "sms-differ",
            "The L2 is not equally far from every SM",
            m.number("by_sm.most") / m.number("by_sm.least"),
            (1.02, 2),
            "× (farthest over nearest)",
            "SMs and L2 slices lie spread over the chip, so ways differ; more than twice would be another level",
            likely="a small GPU, whose ways are all alike",
            inputs=("by_sm",),
            source="kernels/chase.py",
        ),
    )


def _bandwidth(m: Measurement) -> tuple[Claim, ...]:
    l1, l2, dram = (m.number(f"read.{level}") for level in ("l1", "l2", "dram"))
    sms, all_sms = m.device.sms, m.device.sms_total
    enough = 2 * sms >= all_sms
    cuda, triton = m.one_series("read.CUDA"), m.one_series("read.Triton")
    half = m.number("size.l2") * MB / 2
    ratios = [b / a for x, a, b in zip(cuda.x, cuda.y, triton.y, strict=True) if x >= half]
    worst = min(ratios, key=lambda r: min(r, 1 / r))
    few = (
        "" if enough else f"only {sms} of {sms_text(all_sms)} can be used: too few to ask for all that the memory gives"
    )
    return (
        law(
            "nearer-is-wider",
            "A nearer level delivers at least as many bytes a second as a farther one",
            min(l1 / l2, l2 / dram),
            (0.95, None),
            "× (the smaller ratio)",
            "what the farther level delivers passes through the nearer one",
            inputs=("read.l1", "read.l2", "read.dram"),
            source="kernels/bandwidth.py",
        ),
        law(
            "no-wider-than-the-lanes",
            "The L1s deliver no more than 4 bytes a lane and cycle",
            l1 / m.number("read.roof"),
            (0.1, 1.02),
            "of the limit",
            "32 lanes × 4 bytes is the width of an SM's load path; under a tenth would be a kernel that hardly reads",
            inputs=("read.l1", "read.roof"),
            source="kernels/bandwidth.py",
        ),
        expectation(
            "l2-wider-than-dram",
            "The L2 delivers at least 1.5 times what DRAM does",
            l2 / dram if enough else None,
            (1.5, None),
            "×",
            "all SMs together can ask for more than the memory chips deliver",
            unchecked=few,
            likely="the launches do not keep enough loads under way",
            inputs=("read.l2", "read.dram"),
            source="kernels/bandwidth.py",
        ),
        expectation(
            "triton-reads-alike",
            "From half of the L2 on, the Triton kernel reads as fast as the CUDA one",
            worst if enough else None,
            (0.9, 1.1),
            "× CUDA (the ratio farthest from 1)",
            "both ask for 16 bytes a thread, eight at a time; nearer, memory is so quick that instructions count too",
            unchecked=few,
            likely="one kernel has fewer loads under way, or in the other more SMs ask for the same lines at once",
            inputs=("read.CUDA", "read.Triton"),
            source="kernels/bandwidth_triton.py",
        ),
    )


def _others(m: Measurement) -> Claim:
    factors = []
    for level in ("l1", "l2", "dram"):
        theirs = [one.cycles[level] for one in OTHERS if level in one.cycles]
        here = m.number(f"level.{level}")
        factors.append(max(here / max(theirs), min(theirs) / here))
    return expectation(
        "as-others-found",
        "L1, L2 and DRAM are about as far as others published for other GPUs",
        max(factors),
        (None, 1.35),
        "× beyond the published range (the largest)",
        "from GPU to GPU a level moves by tens of per cent, not by times; a third for method and clocks",
        likely="a GPU of another build, or an SM clock far from the published ones",
        inputs=("level.l1", "level.l2", "level.dram"),
        source="scenes/memory_hierarchy/published.py",
    )
