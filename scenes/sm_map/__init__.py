"""Scene 9, where blocks run: grid, block, warp and lane on the map of this GPU's SMs.

One launch is written down at every level (``cuda/grid.cu`` and its Triton twin): which SM ran a block, when each warp
worked, which lane had which element. ``parameters``, ``measure`` and ``contrast`` say what is launched, ``facts`` what
a recording says, ``claims`` what must come of it, ``words`` what is said. ``pictures`` draws the map, ``inside`` the
way down from an SM to a lane, ``order`` what the order of blocks is and is not, ``races`` maps beside maps.
"""

from gpu_explain.scenes.base import Part, Scene, Step, late

of = late(__name__)

STEPS = (
    Step(
        "fill",
        "The map fills and drains",
        ("all-places-filled", "never-above-the-limit", "a-free-place-is-taken-at-once"),
        "Let it play once without a word, then scrub back to the middle (tab, arrows). Say what an SM (streaming "
        "multiprocessor), a block and a thread are. Ask what the line looks like with blocks of 1 024 threads, then "
        "choose them. People ask where on the chip SM 0 lies: nobody says. The number is virtual, and a cell's place "
        "on this map means nothing.",
        focus=("kernel", "trace"),
        needs=("launch",),
    ),
    Step(
        "inside",
        "Inside: block, warp, lane",
        ("every-warp-reported", "warps-stay-with-their-block", "every-element-once", "a-warp-has-neighbours"),
        "Enter steps in, escape out, one level at a time: say each level's name once. The way down is open at the SM "
        "that ran the last block. Enter until its block is chosen, then End: that is the last block, and where it is "
        "not full, warps of it have nothing to do. Shared memory and barriers exist because a block's warps are "
        "always on one SM; that is the reason why a block cannot be split.",
        focus=("kernel", "who"),
        needs=("launch",),
    ),
    Step(
        "order",
        "What is true about order",
        ("each-block-once", "blocks-stay", "not-in-order", "not-the-same-twice"),
        "The first blocks look tidy, each on its own SM: that is what leads people to rely on it. Ask why block 0 is "
        "not on SM 0. Yellow dots are blocks that a higher number overtook, by a few steps of the timer. "
        "That is little, and it is tempting to say that blocks start in order; nothing promises it. With a GPU at hand "
        "press r and compare; a recording plays the same launch again. A kernel that works because block 0 comes first "
        "works until the grid grows.",
        focus=("trace",),
        needs=("launch", "again"),
    ),
    Step(
        "flag",
        "Nobody may wait",
        ("who-fits-can-wait", "one-more-and-all-give-up", "the-awaited-comes-last"),
        "Ask for a show of hands before it plays: what happens with one block more? This is the classic hang that "
        "works on the developer's GPU and not on the customer's smaller one. The cure: end the kernel and launch "
        "another, or a cooperative launch, which refuses a grid that does not fit.",
        focus=("flag",),
        needs=("launch", "flag"),
    ),
    Step(
        "twins",
        "CUDA beside Triton",
        (
            "twins-own-the-same",
            "twins-take-the-same-time",
            "surplus-warps-leave-in-cuda",
            "surplus-warps-stay-in-triton",
        ),
        "The scheduler does not know which language a kernel came from. What differs is how one says that a thread has "
        "nothing to do: an if around the work, or a mask on loads and stores.",
        focus=("kernel",),
        needs=("launch", "twins"),
    ),
    Step(
        "smaller",
        "The same launch on fewer SMs",
        ("only-its-own-sms", "the-same-result-everywhere", "fewer-sms-more-waves"),
        "This is what independence buys: the grid says how much work there is, the GPU how much of it at once. The "
        "next scene asks what the last, half-empty wave costs.",
        focus=("kernel",),
        needs=("launch", "smaller"),
    ),
)

_LAUNCH = ("elements", "threads", "work", "sms", "language")

SCENE = Scene(
    id="sm-map",
    chapter=3,
    number=9,
    title="Where blocks run",
    question="Where do my blocks run?",
    steps=STEPS,
    parameters=of("parameters.parameters"),
    parts=(
        Part("launch", _LAUNCH, of("measure.measure_launch"), "recording the launch"),
        Part("again", _LAUNCH, of("measure.measure_again"), "launching it once more"),
        Part("flag", ("sms",), of("contrast.measure_flag"), "letting blocks wait for the last"),
        Part("twins", ("work", "sms"), of("contrast.measure_twins"), "recording CUDA and Triton"),
        Part("smaller", ("language",), of("contrast.measure_smaller"), "recording fewer SMs"),
    ),
    claims=of("claims.claims"),
    words=of("words.words"),
    frame=of("pictures.frame"),
    pace=of("playing.pace"),
    resolve=of("parameters.resolve"),
    move=of("pictures.move"),
)
