"""Every step of every scene at every size: nothing raises, nothing is empty, nothing is lost without a sign."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest

from gpu_explain.app.replay import open_recording
from gpu_explain.app.walkthrough.guard import Guarded
from gpu_explain.app.walkthrough.paint.layout import Room, divide
from gpu_explain.app.walkthrough.paint.text import wrap
from gpu_explain.app.walkthrough.paint.walk import Stage, still_tiles
from gpu_explain.app.walkthrough.panels import Answer, Go
from gpu_explain.app.walkthrough.panels.code import Code
from gpu_explain.app.walkthrough.panels.goto import GoTo
from gpu_explain.app.walkthrough.panels.prose import Notes
from gpu_explain.app.walkthrough.panels.where import Where
from gpu_explain.app.walkthrough.state import Face, Focus, State, to_step
from gpu_explain.scenes.base import Measurement, ProblemError, Scene, Words
from gpu_explain.scenes.draw.canvas import Canvas
from gpu_explain.scenes.registry import all_scenes
from tests.shots import SIZES, default_measurement, whole
from tests.simulated.inprocess import measure
from tests.simulated.models import MODELS

SMALL_AND_ODD = ((60, 18), (99, 27), (100, 28), (161, 47))
"""Where layouts change, and sizes that nobody designs for."""

STEPS = [(scene, index) for scene in all_scenes() for index in range(len(scene.steps))]
STAGE = Stage("any", "LIVE · Made-up GPU", "", lambda _chosen: True)

steps = pytest.mark.parametrize(("scene", "step"), STEPS, ids=[f"{s.id}-{s.steps[i].id}" for s, i in STEPS])
sizes = pytest.mark.parametrize("size", [*SIZES, *SMALL_AND_ODD], ids=lambda size: f"{size[0]}x{size[1]}")
from_where = pytest.mark.parametrize("origin", ["recording", *MODELS])


@cache
def measured(scene: Scene, origin: str) -> Measurement:
    if origin != "recording":
        return measure(scene.id, origin)
    try:
        return default_measurement(open_recording(), scene)
    except ProblemError as error:
        pytest.skip(error.problem.sentence)


def state_of(scene: Scene, step: int, m: Measurement) -> State:
    begin = State(scene, device=m.device, live=True, chosen=dict(m.chosen), shown=m)
    return to_step(begin, step, 0.0)


def faces(state: State, size: tuple[int, int], share: float = 1.0) -> list[Canvas]:
    """What there is to see: one screen, or two that take turns."""
    turns = divide(*size).room is Room.TURNS
    both = (Face.WORDS, Face.PICTURE) if turns else (Face.WORDS,)
    return [whole(replace(state, face=face), STAGE, size, share) for face in both]


@steps
@sizes
@from_where
def test_the_step_is_whole(scene: Scene, step: int, size: tuple[int, int], origin: str) -> None:
    m = measured(scene, origin)
    state = state_of(scene, step, m)
    words = Guarded(scene).words(m, step)
    assert isinstance(words, Words)
    shown = " ".join(" ".join(str(canvas) for canvas in faces(state, size)).split())
    assert "This picture could not be drawn" not in shown
    _, hidden = still_tiles(state, STAGE, 0.0, *size)
    if hidden:
        assert "more: ↓" in shown
    else:
        # The longest word of each sentence stands for it: lines break differently at every size.
        for sentence in (scene.question, words.paragraph, words.look):
            assert max(wrap(sentence, 1), key=len) in shown
        for name in filter(None, words.shown):
            if m.has(name):
                assert m.quantity(name).text in shown.replace("\u00a0", " ") or m.quantity(name).text in shown


@steps
@sizes
@pytest.mark.parametrize("share", [0.0, 0.25, 0.5, 1.0])
def test_the_picture_is_never_empty(scene: Scene, step: int, size: tuple[int, int], share: float) -> None:
    m = measured(scene, "sms132")
    state = state_of(scene, step, m)
    _, width, height = divide(*size).picture
    now = state.pace.seconds * share
    canvas = scene.frame(m, state.view(now, width, height))
    assert (canvas.width, canvas.height) == (width, height)
    assert sum(glyph != " " for row in canvas.rows() for glyph in row) > width


@steps
def test_words_alone_fit_a_small_screen_without_scrolling(scene: Scene, step: int) -> None:
    for origin in MODELS:
        _, hidden = still_tiles(state_of(scene, step, measured(scene, origin)), STAGE, 0.0, 80, 24)
        assert hidden == 0


@steps
def test_words_fit_the_design_size_without_scrolling(scene: Scene, step: int) -> None:
    for origin in MODELS:
        _, hidden = still_tiles(state_of(scene, step, measured(scene, origin)), STAGE, 0.0, 120, 40)
        assert hidden == 0


@steps
def test_a_step_says_what_to_look_at_and_has_a_claim_behind_it(scene: Scene, step: int) -> None:
    known = {claim.id for claim in scene.claims(measured(scene, "sms132"))}
    # Some claims are about other choices than the default ones; one at least is about what is seen first.
    assert known & set(scene.steps[step].claims)


@steps
@sizes
def test_every_panel_of_the_step_can_be_painted(scene: Scene, step: int, size: tuple[int, int]) -> None:
    state = state_of(scene, step, measured(scene, "sms132"))
    for panel in (Code.of(state), Notes.of(state), Where.of(state)):
        canvas = panel.paint(*size)
        assert (canvas.width, canvas.height) == size
    where = Where.of(state)
    for index in range(len(where.entries)):
        canvas = Where(where.entries, where.device, index).paint(*size)
        assert (canvas.width, canvas.height) == size


@steps
def test_the_lines_a_step_is_about_are_in_its_sources(scene: Scene, step: int) -> None:
    named = {name for source in measured(scene, "recording").sources for name in source.focus}
    assert named & set(scene.steps[step].focus)


@steps
def test_every_focus_can_be_shown(scene: Scene, step: int) -> None:
    state = state_of(scene, step, measured(scene, "sms132"))
    for focus in Focus:
        for row in range(len(state.parameters)):
            shown = str(whole(replace(state, focus=focus, row=row), STAGE, (120, 40)))
            keys = shown.splitlines()[-1]
            assert "Esc" in keys
            assert ("Esc start" in keys) == (focus is Focus.STEPS)


def test_a_scene_is_found_by_all_digits_of_its_number() -> None:
    scenes = all_scenes()
    for scene in scenes:
        index: Answer = GoTo.of(scenes, {}, scenes[0].id, 0)
        for digit in str(scene.number):
            assert isinstance(index, GoTo)
            index = index.key(digit, 80, 24)
        assert isinstance(index, GoTo)
        assert index.key("enter", 80, 24) == Go(scene.id, 0)


@steps
def test_the_way_out_and_the_help_fit_on_a_small_screen(scene: Scene, step: int) -> None:
    state = state_of(scene, step, measured(scene, "sms132"))
    for focus in Focus:
        keys = str(whole(replace(state, focus=focus), STAGE, (80, 24))).splitlines()[-1]
        assert all(said in keys for said in ("? help", "q quit", "Esc "))
