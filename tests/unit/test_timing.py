"""The timer's book-keeping, with samples that are made up: turns, floor, and when CUPTI is asked."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from gpu_explain.kernels import profiler
from gpu_explain.kernels.profiler import KernelList, KernelRecord
from gpu_explain.kernels.timing import Timer
from gpu_explain.scenes.base import ProblemError


class MadeUpTimer(Timer):
    """Takes its samples from a table instead of a GPU."""

    def __init__(self, us: dict[Any, float], clocks: list[float] | None = None) -> None:
        self.us = us
        self.order: list[Any] = []
        self.warmed = 0
        self.clocks = clocks or [1000.0]
        self._gpu: Any = SimpleNamespace(progress=lambda *_: None)

    def _sample(self, launch: Callable[[], object], *, cold: bool, hold_ms: int = 20) -> tuple[float, float] | None:
        name = launch()
        self.order.append(name)
        return (self.us[name] + len(self.order) / 1000, 1000.0)

    def _empty_launch(self) -> Any:
        return "empty"

    def clock_mhz(self) -> float:
        self.warmed += 1
        return self.clocks.pop(0) if len(self.clocks) > 1 else self.clocks[0]


def launches(*names: str) -> list[Callable[[], str]]:
    return [lambda name=name: name for name in names]  # type: ignore[misc]


def test_launches_take_turns_and_the_floor_with_them() -> None:
    timer = MadeUpTimer({"a": 50.0, "b": 70.0, "empty": 3.0})
    a, b = timer.time(launches("a", "b"), samples=3)
    assert timer.order == ["a", "b", "empty"] * 3
    assert (round(a.median_us), round(b.median_us)) == (50, 70)
    assert len(a.samples_us) == len(a.clock_mhz) == 3
    assert a.floor_us == b.floor_us == pytest.approx(3.0, abs=0.01)
    assert "in turns" in a.method


def test_warming_up_goes_on_while_the_clock_rises() -> None:
    timer = MadeUpTimer({"a": 50.0, "empty": 3.0}, clocks=[300.0, 900.0, 1500.0, 1500.0])
    timer.time(launches("a"), samples=1)
    assert timer.warmed >= 4


@pytest.fixture
def cupti(monkeypatch: pytest.MonkeyPatch) -> list[KernelRecord]:
    """What CUPTI will say."""
    records: list[KernelRecord] = []

    def kernel_list(gpu: Any, run: Callable[[], object]) -> KernelList:
        run()
        return KernelList(tuple(records))

    monkeypatch.setattr(profiler, "kernel_list", kernel_list)
    return records


def test_short_launches_are_read_from_cupti_each_its_own(cupti: list[KernelRecord]) -> None:
    cupti += [KernelRecord("k", i, us) for i, us in enumerate((4.0, 4.1, 4.2, 9.0, 9.1, 9.2))]
    cupti.append(KernelRecord("another", 7, 100.0))
    timer = MadeUpTimer({"a": 6.0, "long": 60.0, "b": 11.0, "empty": 3.0})
    a, long, b = timer.time(launches("a", "long", "b"), samples=3, names=["k", "k", "k"])
    assert (a.profiler_us, long.profiler_us, b.profiler_us) == (4.1, None, 9.1)


def test_records_that_are_missing_make_no_figure(cupti: list[KernelRecord]) -> None:
    cupti += [KernelRecord("k", i, 4.0) for i in range(5)]
    timer = MadeUpTimer({"a": 6.0, "b": 11.0, "empty": 3.0})
    assert [t.profiler_us for t in timer.time(launches("a", "b"), samples=3, names=["k", "k"])] == [None, None]


def test_without_names_and_for_long_launches_cupti_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(profiler, "kernel_list", lambda *_: pytest.fail("CUPTI was asked"))
    timer = MadeUpTimer({"a": 6.0, "long": 60.0, "empty": 3.0})
    timer.time(launches("a"), samples=3)
    timer.time(launches("long"), samples=3, names=["k"])


def test_a_sample_that_was_not_held_is_taken_again_and_then_given_up() -> None:
    class Slow(MadeUpTimer):
        failures = 3

        def _sample(self, launch: Callable[[], object], *, cold: bool, hold_ms: int = 20) -> tuple[float, float] | None:
            if self.failures:
                self.failures -= 1
                return None
            return super()._sample(launch, cold=cold, hold_ms=hold_ms)

    timer = Slow({"a": 50.0, "empty": 3.0})
    (a,) = timer.time(launches("a"), samples=2)
    assert len(a.samples_us) == 2
    timer.failures = 1000
    with pytest.raises(ProblemError) as caught:
        timer.time(launches("a"), samples=2)
    assert caught.value.problem.id == "timer-starved"


@pytest.mark.parametrize(
    ("options", "named"), [({"samples": 0}, "samples"), ({"names": ["k"]}, "names")], ids=["samples", "names"]
)
def test_a_wrong_argument_is_named(options: dict[str, Any], named: str) -> None:
    timer = MadeUpTimer({"a": 50.0, "b": 1.0, "empty": 3.0})
    with pytest.raises(ValueError, match=f"^{named}: .*expected"):
        timer.time(launches("a", "b"), **options)


def test_nothing_to_time_takes_no_time() -> None:
    assert MadeUpTimer({}).time([]) == ()
