"""The whole path without a GPU: the real worker loop and the real scenes on made-up GPUs, down to the report."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpu_explain.app.exits import Exit
from gpu_explain.app.live import Limits, LiveSource
from gpu_explain.app.replay import open_recording
from gpu_explain.app.shelf import Recorder
from gpu_explain.app.source import Lost
from gpu_explain.app.verify import verify
from gpu_explain.scenes.base import Nature, Outcome
from gpu_explain.scenes.base.protocol import Failed, Measured, Progress, Ready
from gpu_explain.scenes.registry import all_scenes, find_scene
from tests.simulated.models import MODELS
from tests.simulated.worker import command, environ
from tests.unit.test_live import Ear

LIMITS = Limits(opening=20.0, first=0.0, leaving=1.0)


def source_of(model: str, fault: str = "", once: str = "", **options: int) -> LiveSource:
    return LiveSource(command=command(model, fault, once), environ=environ(), limits=LIMITS, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("model", sorted(MODELS))
def test_every_law_of_every_scene_holds_on_every_made_up_gpu(model: str) -> None:
    source = source_of(model, retries=0)
    run = verify(source, all_scenes())
    source.close()
    assert run.problem is None
    missed = [
        claim
        for result in run.results
        for claim in result.default.claims
        if claim.outcome is Outcome.MISSED or (claim.nature is Nature.LAW and model == "sms132" and claim.value is None)
    ]
    assert missed == []
    assert [result.problems for result in run.results] == [()] * len(all_scenes())
    assert run.device == MODELS[model]


def test_a_recording_of_a_made_up_gpu_replays_to_the_same_report(tmp_path: Path) -> None:
    source = source_of("sms40", retries=0)
    live = verify(source, all_scenes(), recorder=Recorder(str(tmp_path)))
    source.close()
    replayed = verify(open_recording(str(tmp_path)), all_scenes())
    assert [result.scene.id for result in replayed.results] == [scene.id for scene in all_scenes()]
    for one, other in zip(live.results, replayed.results, strict=True):
        assert [check.measurement for check in one.checks] == [check.measurement for check in other.checks]
        assert [check.claims for check in one.checks] == [check.claims for check in other.checks]
    assert not any(result.problems for result in replayed.results)


def test_fewer_sms_are_a_smaller_gpu_and_the_label_says_so() -> None:
    source = source_of("sms160", sms=40)
    run = verify(source, (find_scene("waves"),))
    source.close()
    assert source.label == f"LIVE · {MODELS['sms160'].name} · 40 of 160 SMs"
    assert run.device is not None
    assert run.device.sms == 40
    assert run.exit(strict=False) == Exit.OK


def test_a_choice_that_does_not_exist_is_a_sentence_and_the_worker_lives() -> None:
    ear = Ear(source_of("sms40"))
    waves = find_scene("waves")
    ear.source.ask(waves, {"blocks": "nonsense"})
    answer = ear.answer()
    assert isinstance(answer, Failed)
    assert "nonsense" in answer.problem.sentence
    ear.source.ask(waves, {})
    assert isinstance(ear.answer(), Measured)
    ear.source.close()


def test_an_unchanged_part_comes_back_at_once_and_unchanged() -> None:
    ear = Ear(source_of("sms40"))
    waves = find_scene("waves")
    ear.source.ask(waves, {})
    first = ear.answer()
    ear.source.ask(waves, {"blocks": "2fits"})
    second = ear.answer()
    ear.source.close()
    assert isinstance(first, Measured)
    assert isinstance(second, Measured)
    assert first.measurement.one_series("staircase") == second.measurement.one_series("staircase")
    assert first.measurement.value("blocks") != second.measurement.value("blocks")


def test_cancelling_a_slow_measurement_stops_it_and_keeps_the_worker() -> None:
    ear = Ear(source_of("sms40", "slow"))
    ear.source.ask(find_scene("waves"), {})
    ear.until(Ready)
    ear.until(Progress)
    ear.source.cancel()
    answer = ear.answer()
    ear.source.close()
    assert isinstance(answer, Failed)
    assert answer.problem.id == "cancelled"


@pytest.mark.parametrize("fault", ["crash", "garbage", "sticky"])
def test_a_lost_worker_is_replaced_while_the_viewer_waits(fault: str, tmp_path: Path) -> None:
    ear = Ear(source_of("sms40", fault, str(tmp_path / "once")))
    ear.source.ask(find_scene("waves"), {})
    lost = ear.until(Lost)
    answer = ear.answer()
    ear.source.close()
    assert isinstance(lost, Lost)
    assert lost.restarting
    assert isinstance(answer, Measured)


@pytest.mark.parametrize(("fault", "id"), [("memory", "gpu-memory"), ("unopened", "gpu-held")])
def test_what_the_gpu_refuses_is_said_in_its_own_words(fault: str, id: str) -> None:
    ear = Ear(source_of("slice24", fault))
    ear.source.ask(find_scene("waves"), {})
    answer = ear.answer()
    ear.source.close()
    assert isinstance(answer, Failed)
    assert answer.problem.id == id
