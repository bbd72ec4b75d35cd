"""Scene 13, the memory hierarchy: how far away data is, in cycles, and how much of it comes in a second.

One thread follows chains in which each step needs the one before: additions in registers, loads from shared memory,
from rings of growing footprint, from the host's memory. Levels and where they end are found in the curve, not assumed.
``levels`` names them, ``measure`` and ``rates`` launch, ``claims`` says what must come of it, ``words`` and
``pictures`` what is shown, ``figures`` how numbers are written; ``published`` holds what others found.
"""

from gpu_explain.scenes.base import Part, Scene, Step, late

of = late(__name__)

STEPS = (
    Step(
        "ladder",
        "How far each level is",
        ("registers-nearest", "addition-takes-few-cycles", "levels-rise", "dram-is-far", "host-is-farthest"),
        "Say nothing while the dot travels: the wait is the lesson. Then follow L1 and let the room laugh at how short "
        "that is. People ask why the GPU bears it: because thousands of other threads work meanwhile, which is another "
        "scene. Where the dot is on its way is a sketch; how long it takes is measured.",
        focus=("chase", "add", "shared", "host"),
        needs=("chains", "staircase"),
    ),
    Step(
        "staircase",
        "The staircase",
        ("levels-rise", "l1-ends-where-it-should", "l2-ends-where-it-should", "plateaus-are-sure"),
        "Every dot is a real ring, followed by one thread. Ask how large the room's working sets are and point at the "
        "stair. The levels are found in the data: `i` shows how sure. Sizes are binary (1 KB is 1 024 bytes, 1 MB is "
        "1 024 KB), rates decimal (1 TB/s is 1 000 GB/s). With the picture in focus, the arrows read the dots. People "
        "ask why the L1 ends early: it shares its memory with shared memory.",
        focus=("chase", "warm", "ring"),
        needs=("chains", "staircase"),
    ),
    Step(
        "single",
        "One load at a time",
        (
            "singles-agree-with-the-chain",
            "l2-answers-differ",
            "l1-answers-alike",
            "a-miss-shows",
        ),
        "An average that no load takes: a good moment to distrust averages. Change the ring and watch the heaps "
        "move. People ask what reading the clock costs: it is measured and shown, not subtracted.",
        focus=("single", "clock"),
        needs=("chains", "staircase", "single"),
    ),
    Step(
        "halves",
        "Near and far",
        ("far-half-answers-later", "dram-answers-last", "sms-differ"),
        "On GPUs with two L2 halves, a working set of half the L2 is a real limit that no data sheet prints. The SM's "
        "number says nothing about its place on the chip; only its distance does.",
        focus=("from", "single"),
        needs=("chains", "staircase", "distance"),
    ),
    Step(
        "bandwidth",
        "How much in a second",
        ("nearer-is-wider", "no-wider-than-the-lanes", "l2-wider-than-dram", "triton-reads-alike"),
        "Latency and bandwidth are two things: a lorry full of disks has much of both. The L1 figure is the sum over "
        "all SMs. The host's bar is the reason why data should stay on the GPU. People ask about the slope after the "
        "L1's end: the smaller the footprint, the more often SMs ask for the same lines at about the same time and, "
        "likely, are answered together; by whom is not measured here. Where Triton and CUDA differ, it is likely by "
        "such meetings or by how many loads each keeps under way.",
        focus=("read",),
        needs=("chains", "staircase", "bandwidth"),
    ),
    Step(
        "others",
        "Other GPUs",
        ("as-others-found",),
        "Sources are named in `i`. The methods differ, which is why no decimals are shown. What changed over the "
        "generations is how many SMs ask at once.",
        focus=("chase",),
        needs=("chains", "staircase", "others"),
    ),
)

SCENE = Scene(
    id="memory-hierarchy",
    chapter=4,
    number=13,
    title="The memory hierarchy",
    question="How far away is my data?",
    steps=STEPS,
    parameters=of("parameters.parameters"),
    parts=(
        Part("chains", (), of("measure.measure_chains"), "following chains in registers, shared and host memory"),
        Part("staircase", (), of("measure.measure_staircase"), "following rings of growing footprint"),
        Part("single", ("footprint",), of("measure.measure_single"), "timing loads one by one"),
        Part("distance", (), of("measure.measure_distance"), "timing loads near and far"),
        Part("bandwidth", (), of("rates.measure_bandwidth"), "reading footprints from all SMs"),
        Part("others", (), of("measure.measure_others"), "looking up what others published"),
    ),
    claims=of("claims.claims"),
    words=of("words.words"),
    frame=of("pictures.frame"),
    pace=of("pictures.pace"),
    move=of("pictures.move"),
)
