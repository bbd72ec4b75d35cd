"""Scene 10, waves: why one block more than fits costs a whole round.

The launches are blocks that only wait, so they do not compete for anything, and blocks that compute, so they
do. A trace shows which SM ran which block when; the timer shows what one block more costs.
``parameters`` and ``measure`` say what is launched, ``claims`` what must come of it, ``together`` reads off a trace
how its blocks end, ``words`` and ``pictures`` say and show it.
"""

from gpu_explain.scenes.base import Part, Scene, Step, late

of = late(__name__)

STEPS = (
    Step(
        "one-wave",
        "One wave",
        ("all-at-once", "residents-as-computed", "tracing-changes-nothing"),
        "Say the three words once and keep them: grid, block, SM. Ask the room how long one block would take alone; "
        "the answer is on the screen: as long as all of them. People ask why two and not one: registers, shared "
        "memory and threads set the limit, and `i` shows what the driver says. Rows are not places in the SM.",
        focus=("kernel", "wait"),
        needs=("launch", "edge"),
    ),
    Step(
        "one-more",
        "One block more",
        ("one-more-costs-a-round", "one-more-shares", "the-one-more-waits", "one-sm-works-on", "blocks-stay"),
        "Wait for the silence when all lanes but one have ended. Then change the number of blocks back to what fits, "
        "so that the room sees the tail vanish. People ask whether the block could move to an idle SM: it never "
        "moves, and no SM steals; the trace counts blocks that moved.",
        focus=("kernel", "trace"),
        needs=("launch", "edge"),
    ),
    Step(
        "staircase",
        "The staircase",
        ("every-step-is-a-block", "flat-between"),
        "Dots are medians of real launches, the dotted line is two numbers: what fits and how long one block lasts. "
        "Ask where a batch size of yours ends on this curve. Profilers call the last stair the tail effect.",
        focus=("kernel",),
        needs=("launch", "edge", "staircase"),
    ),
    Step(
        "competition",
        "Blocks that compute",
        ("computing-costs-far-less", "half-a-wave-is-cheaper"),
        "This step keeps the last one honest: a whole extra wave is the law only for blocks that do not compete. "
        "Residents share their SM's schedulers; the fewer, the faster each. What remains true is that SMs stand idle. "
        "People ask whether this is real for their matmul: yes, for few and large blocks. Choose `compute` and the "
        "largest blocks and go back two steps: the fewer fit on an SM, the nearer one more comes to a whole round. "
        "Matmul libraries therefore pick tiles by the SM count, split K, or keep one persistent block on each SM.",
        focus=("kernel", "compute"),
        needs=("launch", "competition"),
    ),
    Step(
        "million",
        "A million elements",
        ("never-above-the-limit", "best-is-not-reached"),
        "The arithmetic that is quoted everywhere: elements over threads, over what fits. It is a lower bound, and the "
        "trace shows by how much. The figure belongs to a kernel and a GPU together: the same kernel has another on "
        "an L40S.",
        focus=("kernel",),
        needs=("launch", "million"),
    ),
    Step(
        "smaller",
        "A smaller GPU",
        ("smaller-gpus-step-too",),
        "The same binary, fewer SMs. This is why CUDA programs written for one GPU run on another unchanged, and why "
        "nobody may rely on two blocks running at the same time.",
        focus=("kernel",),
        needs=("launch", "smaller"),
    ),
)

SCENE = Scene(
    id="waves",
    chapter=3,
    number=10,
    title="Waves",
    question="Why can one block more cost a whole extra round?",
    steps=STEPS,
    parameters=of("parameters.parameters"),
    parts=(
        Part(
            "launch",
            ("blocks", "threads", "work", "cycles", "sms", "language"),
            of("measure.measure_launch"),
            "tracing the launch",
        ),
        Part(
            "edge",
            ("threads", "work", "cycles", "sms", "language"),
            of("measure.measure_edge"),
            "timing what fits and one more",
        ),
        Part(
            "staircase",
            ("threads", "cycles", "sms", "language"),
            of("measure.measure_staircase"),
            "timing the staircase",
        ),
        Part(
            "competition",
            ("cycles", "sms", "language"),
            of("measure.measure_competition"),
            "timing blocks that compete",
        ),
        Part("million", ("cycles", "sms", "language"), of("measure.measure_million"), "tracing a million elements"),
        Part("smaller", ("threads", "cycles", "language"), of("measure.measure_smaller"), "timing smaller GPUs"),
    ),
    claims=of("claims.claims"),
    words=of("words.words"),
    frame=of("pictures.frame"),
    pace=of("pictures.pace"),
    resolve=of("parameters.resolve"),
    move=of("pictures.move"),
)
