"""The Python packages and their pairing."""

from __future__ import annotations

from collections.abc import Iterator

from gpu_explain.app.detect import missing, wrong_toolkit, wrong_torch
from gpu_explain.app.doctor.check import Check, beside, found, wrong
from gpu_explain.app.doctor.machine import Machine
from gpu_explain.app.driver import Driver
from gpu_explain.app.packages import NEWEST_PYTHON, Packages, numbers
from gpu_explain.scenes.base.conditions import Group, problem

_GROUP = Group.PACKAGES


def package_checks(machine: Machine, driver: Driver | None, packages: Packages) -> Iterator[Check]:
    """Python, each package of ``[live]``, and whether they fit the driver and each other."""
    yield _python(machine)
    versions = packages.versions
    lacking = missing(packages, driver)
    if lacking is not None:
        yield wrong("live", _GROUP, lacking)
    if "torch" not in packages.missing:
        yield from _torch(packages, driver)
    if "triton" not in packages.missing:
        yield _triton(packages)
    for name in ("cuda-core", "cuda-bindings"):
        if name in versions:
            yield found(name, _GROUP, f"{name} {versions[name]}")
    toolkit = wrong_toolkit(packages, driver)
    if toolkit is not None:
        yield wrong("toolkit", _GROUP, toolkit)
    elif packages.bindings and driver is not None:
        yield found("toolkit", _GROUP, f"CUDA {packages.bindings} packages fit the driver")
    if "nvidia-ml-py" in versions:
        yield found("nvidia-ml-py", _GROUP, f"nvidia-ml-py {versions['nvidia-ml-py']}")
    elif lacking is None:
        yield beside("nvidia-ml-py", _GROUP, "nvidia-ml-py is not there: others on the GPU will not be seen")


def _python(machine: Machine) -> Check:
    version = ".".join(map(str, machine.python))
    if machine.python > NEWEST_PYTHON:
        newest = ".".join(map(str, NEWEST_PYTHON))
        evidence = f"It is {version}, the newest one tried is {newest}"
        return wrong("python", _GROUP, problem("python-untried", evidence=evidence))
    return found("python", _GROUP, f"Python {version} ({machine.platform.environment})")


def _torch(packages: Packages, driver: Driver | None) -> Iterator[Check]:
    version = packages.versions.get("torch", "")
    built = f", CUDA {packages.torch_cuda[0]}.{packages.torch_cuda[1]}" if packages.torch_cuda else ""
    met = wrong_torch(packages, driver)
    if met is not None:
        yield wrong("torch", _GROUP, met)
    else:
        yield found("torch", _GROUP, f"torch {version}{built}")


def _triton(packages: Packages) -> Check:
    has, wanted = packages.versions.get("triton", ""), packages.triton_wanted
    if not wanted or not has:
        return found("triton", _GROUP, f"triton {has}".rstrip(), "this torch names no version of triton")
    # The same numbers are the same release: a build adds its own to the end.
    if numbers(has) != numbers(wanted):
        torch = packages.versions.get("torch", "")
        evidence = f"torch {torch} asks for triton {wanted}, and {has} is installed"
        met = problem("triton-mismatch", evidence=evidence, wanted=wanted)
        return wrong("triton", _GROUP, met)
    return found("triton", _GROUP, f"triton {has} (the one this torch wants)")
