"""The timer: how long a launch takes on the GPU, and nothing else.

CUDA events around a launch time the CPU as soon as the GPU is idle when they are queued (an empty pair reads 15 µs
then). So a kernel that waits for the CPU holds the stream until everything is queued, and tells afterwards whether
it really did. The method's own floor, the same around an empty kernel, is measured alongside and shown, never
subtracted. Launches to be compared alternate, A B A B, so that a drifting clock touches all of them alike.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from statistics import median
from typing import TYPE_CHECKING, Any

from gpu_explain.kernels.loader import load
from gpu_explain.scenes.base import ProblemError, Timing
from gpu_explain.scenes.base.conditions import problem

if TYPE_CHECKING:
    from gpu_explain.kernels.session import Session

Launch = Callable[[], object]
"""Queues one launch on the session's stream; neither compiles, allocates nor waits."""

SHORT_US = 20.0
"""Below this many µs, what events cost themselves matters, and CUPTI is asked as well."""

_WARM_S = (0.03, 0.5)  # shortest and longest warm-up, in s
_HOLD_MS = (20, 80)  # longest hold, first try and later: far below any display watchdog
_TRIES = 4
_CLOCK_NS = 10_000  # how long the SM clock is watched after each sample
_RELEASED, _OUTCOME, _CYCLES, _NS = range(4)  # places in the memory shared with the CPU
_HELD = 1


class Timer:
    """Times launches on one session's stream. Use ``session.timer``."""

    def __init__(self, gpu: Session) -> None:
        """Load the timer's own kernels and make its events."""
        import torch
        from cuda.core import EventOptions

        self._gpu = gpu
        self._hold, self._empty, self._read_all, self._sm_clock = (
            load(gpu, "timing.cu", name) for name in ("hold", "empty", "read_all", "sm_clock")
        )
        # Pinned memory has the same address on both sides: the CPU lets the GPU go by writing to it.
        self._pinned = torch.zeros(4, dtype=torch.int64).pin_memory()
        self._words = self._pinned.numpy()
        self._number = 0
        options = EventOptions(timing_enabled=True)
        self._start = gpu.core_stream.record(options=options)
        self._end = gpu.core_stream.record(options=options)
        self._sample(self._empty_launch, cold=False)  # everything has run once before anything counts

    def time(
        self, launches: Sequence[Launch], *, samples: int = 15, cold: bool = False, names: Sequence[str] = ()
    ) -> tuple[Timing, ...]:
        """Time each launch ``samples`` times, in turns.

        ``cold`` flushes the L2 before each sample, by reading twice its size. ``names`` are the kernels' exact names,
        one a launch: with them, launches shorter than :data:`SHORT_US` are timed by CUPTI as well. Raises
        :class:`ProblemError` ``timer-starved`` when the CPU is too slow to queue a launch in the time the stream may
        be held, and whatever ``progress`` raises.
        """
        if not launches:
            return ()
        if samples < 1:
            raise ValueError(f"samples: at least 1 expected, got {samples}")
        if names and len(names) != len(launches):
            raise ValueError(f"names: one a launch expected ({len(launches)}), got {len(names)}")
        self.warm(launches)
        rounds: list[list[tuple[float, float]]] = [[] for _ in range(len(launches) + 1)]
        for number in range(samples):
            self._gpu.progress("timing", number / samples)
            for place, launch in enumerate((*launches, self._empty_launch)):
                rounds[place].append(self._checked_sample(launch, cold=cold))
        floor = median(us for us, _ in rounds.pop())
        short = tuple(bool(names) and median(us for us, _ in taken) < SHORT_US for taken in rounds)
        by_profiler = self._by_profiler(launches, names, short, samples)
        return tuple(
            Timing(
                samples_us=tuple(us for us, _ in taken),
                clock_mhz=tuple(mhz for _, mhz in taken),
                floor_us=floor,
                cold=cold,
                profiler_us=profiler,
                method=_method(samples, len(launches), cold),
            )
            for taken, profiler in zip(rounds, by_profiler, strict=True)
        )

    def warm(self, launches: Sequence[Launch]) -> None:
        """Run the launches until the SM clock has stopped rising (an idle GPU sleeps at a fifth of its clock)."""
        began, before = time.perf_counter(), 0.0
        while True:
            for launch in launches:
                launch()
            self._gpu.progress("warming up")
            now = self.clock_mhz()
            spent = time.perf_counter() - began
            if (spent >= _WARM_S[0] and abs(now - before) < 0.01 * now) or spent >= _WARM_S[1]:
                return
            before = now

    def clock_mhz(self) -> float:
        """The SM clock now, in MHz."""
        self._queue_clock()
        self._gpu.synchronise()
        return self._clock_read()

    def flush(self) -> None:
        """Queue the reading of twice the L2, after which the L2 holds nothing else. A launch like any other."""
        buffer = self._flush_buffer()
        quads = buffer.numel() // 16 - 1
        self._read_all.launch(self._gpu, 8 * self._gpu.device.sms, 512, buffer, quads, buffer.data_ptr() + 16 * quads)

    def _empty_launch(self) -> None:
        self._empty.launch(self._gpu, 1, 32)

    def _queue_clock(self) -> None:
        word = self._pinned.data_ptr()
        self._sm_clock.launch(self._gpu, 1, 1, _CLOCK_NS, word + 8 * _CYCLES, word + 8 * _NS)

    def _clock_read(self) -> float:
        return 1e3 * float(self._words[_CYCLES]) / float(self._words[_NS])

    def _checked_sample(self, launch: Launch, *, cold: bool) -> tuple[float, float]:
        for attempt in range(_TRIES):
            taken = self._sample(launch, cold=cold, hold_ms=_HOLD_MS[min(attempt, 1)])
            if taken is not None:
                return taken
        raise ProblemError(
            problem(
                "timer-starved",
                evidence=f"Queueing one launch took longer than {_HOLD_MS[1]} ms, {_TRIES} times in a row",
            )
        )

    def _sample(self, launch: Launch, *, cold: bool, hold_ms: int = _HOLD_MS[0]) -> tuple[float, float] | None:
        """One sample: time in µs and SM clock in MHz; ``None`` when the stream was let go before all was queued."""
        stream, word = self._gpu.core_stream, self._pinned.data_ptr()
        if cold:
            self._flush_buffer()  # allocated before the stream is held
        self._number += 1
        self._words[_OUTCOME] = 0
        self._hold.launch(self._gpu, 1, 1, word + 8 * _RELEASED, self._number, hold_ms * 1_000_000, word + 8 * _OUTCOME)
        if cold:
            self.flush()
        stream.record(self._start)
        launch()
        stream.record(self._end)
        self._queue_clock()
        self._words[_RELEASED] = self._number
        self._gpu.synchronise()
        if self._words[_OUTCOME] != _HELD:
            return None
        return (self._end - self._start) * 1e3, self._clock_read()

    def _flush_buffer(self) -> Any:
        size = 2 * self._gpu.device.l2_bytes + 16
        fresh = self._gpu.scratch("flushing the L2", size)
        return fresh

    def _by_profiler(
        self, launches: Sequence[Launch], names: Sequence[str], short: Sequence[bool], samples: int
    ) -> tuple[float | None, ...]:
        """Median duration by CUPTI of the launches marked short, in µs; ``None`` for the rest or when it refuses."""
        chosen = [i for i, is_short in enumerate(short) if is_short]
        found: list[float | None] = [None] * len(launches)
        if not chosen:
            return tuple(found)
        from gpu_explain.kernels.profiler import kernel_list

        def run() -> None:
            for i in chosen:
                for _ in range(samples):
                    launches[i]()

        self._gpu.progress("asking the profiler as well")
        ours = [k for k in kernel_list(self._gpu, run).kernels if k.name in {names[i] for i in chosen}]
        if len(ours) != samples * len(chosen):  # records lost, or a kernel of another name: then say nothing
            return tuple(found)
        for place, i in enumerate(chosen):
            mine = ours[place * samples : (place + 1) * samples]
            if all(k.name == names[i] for k in mine):
                found[i] = median(k.duration_us for k in mine)
        return tuple(found)


def _method(samples: int, launches: int, cold: bool) -> str:
    turns = ", in turns with the other launches" if launches > 1 else ""
    cache = "the L2 flushed by reading before each" if cold else "L2 as the run before left it"
    return (
        f"Median of {samples} launches{turns}, CUDA events on the GPU; the stream is held until all is queued, so no"
        f" CPU time enters; {cache}. The floor is the same around an empty kernel, not subtracted."
    )
