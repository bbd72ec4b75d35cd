"""Without a usable GPU the app says in one sentence why, and what to do, in a blink and without torch."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from gpu_explain.app import driver as asking
from gpu_explain.app.detect import judge
from gpu_explain.app.driver import EXCLUSIVE, PROHIBITED, Answer, Driver, Gpu, ask, hardware, understand
from gpu_explain.app.packages import OLDEST_TORCH, Packages, installed, numbers
from gpu_explain.scenes.base import Problem
from gpu_explain.scenes.base.conditions import platform
from tests.unit.fakes import Fakes

H200 = Gpu("NVIDIA H200", (9, 0))
OLD = Gpu("NVIDIA P100", (6, 0))
DRIVER = Driver((H200,), (13, 0))
FITTING = Packages((), (13, 0), 13, {"torch": "2.11.0+cu130", "nvrtc": "13.0.88"})


def said(fakes: Fakes, root: Path, **variables: str) -> Driver | Problem:
    """What is understood of a fake driver that answers as the variables tell it to."""
    environ = {name: value for name, value in os.environ.items() if name != "CUDA_VISIBLE_DEVICES"}
    environ |= {"LD_LIBRARY_PATH": fakes.driver, **variables}
    return understand(ask(environ, limit_s=1.0 if "FAKE_HANGS" in variables else 20.0), environ, root)


# ---------------------------------------------------------------- the driver


def test_the_drivers_answer_is_read(fakes: Fakes, tmp_path: Path) -> None:
    found = said(fakes, tmp_path, FAKE_VERSION="13020", FAKE_COUNT="2", FAKE_MODE="3", FAKE_PROCESSES="1")
    assert isinstance(found, Driver)
    assert found.cuda == (13, 2)
    assert found.version == "580.159.04"
    assert found.library == f"{fakes.driver}/libcuda.so.1"
    assert [(gpu.name, gpu.capability, gpu.sms, gpu.mode) for gpu in found.gpus] == [
        ("Made-up GPU", (9, 0), 40, EXCLUSIVE)
    ] * 2
    assert (found.gpus[0].processes, found.gpus[0].held, found.gpus[0].free) == (1, 2 * 10**9, 23 * 10**9)


@pytest.mark.parametrize(
    ("variables", "id", "says"),
    [
        ({"FAKE_COUNT": "0"}, "no-gpu", "cuInit answered 100"),
        ({"CUDA_VISIBLE_DEVICES": ""}, "hidden", "It is set to '', and without it 1 GPU is here"),
        ({"CUDA_VISIBLE_DEVICES": "9", "FAKE_COUNT": "2"}, "hidden", "without it 2 GPUs are here"),
        ({"CUDA_VISIBLE_DEVICES": "", "FAKE_COUNT": "0"}, "no-gpu", "cuInit answered 100"),
        ({"FAKE_COUNT": "0", "FAKE_MIG": "1"}, "mig-empty", "MIG is on"),
        ({"FAKE_INIT": "34"}, "driver-stub", "for linking only; cuInit answered 34 from "),
        ({"FAKE_INIT": "35"}, "driver-too-old", "cuInit answered 35"),
        ({"FAKE_INIT": "100"}, "no-gpu", "cuInit answered 100"),
        ({"FAKE_INIT": "802"}, "fabric", "cuInit answered 802"),
        ({"FAKE_INIT": "803"}, "mismatch", "cuInit answered 803"),
        ({"FAKE_INIT": "804"}, "forward", "cuInit answered 804"),
        ({"FAKE_INIT": "805"}, "mps-broken", "cuInit answered 805"),
        ({"FAKE_INIT": "999"}, "driver-error", "cuInit answered 999"),
        ({"FAKE_INIT": "12345"}, "driver-error", "cuInit answered 12345"),
        ({"FAKE_CRASHES": "cuInit"}, "driver-crashes", "while starting it (cuInit)"),
        ({"FAKE_CRASHES": "cuDeviceGetCount"}, "driver-crashes", "while counting the GPUs"),
    ],
    ids=lambda value: " ".join(f"{k}={v}" for k, v in value.items()) if isinstance(value, dict) else "",
)
def test_each_silence_of_the_driver_has_its_sentence(
    fakes: Fakes, tmp_path: Path, variables: dict[str, str], id: str, says: str
) -> None:
    found = said(fakes, tmp_path, **variables)
    assert isinstance(found, Problem)
    assert found.id == id
    assert says in found.sentence
    assert found.remedy
    assert "…; " not in found.sentence


def test_a_driver_that_hangs_is_a_sentence_that_says_where(fakes: Fakes, tmp_path: Path) -> None:
    found = said(fakes, tmp_path, FAKE_HANGS="cuInit")
    assert isinstance(found, Problem)
    assert found.id == "driver-hangs"
    assert "while starting it (cuInit)" in found.sentence


def test_without_the_drivers_library_it_depends_on_what_else_is_seen(fakes: Fakes, tmp_path: Path) -> None:
    found = said(fakes, tmp_path, LD_LIBRARY_PATH=fakes.nothing)
    assert isinstance(found, Problem)
    assert found.id == "no-driver"
    assert "libcuda.so.1 does not load" in found.sentence
    device = tmp_path / "sys/bus/pci/devices/0000:01:00.0"
    device.mkdir(parents=True)
    (device / "vendor").write_text("0x10de\n")
    (device / "class").write_text("0x030200\n")
    found = said(fakes, tmp_path, LD_LIBRARY_PATH=fakes.nothing)
    assert isinstance(found, Problem)
    assert found.id == "gpu-without-driver"
    assert "on the PCI bus" in found.sentence


@pytest.mark.parametrize(
    ("file", "seen"),
    [("dev/nvidia0", "/dev"), ("proc/driver/nvidia/gpus/0000:01:00.0", "/proc"), ("dev/nvidiactl", "")],
)
def test_hardware_is_seen_without_a_driver(tmp_path: Path, file: str, seen: str) -> None:
    (tmp_path / file).parent.mkdir(parents=True)
    (tmp_path / file).touch()
    assert (seen in hardware(tmp_path)) if seen else not hardware(tmp_path)


def test_a_sound_card_is_no_gpu(tmp_path: Path) -> None:
    device = tmp_path / "sys/bus/pci/devices/0000:01:00.1"
    device.mkdir(parents=True)
    (device / "vendor").write_text("0x10de\n")
    (device / "class").write_text("0x040300\n")
    assert not hardware(tmp_path)


def test_a_process_that_cannot_be_started_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(*_: object, **__: object) -> Any:
        raise OSError("no memory")

    monkeypatch.setattr(subprocess, "run", run)
    found = asking.ask_driver()
    assert isinstance(found, Problem)
    assert found.id == "driver-unknown"


def test_what_the_driver_prints_is_no_answer() -> None:
    found = understand(Answer(ended="crashed", why="It ended"), {})
    assert isinstance(found, Problem)
    assert found.id == "driver-crashes"


# ---------------------------------------------------------------- driver, GPU and packages together


def test_a_fitting_machine_is_fit() -> None:
    assert judge(DRIVER, FITTING) is None
    assert judge(Driver((OLD, H200), (13, 1)), FITTING) is None
    assert judge(Driver((H200,), (12, 8)), Packages((), (12, 8), 12)) is None


@pytest.mark.parametrize(
    ("driver", "packages", "device", "id", "says"),
    [
        (DRIVER, Packages(("torch", "triton"), None, 0), None, "no-live", "[live]"),
        (Driver((H200,), (12, 4)), Packages(("cuda-core",), (12, 4), 0), None, "no-live", "[live-cu12]"),
        (DRIVER, Packages((), None, 13, {"torch": "2.11.0+cpu"}), None, "torch-cpu", "2.11.0+cpu was built without"),
        (Driver((H200,), (12, 4)), Packages((), None, 12), None, "torch-cpu", "/whl/cu126"),
        (DRIVER, Packages((), (13, 0), 13, {"torch": "2.8.1+cu130"}), None, "torch-too-old", "2.9 or newer"),
        (Driver((H200,), (12, 4)), FITTING, None, "driver-too-old", "built for 13.0"),
        (Driver((H200,), (12, 4)), Packages((), (12, 4), 13), None, "toolkit-too-new", "[live-cu12]"),
        (Driver((H200,), (12, 4)), Packages((), (12, 4), 12, {"nvrtc": "13.0"}), None, "toolkit-too-new", "NVRTC is"),
        (DRIVER, Packages((), (13, 0), 13, {"nvrtc": "12.8.1"}), None, "nvrtc-pairing", "NVRTC is of CUDA 12"),
        (Driver((OLD,), (13, 0)), FITTING, None, "gpu-too-old", "6.0"),
        (Driver((H200, OLD), (13, 0)), FITTING, 1, "gpu-too-old", "P100"),
        (Driver((H200, OLD), (13, 0)), FITTING, 2, "no-such-gpu", "0 (NVIDIA H200), 1 (NVIDIA P100)"),
        (Driver((Gpu("A", (9, 0), mode=PROHIBITED),), (13, 0)), FITTING, None, "gpu-prohibited", "of A is Prohibited"),
    ],
)
def test_what_is_missing_is_named_with_the_remedy(
    driver: Driver, packages: Packages, device: int | None, id: str, says: str
) -> None:
    problem = judge(driver, packages, device)
    assert problem is not None
    assert problem.id == id
    assert says in problem.sentence


# ---------------------------------------------------------------- packages


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
    tmp_path: Path, text: str, cuda: tuple[int, int] | None
) -> None:
    package = tmp_path / "torch"
    package.mkdir()
    (package / "__init__.py").write_text("raise SystemExit('torch was imported')")
    (package / "version.py").write_text(text)
    assert installed([str(tmp_path)]).torch_cuda == cuda


def test_what_is_installed_is_known_by_metadata(tmp_path: Path) -> None:
    nothing = installed([str(tmp_path)])
    assert nothing == Packages(("torch", "triton", "cuda-core", "cuda-bindings"), None, 0)
    distribution(tmp_path, "torch", "2.11.0", 'Requires-Dist: triton==3.6.0; platform_system == "Linux"')
    distribution(tmp_path, "cuda_bindings", "13.3.1")
    (tmp_path / "triton").mkdir()  # a folder without a file is no package
    found = installed([str(tmp_path)])
    assert found.missing == ("triton", "cuda-core")
    assert (found.bindings, found.triton_wanted, found.versions["torch"]) == (13, "3.6.0", "2.11.0")
    (tmp_path / "triton/__init__.py").touch()
    assert installed([str(tmp_path)]).missing == ("cuda-core",)


def distribution(folder: Path, name: str, version: str, *more: str) -> None:
    info = folder / f"{name}-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("\n".join([f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}", *more, ""]))


def test_the_leading_numbers_of_a_version() -> None:
    assert numbers("2.11.0+cu130") == (2, 11, 0)
    assert numbers("3.7.0a1") == (3, 7, 0)
    assert numbers("git") == ()


def test_the_oldest_torch_is_the_one_that_the_extra_asks_for() -> None:
    text = (Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8")
    assert f'"torch>={".".join(map(str, OLDEST_TORCH))}"' in text


def test_the_install_command_follows_how_gpu_explain_is_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gpu_explain.__file__", str(tmp_path / "site-packages" / "gpu_explain" / "__init__.py"))
    assert platform.look({}).install("live").endswith("pip install 'gpu-explain[live]'")
    (tmp_path / "site-packages").mkdir()
    (tmp_path / "site-packages" / "pyproject.toml").touch()
    assert platform.look({}).install("live").endswith(f"pip install -e '{tmp_path}/site-packages[live]'")


def test_looking_imports_no_gpu_library() -> None:
    code = (
        "import sys; from gpu_explain.app.detect import why_not_live; why_not_live();"
        "print([m for m in ('torch', 'triton', 'cuda.core', 'cuda.bindings', 'numpy') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
