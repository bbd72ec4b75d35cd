"""What ``sm-map`` teaches, as statements that can fail."""

from __future__ import annotations

from gpu_explain.scenes.base import Claim, Measurement, expectation, law
from gpu_explain.scenes.base.traced import blocks_stay, when_alone


def claims(m: Measurement) -> tuple[Claim, ...]:
    """Every claim of the scene over a complete measurement."""
    return (*_places(m), *_inside(m), *_order(m), *_flag(m), *_twins(m), *_smaller(m))


def _places(m: Measurement) -> tuple[Claim, ...]:
    trace = m.trace("launch")
    residents, capacity = int(m.number("fit.residents")), int(m.number("fit.capacity"))
    gap, waited = m.quantity("launch.gap"), trace.blocks > capacity
    expected = min(trace.blocks, capacity)
    return (
        law(
            "never-above-the-limit",
            "No SM ever holds more blocks than the occupancy API allows",
            max(trace.peak_by_sm.values()),
            (None, residents),
            "blocks",
            "registers, threads and block slots of an SM are hard limits",
            inputs=("launch", "fit.residents"),
            source="kernels/trace.py",
        ),
        Claim(
            "all-places-filled",
            "While there are blocks, every place has one",
            when_alone(m),
            trace.peak,
            expected,
            expected,
            "blocks at once",
            "blocks last far longer than it takes to start them all, so the first wave fills whatever fits",
            likely="another process held a part of the GPU",
            inputs=("launch", "fit.capacity"),
            source="kernels/trace.py",
        ),
        expectation(
            "a-free-place-is-taken-at-once",
            "A place that falls free is taken by the next block in the line at once",
            gap.number / m.number("launch.duration") if waited else None,
            (-0.01, 0.15),
            "of a block's time",
            "the hardware hands out blocks by itself, in about a microsecond; a block waits at least fifty timer steps",
            unchecked="" if waited else "all blocks fit at once, none had to wait for a place",
            likely="blocks so short that handing out the next one takes as long as they do",
            inputs=("launch.gap", "launch.duration"),
            source="scenes/sm_map/measure.py",
        ),
    )


def _inside(m: Measurement) -> tuple[Claim, ...]:
    trace, lanes = m.trace("launch"), m.one_series("lanes")
    apart = sum(
        distance not in (-1, lane) or spread != distance
        for lane, distance, spread in zip(lanes.x, lanes.y, lanes.high, strict=True)
    )
    return (
        law(
            "every-warp-reported",
            "A block has threads ÷ warp size warps, rounded up",
            int(m.number("grid.warps")),
            (trace.blocks * -(-trace.threads // m.device.warp_size),) * 2,
            "warps",
            "threads come in warps; each warp's first lane wrote a record over poison",
            inputs=("grid.warps",),
            source="cuda/grid.cu",
        ),
        Claim(
            "warps-stay-with-their-block",
            "All warps of a block run on the block's SM",
            when_alone(m),
            int(m.number("grid.astray")),
            None,
            0,
            "warps elsewhere",
            "a block's warps share its SM's shared memory and barriers; only preemption can move them, all together",
            likely="another process preempted this one between two stamps",
            inputs=("grid.astray",),
            source="cuda/grid.cu",
        ),
        law(
            "warps-last-as-long-as-their-block",
            "A warp that has an element works nearly as long as its block",
            m.number("grid.shortest"),
            (0.8, None),
            "of its block's time",
            "all its threads wait the same while; a block starts its warps one after the other, and stamps take time",
            inputs=("grid.shortest",),
            source="cuda/grid.cu",
        ),
        law(
            "every-element-once",
            "Every element has its thread: block i ÷ threads, thread i mod threads",
            int(m.value("elements")) - int(m.number("grid.signed")) + int(m.number("grid.strangers")),
            (0, 0),
            "elements without it",
            "one element a thread, the surplus kept out by the guard; a signature is written over poison",
            inputs=("grid.signed", "grid.strangers"),
            source="kernels/grid.py",
        ),
        law(
            "a-warp-has-neighbours",
            "The lanes of a warp have neighbouring elements, in the order of the lanes",
            apart,
            (None, 0),
            "lanes that differ",
            "threads are numbered through a warp lane by lane; %laneid comes from the hardware",
            inputs=("lanes",),
            source="kernels/grid.py",
        ),
    )


def _order(m: Measurement) -> tuple[Claim, ...]:
    trace, capacity = m.trace("launch"), int(m.number("fit.capacity"))
    waited = trace.blocks >= 2 * capacity
    unchecked = "" if waited else "fewer blocks than two full waves say little about order"
    return (
        law(
            "each-block-once",
            "Each block runs exactly once",
            len(set(trace.ticket) & set(range(trace.blocks))),
            (trace.blocks, trace.blocks),
            "different tickets",
            "every block drew a ticket from one atomic counter; a block run twice or never breaks the row",
            inputs=("launch",),
            source="kernels/trace.py",
        ),
        blocks_stay(m, "launch"),
        expectation(
            "not-in-order",
            "Blocks do not start in the order of their numbers",
            int(m.number("launch.unordered")) if waited else None,
            (1, None),
            "late blocks",
            "they are handed out nearly in order, but reach their SMs sooner or later, and nothing sorts them there",
            unchecked=unchecked,
            likely="a GPU that hands out blocks one at a time, or a timer too coarse to see the order",
            inputs=("launch.unordered",),
            source="scenes/sm_map/facts.py",
        ),
        expectation(
            "not-the-same-twice",
            "The same launch once more puts blocks on other SMs",
            int(m.number("again.elsewhere")) if waited else None,
            (1, None),
            "blocks elsewhere",
            "which place falls free first is decided by nanoseconds",
            unchecked=unchecked,
            likely="blocks whose lengths differ more than chance can turn",
            inputs=("again.elsewhere",),
            source="scenes/sm_map/measure.py",
        ),
    )


def _flag(m: Measurement) -> tuple[Claim, ...]:
    more, capacity = m.trace("flag.more"), int(m.number("flag.capacity"))
    return (
        Claim(
            "who-fits-can-wait",
            "While the grid fits, every block sees the last block's flag in time",
            when_alone(m),
            int(m.number("flag.fits.timed_out")),
            None,
            0,
            "blocks gave up",
            "all blocks are resident, the one they wait for too",
            likely="another process held a part of the GPU",
            inputs=("flag.fits.timed_out",),
            source="cuda/flag.cu",
        ),
        law(
            "one-more-and-all-give-up",
            "With one block more, every resident block waits in vain",
            int(m.number("flag.more.timed_out")),
            (capacity, capacity),
            "blocks gave up",
            "the last block has no place until one of those that wait for it ends",
            inputs=("flag.more.timed_out", "flag.capacity"),
            source="cuda/flag.cu",
        ),
        law(
            "the-awaited-comes-last",
            "The block they all wait for starts only when one of them has given up",
            more.start_ns[-1] - min(more.end_ns),
            (-more.step_ns, None),
            "ns",
            "it takes the place that one leaves; one step of %globaltimer of slack",
            inputs=("flag.more",),
            source="cuda/flag.cu",
        ),
    )


def _twins(m: Measurement) -> tuple[Claim, ...]:
    cuda, triton = m.quantity("twin.CUDA.idle"), m.quantity("twin.Triton.idle")
    lasts = m.number("twin.CUDA.last"), m.number("twin.Triton.last")
    unchecked = "" if cuda.n else "the last block has no warp without an element: a block is a single warp"
    return (
        law(
            "twins-own-the-same",
            "In both languages every element has the same thread",
            int(m.number("twin.CUDA.wrong") + m.number("twin.Triton.wrong")),
            (None, 0),
            "elements gone astray",
            "one element a thread: Triton's layout and CUDA's index are then the same arithmetic",
            inputs=("twin.CUDA.wrong", "twin.Triton.wrong"),
            source="kernels/grid.py",
        ),
        expectation(
            "twins-take-the-same-time",
            "The same work takes the same time in both languages",
            m.number("twin.ratio"),
            (0.9, 1.1),
            "Triton ÷ CUDA",
            "both become blocks of as many warps; blocks that wait cost no arithmetic that a compiler could save",
            likely="a different number of residents: see what an SM holds in each",
            inputs=("twin.ratio",),
            source="kernels/grid.py",
        ),
        expectation(
            "surplus-warps-leave-in-cuda",
            "CUDA's warps without an element are done at once",
            cuda.number / lasts[0] if cuda.n else None,
            (None, 0.15),
            "of its block's time",
            "`if (i < n)` skips their work; one or two timer steps on a coarse timer",
            unchecked=unchecked,
            likely="a timer step as long as a block",
            inputs=("twin.CUDA.idle",),
            source="cuda/grid.cu",
        ),
        expectation(
            "surplus-warps-stay-in-triton",
            "Triton's warps without an element stay to the end of their block",
            triton.number / lasts[1] if triton.n else None,
            (0.85, None),
            "of its block's time",
            "a mask silences loads and stores, it sends nobody home",
            unchecked=unchecked,
            likely="a compiler that learned to branch around masked work",
            inputs=("twin.Triton.idle",),
            source="kernels/grid_triton.py",
        ),
    )


def _smaller(m: Measurement) -> tuple[Claim, ...]:
    counts = [int(q.name.split(".")[1]) for q in m.quantities if q.name.startswith("sms.") and q.name.endswith(".seen")]
    unchecked = "" if counts else m.why_missing("smaller") or "no smaller GPU was measured"
    strays = [abs(m.number(f"sms.{n}.seen") - n) for n in counts]
    ratios = [m.number(f"sms.{n}.waves") / m.number(f"sms.{n}.rounds") for n in counts]
    return (
        law(
            "only-its-own-sms",
            "A green context uses all of its SMs and no others",
            int(max(strays)) if counts else None,
            (None, 0),
            "SMs that differ",
            "the driver hands it those SMs alone, and the launch has blocks enough for all",
            unchecked=unchecked,
            inputs=tuple(f"sms.{n}.seen" for n in counts),
            source="kernels/session.py",
        ),
        law(
            "the-same-result-everywhere",
            "On any number of SMs every element has its thread",
            int(sum(m.number(f"sms.{n}.wrong") for n in counts)) if counts else None,
            (None, 0),
            "elements gone astray",
            "which element a thread has follows from its numbers in the grid, not from where it runs",
            unchecked=unchecked,
            inputs=tuple(f"sms.{n}.wrong" for n in counts),
            source="kernels/grid.py",
        ),
        expectation(
            "fewer-sms-more-waves",
            "The time follows the number of waves, whatever the number of SMs",
            max(ratios, key=lambda ratio: abs(ratio - 1)) if counts else None,
            (0.97, 1.2),
            "waves taken ÷ needed (the one farthest from 1)",
            "the line is longer, the blocks are the same; starting each wave takes a little",
            unchecked=unchecked,
            likely="short blocks, beside which handing out the next one takes long",
            inputs=tuple(f"sms.{n}.waves" for n in counts),
            source="scenes/sm_map/measure.py",
        ),
    )
