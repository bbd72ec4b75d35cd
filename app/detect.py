"""Whether live mode will work here, found out without importing a GPU library into this process.

The driver is asked in a child process with a time limit, through ctypes: a driver that crashes or hangs
takes the child along, not the app. Packages are looked up by their metadata.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import metadata, util
from pathlib import Path

import gpu_explain
from gpu_explain.scenes.base import Problem

_LIMIT_S = 20.0
"""Opening eight GPUs without the persistence daemon takes several seconds."""

LEAST_CAPABILITY = (7, 5)
"""NVRTC 13 compiles for compute capability 7.5 and up (CUDA 13.0 release notes)."""

# Numbers of the driver API (cuda.h, CUdevice_attribute): 75 and 76 are the compute capability.
_ASK = """
import ctypes, json, sys
try:
    cuda = ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")
except OSError as error:
    print(json.dumps({"missing": str(error)})); raise SystemExit
found = {"error": cuda.cuInit(0), "version": 0, "gpus": []}
number = ctypes.c_int()
cuda.cuDriverGetVersion(ctypes.byref(number)); found["version"] = number.value
if not found["error"]:
    found["error"] = cuda.cuDeviceGetCount(ctypes.byref(number))
    for index in range(number.value if not found["error"] else 0):
        device, major, minor = ctypes.c_int(), ctypes.c_int(), ctypes.c_int()
        name = ctypes.create_string_buffer(256)
        cuda.cuDeviceGet(ctypes.byref(device), index)
        cuda.cuDeviceGetName(name, 256, device)
        cuda.cuDeviceGetAttribute(ctypes.byref(major), 75, device)
        cuda.cuDeviceGetAttribute(ctypes.byref(minor), 76, device)
        found["gpus"].append([name.value.decode("utf-8", "replace"), major.value, minor.value])
print(json.dumps(found))
"""


@dataclass(frozen=True)
class Gpu:
    """A GPU as the driver names it.

    Attributes:
        name: Product name.
        capability: Compute capability.
    """

    name: str
    capability: tuple[int, int]


@dataclass(frozen=True)
class Driver:
    """What the driver said.

    Attributes:
        gpus: The visible GPUs, in CUDA's order.
        cuda: Newest CUDA version that it supports.
    """

    gpus: tuple[Gpu, ...]
    cuda: tuple[int, int]


@dataclass(frozen=True)
class Packages:
    """What of ``[live]`` is installed.

    Attributes:
        missing: Names of the packages that are not.
        torch_cuda: CUDA version that torch was built for; ``None`` for a build without CUDA (or no torch).
        bindings: Major version of cuda-bindings; 0 when not installed.
    """

    missing: tuple[str, ...]
    torch_cuda: tuple[int, int] | None
    bindings: int


def why_not_live(device: int | None = None) -> Problem | None:
    """``None`` when live mode should work, else why it will not and what to do.

    Args:
        device: The GPU that was asked for, in CUDA's order.
    """
    driver = ask_driver()
    if isinstance(driver, Problem):
        return driver
    return judge(driver, installed(), device)


def ask_driver() -> Driver | Problem:
    """What the driver says about its GPUs, or why it says nothing."""
    try:
        child = subprocess.run(
            [sys.executable, "-I", "-S", "-c", _ASK], capture_output=True, text=True, timeout=_LIMIT_S, check=False
        )
    except subprocess.TimeoutExpired:
        why = f"It did not answer within {_LIMIT_S:.0f} seconds"
        return Problem("driver-hangs", "The NVIDIA driver does not answer", why, "Look at nvidia-smi and dmesg")
    except OSError as error:
        return Problem("driver-unknown", "The NVIDIA driver could not be asked", str(error))
    try:
        answer = json.loads(child.stdout)
    except ValueError:
        why = f"The process that asked it ended with code {child.returncode}"
        return Problem("driver-crashes", "The NVIDIA driver crashed when it was asked", why, "Reboot", child.stderr)
    return read_answer(answer, os.environ)


def read_answer(answer: Mapping[str, object], environ: Mapping[str, str]) -> Driver | Problem:
    """The child's answer as a driver or a problem."""
    if "missing" in answer:
        return Problem(
            "no-driver",
            "There is no NVIDIA GPU to be seen here",
            "The driver's library libcuda.so.1 does not load",
            "A container needs --gpus all; a machine with an NVIDIA GPU needs its driver",
            str(answer["missing"]),
        )
    version, error = int(str(answer["version"])), int(str(answer["error"]))
    cuda = (version // 1000, version % 1000 // 10)
    gpus = answer["gpus"]
    assert isinstance(gpus, list)
    found = tuple(Gpu(str(name), (int(major), int(minor))) for name, major, minor in gpus)
    if not error and found:
        return Driver(found, cuda)
    return _driver_problem(error, environ.get("CUDA_VISIBLE_DEVICES"))


def judge(driver: Driver, packages: Packages, device: int | None = None) -> Problem | None:
    """Whether that driver and those packages make live mode work together, and with which GPU."""
    if device is not None and not 0 <= device < len(driver.gpus):
        there = ", ".join(f"{i} ({gpu.name})" for i, gpu in enumerate(driver.gpus))
        return Problem("no-such-gpu", f"There is no GPU {device} here", f"There is {there}", "Choose one with --device")
    gpus = driver.gpus if device is None else (driver.gpus[device],)
    name = gpus[0].name
    if all(gpu.capability < LEAST_CAPABILITY for gpu in gpus):
        has, least = ".".join(map(str, gpus[0].capability)), ".".join(map(str, LEAST_CAPABILITY))
        why = f"It has compute capability {has}, the kernels need {least} (Turing, 2018) or newer"
        return Problem("gpu-too-old", f"{name} is too old for live mode", why)
    newer = driver.cuda[0] >= 13
    extra = "live" if newer else "live-cu12"
    said = f"The driver supports CUDA {driver.cuda[0]}.{driver.cuda[1]}"
    if packages.missing:
        why = f"Not installed: {', '.join(packages.missing)}"
        return Problem("no-live", f"{name} is here, but live mode is not installed", why, install_command(extra))
    if packages.torch_cuda is None:
        why = "The torch that is installed was built without CUDA"
        remedy = f"pip install --force-reinstall torch --index-url https://download.pytorch.org/whl/{_wheels(driver)}"
        return Problem("torch-cpu", f"{name} is here, but torch cannot use it", why, remedy)
    if packages.torch_cuda[0] > driver.cuda[0]:
        why = f"{said}, torch was built for {packages.torch_cuda[0]}.{packages.torch_cuda[1]}"
        remedy = "Update the driver, or install a torch built for CUDA 12 with " + install_command("live-cu12")
        return Problem("driver-too-old", f"The driver of {name} is too old for this torch", why, remedy)
    if packages.bindings > driver.cuda[0]:
        why = f"{said}, cuda-bindings is of CUDA {packages.bindings}"
        return Problem("driver-too-old", f"The driver of {name} is too old", why, install_command(extra))
    return None


def installed() -> Packages:
    """What of ``[live]`` is installed, by metadata: nothing is imported."""
    wanted = {"torch": "torch", "triton": "triton", "cuda-core": "", "cuda-bindings": ""}
    missing = tuple(name for name, module in wanted.items() if not _there(name, module))
    bindings = _version("cuda-bindings").split(".")[0]
    return Packages(missing, _torch_cuda(), int(bindings) if bindings.isdigit() else 0)


def install_command(extra: str) -> str:
    """The command that installs an extra, as this gpu-explain is installed: from a checkout or by name."""
    home = Path(gpu_explain.__file__).resolve().parent.parent
    if (home / "pyproject.toml").is_file():
        return f"pip install -e '{home}[{extra}]'"
    return f"pip install 'gpu-explain[{extra}]'"


def _there(name: str, module: str) -> bool:
    """By metadata, or (builds of triton carry other names) by module. A namespace without a file is no package."""
    if _version(name):
        return True
    found = util.find_spec(module) if module else None
    return found is not None and found.origin is not None


def _version(name: str) -> str:
    try:
        return metadata.version(name) or ""
    except metadata.PackageNotFoundError:
        return ""


def _torch_cuda() -> tuple[int, int] | None:
    """``torch.version.cuda``, read from the text of torch/version.py: importing torch takes seconds."""
    spec = util.find_spec("torch")
    if spec is None or spec.origin is None:
        return None
    try:
        text = Path(spec.origin).with_name("version.py").read_text(encoding="utf-8")
    except OSError:
        return None
    found = re.search(r"^cuda\b[^=\n]*=\s*['\"](\d+)\.(\d+)", text, re.MULTILINE)
    return (int(found[1]), int(found[2])) if found else None


def _wheels(driver: Driver) -> str:
    return "cu130" if driver.cuda[0] >= 13 else "cu126"


def _driver_problem(error: int, visible: str | None) -> Problem:
    """Errors of cuInit in words. Numbers: cuda.h, CUresult."""
    if error in {0, 100} and visible is not None:
        return Problem(
            "hidden",
            "No GPU is visible",
            f"CUDA_VISIBLE_DEVICES is set to {visible!r}, which hides every GPU of this machine",
            "unset CUDA_VISIBLE_DEVICES",
        )
    known = {
        0: ("no-gpu", "The driver is here, but it sees no GPU", "A container needs --gpus all"),
        100: ("no-gpu", "The driver is here, but it sees no GPU", "A container needs --gpus all"),
        101: ("no-gpu", "CUDA_VISIBLE_DEVICES names a GPU that is not here", "unset CUDA_VISIBLE_DEVICES"),
        802: (
            "fabric",
            "The GPUs are not initialised yet",
            "Start the fabric manager: systemctl start nvidia-fabricmanager",
        ),
        803: (
            "mismatch",
            "The driver's library and its kernel module do not match",
            "Reboot, or install the driver again",
        ),
        804: ("forward", "The CUDA compatibility library does not work on this GPU", "Remove it from LD_LIBRARY_PATH"),
    }
    name, what, remedy = known.get(error, ("driver-error", "The NVIDIA driver does not start", "Look at nvidia-smi"))
    return Problem(name, what, f"cuInit answered {error}", remedy)
