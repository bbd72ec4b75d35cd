"""Scene 20, fusion: why one kernel is faster than two.

relu(a + b) by eager torch (two kernels, five trips of an array between memory and chip) races against one kernel that
makes three: written by torch.compile, in Triton and in CUDA. ``parameters`` and ``measure`` say what is launched,
``claims`` what must come of it, ``words``, ``lanes``, ``curves`` and ``roofs`` what is shown.
"""

from gpu_explain.scenes.base import Part, Scene, Step, late

of = late(__name__)

STEPS = (
    Step(
        "trips",
        "Five trips or three",
        ("same-result", "tmp-is-never-made"),
        "Read the Python line aloud and ask who asked for tmp. Nobody. Count the arrows with the room before the time "
        "is told. People ask whether the dots are measured: no, the title says sketch; bytes are counted, and the time "
        "of each kernel is measured.",
        focus=("eager", "kernel"),
        needs=("race",),
    ),
    Step(
        "race",
        "The race",
        ("fused-wins",),
        "Let the race run and say nothing until the winner stands still: the loser's last third is the lesson. Then "
        "change who races: three languages, one result, since none of them can move fewer bytes. People ask why add "
        "takes longer than relu: three arrays against two.",
        focus=("kernel",),
        needs=("race",),
    ),
    Step(
        "kernels",
        "Which kernels ran",
        ("eager-runs-two", "fused-runs-one"),
        "This is the evidence for the first step: names, from the profiler. torch.compile's kernel is a Triton kernel "
        "too, with its ingredients in its name. Times here are of one call of several in a row, the L2 not emptied; "
        "the picture compares them with the race's. Between eager's two kernels the GPU may wait for the second "
        "launch.",
        focus=("kernel", "eager", "compiled"),
        needs=("kernels",),
    ),
    Step(
        "pays",
        "Where fusion pays",
        ("small-waits-for-the-host", "small-does-not-depend-on-n", "large-waits-for-memory"),
        "Two clocks tell two stories. On the left the GPU waits for Python, so what counts is how dear a launch is: "
        "a convenient launcher can cost more than the kernel it saves. On the right the GPU never waits. Ask which "
        "side the room's own tensors are on.",
        focus=("launch", "kernel"),
        needs=("race", "calls"),
    ),
    Step(
        "cache",
        "When tmp fits in the L2",
        ("tmp-from-the-l2", "tmp-from-memory", "less-to-win-in-the-l2"),
        "The step that keeps the first one honest: a trip of a small array ends in the L2. It is the same relu on the "
        "same bytes both times; only what ran before differs. Near the L2's size it may even be slower behind add: "
        "add's last lines are still on their way to memory. Benchmarks that repeat one small tensor live here.",
        focus=("eager",),
        needs=("race", "cache"),
    ),
    Step(
        "roof",
        "The roof",
        ("all-near-the-roof", "below-the-roof", "speed-up-as-the-roofs-allow"),
        "Both sides run at full speed; that is why no better kernel for add or relu could have helped. A roof belongs "
        "to a mix of reads and writes. The question to take home: why am I moving this data in the first place?",
        focus=("roof",),
        needs=("race", "roofs"),
    ),
)

SCENE = Scene(
    id="fusion",
    chapter=6,
    number=20,
    title="Fusion",
    question="Why is one kernel faster than two?",
    steps=STEPS,
    parameters=of("parameters.parameters"),
    parts=(
        Part("race", ("n",), of("measure.measure_race"), "racing eager, Triton and CUDA"),
        Part("calls", (), of("measure.measure_calls"), "timing calls from small to large"),
        Part("cache", (), of("measure.measure_cache"), "filling the L2 and emptying it"),
        Part("roofs", (), of("measure.measure_roofs"), "finding the roofs of memory"),
        Part("compile", (), of("measure.measure_compile"), "letting torch.compile compile"),
        Part("compiled", ("n",), of("measure.measure_compiled"), "racing torch.compile"),
        Part("kernels", ("n",), of("measure.measure_kernels"), "asking the profiler which kernels ran"),
    ),
    claims=of("claims.claims"),
    words=of("words.words"),
    frame=of("pictures.frame"),
    pace=of("pictures.pace"),
    resolve=of("parameters.resolve"),
    fresh_worker=True,
)
