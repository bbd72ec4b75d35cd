"""The worker as a process of its own, on the GPU: it answers, it can be killed, it survives nothing sticky."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import pytest

from gpu_explain.kernels.session import Session
from gpu_explain.scenes.base.protocol import (
    Failed,
    Measure,
    Measured,
    Progress,
    Quit,
    Ready,
    Reply,
    decode_reply,
    encode,
)

# Two scenes that exist only here: one that traces, one that writes where it must not.
SERVE = """
import os, sys
from pathlib import Path
from gpu_explain.kernels import worker
from gpu_explain.kernels.opening import open_session
from gpu_explain.scenes.base import *
from gpu_explain.scenes.draw.canvas import Canvas

def trace(gpu, chosen, so_far):
    from gpu_explain.kernels import blocks
    t = blocks.trace_blocks(gpu, name="launch", title="t", work="wait", language="CUDA", blocks=chosen["blocks"].value,
                            threads=256, amount=20000)
    return Findings(traces=(t,))

def fault(gpu, chosen, so_far):
    from gpu_explain.kernels.loader import load
    load(gpu, Path(os.environ["FAULT"]), "fault").launch(gpu, 1, 1, 64)
    gpu.synchronise()
    return Findings()

def hang(gpu, chosen, so_far):
    from gpu_explain.kernels.loader import load
    load(gpu, "blocks.cu", "wait_blocks").launch(gpu, 1, 32, 20_000_000_000)
    gpu.synchronise()
    return Findings()

def scene(id, measure):
    blocks = Parameter("blocks", "blocks", (Choice("7", 7), Choice("9", 9)), "7")
    part = Part("p", ("blocks",), measure, "x")
    return Scene(id, 1, 1, id, "?", (Step("s", "s", (), ""),), lambda d, c: (blocks,), (part,), lambda m: (),
                 lambda m, s: Words("", "", ()), lambda m, v: Canvas(1, 1), lambda m, s: Pace(1.0))

scenes = {"trace": scene("trace", trace), "fault": scene("fault", fault), "hang": scene("hang", hang)}
requests, replies = int(sys.argv[1]), int(sys.argv[2])
os.dup2(2, 1)
sys.exit(worker.run(requests, replies, open_session, find=scenes.__getitem__, abandon=lambda: os._exit(9)))
"""


class Worker:
    def __init__(self, fault: Path) -> None:
        their_requests, self.requests = os.pipe()
        replies, their_replies = os.pipe()
        self.process = subprocess.Popen(
            [sys.executable, "-c", SERVE, str(their_requests), str(their_replies)],
            pass_fds=(their_requests, their_replies),
            env={**os.environ, "FAULT": str(fault)},
        )
        os.close(their_requests)
        os.close(their_replies)
        self.replies: IO[bytes] = os.fdopen(replies, "rb")

    def send(self, request: Measure | Quit) -> None:
        os.write(self.requests, encode(request))

    def answers(self) -> Iterator[Reply]:
        for line in self.replies:
            yield decode_reply(line)

    def until(self, *kinds: type) -> Reply:
        return next(r for r in self.answers() if isinstance(r, kinds))


@pytest.fixture
def worker(whole_gpu: Session, tmp_path: Path) -> Iterator[Worker]:
    fault = tmp_path / "fault.cu"
    fault.write_text('extern "C" __global__ void fault(int *there)\n{\n    *there = 1;\n}\n')
    one = Worker(fault)
    assert isinstance(one.until(Ready, Failed), Ready)
    yield one
    if one.process.poll() is None:
        one.process.kill()
    one.process.wait()
    one.replies.close()


def test_it_measures_what_is_asked_and_ends_when_told(worker: Worker) -> None:
    worker.send(Measure(1, "trace", {"blocks": "9"}))
    reply = worker.until(Measured, Failed)
    assert isinstance(reply, Measured)
    assert reply.measurement.complete
    assert reply.measurement.trace("launch").blocks == 9
    seconds = reply.measurement.parts["p"].seconds
    assert seconds["compile"] > 0 < seconds["measure"]
    worker.send(Quit())
    assert worker.process.wait(20) == 0


def test_an_illegal_access_ends_it_with_a_sticky_sentence(worker: Worker, whole_gpu: Session) -> None:
    if whole_gpu.neighbours() and os.environ.get("CUDA_MPS_PIPE_DIRECTORY"):
        pytest.skip("others use this GPU through MPS: a fault would reach them")
    worker.send(Measure(1, "fault", {}))
    reply = worker.until(Measured, Failed)
    assert isinstance(reply, Failed)
    assert reply.problem.sticky
    assert "700" in reply.problem.sentence
    assert worker.process.wait(20) == 1


def test_killed_in_the_middle_it_leaves_the_gpu_usable(worker: Worker, whole_gpu: Session) -> None:
    from gpu_explain.kernels import blocks

    worker.send(Measure(1, "hang", {}))
    worker.until(Progress)
    worker.process.send_signal(signal.SIGKILL)
    assert worker.process.wait(20) == -signal.SIGKILL
    blocks.trace_blocks(
        whole_gpu, name="t", title="t", work="wait", language="CUDA", blocks=5, threads=64, amount=20_000
    )


def test_it_does_not_outlive_the_app_even_when_a_kernel_hangs(worker: Worker) -> None:
    worker.send(Measure(1, "hang", {}))
    worker.until(Progress)
    os.close(worker.requests)
    assert worker.process.wait(20) in (0, 9)
