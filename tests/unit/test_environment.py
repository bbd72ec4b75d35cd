"""What `make run` and `make test` install, by what the machine has."""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path

import pytest

from tools import check, environment
from tools.environment import Machine, Plan, Torch

CPU = ("torch==2.13.0", "triton==3.7.1", "textual==8.2.8", "nvidia-cuda-nvrtc==13.5.37", "nvidia-ml-py==13.6")
GPU = (
    "torch==2.11.0",
    "triton==3.6.0",
    "textual==8.2.8",
    "cuda-bindings==13.3.*",
    "numpy==2.5.2",
    "nvidia-ml-py==13.6",
)
LAPTOP = Machine((3, 11), "", None, ("/lib/site-packages",))
NEW = Machine((3, 12), "580.159.04", Torch("2.11.0+cu130", "13.0"), ("/lib/site-packages",))


def plan(machine: Machine, purpose: str = "run") -> Plan:
    return environment.plan(machine, purpose, CPU, GPU)


def test_without_a_gpu_the_walkthrough_needs_nothing_large() -> None:
    assert plan(LAPTOP).extras == ()
    assert plan(LAPTOP).reuse == ()


def test_without_a_gpu_the_tests_still_compile_and_interpret_kernels() -> None:
    assert set(plan(LAPTOP, "test").extras) == {"dev", "live"}
    assert "torch==2.13.0" in plan(LAPTOP, "test").pins


def test_a_torch_that_is_there_is_reused_and_stays_as_it_is() -> None:
    wanted = plan(NEW)
    assert wanted.extras == ("live",)
    assert wanted.reuse == NEW.folders
    assert [pin for pin in wanted.pins if pin.startswith("torch")] == ["torch==2.11.0+cu130"]
    assert "cuda-bindings==13.3.*" in wanted.pins


def test_pins_for_another_torch_are_not_laid_over_the_one_that_is_reused() -> None:
    pins = plan(dataclasses.replace(NEW, torch=Torch("2.12.1", "13.0"))).pins
    assert set(pins) == {"torch==2.12.1", "textual==8.2.8", "nvidia-ml-py==13.6"}


def test_a_torch_for_cuda_12_gets_the_cuda_12_extra() -> None:
    assert plan(dataclasses.replace(NEW, torch=Torch("2.10.0", "12.8"))).extras == ("live-cu12",)


@pytest.mark.parametrize(
    ("driver", "torch"),
    [
        ("580.65", None),
        ("580.65", Torch("2.13.0+cpu", "")),
        ("580.65", Torch("2.8.0", "12.8")),
        ("580.65", Torch("2.20.0", "14.0")),
    ],
)
def test_a_torch_that_does_not_fit_is_not_reused(driver: str, torch: Torch | None) -> None:
    wanted = plan(dataclasses.replace(NEW, driver=driver, torch=torch), "test")
    assert wanted.reuse == ()
    assert wanted.extras == ("dev", "live")
    assert "torch==2.11.0" in wanted.pins


def test_an_older_driver_gets_a_torch_for_cuda_12() -> None:
    wanted = plan(dataclasses.replace(NEW, driver="570.86.10"))
    assert wanted.extras == ("live-cu12",)
    assert wanted.reuse == ()
    assert "torch<2.11" in wanted.pins
    assert not [pin for pin in wanted.pins if pin.startswith(("torch==", "triton", "cuda"))]


def test_the_sentence_names_the_driver_and_the_torch() -> None:
    assert "580.159.04" in plan(NEW).why
    assert "2.11.0+cu130" in plan(NEW).why


@pytest.mark.parametrize(
    ("line", "cuda"),
    [("cuda: Optional[str] = '13.0'", "13.0"), ("cuda = '12.8'", "12.8"), ("cuda: Optional[str] = None", "")],
)
def test_torch_is_read_without_importing_it(
    line: str, cuda: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch" / "__init__.py").write_text("raise RuntimeError('imported')")
    (tmp_path / "torch" / "version.py").write_text(f"__version__ = '2.12.3'\n{line}\nhip = None\n")
    (tmp_path / "torch-2.12.3.dist-info").mkdir()
    (tmp_path / "torch-2.12.3.dist-info" / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: torch\nVersion: 2.12.3\n"
    )
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    for name in [name for name in sys.modules if name.split(".")[0] == "torch"]:
        monkeypatch.delitem(sys.modules, name)
    assert environment.own_torch() == Torch("2.12.3", cuda)


@pytest.mark.parametrize("answer", ["580.159.04", ""])
def test_the_driver_is_what_nvidia_smi_says(answer: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tool = tmp_path / "nvidia-smi"
    tool.write_text(f"#!/bin/sh\necho '{answer}'\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    assert environment.driver_version() == answer


def test_both_pin_files_are_read_without_their_comments() -> None:
    for name in ("cpu", "h200"):
        pins = environment.read_pins(environment.ROOT / f"constraints-{name}.txt")
        assert len(pins) > 20
        assert all("==" in pin and "#" not in pin for pin in pins)


def test_what_changes_the_installation_changes_the_stamp() -> None:
    one = plan(LAPTOP)
    assert environment.fingerprint(one) == environment.fingerprint(dataclasses.replace(one))
    assert environment.fingerprint(one) != environment.fingerprint(dataclasses.replace(one, pins=("textual==8.0.0",)))


@pytest.mark.parametrize(
    ("code", "variables", "may_be_empty", "passed"),
    [
        ("raise SystemExit(0)", {}, False, True),
        ("raise SystemExit(1)", {}, True, False),
        ("raise SystemExit(5)", {}, True, True),
        ("raise SystemExit(5)", {}, False, False),
        (
            "import os; exit(os.environ['A'] != '1' or 'B' in os.environ)",
            {"A": "1", "B": None},
            False,
            True,
        ),
    ],
)
def test_a_check_passes_when_its_command_does(
    code: str, variables: dict[str, str | None], may_be_empty: bool, passed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("B", "inherited")
    tool = Path(sys.executable).name
    one = check.Check("made up", "lint", (tool, "-c", code), variables, may_be_empty)
    assert check.run(one, [])[0] is passed
