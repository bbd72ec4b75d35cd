"""A made-up scene that uses all that the stage offers, and a source that answers when told to. Nothing was measured."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from gpu_explain.app.source import Event, Lost
from gpu_explain.scenes.base import (
    Choice,
    Claim,
    Cursor,
    Device,
    Findings,
    Kind,
    Measurement,
    Nature,
    Neighbour,
    Pace,
    Parameter,
    Part,
    Problem,
    Quantity,
    Scene,
    Series,
    SourceText,
    Step,
    Trace,
    View,
    Words,
)
from gpu_explain.scenes.base.protocol import Failed, Measured, Progress, Ready
from gpu_explain.scenes.draw.canvas import Canvas
from gpu_explain.scenes.draw.ink import Ink

DEVICE = Device(
    name="Made-up GPU",
    compute_capability=(9, 0),
    sms=40,
    sms_total=40,
    sm_granularity=8,
    warp_size=32,
    threads_per_sm=2048,
    blocks_per_sm=32,
    warps_per_sm=64,
    threads_per_block=1024,
    registers_per_sm=65536,
    shared_per_sm=233472,
    shared_per_block=232448,
    l2_bytes=41943040,
    memory_bytes=42949672960,
    clock_max_mhz=1500,
    driver="999.1",
    driver_cuda=(13, 0),
    timer_step_ns=1000,
)

CODE = """\
// A[row][k] is no markup, and neither is [bold]this[/bold].
__global__ void wait_for(long long cycles, float *A) {
    long long start = clock64();
    while (clock64() - start < cycles) { }
    A[blockIdx.x] = 1.0f;   // [red]
}
""" + "".join(f"// line {n}\n" for n in range(7, 120))


def parameters(device: Device, chosen: Mapping[str, str]) -> tuple[Parameter, ...]:
    fits = device.sms * 2
    blocks = Parameter(
        "blocks",
        "blocks",
        (Choice("fits-1", fits - 1), Choice("fits", fits), Choice("fits+1", fits + 1), Choice("2fits", 2 * fits)),
        "fits+1",
        typed=(1, 4000),
        help="How many blocks the grid has.",
    )
    threads = Parameter(
        "threads", "threads", tuple(Choice(str(n), n) for n in (256, 512, 1024)), "1024", unit="a block"
    )
    return blocks, threads


def trace_part(blocks: int, device: Device) -> Findings:
    sms = device.sms
    start = tuple(0 if b < 2 * sms else 20_000 for b in range(blocks))
    trace = Trace(
        name="launch",
        title=f"{blocks} blocks that wait",
        kernel="wait_for",
        language="CUDA",
        threads=1024,
        step_ns=1000,
        sm=tuple(b % sms for b in range(blocks)),
        sm_end=tuple(b % sms for b in range(blocks)),
        start_ns=start,
        end_ns=tuple(s + 20_000 for s in start),
        cycles=(40_000,) * blocks,
        ticket=tuple(range(blocks)),
    )
    samples = (43.78, 43.9, 43.7, 43.8, 44.0, 43.75, 43.78, 43.79, 43.81)
    quantities = (
        Quantity(
            "time",
            f"{blocks} blocks",
            43.78,
            "µs",
            Kind.MEASURED,
            "Events around the launch, behind a blocking kernel.",
            43.75,
            43.85,
            43.7,
            9,
            samples,
            (1980.0, 1980.0),
            3.5,
            source="kernels/timing.py",
            note="+85 %",
        ),
        Quantity("fits", "at once", 2 * sms, "", Kind.COMPUTED, "SMs × residents.", inputs=("sms",)),
        Quantity("sms", "SMs", sms, "", Kind.REPORTED, "The driver's attribute."),
        Quantity("best", "published", "4.6 waves", "", Kind.PUBLISHED, "As published.", source="A book, 2024"),
    )
    source = SourceText("cuda/toy.cu", "cuda", CODE, {"kernel": (2, 6)})
    return Findings(quantities, traces=(trace,), sources=(source,), seconds={"measure": 0.1})


def staircase_part() -> Findings:
    x = (40.0, 80.0, 81.0, 160.0)
    series = Series(
        "stairs", "time against blocks", Kind.MEASURED, x, (20.0, 20.1, 40.2, 40.3), "blocks", "µs", "Timed.", n=9
    )
    twin = SourceText(
        "kernels/toy.py", "python", '"""Doc [x]."""\n@triton.jit\ndef k(a):\n    return a[0]\n', {"twin": (2, 4)}
    )
    return Findings((), (series,), sources=(twin,))


def measurement(
    chosen: Mapping[str, str] | None = None, device: Device = DEVICE, *, complete: bool = True
) -> Measurement:
    full = {"blocks": "fits+1", "threads": "1024", **(chosen or {})}
    offered = parameters(device, full)
    blocks = int(offered[0].choice(full["blocks"]).value or 0)
    parts = {"trace": trace_part(blocks, device)}
    if complete:
        parts["stairs"] = staircase_part()
    return Measurement(
        "toy", full, offered, device, {"torch": "0", "triton": "0"}, "2026-11-29T21:40:00Z", parts, complete
    )


def words(m: Measurement, step: int) -> Words:
    blocks = m.value("blocks")
    return Words(
        f"The GPU holds {m.quantity('fits').text} of these blocks at once, and {blocks} were launched. What has no "
        "place waits until a block has finished.",
        "Look at the last bar: it works alone while all others are idle.",
        ("time", "fits", "", "sms", "best"),
    )


def claims(m: Measurement) -> tuple[Claim, ...]:
    trace = m.trace("launch")
    return (
        Claim(
            "stay",
            "A block stays on its SM",
            Nature.LAW,
            trace.moved,
            0,
            0,
            "blocks",
            "blocks do not move",
            inputs=("launch",),
        ),
        Claim(
            "slow",
            "One block more costs a round",
            Nature.EXPECTATION,
            20.1,
            30.0,
            40.0,
            "µs",
            "made up to miss",
            likely="it was made up",
        ),
        Claim("seen", "The profiler agrees", Nature.LAW, None, 1, 1, "kernels", "one was launched", "no profiler here"),
    )


def frame(m: Measurement, view: View) -> Canvas:
    canvas = Canvas(view.width, view.height)
    canvas.put(0, 0, f"STEP {view.step + 1}: WHO WORKED WHEN", Ink.TITLE)
    canvas.right(view.width, 0, "previous choice" if view.previous else "the trace of this launch", Ink.DIM)
    trace = m.trace("launch")
    done = min(view.seconds / 4.0, 1.0) * trace.span_ns
    for y, sm in enumerate(trace.sms[: view.height - 3], start=1):
        for block in trace.by_sm[sm]:
            left = 8 + int(trace.start_ns[block] / trace.span_ns * (view.width - 9))
            right = 8 + int(min(trace.end_ns[block], done) / trace.span_ns * (view.width - 9))
            canvas.fill(left, y, right - left, 1, "█", Ink.WORK)
        canvas.put(0, y, f"SM {sm:>3}", Ink.CURSOR if view.cursor == (y - 1,) else Ink.DIM)
    canvas.put(0, view.height - 1, f"t = {done / 1000:.2f} µs {view.cursor}", Ink.DIM)
    return canvas


def move(m: Measurement, view: View, key: str) -> Cursor:
    if key == "escape":
        return ()
    row = view.cursor[0] if view.cursor else 0
    return (max(row + {"up": -1, "down": 1}.get(key, 0), 0),)


def _never(*_: Any) -> Findings:
    raise AssertionError("the stage never measures by itself")


def scene(**changes: Any) -> Scene:
    plain = Scene(
        id="toy",
        chapter=3,
        number=7,
        title="Toy",
        question="Why does one block more cost a whole extra round?",
        steps=(
            Step("one", "The launch", ("stay",), "Say that nothing here was measured.", ("kernel",), ("trace",)),
            Step("two", "The staircase", ("slow",), "", ("twin",), ("trace", "stairs")),
            Step("three", "The end", (), "", (), ("trace",)),
        ),
        parameters=parameters,
        parts=(
            Part("trace", ("blocks", "threads"), _never, "tracing the launch"),
            Part("stairs", ("threads",), _never, "timing"),
        ),
        claims=claims,
        words=words,
        frame=frame,
        pace=lambda _m, _step: Pace(4.0, 40_000.0),
        move=move,
    )
    return replace(plain, **changes)


def other() -> Scene:
    return scene(id="other", number=8, title="Other", question="What comes next?")


@dataclass
class FakeSource:
    """Answers when a test tells it to, and remembers what it was asked."""

    live: bool = True
    ready: bool = True
    label: str = "LIVE · Made-up GPU"
    versions: Mapping[str, str] = field(default_factory=lambda: {"torch": "0", "triton": "0"})
    neighbours: tuple[Neighbour, ...] = ()
    answers: bool = True
    refused: set[tuple[str, str]] = field(default_factory=set)
    hidden: dict[str, str] = field(default_factory=dict)
    asked: list[tuple[str, dict[str, str], bool]] = field(default_factory=list)
    cancelled: int = 0
    closed: bool = False
    listener: Callable[[Event], None] | None = None

    @property
    def device(self) -> Device | None:
        return DEVICE if self.ready else None

    def listen(self, listener: Callable[[Event], None]) -> None:
        self.listener = listener

    def say(self, event: Event) -> None:
        assert self.listener is not None
        self.listener(event)

    def start(self) -> None:
        if self.ready:
            self.say(Ready(DEVICE, self.versions, self.neighbours))

    def offered(self, scene: Scene, chosen: Mapping[str, str]) -> bool:
        return not any(pair in self.refused for pair in chosen.items())

    def can_show(self, scene: Scene) -> str:
        return self.hidden.get(scene.id, "")

    def ask(self, scene: Scene, chosen: Mapping[str, str], *, again: bool = False) -> int:
        self.asked.append((scene.id, dict(chosen), again))
        if self.answers:
            self.measured()
        return len(self.asked)

    def measured(self, *, complete: bool = True) -> None:
        scene_id, chosen, _ = self.asked[-1]
        m = replace(measurement(chosen, complete=complete), scene=scene_id)
        self.say(Measured(len(self.asked), m))

    def progress(self, doing: str, share: float | None = None) -> None:
        self.say(Progress(len(self.asked), doing, share))

    def failed(self, problem: Problem) -> None:
        self.say(Failed(len(self.asked), problem))

    def lost(self, problem: Problem, restarting: bool = True) -> None:
        self.say(Lost(problem, restarting))

    def cancel(self) -> None:
        self.cancelled += 1
        self.failed(Problem("cancelled", "Cancelled"))

    def close(self) -> None:
        self.closed = True


def recorded(**changes: Any) -> FakeSource:
    return FakeSource(live=False, label="RECORDED · Made-up GPU · 2026-11-29", **changes)
