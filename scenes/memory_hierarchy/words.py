"""What ``memory-hierarchy`` says at each step: sentences made from the measurement at hand."""

from __future__ import annotations

from itertools import pairwise

from gpu_explain.scenes.base import Measurement, Words
from gpu_explain.scenes.draw.scale import count_text
from gpu_explain.scenes.draw.sizes import KB, MB, rate_text
from gpu_explain.scenes.memory_hierarchy.figures import bytes_text, share_text
from gpu_explain.scenes.memory_hierarchy.levels import CACHED, has_halves, knee_bytes, label, present, short
from gpu_explain.scenes.memory_hierarchy.loads import middle
from gpu_explain.scenes.memory_hierarchy.parameters import followed
from gpu_explain.scenes.memory_hierarchy.published import OTHERS

NO_PARAMETER = "No parameter changes this step."

ANEW = "These are new laps: medians differ a little from step 3's."
"""Why two steps show two medians for a ring of the same size."""


def words(m: Measurement, step: int) -> Words:
    """The words of a step. Needs the parts that the step needs, no more."""
    return (_ladder, _staircase, _single, _distance, _bandwidth, _others)[step](m)


def cycles(m: Measurement, name: str) -> str:
    """A figure in whole cycles, to a tenth where it is small."""
    value = m.number(name)
    return f"{value:.1f}" if value < 10 else count_text(round(value))


def as_seconds(count: float) -> str:
    """How long so many cycles were if each lasted a second."""
    if count < 90:
        return f"{count:.0f} seconds"
    return f"{count / 60:.0f} minutes" if count < 5400 else f"{count / 3600:.1f} hours"


def listed(items: list[str]) -> str:
    """``a, b and c``."""
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} and {items[-1]}"


def knee_text(m: Measurement, level: str) -> str:
    """Where a level's plateau ends, as a size."""
    return bytes_text(knee_bytes(m, level))


def _ladder(m: Measurement) -> Words:
    level = followed(m)
    called = label(level, halves=has_halves(m))
    called = "the host's memory" if level == "host" else called
    note = m.quantity(f"level.{level}").note.removeprefix("= ")
    near = "The L2's near half is on this SM's side. " if has_halves(m) else ""
    asked = str(m.value("level"))
    instead = "" if asked == level else " This GPU's L2 shows no far half, so your load goes to the L2."
    return Words(
        "One thread asks for a number and waits. Played, an SM cycle lasts 10 ms, so you wait too. A bar stops when "
        f"its number is back. {near}Of the parameters only follow matters.{instead}",
        f"Follow your load: {called} is {cycles(m, f'level.{level}')} cycles away, {note} there and back. "
        f"If a cycle were a second, you would wait {as_seconds(m.number(f'level.{level}'))}.",
        tuple(f"level.{one}" for one in present(m)),
    )


def _staircase(m: Measurement) -> Words:
    halves = has_halves(m)
    found = [level for level in CACHED if m.has(f"plateau.{level}.sure")]
    knees = [f"knee.{level}" for level in CACHED if m.has(f"knee.{level}")]
    sizes = [name for name in ("l1.unified", "size.l2") if m.has(name)]
    if found:
        count = {1: "one level", 2: "two levels", 3: "three levels", 4: "four levels"}[len(found)]
        look = f"Count the stairs: {count}, at {listed([cycles(m, f'level.{level}') for level in found])} cycles."
    else:
        look = "No stair stands out: this curve climbs without a level stretch."
    ends = [level for level in ("l1", "l2", "far") if m.has(f"knee.{level}")]
    if ends:
        first, *rest = [f"the {short(level, halves=halves)} {{}}at {knee_text(m, level)}" for level in ends]
        look += f" T{listed([first.format('ends ')[1:], *(one.format('') for one in rest)])}."
    return Words(
        "The same thread goes round a ring: each address holds the next, in random order. While a cache holds the "
        "whole ring, a load costs the same; once the ring is too large, loads are answered from farther away. Only the "
        "footprint, the ring's bytes, decides. " + NO_PARAMETER,
        look,
        (*knees, "", *sizes) if knees else tuple(sizes),
    )


def _single(m: Measurement) -> Words:
    size = bytes_text(m.number("single.footprint") * KB)
    latency, chain = m.quantity("single.latency"), m.number("single.chain")
    heaps = int(m.number("single.heaps"))
    l1, l2 = m.number("level.l1"), m.number("level.l2")
    centres = [cycles(m, f"heap.{n}") for n in range(1, heaps + 1)]
    first = (
        f"{count_text(latency.n)} loads around a ring of {size}, each timed on its own (the clock's "
        f"{m.number('single.floor'):.0f} cycles are in it). "
    )
    only = "Of the parameters only ring matters."
    shown = (
        "single.latency",
        "single.mean",
        "single.floor",
        "single.chain",
        "",
        "single.heaps",
        *(f"heap.{n}" for n in range(1, heaps + 1)),
    )
    if chain < (l1 + l2) / 2:
        spread = (latency.high or 0) - (latency.low or 0)
        look = (
            f"Look how narrow it is: all loads take about {cycles(m, 'single.latency')} cycles."
            if spread <= 4
            else f"The loads fall into {heaps} heap{'s' * (heaps != 1)}, around {listed(centres)} cycles{_rest(m)}."
        )
        return Words(
            first + "This SM's own L1 holds the ring. It is one memory with one way to it, so every load is alike. "
            f"Choose a larger ring to see what changes. {only}",
            look,
            shown,
        )
    if chain < 1.15 * l2:
        look = (
            f"Not one distance but {heaps} heaps, around {listed(centres)} cycles{_rest(m)}: some slices of the L2 are "
            "nearer to this SM than others."
            if heaps > 1
            else f"Addresses are not equally far: a fifth of the loads take under {latency.low:.0f} cycles, a fifth "
            f"more than {latency.high:.0f}."
        )
        return Words(
            first + "The L2 holds the ring. It is not one box but many slices spread over the chip, and an address "
            f"always lives in the same slice. The average of a chain hides that. {only}",
            look,
            shown,
        )
    late = sum(one - m.number("single.floor") > 1.1 * l2 for one in latency.samples) / len(latency.samples) * 100
    near = short("l2", halves=has_halves(m))
    slow = f"{share_text(late)} of the loads take longer than the {near}'s {cycles(m, 'level.l2')} cycles"
    if m.number("single.footprint") * KB > 1.1 * m.number("size.l2") * MB:
        why = "No cache holds the ring, so its loads go on to DRAM: to another bank each, whose row is open or closed."
    elif has_halves(m):
        why = "The near half of the L2 does not hold the ring: slices across the chip answer."
    else:
        why = "The cache that is near does not hold the whole ring, so many loads are answered from farther away."
    return Words(
        f"{first}{why} {only}",
        f"{slow}; "
        + (
            f"they fall into {heaps} heaps, around {listed(centres)}{_rest(m)}."
            if heaps > 1
            else f"half of all take more than {cycles(m, 'single.latency')}."
        ),
        shown,
    )


def _rest(m: Measurement) -> str:
    """Where the loads are that the shares beside the heaps leave out; nothing where they leave out none."""
    count = m.quantity("single.latency").n
    inside = [m.quantity(f"heap.{n}").n for n in range(1, int(m.number("single.heaps")) + 1)]
    if not inside or sum(inside) >= count:
        return ""
    # Of the shares as they are printed, so that all of them make 100.
    rest = 100 - sum(round(one / count * 100) for one in inside)
    return f", and {rest if rest >= 1 else 'under 1'} % into smaller ones"


def _distance(m: Measurement) -> Words:
    medians = [m.quantity(f"distance.{name}") for name in ("l2", "far", "dram")]
    spans = [middle(m.one_series(f"distance.{name}")) for name in ("l2", "far", "dram")]
    numbers = listed([f"{least:.0f} to {most:.0f}" for least, most in spans])
    least, most = cycles(m, "by_sm.least"), cycles(m, "by_sm.most")
    shown = (*(q.name for q in medians), "", "by_sm.least", "by_sm.most")
    spread = f"And SMs differ: the L2 is {least} cycles from the nearest one, {most} from the farthest."
    if m.number("by_sm.most") < 1.02 * m.number("by_sm.least"):
        spread = f"Every SM is about equally far from it: {least} to {most} cycles."
    if has_halves(m):
        return Words(
            "The L2 of this GPU shows two halves. An SM reaches the half on its side directly; what that half does not "
            "hold is fetched across the chip from the other one. Three rings: one that a half holds, one that only "
            f"both hold, one too large for both. {ANEW} {spread} {NO_PARAMETER}",
            f"Watch the loads move to the right, from ring to ring: 8 in 10 take {numbers} cycles.",
            shown,
        )
    return Words(
        "On this GPU the L2 shows one level only: whatever it holds is about equally far. Three rings: one far smaller "
        f"than the L2, one almost as large, one that is too large. {ANEW} {spread} {NO_PARAMETER}",
        f"Compare the rings: 8 loads in 10 take {numbers} cycles. Only what the L2 misses is far.",
        shown,
    )


def _bandwidth(m: Measurement) -> Words:
    l1, l2, dram, host = (m.number(f"read.{level}") for level in ("l1", "l2", "dram", "host"))
    at = m.quantity("read.l2").note
    cuda, triton = m.one_series("read.CUDA"), m.one_series("read.Triton")
    taken = f"The L2's rate is read {at}, half its size"
    between = [
        y for x, y in zip(cuda.x, cuda.y, strict=True) if 1.2 * m.device.shared_per_sm < x < m.device.l2_bytes / 2
    ]
    if between and max(between) > 1.1 * l2:
        taken += ": with less, more arrives, likely since SMs that ask for the same lines at once are answered together"
    taken += "."
    ratios = [b / a for a, b in zip(cuda.y, triton.y, strict=True)]
    alike = (
        "The Triton kernel reads as fast as the CUDA one."
        if min(ratios) >= 0.9 and max(ratios) <= 1.1
        else f"The Triton kernel reads at {min(ratios):.2f} to {max(ratios):.2f} times the CUDA one's rate."
    )
    apart = f"{_printed(l2) / _printed(dram):.1f} times what DRAM delivers" if l2 > 1.05 * dram else "no more than DRAM"
    return Words(
        "Latency is how long one load takes; bandwidth, how many bytes arrive in a second when thousands of threads "
        f"ask. All SMs read over and over; the footprint decides who delivers. {taken} {alike} {NO_PARAMETER}",
        f"The same stairs, downwards: {rate_text(l1)} from the L1s, {rate_text(l2)} from the L2 {at}, {apart}"
        + (f" ({rate_text(dram)})" if l2 > 1.05 * dram else "")
        + f", and {rate_text(host)} from the host.",
        ("read.l1", "read.l2", "read.dram", "read.host", "", "read.roof"),
    )


def _printed(gb_per_s: float) -> float:
    """A rate to the three digits that ``rate_text`` shows, so that what is made of it comes out of what is shown."""
    return float(f"{gb_per_s:.3g}")


def apart_text(m: Measurement) -> str:
    """How many times the farthest GPU's distance is the nearest one's, level by level: ``L1 1.2, L2 1.4``."""
    said = []
    for level in CACHED:
        if m.has(f"level.{level}"):
            found = [m.number(f"level.{level}"), *(one.cycles[level] for one in OTHERS if level in one.cycles)]
            if len(found) > 1:
                said.append(f"{short(level, halves=has_halves(m))} {max(found) / min(found):.1f}")
    return ", ".join(said)


def _in_order(m: Measurement) -> bool:
    """Whether on this GPU and on the others each level is farther than the one before."""
    here = {level: m.number(f"level.{level}") for level in CACHED if m.has(f"level.{level}")}
    every = [[cycles[level] for level in CACHED if level in cycles] for cycles in (here, *(o.cycles for o in OTHERS))]
    return all(near < far for row in every for near, far in pairwise(row))


def _others(m: Measurement) -> Words:
    outside = []
    ranges = []
    for level, called in (("l1", "L1"), ("l2", "L2"), ("dram", "DRAM")):
        theirs = [one.cycles[level] for one in OTHERS if level in one.cycles]
        here = m.number(f"level.{level}")
        ranges.append(f"{called} {min(theirs):.0f} to {max(theirs):.0f}")
        if not min(theirs) / 1.35 <= here <= max(theirs) * 1.35:
            outside.append(f"{called} at {here:.0f} cycles")
    look = (
        f"This GPU is off the beaten track: {listed(outside)}."
        if outside
        else f"Look down the columns, longest bar over shortest: {apart_text(m)} times. "
        + ("On every GPU the order is the same." if _in_order(m) else "The order is not the same on every GPU.")
    )
    return Words(
        f"Other people measured other GPUs, in cycles: {'; '.join(ranges)}. Their methods differ from each other and "
        f"from this one, so compare the order and not the last digit. {NO_PARAMETER}",
        look,
        tuple(f"level.{level}" for level in CACHED if m.has(f"level.{level}")),
    )
