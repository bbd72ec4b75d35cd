"""Without a usable GPU the app says in one sentence why, and what to do, in a blink and without torch."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from typing import Any

import pytest

from gpu_explain.app import detect
from gpu_explain.app.detect import Driver, Gpu, Packages, judge, read_answer
from gpu_explain.scenes.base import Problem

H200 = Gpu("NVIDIA H200", (9, 0))
OLD = Gpu("NVIDIA P100", (6, 0))
DRIVER = Driver((H200,), (13, 0))
FITTING = Packages((), (13, 0), 13)


def ending(code: int | None = 0, out: str = "", error: Exception | None = None) -> Any:
    """A stand-in for ``subprocess.run``."""

    def run(*_: object, **__: object) -> subprocess.CompletedProcess[str]:
        if error is not None:
            raise error
        return subprocess.CompletedProcess([], code or 0, out, "")

    return run


def test_a_fitting_machine_is_fit() -> None:
    assert judge(DRIVER, FITTING) is None
    assert judge(Driver((OLD, H200), (13, 1)), FITTING) is None
    assert judge(Driver((H200,), (12, 8)), Packages((), (12, 8), 12)) is None


@pytest.mark.parametrize(
    ("driver", "packages", "device", "id", "says"),
    [
        (DRIVER, Packages(("torch", "triton"), None, 0), None, "no-live", "[live]"),
        (Driver((H200,), (12, 4)), Packages(("cuda-core",), (12, 4), 0), None, "no-live", "[live-cu12]"),
        (DRIVER, Packages((), None, 13), None, "torch-cpu", "without CUDA"),
        (Driver((H200,), (12, 4)), FITTING, None, "driver-too-old", "built for 13.0"),
        (Driver((H200,), (12, 4)), Packages((), (12, 4), 13), None, "driver-too-old", "[live-cu12]"),
        (Driver((OLD,), (13, 0)), FITTING, None, "gpu-too-old", "6.0"),
        (Driver((H200, OLD), (13, 0)), FITTING, 1, "gpu-too-old", "P100"),
        (Driver((H200, OLD), (13, 0)), FITTING, 2, "no-such-gpu", "0 (NVIDIA H200), 1 (NVIDIA P100)"),
    ],
)
def test_what_is_missing_is_named_with_the_remedy(
    driver: Driver, packages: Packages, device: int | None, id: str, says: str
) -> None:
    problem = judge(driver, packages, device)
    assert problem is not None
    assert problem.id == id
    assert says in problem.sentence


@pytest.mark.parametrize(
    ("answer", "environ", "id"),
    [
        ({"missing": "libcuda.so.1: cannot open"}, {}, "no-driver"),
        ({"error": 100, "version": 13000, "gpus": []}, {}, "no-gpu"),
        ({"error": 0, "version": 13000, "gpus": []}, {}, "no-gpu"),
        ({"error": 100, "version": 13000, "gpus": []}, {"CUDA_VISIBLE_DEVICES": ""}, "hidden"),
        ({"error": 101, "version": 13000, "gpus": []}, {"CUDA_VISIBLE_DEVICES": "9"}, "no-gpu"),
        ({"error": 802, "version": 13000, "gpus": []}, {}, "fabric"),
        ({"error": 803, "version": 13000, "gpus": []}, {}, "mismatch"),
        ({"error": 804, "version": 13000, "gpus": []}, {}, "forward"),
        ({"error": 999, "version": 13000, "gpus": []}, {}, "driver-error"),
    ],
)
def test_each_silence_of_the_driver_has_its_sentence(
    answer: Mapping[str, object], environ: Mapping[str, str], id: str
) -> None:
    problem = read_answer(answer, environ)
    assert isinstance(problem, Problem)
    assert problem.id == id
    assert problem.remedy


def test_the_drivers_answer_is_read() -> None:
    answer = {"error": 0, "version": 13020, "gpus": [["NVIDIA H200", 9, 0]]}
    assert read_answer(answer, {}) == Driver((H200,), (13, 2))


@pytest.mark.parametrize(
    ("run", "id"),
    [
        (ending(error=subprocess.TimeoutExpired("python", 20)), "driver-hangs"),
        (ending(error=OSError("no memory")), "driver-unknown"),
        (ending(-11, ""), "driver-crashes"),
        (ending(0, "not json"), "driver-crashes"),
    ],
)
def test_a_driver_that_crashes_or_hangs_is_a_sentence(monkeypatch: pytest.MonkeyPatch, run: Any, id: str) -> None:
    monkeypatch.setattr(subprocess, "run", run)
    problem = detect.ask_driver()
    assert isinstance(problem, Problem)
    assert problem.id == id


def test_the_question_put_to_the_driver_runs_as_it_stands(tmp_path: Path) -> None:
    """The child's program against a library of our own that answers as libcuda does."""
    fake = "import ctypes\n" + _FAKE_CUDA + detect._ASK.replace("import ctypes, json, sys", "import json, sys")
    done = subprocess.run([sys.executable, "-I", "-S", "-c", fake], capture_output=True, text=True, check=True)
    assert read_answer(json.loads(done.stdout), {}) == Driver((Gpu("Made-up GPU", (9, 0)),), (13, 0))


_FAKE_CUDA = """
class Fake:
    def __init__(self, name): assert name == "libcuda.so.1"
    def cuInit(self, flags): return 0
    def put(self, pointer, value): pointer._obj.value = value; return 0
    def cuDriverGetVersion(self, to): return self.put(to, 13000)
    def cuDeviceGetCount(self, to): return self.put(to, 1)
    def cuDeviceGet(self, to, index): return self.put(to, index)
    def cuDeviceGetName(self, to, size, device): to.value = b"Made-up GPU"; return 0
    def cuDeviceGetAttribute(self, to, which, device): return self.put(to, {75: 9, 76: 0}[which])
ctypes.CDLL = Fake
"""


@pytest.mark.parametrize(
    ("text", "cuda"),
    [
        ("cuda: Optional[str] = '13.0'\n", (13, 0)),
        ("__version__ = '2.9'\ncuda = '12.8'\nhip = None\n", (12, 8)),
        ("cuda: Optional[str] = None\n", None),
        ("cudart = '12.8'\n", None),
    ],
)
def test_the_cuda_version_of_torch_is_read_without_importing_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, cuda: tuple[int, int] | None
) -> None:
    package = tmp_path / "torch"
    package.mkdir()
    (package / "__init__.py").write_text("raise SystemExit('torch was imported')")
    (package / "version.py").write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    assert detect._torch_cuda() == cuda


def test_the_install_command_follows_how_gpu_explain_is_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gpu_explain.__file__", str(tmp_path / "site-packages" / "gpu_explain" / "__init__.py"))
    assert detect.install_command("live") == "pip install 'gpu-explain[live]'"
    (tmp_path / "site-packages").mkdir()
    (tmp_path / "site-packages" / "pyproject.toml").touch()
    assert detect.install_command("live") == f"pip install -e '{tmp_path}/site-packages[live]'"


def test_looking_imports_no_gpu_library() -> None:
    code = (
        "import sys; from gpu_explain.app.detect import why_not_live; why_not_live();"
        "print([m for m in ('torch', 'triton', 'cuda.core', 'cuda.bindings', 'numpy') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_what_is_installed_is_known_by_metadata(monkeypatch: pytest.MonkeyPatch) -> None:
    there = {"torch": "2.11.0+cu130", "cuda-bindings": "13.3.1"}

    def version(name: str) -> str:
        if name not in there:
            raise PackageNotFoundError(name)
        return there[name]

    monkeypatch.setattr("importlib.metadata.version", version)
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    assert detect.installed() == Packages(("triton", "cuda-core"), None, 13)
    there.clear()
    assert detect.installed() == Packages(("torch", "triton", "cuda-core", "cuda-bindings"), None, 0)
