"""``doctor --deep``: whatever a trial does, the others are tried, and each has its sentence and exit code."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from gpu_explain.app.doctor.check import Check, State
from gpu_explain.app.doctor.deep import deep_checks
from gpu_explain.app.doctor.examine import examine
from gpu_explain.app.exits import Exit
from gpu_explain.kernels import deep_check
from gpu_explain.kernels.faults import problem_of
from gpu_explain.scenes.base import ProblemError
from gpu_explain.scenes.base.conditions import Group, problem
from gpu_explain.scenes.base.deep import TRIALS, Tried
from tests.unit.doctoring import Made, met
from tests.unit.fakes import Fakes

QUICK = tuple(replace(trial, limit_s=8.0) for trial in TRIALS)
ALL = [f"deep-{trial.id}" for trial in TRIALS]


def tried(*script: str, limit_s: float = 8.0, environ: dict[str, str] | None = None) -> list[Check]:
    """The checks of a deep examination whose child follows a script."""
    trials = tuple(replace(trial, limit_s=limit_s) for trial in TRIALS)
    command = (sys.executable, "-m", "tests.unit.scripted_deep", *script)
    said: list[str] = []
    return list(deep_checks(environ or dict(os.environ), said.append, command=command, trials=trials))


def test_when_all_goes_well_each_trial_says_so() -> None:
    found = tried()
    assert [check.id for check in found] == ALL
    assert all(check.state is State.FOUND for check in found)
    assert "cuda works (0.1 s)" in [check.text for check in found]
    assert {check.group for check in found} == {Group.GPU, Group.COMPILER, Group.PROFILER}


def test_kernels_are_compiled_into_folders_that_are_gone_afterwards() -> None:
    found = tried(environ={**os.environ, "TRITON_INTERPRET": "1"})
    folders, interpret = found[1].evidence
    assert "gpu-explain-doctor-" in folders
    assert not any(Path(folder).parent.exists() for folder in folders.split())
    assert interpret == ""  # variables that spoil are unset for it


def test_bytecode_that_may_not_lie_beside_the_sources_leaves_no_folder_behind(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    environ = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "GPU_EXPLAIN_CACHE": str(cache)}
    environ.pop("PYTHONPYCACHEPREFIX", None)
    assert all(check.state is State.FOUND for check in tried(environ=environ))
    assert not cache.exists()


@pytest.mark.parametrize(
    ("script", "id", "says", "stops"),
    [
        ("cuda=crash", "deep-died", "a CUDA kernel ended the process that tried it. It was killed by SIGSEGV", True),
        ("triton=leave", "deep-died", "It ended by itself with exit code 3", True),
        ("cuda=garbage", "deep-died", "something that is no answer", True),
        ("cuda=wrong-result", "wrong-result", "A kernel computed something wrong", True),
        ("triton=no-compiler", "no-compiler", "There is no C compiler", True),
        ("triton=out-of-resources", "out-of-resources", "more than an SM of this GPU has", True),
        ("cuda=illegal-access", "illegal-access", "The GPU session was lost", True),
        ("compile=scene-broken", "scene-broken", "Something is broken", True),
        ("profiler=cupti-silent", "cupti-silent", "recorded no kernels", False),
        ("profiler=cupti-refused", "cupti-refused", "does not run here", False),
        ("profiler=crash", "deep-died", "Profiling both with CUPTI ended the process", False),
    ],
)
def test_a_trial_that_fails_takes_no_other_along(script: str, id: str, says: str, stops: bool) -> None:
    found = tried(script)
    assert [check.id for check in found] == ALL
    (failed,) = (check for check in found if check.problem is not None)
    assert failed.id == f"deep-{script.split('=')[0]}"
    assert failed.problem is not None
    assert failed.problem.id == id
    assert says in failed.problem.sentence
    assert failed.stops is stops


def test_a_trial_that_hangs_is_ended_and_the_others_are_tried() -> None:
    found = tried("triton=hang", limit_s=2.0)
    assert [check.id for check in found] == ALL
    (failed,) = (check for check in found if check.problem is not None)
    assert failed.problem is not None
    assert failed.problem.id == "deep-hung"
    assert "It was ended after 2 seconds" in failed.problem.sentence
    assert "started for" in failed.problem.detail
    assert failed.stops


def test_a_gpu_that_does_not_open_is_tried_once() -> None:
    found = tried("open=gpu-held")
    assert found[0].problem is not None
    assert found[0].problem.id == "gpu-held"
    assert [check.state for check in found[1:]] == [State.UNKNOWN] * 4
    assert found[0].stops


def test_a_gpu_whose_opening_crashes_is_tried_once() -> None:
    found = tried("open=crash")
    assert found[0].problem is not None
    assert found[0].problem.id == "deep-died"
    assert [check.state for check in found[1:]] == [State.UNKNOWN] * 4


def test_a_child_that_speaks_of_other_things_does_not_go_on_for_ever() -> None:
    found = tried("cuda=other", "triton=other", "profiler=other", "compile=other")
    assert [check.id for check in found] == ALL
    assert sum(check.problem is not None for check in found) == 4


def test_a_child_that_cannot_be_started_is_said(tmp_path: Path) -> None:
    found = list(deep_checks(dict(os.environ), str, command=(str(tmp_path / "nothing"),), trials=QUICK))  # type: ignore[arg-type]
    assert found[0].problem is not None
    assert "could not be started" in found[0].problem.sentence


def test_it_counts_in_the_exit_code(tmp_path: Path, fakes: Fakes) -> None:
    made = Made(tmp_path, fakes)

    def deeply(*script: str) -> Any:
        return examine(made.machine, deep=True, deeply=lambda *_: iter(tried(*script)))

    assert deeply().exit is Exit.OK
    assert "compiled, launched and checked" in deeply().verdict
    failed = deeply("triton=no-compiler")
    assert failed.exit is Exit.FAILED
    assert met(failed, "no-compiler").id == "deep-triton"
    assert deeply("profiler=cupti-silent").exit is Exit.OK


def test_without_a_driver_nothing_is_launched(tmp_path: Path, fakes: Fakes) -> None:
    def never(*_: object) -> Iterator[Check]:
        raise AssertionError("launched without a GPU")

    made = Made(tmp_path, fakes).having(FAKE_INIT="100")
    found = examine(made.machine, deep=True, deeply=never)
    assert (found.exit, found.deep) == (Exit.NO_GPU, False)


# ---------------------------------------------------------------- the child


def ran(wanted: list[str], **attempts: Any) -> tuple[int, list[Tried]]:
    """What the child says when its trials do what they are told to."""

    def fine(bench: object) -> tuple[str, ...]:
        return ("seen",)

    table = {name: (f"{name} works", attempts.get(name, fine)) for name in ("cuda", "triton", "profiler", "compile")}
    said: list[Tried] = []
    bench = SimpleNamespace(gpu=SimpleNamespace(synchronise=attempts.get("synchronise", lambda: None)))
    return deep_check.run(wanted, said.append, attempts.get("opening", lambda: bench), table), said


def raising(error: Exception) -> Any:
    def attempt(*_: object) -> tuple[str, ...]:
        raise error

    return attempt


def test_the_child_reports_each_trial_at_once() -> None:
    code, said = ran(["open", "cuda", "compile"])
    assert code == 0
    assert [(one.id, one.text) for one in said] == [
        ("open", "the GPU opens in a process with torch"),
        ("cuda", "cuda works"),
        ("compile", "compile works"),
    ]
    assert said[1].evidence == ("seen",)


def test_the_child_opens_silently_when_it_goes_on_for_another() -> None:
    assert [one.id for one in ran(["triton"])[1]] == ["triton"]


def test_the_child_turns_a_raw_error_into_its_entry_and_goes_on() -> None:
    compiler = RuntimeError("Failed to find C compiler. Please specify via CC environment variable")
    code, said = ran(["open", "triton", "compile"], triton=raising(compiler))
    assert code == 0
    assert said[1].problem is not None
    assert said[1].problem.id == "no-compiler"
    assert said[2].problem is None


def test_the_child_ends_once_the_gpu_is_lost() -> None:
    lost = RuntimeError("CUDA error: an illegal memory access was encountered")
    code, said = ran(["open", "cuda", "triton"], cuda=raising(lost))
    assert code == 1
    assert [one.id for one in said] == ["open", "cuda"]
    assert said[1].problem is not None
    assert said[1].problem.sticky


def test_a_gpu_that_does_not_open_ends_the_child() -> None:
    refused = ProblemError(problem("gpu-held", evidence="x"))
    code, said = ran(["open", "cuda"], opening=raising(refused))
    assert (code, [one.id for one in said]) == (1, ["open"])
    assert said[0].problem == refused.problem


def test_whatever_the_profiler_raises_is_the_profilers_condition() -> None:
    _, said = ran(["profiler"], profiler=raising(RuntimeError("kineto: something odd")))
    assert said[0].problem is not None
    assert said[0].problem.id == "cupti-refused"
    assert "kineto: something odd" in said[0].problem.why


# ---------------------------------------------------------------- its trials, on the CPU


def bench(gpu: Any = None) -> Any:
    torch = pytest.importorskip("torch")
    a, b = torch.randn(64), torch.randn(64)
    a[7] = float("nan")
    gpu = gpu or SimpleNamespace(synchronise=lambda: None, progress=lambda *_: None, profiled=True, ordinal=0)
    return deep_check.Bench(gpu, a, b, (a + b).relu())


def test_a_kernel_that_computes_something_else_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    cuda = pytest.importorskip("gpu_explain.kernels.add_relu_cuda")
    loader = pytest.importorskip("gpu_explain.kernels.loader")
    monkeypatch.setattr(loader, "nvrtc_version", lambda: "13.0")
    monkeypatch.setattr(cuda, "add_relu_cuda", lambda _, a, b: (a + b).relu())
    assert deep_check.try_cuda(bench()) == ("NVRTC 13.0",)
    monkeypatch.setattr(cuda, "add_relu_cuda", lambda _, a, b: (a + b).clamp(min=0.5))
    with pytest.raises(ProblemError) as caught:
        deep_check.try_cuda(bench())
    assert caught.value.problem.id == "wrong-result"
    assert "of 64 numbers" in caught.value.problem.why


def test_a_kernel_that_loses_a_nan_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    cuda = pytest.importorskip("gpu_explain.kernels.add_relu_cuda")
    monkeypatch.setattr(cuda, "add_relu_cuda", lambda _, a, b: (a + b).relu().nan_to_num())
    with pytest.raises(ProblemError) as caught:
        deep_check.try_cuda(bench())
    assert "in 1 of 64 numbers" in caught.value.problem.why


def quiet(monkeypatch: pytest.MonkeyPatch, records: list[tuple[str, float]] | None) -> None:
    """Launches that launch nothing, and a profiler that records these kernels (``None``: whatever is real here)."""
    for name in ("add_relu", "add_relu_cuda"):
        module = pytest.importorskip(f"gpu_explain.kernels.{name}")
        monkeypatch.setattr(module, name, lambda *_: None)
    if records is not None:
        profiler = pytest.importorskip("gpu_explain.kernels.profiler")
        kernels = tuple(profiler.KernelRecord(name, 0.0, took) for name, took in records)
        monkeypatch.setattr(profiler, "kernel_list", lambda *_: profiler.KernelList(kernels))


def test_a_profiler_that_records_nothing_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """The real profiler, on a machine where no kernel runs."""
    quiet(monkeypatch, None)
    with pytest.raises(ProblemError) as caught:
        deep_check.try_profiler(bench())
    assert caught.value.problem.id in {"cupti-silent", "cupti-refused"}
    assert "events instead" in caught.value.problem.why


def test_a_profiler_that_records_other_kernels_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    quiet(monkeypatch, [("vectorized_elementwise_kernel", 2.0), ("add_relu_kernel", 3.0)])
    with pytest.raises(ProblemError) as caught:
        deep_check.try_profiler(bench())
    assert caught.value.problem.id == "cupti-wrong"
    assert "vectorized_elementwise_kernel × 1" in caught.value.problem.why


def test_a_profiler_that_records_both_is_fine(monkeypatch: pytest.MonkeyPatch) -> None:
    quiet(monkeypatch, [("add_relu_quads", 2.0), ("add_relu_kernel", 3.0)])
    assert deep_check.try_profiler(bench()) == ("add_relu_quads 2.0 µs", "add_relu_kernel 3.0 µs")


def test_every_trial_but_the_first_has_its_attempt() -> None:
    assert [trial.id for trial in TRIALS] == ["open", *deep_check.TRIED]


# ---------------------------------------------------------------- errors of the worker


def test_an_error_wrapped_by_a_compiler_is_recognised_by_its_cause() -> None:
    wrapped = ValueError("backend='inductor' raised")
    wrapped.__cause__ = RuntimeError("Failed to find C compiler. Please specify via CC environment variable")
    found = problem_of(wrapped, doing="compiling", alive=lambda: None)
    assert found.id == "no-compiler"
    assert "backend='inductor'" in found.detail


def test_what_happened_to_be_handled_is_no_cause() -> None:
    slip = KeyError("a slip of ours")
    slip.__context__ = MemoryError("out of memory")
    assert problem_of(slip, doing="x", alive=lambda: None).id == "scene-broken"


def test_an_unknown_error_shows_its_own_text_and_where_it_happened() -> None:
    with pytest.raises(KeyError) as caught:
        problem("nonsense")
    found = problem_of(caught.value, doing="measuring waves", alive=lambda: None)
    assert found.id == "scene-broken"
    assert "measuring waves stopped at scenes/base/conditions/__init__.py:" in found.what
    assert "KeyError: 'nonsense'" in found.why
    assert "Traceback" in found.detail


def test_a_compiler_that_fails_for_want_of_headers_is_said_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Triton lets the compiler speak to standard error and raises an exception that does not say why."""
    fails = subprocess.CalledProcessError(1, ["/usr/bin/gcc", "main.c", "-shared", "-fPIC"])
    monkeypatch.setattr("gpu_explain.kernels.faults.python_include", lambda: tmp_path)
    found = problem_of(fails, doing="x", alive=lambda: None)
    assert found.id == "no-python-headers"
    assert str(tmp_path) in found.why
    (tmp_path / "Python.h").touch()
    assert problem_of(fails, doing="x", alive=lambda: None).id == "compiler-fails"


@pytest.mark.parametrize(
    ("variables", "id"),
    [
        ({"PATH": "/nowhere"}, "no-compiler"),
        ({"CC": "/bin/false"}, "compiler-fails"),
        ({"CC": "/no/cc"}, "no-compiler"),
    ],
    ids=str,
)
def test_what_triton_itself_raises_without_a_compiler_is_recognised(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], id: str
) -> None:
    build = pytest.importorskip("triton.runtime.build")
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    monkeypatch.delenv("CC", raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(Exception, match=r".") as caught:
        build.compile_module_from_src(src="int x;", name="made_up")
    assert problem_of(caught.value, doing="x", alive=lambda: None).id == id


def test_a_known_error_beside_a_dead_gpu_is_a_lost_session() -> None:
    def dead() -> None:
        raise RuntimeError("CUDA error: unspecified launch failure")

    found = problem_of(RuntimeError("Failed to find C compiler"), doing="x", alive=dead)
    assert (found.id, found.sticky) == ("gpu-session-lost", True)
    assert "CUDA error 719" in found.why
