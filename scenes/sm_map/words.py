"""What ``sm-map`` says at each step: sentences made from the measurement at hand."""

from __future__ import annotations

from gpu_explain.scenes.base import Measurement, Words
from gpu_explain.scenes.draw.scale import count_text, some_text, time_text
from gpu_explain.scenes.sm_map.playing import freeze_ns


def words(m: Measurement, step: int) -> Words:
    """The words of a step. Needs the parts that the step needs, no more."""
    return (_fill, _inside, _order, _flag, _twins, _smaller)[step](m)


def _count(m: Measurement, name: str) -> str:
    return count_text(int(m.number(name)))


def _count_of(m: Measurement, parameter: str) -> str:
    return count_text(int(m.value(parameter)))


def _fill(m: Measurement) -> Words:
    trace, sms = m.trace("launch"), int(m.number("fit.sms"))
    residents, capacity, blocks = int(m.number("fit.residents")), int(m.number("fit.capacity")), trace.blocks
    paragraph = (
        "c = a + b in PyTorch starts GPU threads that run the same code, here one for each element "
        f"({_count_of(m, 'elements')}). A block is a team of {_count_of(m, 'threads')} threads on one SM, a "
        f"processor of the GPU: {some_text(blocks, 'block')} for {some_text(sms, 'SM')}. An SM has room for "
        f"{count_text(residents)} ({_limit(m, residents)}), "
    )
    each = "each its own while" if m.value("work") == "uneven" else "all the same"
    passes = f"Here blocks do not add, they pass time, {each}" if blocks > 1 else "It does not add, it passes time"
    worked = len(trace.sms)
    if blocks > capacity:
        paragraph += "the others wait in line."
        gap = m.quantity("launch.gap")
        soon = f"after {gap.text}" if gap.number > 0 else f"within a step of the timer, {trace.step_ns} ns"
        look = f"Watch the line shrink: a free place is taken {soon}, until the map drains."
    elif blocks == 1:
        paragraph += "so it starts at once."
        look = f"One SM works for {m.quantity('launch.span').text}, the other {sms - worked} have nothing to do."
    else:
        paragraph += "so all start at once and nobody waits."
        got = "a block each" if blocks == worked else "blocks"
        look = (
            f"See {some_text(worked, 'SM')} get {got} and {sms - worked} none: too small a grid leaves SMs idle."
            if worked < sms
            else f"All {sms} SMs work, and no block had to wait: {some_text(capacity - blocks, 'place')} stayed free."
        )
    return Words(
        f"{paragraph} {passes}: scheduling alone shows.",
        look,
        (
            "grid.blocks",
            "fit.residents",
            "fit.capacity",
            "",
            "launch.gap",
            *(("launch.duration",) if blocks > 1 else ()),  # a single block lasts as long as all of it
            "launch.span",
        ),
    )


def _limit(m: Measurement, residents: int) -> str:
    """Which of an SM's limits gives its number of residents: threads, places for blocks, or else what a block takes."""
    threads, device = int(m.value("threads")), m.device
    held = -(-threads // device.warp_size) * device.warp_size  # an SM counts whole warps
    if device.threads_per_sm // held == residents:
        down = "" if device.threads_per_sm % held == 0 else ", rounded down"
        return f"{count_text(device.threads_per_sm)} threads ÷ {count_text(held)}{down}"
    if device.blocks_per_sm == residents:
        return "the most blocks that it takes"
    return "registers or shared memory allow no more"


def _inside(m: Measurement) -> Words:
    width, per_block = len(m.one_series("lanes").x), int(m.number("grid.warps_per_block"))
    last, idle = int(m.number("grid.last")), int(m.number("grid.idle_warps"))
    trace = m.trace("launch")
    stopped = time_text(freeze_ns(trace), like=trace.span_ns)
    stay = f"{per_block} warps stay" if per_block > 1 else "one warp stays"
    paragraph = (
        f"The same launch, stopped at {stopped}. A block's {stay} on its SM; a warp is {width} threads, its "
        "lanes, that run together and have neighbouring elements."
    )
    total, threads = int(m.value("elements")), count_text(int(m.value("threads")))
    wrong = total - int(m.number("grid.signed")) + int(m.number("grid.strangers"))
    owned = (
        f"{some_text(wrong, 'element')} of {count_text(total)} had another thread than the formula says."
        if wrong
        else f"Of {some_text(total, 'element')} each has its lane: block × {threads} + warp × {width} + lane."
    )
    triton = str(m.value("language")) == "Triton"
    if idle:
        after = time_text(m.number("grid.idle_ns"))
        does = ("stays" if idle == 1 else "stay") + " for" if triton else ("is" if idle == 1 else "are") + " done after"
        paragraph += f" The last block has only {some_text(last, 'element')}: {some_text(idle, 'warp')} {does} {after}."
    return Words(
        paragraph,
        f"Enter steps in, arrows choose; time moves only for blocks not running then. {owned}",
        (
            "grid.warps_per_block",
            "grid.warps",
            "grid.astray",
            "grid.signed",
            "grid.strangers",
            "grid.last",
            "grid.idle_warps",
            # Microseconds are said in the words: the quantity is in ns, which suits warps that leave at once.
            *(("grid.idle_ns",) if not idle or m.number("grid.idle_ns") < 1000 else ()),
        ),
    )


def _order(m: Measurement) -> Words:
    trace = m.trace("launch")
    late, elsewhere, blocks = int(m.number("launch.unordered")), int(m.number("again.elsewhere")), trace.blocks
    # Counted like the first launch's; older recordings counted the order of the tickets, which is another.
    again = int(m.number("again.late")) if m.has("again.late") else None
    paragraph = (
        "Blocks are numbered, but nothing promises that they start in that order, or where. What is certain: each "
        "runs once, on one SM, to its end. SM numbers are names too, not places on the chip."
    )
    if blocks == 1:
        look = f"One block has no order. It ran on SM {trace.sm[0]}; another launch may choose another."
    elif late or elsewhere or again:
        by = f", by up to {time_text(m.number('launch.latest'))}" if late else ""
        look = (
            f"{some_text(late, 'block')} of {count_text(blocks)} started after one with a higher number{by}; launched "
            f"again, {'all' if elsewhere == blocks else count_text(elsewhere)} ran on another SM"
            + (f" and {count_text(again) if again else 'none'} started late" if again is not None else "")
            + ". Rely on neither."
        )
    else:
        look = (
            f"On this launch all {count_text(blocks)} blocks started in order, and the second launch did the same. "
            "Nothing promises it: choose more elements."
        )
    return Words(
        paragraph,
        look,
        (
            "launch.moved",
            "launch.unordered",
            "launch.latest",
            "launch.together",
            "",
            "again.elsewhere",
            *(("again.late",) if again is not None else ()),
            "",
            "launch.gap",
        ),
    )


def _flag(m: Measurement) -> Words:
    fits, more = m.trace("flag.fits"), m.trace("flag.more")
    gave_up, lost = int(m.number("flag.fits.timed_out")), int(m.number("flag.more.timed_out"))
    capacity = int(m.number("flag.capacity"))
    paragraph = (
        f"Each block waits here until the last block sets a flag. {_count(m, 'flag.capacity')} blocks fit, all of them "
        "are resident, and the flag comes. With one block more, the last has no place, and all who have one wait for "
        f"it. So that it ends, they give up after {m.quantity('flag.limit').text}. Sizes are this step's own: of the "
        "parameters only SMs changes it."
    )
    if not gave_up and lost == capacity:
        look = (
            f"{count_text(fits.blocks)} blocks are over after {m.quantity('flag.fits.span').text}; with one more, all "
            f"{count_text(lost)} that wait give up. Without a limit they would wait for ever."
        )
    else:
        look = (
            f"{count_text(gave_up)} of {count_text(fits.blocks)} gave up while all fit, {count_text(lost)} of "
            f"{count_text(more.blocks)} with one more: something else had a part of this GPU."
        )
    return Words(
        paragraph,
        look,
        (
            "flag.residents",
            "flag.capacity",
            "flag.limit",
            "",
            "flag.fits.timed_out",
            "flag.fits.span",
            "",
            "flag.more.timed_out",
            "flag.more.span",
        ),
    )


def _twins(m: Measurement) -> Words:
    cuda, triton = m.trace("twin.CUDA"), m.quantity("twin.Triton.idle")
    wrong = int(m.number("twin.CUDA.wrong") + m.number("twin.Triton.wrong"))
    paragraph = (
        "A Triton program is a block, its elements shared out over its threads. Given as many "
        f"elements as threads ({count_text(cuda.threads)}), each thread has the same one as in CUDA: "
        + ("not one differs." if not wrong else f"{some_text(wrong, 'element')} differ.")
        + " This step has its own sizes: only work and SMs change it."
    )
    ratio = m.number("twin.ratio")
    same = 0.9 <= ratio <= 1.1
    look = (
        f"Both are over at the same time: {m.quantity('twin.CUDA.span').text} and "
        f"{m.quantity('twin.Triton.span').text}."
        if same
        else f"Triton takes {ratio:.2f} times as long: {m.quantity('twin.Triton.span').text} against "
        f"{m.quantity('twin.CUDA.span').text}."
    )
    if triton.n:
        look += (
            f" In the last block {triton.note} have no element: CUDA's are done after "
            f"{m.quantity('twin.CUDA.idle').text}, Triton's stay for {triton.text}."
        )
    return Words(
        paragraph,
        look,
        (
            "twin.CUDA.residents",
            "twin.CUDA.span",
            "twin.CUDA.idle",
            "",
            "twin.Triton.residents",
            "twin.Triton.span",
            "twin.Triton.idle",
            "",
            "twin.ratio",
        ),
    )


def _smaller(m: Measurement) -> Words:
    counts = sorted(
        int(q.name.split(".")[1]) for q in m.quantities if q.name.startswith("sms.") and q.name.endswith(".seen")
    )
    about = (
        "Since no block may rely on another, they may run in any order, on any number of SMs. A green context "
        "is a smaller GPU, for real. "
    )
    if not counts:
        return Words(about, f"This could not be measured here: {m.why_missing('smaller')}.", ())
    least, most = counts[0], counts[-1]
    blocks = m.trace(f"sms.{least}.trace").blocks
    wrong = int(sum(m.number(f"sms.{n}.wrong") for n in counts))
    shown = tuple(f"sms.{n}.{what}" for n in counts for what in ("capacity", "waves", "span"))
    return Words(
        about
        + "The kernel does not notice: the line is longer. Sizes are this step's own: only the language changes it.",
        f"{some_text(most, 'SM')} {'is' if most == 1 else 'are'} through {some_text(blocks, 'block')} after "
        f"{m.quantity(f'sms.{most}.span').text}, {some_text(least, 'SM')} "
        f"after {m.quantity(f'sms.{least}.span').text}. "
        + ("The result is the same." if not wrong else f"{some_text(wrong, 'element')} went astray."),
        shown,
    )
