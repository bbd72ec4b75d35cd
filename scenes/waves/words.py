"""What ``waves`` says at each step: sentences made from the measurement at hand."""

from __future__ import annotations

from gpu_explain.scenes.base import Measurement, Trace, Words, number_text
from gpu_explain.scenes.draw.scale import count_text, some_text
from gpu_explain.scenes.waves.measure import SMALL_BLOCK
from gpu_explain.scenes.waves.together import end_together, ends_apart, first_is_lowest, half_ended_ns


def words(m: Measurement, step: int) -> Words:
    """The words of a step. Needs the parts that the step needs, no more."""
    return (_one_wave, _one_more, _staircase, _competition, _million, _smaller)[step](m)


def _us(m: Measurement, name: str) -> str:
    return f"{number_text(m.number(name))} µs"


def _exactly(us: float) -> str:
    """Two decimals whatever the size, so that times that are added up on the screen do sum up."""
    return f"{us:,.2f}".replace(",", " ")


def _count(m: Measurement, name: str) -> str:
    return count_text(int(m.number(name)))


def _one_wave(m: Measurement) -> Words:
    residents = int(m.number("fit.residents"))
    threads = int(m.value("threads"))
    trace = m.trace("fits")
    if end_together(trace):
        look = (
            f"See every SM hold {residents} from start to end: {some_text(trace.blocks, 'block')} together take "
            f"{_exactly(trace.span_ns / 1000)} µs, one of them {number_text(m.number('fits.duration'))} µs (median)."
        )
    else:
        look = (
            f"See every SM hold {residents}, but not to the end: half of the {some_text(trace.blocks, 'block')} ended "
            f"after {_exactly(half_ended_ns(trace) / 1000)} µs, the last after {_exactly(trace.span_ns / 1000)} µs."
        ) + _unequal_shares(m, trace)
    return Words(
        f"A GPU does not run blocks one after the other, nor all at once. Each of its {_count(m, 'fit.sms')} SMs "
        f"has room for {some_text(residents, 'block')} of {threads} threads, so {_count(m, 'fit.capacity')} run at the "
        "same time. Such a full load is called a wave.",
        look + _timed(m, trace),
        ("fit.sms", "fit.residents", "fit.capacity", "", "fits.duration", "time.fits", "launch.clock"),
    )


def _unequal_shares(m: Measurement, trace: Trace) -> str:
    """Why blocks of equal work end apart, as far as the trace shows it."""
    apart = [sm for sm in trace.sms if ends_apart(trace, sm)]
    if m.value("work") != "compute" or 2 * len(apart) <= len(trace.sms):
        return ""
    lowest = sum(first_is_lowest(trace, sm) for sm in apart)
    said = f"on {lowest} of {len(apart)} the block with the lowest number ended first"
    return f" An SM shares its arithmetic out unevenly: {said}."


def _timed(m: Measurement, trace: Trace) -> str:
    """What the timer adds to the trace, so that the three printed times sum up; nothing where it adds nothing."""
    whole, span = round(m.number("time.fits"), 2), round(trace.span_ns / 1000, 2)
    return f" Timing adds {_exactly(whole - span)} µs of launch: {_exactly(whole)} µs." if whole > span else ""


def _one_more(m: Measurement) -> Words:
    trace = m.trace("launch")
    capacity, blocks = int(m.number("fit.capacity")), trace.blocks
    sms, residents = int(m.number("fit.sms")), int(m.number("fit.residents"))
    shown: tuple[str, ...] = (
        "time.fits",
        "time.more",
        "time.step",
        "",
        "fit.capacity",
        "launch.peak",
        "launch.rounds",
        "launch.last",
        "launch.tail",
        "launch.idle",
        "launch.clock",
    )
    if blocks <= capacity:
        idle = sms - len(trace.sms)
        rest = "Not one more has a place."
        if blocks < capacity:
            free = "would find a place" if m.value("work") == "compute" else "would cost next to nothing"
            rest = f"{some_text(capacity - blocks, 'block')} more {free}."
        look = f"{idle} of {sms} SMs have nothing to do at all." if idle else _sms_end(m)
        return Words(
            f"{sms} SMs hold {residents} of these blocks each: {count_text(capacity)} run at once. "
            f"This launch has {some_text(blocks, 'block')}, so it takes one wave. {rest}",
            look + " Choose a number of blocks above what fits to see what the next one costs.",
            shown,
        )
    last = int(m.number("launch.last"))
    working = trace.working_at(trace.span_ns - trace.tail_ns / 2)
    first = "One block more" if blocks == capacity + 1 else f"The other {count_text(blocks - capacity)}"
    verb, pronoun = ("has", "it waits") if blocks == capacity + 1 else ("have", "they wait")
    paragraph = (
        f"{sms} SMs hold {residents} of these blocks each: {count_text(capacity)} run at once. "
        f"{first} {verb} no place, so {pronoun} until others have ended. {_price(m)}"
    )
    if trace.tail_ns >= trace.median_duration_ns / 4 and working < sms / 2:
        look = (
            f"Look at SM {trace.last_sm}: it works on for {number_text(trace.tail_ns / 1000)} µs "
            f"while {sms - working} of {sms} SMs have nothing left to do."
        )
    else:
        look = f"The last wave fills {count_text(last)} of {count_text(capacity)} places. {_sms_end(m)}"
    if m.value("work") == "compute":
        newest = max(range(blocks), key=trace.ticket.__getitem__)
        start, end = _exactly(trace.start_ns[newest] / 1000), _exactly(trace.end_ns[newest] / 1000)
        paragraph += f" Blocks that compute may end out of step: the last to start ran from {start} to {end} µs."
    return Words(paragraph, look, shown)


def _price(m: Measurement) -> str:
    """What one block more than fits costs, and what its percentage is counted against."""
    fits, step = m.number("time.fits"), m.number("time.step")
    one = "It" if m.trace("launch").blocks == m.number("fit.capacity") + 1 else "One more than fits"
    return (
        f"{one} adds {number_text(step)} µs to a full wave's {number_text(fits)} µs (with launch): "
        f"{step / fits * 100:+.0f} %."
    )


def _sms_end(m: Measurement) -> str:
    """When the SMs of the chosen launch run out of blocks."""
    ends = m.trace("launch").last_end_by_sm.values()
    first, last = min(ends) / 1000, max(ends) / 1000
    return f"The first SM to run out of blocks does so after {_exactly(first)} µs, the last after {_exactly(last)} µs."


def _staircase(m: Measurement) -> Words:
    capacity = _count(m, "stair.capacity")
    return Words(
        "Launch more and more blocks that only wait, and time each launch. Between the steps more blocks are free: "
        "they take places that stood empty. At every multiple of what fits, one block more opens a new wave.",
        f"Every {capacity} blocks the time jumps by about one block's time, {_us(m, 'stair.duration')}. "
        "Where on a stair does your launch end?",
        ("stair.capacity", "stair.duration", "", "time.fits", "time.more", "time.step", "launch.clock"),
    )


def _competition(m: Measurement) -> Words:
    costs = {}
    for work in ("wait", "compute"):
        full = number_text(m.number(f"compete.{work}.full"))
        costs[work] = f"{m.number(f'compete.{work}.step'):.0f} %", f"{full} µs"
    residents = int(m.number("compete.compute.capacity")) // int(m.number("fit.sms"))
    other = "" if m.value("threads") == SMALL_BLOCK else f", not the {m.value('threads')} chosen"
    return Words(
        f"Real blocks compete for their SM's arithmetic units (here: {SMALL_BLOCK} threads each{other}). One block "
        f"more gives one SM the work of {residents + 1} blocks instead of {residents}, "
        f"{'not ' * (residents > 1)}a second round. A matmul has blocks so large that one or two fill an SM; there the "
        "same count makes it a whole or half a round (not measured here).",
        "One block more adds {} to a full wave of blocks that wait ({}, launch included), {} to one of blocks that "
        "compute ({}).".format(*costs["wait"], *costs["compute"]),
        (
            "compete.wait.capacity",
            "compete.wait.full",
            "compete.wait.step",
            "",
            "compete.compute.capacity",
            "compete.compute.full",
            "compete.compute.step",
        ),
    )


def _million(m: Measurement) -> Words:
    best, took = m.number("million.best"), m.number("million.waves")
    theirs = m.number("million.blocks") / m.number("million.theirs")
    return Words(
        f"c = a + b on a million numbers, one element a thread, is {_count(m, 'million.blocks')} blocks of "
        f"{SMALL_BLOCK} threads (traced here with blocks that only wait). {_count(m, 'million.capacity')} fit, which "
        f"makes {best:.2f} waves at best. By NVIDIA's data sheet and programming guide an L40S has room for "
        f"{_count(m, 'million.theirs')}: {theirs:.2f}.",
        f"Count the waves: at best {best:.2f}, but it takes {took:.2f}. "
        "A wave that has begun lasts as long as a full one.",
        (
            "million.blocks",
            "million.capacity",
            "million.best",
            "million.waves",
            "million.span",
            "",
            "million.theirs",
        ),
    )


def _smaller(m: Measurement) -> Words:
    names = [q.name for q in m.quantities if q.name.startswith("sms.")]
    missing = m.why_missing("smaller")
    if missing:
        return Words(
            "A green context hands a launch only some of the SMs: a smaller GPU, for real. The same kernel runs "
            "unchanged, its staircase only has shorter steps.",
            f"This could not be measured here: {missing}.",
            (),
        )
    counts = [int(name.split(".")[1]) for name in names if name.endswith(".step")]
    least = min(counts)
    costs = sorted({f"{m.number(f'sms.{n}.step'):.2f}" for n in counts}, key=float)
    height = costs[0] if len(costs) == 1 else f"{costs[0]} to {costs[-1]}"
    return Words(
        "Nothing in the kernel knows how many SMs there are. A green context hands it only some of them: a smaller "
        "GPU, for real. Blocks that find no place wait in line, and the launch takes more waves.",
        f"With {least} SMs the jump comes at {_count(m, f'sms.{least}.capacity')} blocks, with {max(counts)} at "
        f"{_count(m, f'sms.{max(counts)}.capacity')}. Its height is {height} times what a block lasts in the trace.",
        tuple(names),
    )
