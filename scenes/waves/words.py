"""What ``waves`` says at each step: sentences made from the measurement at hand."""

from __future__ import annotations

from gpu_explain.scenes.base import Measurement, Words, number_text
from gpu_explain.scenes.draw.scale import count_text, some_text
from gpu_explain.scenes.waves.measure import SMALL_BLOCK


def words(m: Measurement, step: int) -> Words:
    """The words of a step. Needs the parts that the step needs, no more."""
    return (_one_wave, _one_more, _staircase, _competition, _million, _smaller)[step](m)


def _us(m: Measurement, name: str) -> str:
    return f"{number_text(m.number(name))} µs"


def _count(m: Measurement, name: str) -> str:
    return count_text(int(m.number(name)))


def _one_wave(m: Measurement) -> Words:
    residents = int(m.number("fit.residents"))
    threads = int(m.value("threads"))
    launch = number_text(m.number("time.fits") - m.trace("fits").span_ns / 1000)
    return Words(
        f"A GPU does not run blocks one after the other, nor all at once. Each of its {_count(m, 'fit.sms')} SMs "
        f"has room for {some_text(residents, 'block')} of {threads} threads, so {_count(m, 'fit.capacity')} run at the "
        "same time. Such a full load is called a wave.",
        f"See every SM hold {residents} from start to end: {_count(m, 'fit.capacity')} blocks take "
        f"no longer than one, {number_text(m.number('fits.duration'))} µs (timing adds {launch} µs of launch).",
        ("fit.sms", "fit.residents", "fit.capacity", "", "fits.duration", "time.fits", "launch.clock"),
    )


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
        rest = (
            f"{some_text(capacity - blocks, 'block')} more would cost nothing."
            if blocks < capacity
            else "Not one more has a place."
        )
        look = f"{idle} of {sms} SMs have nothing to do at all." if idle else "All SMs work, and all end together."
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
        f"{first} {verb} no place, so {pronoun} until others have ended."
    )
    if trace.tail_ns >= trace.median_duration_ns / 4 and working < sms / 2:
        look = (
            f"Look at SM {trace.last_sm}: it works on for {number_text(trace.tail_ns / 1000)} µs "
            f"while {sms - working} of {sms} SMs have nothing left to do."
        )
    else:
        look = (
            f"The last wave fills {count_text(last)} of {count_text(capacity)} places, so the SMs end almost together."
        )
    if m.value("work") == "compute":
        paragraph += " These blocks compute, so those on one SM slow each other down: the last, alone, is quick."
    return Words(paragraph, look, shown)


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
    waiting, computing = m.number("compete.wait.step"), m.number("compete.compute.step")
    dear = computing < waiting / 2
    return Words(
        "Real blocks compete. Residents of one SM share its arithmetic units, so each of them is slower than it "
        "would be alone. The last block, alone on its SM, has everything to itself and hurries through.",
        f"One block more costs {waiting:.0f} % of a full wave when blocks wait, {computing:.0f} % when they compute. "
        + (
            "A whole round is the price only for blocks that do not compete."
            if dear
            else "On this GPU both pay almost a whole round."
        ),
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
        f"makes {best:.2f} waves at best. An L40S has room for {_count(m, 'million.theirs')}: "
        f"{theirs:.2f}, published as “at best {theirs:.1f} waves”.",
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
    return Words(
        "Nothing in the kernel knows how many SMs there are. A green context hands it only some of them: a smaller "
        "GPU, for real. Blocks that find no place wait in line, and the launch takes more waves.",
        f"With {least} SMs the jump comes at {_count(m, f'sms.{least}.capacity')} blocks, with {max(counts)} at "
        f"{_count(m, f'sms.{max(counts)}.capacity')}. Its height is the same: one block's time.",
        tuple(names),
    )
