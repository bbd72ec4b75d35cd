"""The session of a made-up GPU: what the worker needs of ``kernels.session.Session``, and faults on demand."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from gpu_explain import __version__
from gpu_explain.scenes.base import Device, Neighbour, ProblemError
from gpu_explain.scenes.base.problem import problem

FAULTS = ("", "crash", "hang", "sticky", "slow", "garbage", "memory", "unopened")
"""What can go wrong: see :meth:`MadeUpSession.break_down`."""


class MadeUpSession:
    """A session on a device that does not exist.

    Args:
        device: Its facts.
        fault: What happens at the first progress of a measurement.
        once: A file that is made when the fault happens; while it is there the fault does not happen again,
            so that a restarted worker works.
        garble: Writes something that is no reply to the worker's reply descriptor.
    """

    def __init__(self, device: Device, fault: str = "", once: str = "", garble: Callable[[], object] = bool) -> None:
        self.device = device
        self.versions: Mapping[str, str] = {"gpu_explain": __version__, "driver": device.driver, "made-up": "1"}
        self.compile_seconds = 0.0
        self._fault, self._once, self._garble = fault, once, garble
        self._tell: Callable[[str, float | None], None] | None = None
        if self._due("unopened"):
            raise ProblemError(problem("gpu-held", evidence="cuCtxCreate answered 46"))

    def listen(self, tell: Callable[[str, float | None], None] | None) -> None:
        self._tell = tell

    def progress(self, doing: str, share: float | None = None) -> None:
        if self._tell is not None:
            self._tell(doing, share)
        self.break_down()

    def break_down(self) -> None:
        """Do what the fault says, as a GPU session would."""
        if self._due("crash"):
            sys.stderr.write("the made-up driver crashed\n")
            sys.stderr.flush()
            os.kill(os.getpid(), signal.SIGKILL)
        elif self._due("hang"):
            time.sleep(3600)
        elif self._due("garbage"):
            self._garble()
            time.sleep(3600)
        elif self._due("sticky"):
            raise ProblemError(problem("illegal-access", doing="measuring", evidence="CUDA error 700"))
        elif self._due("memory"):
            raise ProblemError(problem("gpu-memory", doing="this scene", evidence="2 GB are free"))
        elif self._fault == "slow":
            for step in range(40):
                time.sleep(0.05)
                if self._tell is not None:
                    self._tell("working slowly", step / 40)

    @contextlib.contextmanager
    def on_sms(self, sms: int) -> Iterator[MadeUpSession]:
        """A narrower session; faults and progress stay with this one."""
        narrow = MadeUpSession(replace(self.device, sms=sms))
        narrow._tell = self.progress
        yield narrow

    def neighbours(self) -> tuple[Neighbour, ...]:
        return ()

    def neighbours_at_start(self) -> tuple[Neighbour, ...]:
        return ()

    def synchronise(self) -> None:
        return None

    def release(self) -> None:
        return None

    def close(self) -> None:
        return None

    def _due(self, fault: str) -> bool:
        if self._fault != fault:
            return False
        if self._once:
            if Path(self._once).exists():
                return False
            Path(self._once).touch()
        return True
