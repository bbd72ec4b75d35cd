"""What ``fusion`` teaches, as statements that can fail."""

from __future__ import annotations

from gpu_explain.scenes.base import Claim, Measurement, expectation, law
from gpu_explain.scenes.fusion.measure import OWN, WELL_INSIDE, WELL_OUTSIDE, share_text
from gpu_explain.scenes.fusion.parameters import NAMES

FOUND_PERCENT = 92
"""Up to this part of its time with an emptied L2, relu counts as having found tmp there."""


def rival(m: Measurement) -> str:
    """Who races against eager: the chosen one, or Triton while that one has no time."""
    chosen = str(m.value("racer"))
    return chosen if m.has(f"time.{chosen}") else "triton"


def claims(m: Measurement) -> tuple[Claim, ...]:
    """Every claim of the scene over a complete measurement."""
    return (*_race(m), *_kernels(m), *_calls(m), *_cache(m), *_roofs(m))


def _number(m: Measurement, name: str) -> float | None:
    return m.number(name) if m.has(name) else None


def _race(m: Measurement) -> tuple[Claim, ...]:
    fused = [name for name in (*OWN, "compile") if m.has(f"same.{name}")]
    extra = None
    if m.has("memory.eager"):
        most = max(m.number(f"memory.{name}") for name in OWN)
        extra = (m.number("memory.eager") - most) / m.number("bytes.array")
    me = rival(m)
    return (
        law(
            "same-result",
            "Every fused kernel gives the results that eager torch gives, NaN and infinities included",
            sum(m.number(f"same.{name}") for name in fused),
            (None, 0),
            "results that differ",
            "one addition and one comparison, rounded in the same way; NaN must stay NaN",
            inputs=tuple(f"same.{name}" for name in fused),
            source="kernels/fusion.py",
        ),
        law(
            "tmp-is-never-made",
            "Eager asks for one array more than a fused kernel does: tmp",
            extra,
            (0.999, 1.001),
            "arrays",
            "eager holds tmp and c, a fused kernel only c",
            unchecked="" if extra is not None else m.why_missing("memory") or "not measured",
            inputs=("memory.eager", *(f"memory.{name}" for name in OWN)),
            source="kernels/fusion.py",
        ),
        expectation(
            "fused-wins",
            "The fused kernel is done clearly before eager's two",
            m.number(f"speedup.{me}"),
            (1.1, None),
            "×",
            "two of five trips, or one of two launches, are saved at any size",
            likely="a cache that holds all arrays, or another process on the GPU",
            inputs=(f"speedup.{me}",),
            source="kernels/timing.py",
        ),
    )


def _kernels(m: Measurement) -> tuple[Claim, ...]:
    fused = [name for name in (*OWN, "compile") if m.has(f"ran.{name}.count")]
    eager = _number(m, "ran.eager.count")
    most = max((m.number(f"ran.{name}.count") for name in fused), default=None)
    why = m.why_missing("ran.eager") or m.why_missing("ran.triton") or "the profiler was not asked"
    return (
        law(
            "eager-runs-two",
            "Eager torch runs two kernels for this line",
            eager,
            (2, 2),
            "kernels",
            "eager runs each operation as it comes, with a kernel of its own",
            unchecked="" if eager is not None else why,
            inputs=("ran.eager",),
            source="kernels/profiler.py",
        ),
        law(
            "fused-runs-one",
            "Each fused version runs one kernel",
            most,
            (1, 1),
            "kernels (the most)",
            "add and relu are one loop body",
            unchecked="" if most is not None else why,
            inputs=tuple(f"ran.{name}" for name in fused),
            source="kernels/profiler.py",
        ),
    )


def _calls(m: Measurement) -> tuple[Claim, ...]:
    on_gpu = m.one_series("gpu.eager")
    calls = m.one_series("call.eager") if m.has("call.eager") else None
    why = m.why_missing("calls") or "call times were not measured"
    more = {"inputs": ("call.eager", "gpu.eager"), "source": "kernels/calls.py", "unchecked": "" if calls else why}
    flat = 2 if len(on_gpu.x) > 2 else -1
    return (
        expectation(
            "small-waits-for-the-host",
            "At the smallest n a call takes clearly longer than the GPU's own time for it",
            calls.y[0] / on_gpu.y[0] if calls else None,
            (1.25, None),
            "× the GPU's time",
            "the host needs longer to launch two kernels than the GPU to run them",
            likely="an uncommonly fast host, or a slow GPU",
            **more,
        ),
        expectation(
            "small-does-not-depend-on-n",
            "Sixteen times as many numbers do not make a small call longer",
            calls.y[flat] / calls.y[0] if calls else None,
            (0.75, 1.25),
            "× the time at the smallest n",
            "the host's work is the same for any n, and the GPU waits for it",
            likely="a slow GPU, which these sizes keep busy already, or a busy host",
            **more,
        ),
        expectation(
            "large-waits-for-memory",
            "At the largest n a call takes as long as the GPU needs for it",
            calls.y[-1] / on_gpu.y[-1] if calls else None,
            (0.9, 1.1),
            "× the GPU's time",
            "launching the next call is hidden behind the work of this one",
            likely="too little memory for a large n, or a clock that changed between the two",
            **more,
        ),
    )


def _cache(m: Measurement) -> tuple[Claim, ...]:
    def ratio(where: str) -> float | None:
        return _number(m, f"cache.{where}.ratio")

    def more(where: str) -> dict[str, object]:
        why = m.why_missing("cache") or "there is no memory for arrays of that size"
        return {
            "inputs": (f"cache.{where}.behind", f"cache.{where}.flushed"),
            "source": "kernels/fusion.py",
            "unchecked": "" if ratio(where) is not None else why,
        }

    inside, outside = _number(m, "cache.inside.gain"), _number(m, "cache.outside.gain")
    return (
        expectation(
            "tmp-from-the-l2",
            f"At {share_text(WELL_INSIDE)}, relu right behind add is faster than with an emptied L2",
            ratio("inside"),
            (None, FOUND_PERCENT),
            "% of the time",
            "tmp is still in the L2, so its trip back is a short one",
            likely="a launch so short that its fixed cost hides the trip",
            **more("inside"),
        ),
        expectation(
            "tmp-from-memory",
            f"At {share_text(WELL_OUTSIDE)}, relu right behind add takes as long as with an emptied L2",
            ratio("outside"),
            (93, 105),
            "% of the time",
            "most of tmp was pushed out before relu came to read it",
            likely="an L2 that keeps part of what streams through it",
            **more("outside"),
        ),
        expectation(
            "less-to-win-in-the-l2",
            f"Fusion wins less at {share_text(WELL_INSIDE)} than at {share_text(WELL_OUTSIDE)}",
            inside / outside if inside is not None and outside is not None else None,
            (None, 0.97),
            "of what it wins there",
            "the trips that it saves are short ones while tmp stays in the L2",
            likely="launches that cost as much as the trips at so small a size",
            inputs=("cache.inside.gain", "cache.outside.gain"),
            source="kernels/fusion.py",
            unchecked="" if inside is not None and outside is not None else "one of the two sizes was not measured",
        ),
    )


def _roofs(m: Measurement) -> tuple[Claim, ...]:
    under = {"add": "2r1w", "triton": "2r1w", "cuda": "2r1w", "relu": "1r1w"}
    shares = {name: m.number(f"roof.{name}") / m.number(f"roof.{mix}") * 100 for name, mix in under.items()}
    high, low = max(shares, key=shares.__getitem__), min(shares, key=shares.__getitem__)
    inputs = ("roof.2r1w", "roof.1r1w", *(f"roof.{name}" for name in under))
    return (
        expectation(
            "speed-up-as-the-roofs-allow",
            "At the largest n the speed-up is 5/3, corrected for the roofs of the two mixes",
            m.number("roof.speedup") / m.number("roof.expected"),
            (0.95, 1.05),
            "of what the roofs allow",
            "both are limited by memory alone, so time follows trips",
            likely="arrays too small for memory to be all that counts",
            inputs=("roof.speedup", "roof.expected"),
            source="kernels/timing.py",
        ),
        expectation(
            "below-the-roof",
            "No kernel is above the roof of its mix",
            shares[high],
            (None, 103),
            f"% of its roof ({NAMES.get(high, 'torch ' + high)})",
            "the roof is the best of three kernels that do nothing but move; 3 % for clocks and samples",
            likely="a kernel that moves faster than our best: then it is the better roof",
            inputs=inputs,
            source="kernels/roofs.py",
        ),
        expectation(
            "all-near-the-roof",
            "Fused or not, every kernel runs near the roof of its mix",
            shares[low],
            (88, None),
            f"% of its roof ({NAMES.get(low, 'torch ' + low)})",
            "each does next to no arithmetic: memory is what it waits for",
            likely="arrays too small to keep memory busy",
            inputs=inputs,
            source="kernels/roofs.py",
        ),
    )
