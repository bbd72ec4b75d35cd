"""The kernels that really ran, by CUPTI through torch.profiler: exact names, counts and durations."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpu_explain.scenes.base import Problem
from gpu_explain.scenes.base.conditions import problem

if TYPE_CHECKING:
    from gpu_explain.kernels.session import Session


@dataclass(frozen=True)
class KernelRecord:
    """One kernel that ran.

    Attributes:
        name: The kernel's name as CUPTI gives it.
        start_us: Start in µs, since the first record's.
        duration_us: Duration on the GPU in µs.
    """

    name: str
    start_us: float
    duration_us: float


@dataclass(frozen=True)
class KernelList:
    """What CUPTI recorded, in order of start.

    Attributes:
        kernels: The records; copies and fills are left out.
        why: Why there are none; empty when there are some.
        problem: The same as a condition of the catalogue, where it is the profiler's fault.
    """

    kernels: tuple[KernelRecord, ...]
    why: str = ""
    problem: Problem | None = None

    def counts(self) -> dict[str, int]:
        """How often each kernel ran, in order of first start."""
        found: dict[str, int] = {}
        for one in self.kernels:
            found[one.name] = found.get(one.name, 0) + 1
        return found


def kernel_list(gpu: Session, run: Callable[[], object]) -> KernelList:
    """Run something and list the kernels it ran. Never raises for the profiler's sake, only for ``run``'s.

    CUPTI may stay attached afterwards and slow later launches in this process (``gpu.profiled`` says so).
    """
    if not gpu.profiled:
        # The first pass starts CUPTI and may lose records.
        gpu.mark_profiled()
        gpu.progress("starting the profiler, once, for some seconds")
        _record(gpu, lambda: None)
    return _record(gpu, run)


def _record(gpu: Session, run: Callable[[], object]) -> KernelList:
    from torch.profiler import ProfilerActivity, profile

    # Kineto greets on standard error unless told not to; the variable is read when it starts.
    os.environ.setdefault("KINETO_LOG_LEVEL", "5")
    broken: list[BaseException] = []
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with profile(activities=[ProfilerActivity.CUDA], acc_events=True) as recording:
                try:
                    run()
                except BaseException as error:  # run's own fault, not the profiler's: raised once it is closed
                    broken.append(error)
                gpu.synchronise()
        events = recording.events()
    except Exception as error:
        if not broken:
            return _none(problem("cupti-refused", evidence=f"{type(error).__name__}: {error}"))
        events = None
    if broken:
        raise broken[0]
    on_gpu = sorted(
        (e for e in events or () if e.device_type.name == "CUDA"),
        key=lambda e: e.time_range.start,
    )
    kernels = [e for e in on_gpu if not e.name.startswith(("Memcpy", "Memset")) and e.time_range.elapsed_us() > 0]
    if not kernels:
        return _none(problem("cupti-silent", evidence="another profiler may hold the GPU"))
    first = kernels[0].time_range.start
    return KernelList(
        tuple(KernelRecord(e.name, e.time_range.start - first, float(e.time_range.elapsed_us())) for e in kernels)
    )


def _none(met: Problem) -> KernelList:
    return KernelList((), f"{met.what}. {met.why}", met)
