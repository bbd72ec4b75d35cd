"""What ``fusion`` says at each step: sentences made from the measurement at hand."""

from __future__ import annotations

from gpu_explain.scenes.base import Measurement, Words, number_text
from gpu_explain.scenes.draw.scale import count_text
from gpu_explain.scenes.draw.sizes import size_text
from gpu_explain.scenes.fusion.calculations import apart
from gpu_explain.scenes.fusion.claims import FOUND_PERCENT, rival
from gpu_explain.scenes.fusion.curves import few_sizes, swept
from gpu_explain.scenes.fusion.measure import BUSY, ITEM, WELL_INSIDE, WELL_OUTSIDE, share_text
from gpu_explain.scenes.fusion.parameters import NAMES, about


def words(m: Measurement, step: int) -> Words:
    """The words of a step. Needs the parts that the step needs, no more."""
    return (_trips, _race, _kernels, _pays, _cache, _roof)[step](m)


def _size(m: Measurement, name: str) -> str:
    q = m.quantity(name)
    return f"{number_text(q.number)} {q.unit}"


def _present(m: Measurement, *names: str) -> tuple[str, ...]:
    """Those names that were found, an empty one kept as a free line."""
    return tuple(name for name in names if not name or m.has(name))


def _trips(m: Measurement) -> Words:
    me = rival(m)
    differ = int(m.number(f"same.{me}"))
    same = "not one result differs" if not differ else f"yet {count_text(differ)} results differ"
    return Words(
        "relu(a + b) in eager PyTorch is two kernels. The first writes the sum to memory, an array that nobody asked "
        "for; the second reads it straight back. One kernel that does both keeps each sum in a register.",
        f"Watch tmp: {_size(m, 'bytes.array')} written and read again. Without it 3 trips are left of 5, and {same}.",
        _present(
            m,
            "bytes.array",
            "bytes.eager",
            "bytes.fused",
            "bytes.allow",
            "",
            "memory.eager",
            f"memory.{me}" if m.has(f"memory.{me}") else "memory.triton",
            f"same.{me}",
        ),
    )


def _stand_in(m: Measurement) -> str:
    """Why another entrant races than the one chosen; empty when it is the one."""
    wanted, why = str(m.value("racer")), m.why_missing("compile")
    if rival(m) == wanted:
        return ""
    return f" {NAMES[wanted]} is not there: {why}. Triton stands in." if why else ""


def _race(m: Measurement) -> Words:
    me = rival(m)
    eager, mine, wins = m.number("time.eager"), m.number(f"time.{me}"), m.number(f"speedup.{me}")
    gap = f"{apart(eager, mine)} µs"
    allow = m.number("bytes.allow")
    if wins >= 1:
        look = f"{NAMES[me]} is done {gap} earlier: {wins:.2f} × as fast, where bytes alone allow {allow:.2f} ×"
        look += f"{_more_than_bytes(m, wins, allow)}."
    else:
        look = f"Here eager is done {gap} earlier, although it moves {allow:.2f} × as much."
    if abs(wins / allow - 1) < 0.06 and ITEM * m.number("race.n") >= m.device.l2_bytes:
        why = "Arithmetic is not what takes the time: time follows the bytes."
    elif wins >= 1:
        why = "At this n launches and the L2 count as well as bytes."
    else:
        why = "So bytes are not what counts at this n."
    return Words(
        "All start at the same instant and compute the same; each was measured alone, with nothing of its data on the "
        f"chip. {why}{_stand_in(m)}",
        look,
        _present(
            m,
            "time.eager",
            "time.add",
            "time.relu",
            "time.compile",
            "time.triton",
            "time.cuda",
            "",
            f"speedup.{me}",
            "bytes.allow",
            f"rate.{me}",
        ),
    )


def _more_than_bytes(m: Measurement, wins: float, allow: float) -> str:
    """Why fusion may win more than the bytes allow, at an n where a launch is next to nothing; empty otherwise."""
    add, relu = m.number("time.add"), m.number("time.relu")
    launch = (m.quantity("time.relu").floor or 0.0) / relu
    # GB/s of relu below those of add: two trips against three.
    if wins > allow and launch < 0.02 and 2 / relu < 3 / add:
        return ": it also saves relu, whose mix of reads and writes moves bytes slower than add's (step 6)"
    return ""


def _kernels(m: Measurement) -> Words:
    missing = m.why_missing("ran.eager")
    if missing:
        return Words(
            "Which kernels a line of PyTorch runs can be asked: CUPTI, NVIDIA's profiling interface, records every "
            "kernel by name, with its start and its end on the GPU.",
            f"It could not be asked here: {missing}.",
            _present(m, "time.eager", "time.triton", "time.cuda"),
        )
    fused = [name for name in ("compile", "triton", "cuda") if m.has(f"ran.{name}.count")]
    two = int(m.number("ran.eager.count"))
    most = int(max((m.number(f"ran.{name}.count") for name in fused), default=0))
    return Words(
        "PyTorch does not say what it launches, but the profiler (CUPTI) saw it: every kernel by name, from its start "
        "to its end. torch.compile wrote its kernel itself, from the same Python line.",
        f"Read the names: eager ran {two} kernels, one after the other; "
        + ("each fused version ran 1." if most == 1 else f"the fused versions ran up to {most}."),
        _present(
            m,
            "ran.eager.count",
            "ran.eager.us",
            *(f"ran.{name}.{what}" for name in fused for what in ("count", "us")),
        ),
    )


def _pays(m: Measurement) -> Words:
    on_gpu, fused = m.one_series("gpu.eager"), swept(m)
    large = on_gpu.y[-1] / (m.one_series(f"gpu.{fused}").at(on_gpu.x[-1]) or on_gpu.y[-1])
    last = f"at {about(int(on_gpu.x[-1]))} numbers it wins {large:.2f} ×"
    if not m.has("call.eager"):
        why = m.why_missing("calls") or "they have not been measured"
        return Words(
            "Time on the GPU is one thing, the time of a call in a loop another: for small arrays the GPU waits for "
            "Python.",
            f"On the GPU, {last}. Call times are not shown: {why}.",
            ("gpu.small",),
        )
    calls, mine = m.one_series("call.eager"), m.one_series(f"call.{fused}")
    small, by_calls = calls.y[0] / mine.y[0], calls.y[-1] / mine.y[-1]
    waits = calls.y[0] >= BUSY * on_gpu.y[0]
    edge = f" From n = {about(int(m.number('calls.edge')))} on" if m.has("calls.edge") else " At larger n"
    few = few_sizes(m, fused)
    own = f"All n are measured here, whichever is chosen{f' ({NAMES[fused]}: {few} of them)' if few else ''}."
    host = (
        f"At {about(int(calls.x[0]))} numbers a call of eager takes {number_text(calls.y[0])} µs, of which the GPU "
        f"works {number_text(on_gpu.y[0])}: it waits for Python, and only launches count."
        if waits
        else f"Even at {about(int(calls.x[0]))} numbers a call takes no longer than the GPU's own time for it."
    )
    if small >= 1.05:
        verdict = f"wins {small:.2f} ×"
    elif small < 0.95:
        verdict = f"loses ({small:.2f} ×): {_dear_launch(fused)}"
    else:
        verdict = "wins nothing"
    return Words(
        f"{host}{edge} eager keeps the GPU busy, and bytes count. {own}",
        f"Follow ◆, the calls: at {about(int(calls.x[0]))} numbers {NAMES[fused]} {verdict}; "
        f"at {about(int(mine.x[-1]))} it wins {by_calls:.2f} × (● kernels alone: {large:.2f} ×).",
        _present(
            m,
            "small.eager",
            "gpu.small",
            "small.compile",
            "small.triton",
            "small.cuda",
            "",
            "calls.edge",
            "bytes.allow",
        ),
    )


def _dear_launch(fused: str) -> str:
    """Why a call with one launch may cost the host more than eager's with two."""
    if fused != "compile":
        return "its one launch costs the host more than eager's two"
    return (
        "its call costs the host more than eager's two launches, for it also checks guards and runs wrappers in "
        "Python, which a larger n hides and a replayed CUDA graph leaves out"
    )


def _cache(m: Measurement) -> Words:
    l2 = size_text(m.number("cache.l2") * 1e6) if m.has("cache.l2") else "the L2"
    if not m.has("cache.inside.ratio"):
        why = m.why_missing("cache") or "there is no memory for arrays of that size"
        return Words("A tmp that fits in the L2 need not go to memory at all.", f"Not measured here: {why}.", ())
    inside = m.number("cache.inside.ratio")
    faster = inside <= FOUND_PERCENT
    text = (
        f"A small tmp is not fetched from memory: the L2, a cache on the chip, holds {l2}, so relu, right behind add, "
        "finds it there. Then its two trips are short ones, and there is less for fusion to save."
        if faster
        else f"One would expect a small tmp to stay in the L2 ({l2}) and relu, right behind add, to be faster for it."
    )
    look = f"At {share_text(WELL_INSIDE)}, relu behind add takes {inside:.0f} % of its time with an emptied L2"
    look += f", and fusion wins {m.number('cache.inside.gain'):.2f} ×"
    if m.has("cache.outside.ratio"):
        outside, gain = m.number("cache.outside.ratio"), m.number("cache.outside.gain")
        look += f"; at {share_text(WELL_OUTSIDE)}, {outside:.0f} % and {gain:.2f} ×"
    return Words(
        f"{text} Neither n nor race changes this step: it has its own sizes, and Triton for the fused one.",
        look + ".",
        _present(
            m,
            "cache.inside.behind",
            "cache.inside.flushed",
            "cache.inside.ratio",
            "cache.inside.gain",
            "",
            "cache.outside.behind",
            "cache.outside.flushed",
            "cache.outside.ratio",
            "cache.outside.gain",
        ),
    )


def _roof(m: Measurement) -> Words:
    me = rival(m) if m.has(f"roof.{rival(m)}") else "triton"
    roof2, roof1 = m.number("roof.2r1w"), m.number("roof.1r1w")
    mine, add, relu = m.number(f"roof.{me}"), m.number("roof.add"), m.number("roof.relu")
    least = min(mine / roof2, add / roof2, relu / roof1) * 100
    near = least >= 88
    text = (
        "How fast can memory go? It depends on the mix: reading two arrays and writing one has another roof than "
        f"reading one and writing one ({number_text(roof2)} and {number_text(roof1)} GB/s here). "
    )
    text += (
        "Fused or not, every kernel runs close under its own." if near else "Not every kernel comes close to its own."
    )
    wanted, who = str(m.value("racer")), "Fusion" if me == "triton" else "Triton"
    if wanted == me:
        text += " This step is at the largest n, whichever is chosen"
        text += "." if me == "triton" else "; its speed-up is Triton's."
    else:
        text += f" This step is at the largest n and has no {NAMES[wanted]}: {NAMES[me]} stands in."
    speed, allowed = m.number("roof.speedup"), m.number("roof.expected")
    look = (
        f"{NAMES[me]} moves {number_text(mine)} GB/s, torch's add {number_text(add)}: memory gets no faster. "
        f"{who} wins {speed:.2f} × by making fewer trips (the roofs allow {allowed:.2f} ×)."
    )
    return Words(
        text,
        look,
        (
            "roof.2r1w",
            "roof.add",
            "roof.triton",
            "roof.cuda",
            "",
            "roof.1r1w",
            "roof.relu",
            "",
            "roof.speedup",
            "roof.expected",
        ),
    )
