"""Whether live mode will work here, found out without importing a GPU library into this process.

The driver is asked in a child process with a time limit (``driver.py``); packages are looked up by their metadata
(``packages.py``). ``gpu-explain doctor`` looks at the same things and more, through the same functions.
"""

from __future__ import annotations

from gpu_explain.app.driver import PROHIBITED, Driver, ask_driver
from gpu_explain.app.packages import OLDEST_TORCH, Packages, installed, numbers
from gpu_explain.scenes.base import Problem
from gpu_explain.scenes.base.problem import problem

LEAST_CAPABILITY = (7, 5)
"""NVRTC 13 compiles for compute capability 7.5 and up (CUDA 13.0 release notes)."""


def why_not_live(device: int | None = None) -> Problem | None:
    """``None`` when live mode should work, else why it will not and what to do.

    Args:
        device: The GPU that was asked for, in CUDA's order.
    """
    driver = ask_driver()
    if isinstance(driver, Problem):
        return driver
    return judge(driver, installed(), device)


def judge(driver: Driver, packages: Packages, device: int | None = None) -> Problem | None:
    """Whether that driver and those packages make live mode work together, and with which GPU."""
    return judge_gpu(driver, device) or judge_packages(driver, packages)


def judge_gpu(driver: Driver, device: int | None = None) -> Problem | None:
    """Whether a GPU can be used: the one that was asked for, else any."""
    if device is not None and not 0 <= device < len(driver.gpus):
        there = ", ".join(f"{i} ({gpu.name})" for i, gpu in enumerate(driver.gpus))
        return problem("no-such-gpu", number=str(device), there=there)
    gpus = driver.gpus if device is None else (driver.gpus[device],)
    fit = [gpu for gpu in gpus if gpu.capability >= LEAST_CAPABILITY]
    if not fit:
        has, least = ".".join(map(str, gpus[0].capability)), ".".join(map(str, LEAST_CAPABILITY))
        why = f"{gpus[0].name} has compute capability {has}, the kernels need {least} (Turing, 2018) or newer"
        return problem("gpu-too-old", evidence=why)
    if all(gpu.mode == PROHIBITED for gpu in fit):
        return problem("gpu-prohibited", evidence=f"The compute mode of {fit[0].name} is Prohibited")
    return None


def judge_packages(driver: Driver, packages: Packages) -> Problem | None:
    """Whether the packages are there and fit the driver."""
    return missing(packages, driver) or wrong_torch(packages, driver) or wrong_toolkit(packages, driver)


def missing(packages: Packages, driver: Driver | None) -> Problem | None:
    """Whether a package of ``[live]`` is not there. A driver that does not start is ``None``, here and below."""
    if not packages.missing:
        return None
    name = driver.gpus[0].name if driver else "An NVIDIA GPU"
    evidence = f"{name} is here; not installed: {', '.join(packages.missing)}"
    return problem("no-live", extra=fitting_extra(driver), evidence=evidence)


def wrong_torch(packages: Packages, driver: Driver | None) -> Problem | None:
    """Whether the torch that is there cannot use this GPU."""
    torch = packages.versions.get("torch", "")
    if packages.torch_cuda is None:
        wheels = "cu126" if driver and driver.cuda[0] < 13 else "cu130"
        return problem("torch-cpu", evidence=f"torch {torch} was built without CUDA", wheels=wheels)
    if torch and numbers(torch) < OLDEST_TORCH:
        least = ".".join(map(str, OLDEST_TORCH))
        evidence = f"It is {torch}, and {least} or newer is needed"
        return problem("torch-too-old", extra=fitting_extra(driver), evidence=evidence)
    if driver and packages.torch_cuda[0] > driver.cuda[0]:
        evidence = f"{_supports(driver)}, torch was built for {packages.torch_cuda[0]}.{packages.torch_cuda[1]}"
        return problem("driver-too-old", evidence=evidence)
    return None


def wrong_toolkit(packages: Packages, driver: Driver | None) -> Problem | None:
    """Whether the packages of the CUDA toolkit do not fit the driver, or each other."""
    found = numbers(packages.versions.get("nvrtc", ""))
    nvrtc = found[0] if found else 0
    for name, major in (("cuda-bindings", packages.bindings), ("NVRTC", nvrtc)):
        if driver and major > driver.cuda[0]:
            evidence = f"{_supports(driver)}, {name} is of CUDA {major}"
            return problem("toolkit-too-new", evidence=evidence)
    if nvrtc and packages.bindings and nvrtc != packages.bindings:
        evidence = f"NVRTC is of CUDA {nvrtc}, cuda-bindings of CUDA {packages.bindings}"
        return problem("nvrtc-pairing", extra=fitting_extra(driver), evidence=evidence)
    return None


def fitting_extra(driver: Driver | None) -> str:
    """The extra whose CUDA packages that driver can run."""
    return "live-cu12" if driver and driver.cuda[0] < 13 else "live"


def _supports(driver: Driver) -> str:
    return f"The driver supports CUDA {driver.cuda[0]}.{driver.cuda[1]}"
