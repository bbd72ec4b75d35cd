"""A worker on paper: follows the protocol, measures nothing, fails as it is told to.

``python -m tests.unit.scripted_worker --requests FD --replies FD [--fault NAME] [--once FILE] [--log FILE]``
"""

from __future__ import annotations

import argparse
import os
import select
import signal
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import IO

from gpu_explain.scenes.base.problem import problem
from gpu_explain.scenes.base.protocol import (
    Cancel,
    Failed,
    Measure,
    Measured,
    Progress,
    Quit,
    Ready,
    Reply,
    Request,
    decode_request,
    encode,
)
from tests.unit.made_up import device, measurement

STICKY = problem("illegal-access", doing="measuring", evidence="CUDA error 700")


class Worker:
    """Answers requests one after the other; a newer one or a cancel ends a slow one."""

    def __init__(self, requests: int, replies: IO[bytes], fault: str, once: str) -> None:
        self.requests, self.replies = requests, replies
        self.buffer = b""
        self.fault = "" if once and Path(once).exists() else fault
        if once:
            Path(once).touch()

    def say(self, reply: Reply) -> None:
        self.replies.write(encode(reply))
        self.replies.flush()

    def heard(self, wait_s: float | None) -> Iterator[Request]:
        """The requests that arrive within ``wait_s`` (``None``: until one does)."""
        while b"\n" not in self.buffer:
            if not select.select([self.requests], [], [], wait_s)[0]:
                return
            data = os.read(self.requests, 1 << 16)
            if not data:
                raise SystemExit
            self.buffer += data
        line, self.buffer = self.buffer.split(b"\n", 1)
        yield decode_request(line)

    def run(self) -> None:
        if self.fault == "unopened":
            self.say(Failed(0, problem("gpu-held", evidence="cuCtxCreate answered 46")))
            return
        if self.fault == "never-ready":
            time.sleep(60)
        if self.fault == "dies-opening":
            os._exit(7)
        self.say(Ready(device(), {"torch": "0", "pid": str(os.getpid())}, ()))
        waiting: list[Request] = []
        while True:
            waiting += self.heard(None if not waiting else 0)
            request = waiting.pop(0)
            if isinstance(request, Quit):
                return
            if isinstance(request, Measure):
                waiting += self.measure(request)

    def measure(self, request: Measure) -> list[Request]:
        self.say(Progress(request.id, "measuring", 0.5))
        later = self.break_down(request)
        if later is not None:
            return later
        full = measurement(size=request.chosen.get("size", "small"), shade=request.chosen.get("shade", "red"))
        full = replace(full, scene=request.scene, versions={"pid": str(os.getpid())})
        self.say(Measured(request.id, replace(full, parts={"first": full.parts["first"]}, complete=False)))
        self.say(Measured(request.id, full))
        return []

    def break_down(self, request: Measure) -> list[Request] | None:
        match self.fault:
            case "crash":
                sys.stderr.write("last words\n")
                os.kill(os.getpid(), signal.SIGKILL)
            case "exit":
                sys.stdout.write("going away\n")
                sys.stdout.flush()
                os._exit(3)
            case "hang":
                time.sleep(60)
            case "garbage":
                self.replies.write(b"this is no reply\n")
                self.replies.flush()
                time.sleep(60)
            case "sticky":
                self.say(Failed(request.id, STICKY))
                raise SystemExit
            case "refuse":
                self.say(Failed(request.id, problem("gpu-memory", doing="this scene", evidence="2 GB are free")))
                return []
            case "slow":
                return self.work_slowly(request)
        return None

    def work_slowly(self, request: Measure) -> list[Request] | None:
        until = time.monotonic() + 0.6
        while time.monotonic() < until:
            for other in self.heard(0.05):
                if isinstance(other, Cancel) and other.id != request.id:
                    continue
                self.say(Failed(request.id, problem("cancelled")))
                return [] if isinstance(other, Cancel) else [other]
            self.say(Progress(request.id, "still measuring"))
        return None


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--requests", type=int)
    parser.add_argument("--replies", type=int)
    parser.add_argument("--fault", default="")
    parser.add_argument("--once", default="")
    parser.add_argument("--log", default="")
    parser.add_argument("--device", type=int)
    parser.add_argument("--sms", type=int)
    given = parser.parse_args()
    if given.log:
        with Path(given.log).open("a") as log:
            log.write(f"{os.getpid()} {given.device} {given.sms} {os.environ.get('CUDA_LAUNCH_BLOCKING')}\n")
    with os.fdopen(given.replies, "wb") as replies:
        Worker(given.requests, replies, given.fault, given.once).run()


if __name__ == "__main__":
    main()
