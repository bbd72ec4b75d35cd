"""Doctor on a real GPU: what it says of it is so, and real faults end in their sentences."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace

import pytest

from gpu_explain.app.doctor.check import Check, State
from gpu_explain.app.doctor.deep import deep_checks
from gpu_explain.app.doctor.examine import examine
from gpu_explain.app.doctor.machine import this_machine
from gpu_explain.app.driver import Driver, ask_driver
from gpu_explain.app.exits import Exit
from gpu_explain.kernels.session import Session
from gpu_explain.scenes.base.deep import TRIALS


def deep(*ids: str, **variables: str) -> dict[str, Check]:
    """The checks of some trials with variables changed, by id."""
    environ = {**os.environ, **variables}
    trials = tuple(trial for trial in TRIALS if trial.id in ids)
    return {check.id: check for check in deep_checks(environ, lambda _: None, trials=trials)}


def test_what_the_driver_is_asked_is_what_cuda_says(whole_gpu: Session) -> None:
    found = ask_driver()
    assert isinstance(found, Driver)
    gpu, device = found.gpus[whole_gpu.ordinal], whole_gpu.device
    assert (gpu.name, gpu.capability, gpu.sms) == (device.name, device.compute_capability, device.sms_total)
    assert gpu.memory == device.memory_bytes
    assert found.cuda == device.driver_cuda
    assert found.version in ("", device.driver)


def test_all_of_deep_works_and_is_right(whole_gpu: Session) -> None:
    command = [sys.executable, "-m", "gpu_explain", "doctor", "--deep", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=115, check=False)
    content = json.loads(done.stdout)
    assert done.returncode == content["exit"] == Exit.OK, done.stdout
    states = {check["id"]: check["state"] for check in content["checks"] if check["id"].startswith("deep-")}
    assert states == {f"deep-{trial.id}": "found" for trial in TRIALS}


def test_without_a_compiler_triton_says_so_and_cuda_works(whole_gpu: Session) -> None:
    found = deep("open", "cuda", "triton", PATH="/nowhere", CC="/nowhere/cc")
    assert found["deep-cuda"].state is State.FOUND
    problem = found["deep-triton"].problem
    assert problem is not None
    assert problem.id in {"no-compiler", "compiler-fails"}
    assert found["deep-triton"].stops


def test_a_compiler_that_fails_is_said(whole_gpu: Session) -> None:
    problem = deep("open", "triton", CC="/bin/false")["deep-triton"].problem
    assert problem is not None
    assert problem.id == "compiler-fails"


def test_a_gpu_that_is_hidden_is_said(whole_gpu: Session) -> None:
    machine = this_machine()
    found = examine(replace(machine, environ={**machine.environ, "CUDA_VISIBLE_DEVICES": ""}))
    (check,) = (check for check in found.checks if check.id == "driver")
    assert check.problem is not None
    assert check.problem.id == "hidden"
    assert "without it" in check.problem.why
    assert found.exit is Exit.FAILED


def test_it_answers_within_two_seconds(whole_gpu: Session) -> None:
    found = examine(this_machine())
    assert found.exit is Exit.OK
    if found.seconds >= 2:
        pytest.fail(f"it took {found.seconds:.1f} s")
