"""A worker that dies while the viewer waits is replaced: the wait goes on, the reason is said."""

from __future__ import annotations

from gpu_explain.scenes.base import Problem
from tests.ui.driving import walking
from tests.ui.toy import FakeSource

DIED = Problem("worker-died", "The GPU worker died while measuring toy", "Killed by SIGKILL", "Wait")


async def test_an_answer_after_a_restart_is_still_wanted() -> None:
    source = FakeSource(answers=False)
    async with walking(source) as it:
        source.lost(DIED, restarting=True)
        await it.settle()
        assert it.state.waiting is not None
        assert it.state.problem == DIED
        assert "Killed by SIGKILL" in it.text
        source.measured()
        await it.settle()
        assert it.state.waiting is None
        assert it.state.shown is not None


async def test_without_a_restart_nothing_is_waited_for() -> None:
    source = FakeSource(answers=False)
    async with walking(source) as it:
        source.lost(DIED, restarting=False)
        await it.settle()
        assert it.state.waiting is None
        assert it.state.problem == DIED
