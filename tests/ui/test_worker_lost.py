"""A worker that dies while the viewer waits is replaced: the wait goes on, the reason is said."""

from __future__ import annotations

import threading

import pytest

from gpu_explain.app.walkthrough import SOON, _see_off
from gpu_explain.scenes.base import Problem
from tests.ui.driving import walking
from tests.ui.toy import FakeSource


class HungSource(FakeSource):
    """Does not close before its worker is dead."""

    def __init__(self) -> None:
        super().__init__()
        self.dead = threading.Event()

    def close(self) -> None:
        self.dead.wait(20)
        super().close()


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


async def test_a_hung_worker_does_not_keep_the_screen_and_is_spoken_of(
    capsys: pytest.CaptureFixture[str],
) -> None:
    source = HungSource()
    async with walking(source) as it:
        await it.press("q")
    # The app has ended although the source has not.
    assert not source.closed
    closing = it.app.closing
    assert closing is not None
    threading.Timer(SOON + 0.2, source.dead.set).start()
    _see_off(it.app)
    assert "waiting for the GPU worker" in capsys.readouterr().err
    assert source.closed


async def test_a_worker_that_ends_at_once_is_not_spoken_of(capsys: pytest.CaptureFixture[str]) -> None:
    async with walking() as it:
        await it.press("q")
    _see_off(it.app)
    assert capsys.readouterr().err == ""


NOT_OPENED = Problem("no-gpu", "The GPU cannot be opened", "Another process holds it", "Wait for its end")


async def test_a_gpu_that_was_not_opened_is_not_being_opened_for_ever() -> None:
    source = FakeSource(answers=False, ready=False)
    async with walking(source) as it:
        source.failed(NOT_OPENED)
        await it.settle()
        await it.press("escape")  # closes the notice
        assert "Opening the GPU" not in it.text
        assert "The GPU cannot be opened" in it.text
        await it.press("escape")
        assert "The GPU cannot be opened" in it.text  # the start screen says it too
        await it.press("escape", "r")
        await it.settle()
        assert "The GPU cannot be opened" not in it.text
