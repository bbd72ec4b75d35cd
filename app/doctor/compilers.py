"""NVRTC, the C compiler that Triton needs, Python's headers, and Triton's assembler."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from gpu_explain.app.detect import fitting_extra
from gpu_explain.app.doctor.check import Check, beside, found, unknown, wrong
from gpu_explain.app.doctor.machine import Machine
from gpu_explain.app.driver import Driver
from gpu_explain.app.packages import Packages
from gpu_explain.scenes.base.conditions import Group, problem

_GROUP = Group.COMPILER
_PROBE = Path(__file__).with_name("nvrtc_probe.py")
_BLACKWELL = 100
"""Triton assembles for compute capability 10.0 and newer with a ptxas of its own."""


def compiler_checks(machine: Machine, driver: Driver | None, packages: Packages) -> Iterator[Check]:
    """What turns sources into kernels here."""
    gpu = driver.gpus[0].capability if driver else None
    arch = gpu[0] * 10 + gpu[1] if gpu else 0
    if "cuda-bindings" not in packages.missing:
        yield _nvrtc(machine, driver, packages, arch)
    yield _c_compiler(machine)
    yield _headers(machine)
    if "triton" not in packages.missing:
        yield _ptxas(machine, packages, arch)


def _nvrtc(machine: Machine, driver: Driver | None, packages: Packages, arch: int) -> Check:
    """Loaded in a child: the library is large, and what it links to may be anything."""
    extra = fitting_extra(driver)
    try:
        child = subprocess.run(
            [sys.executable, "-I", "-S", str(_PROBE), *_nvrtc_paths(machine, packages)],
            capture_output=True,
            text=True,
            timeout=machine.limit_s,
            check=False,
            env=machine.environ,
        )
        said = json.loads(child.stdout)
    except subprocess.TimeoutExpired:
        return unknown("nvrtc", _GROUP, f"NVRTC did not load within {machine.limit_s:.0f} seconds")
    except (OSError, ValueError):
        evidence = "the process that loaded it died"
        return wrong("nvrtc", _GROUP, problem("no-nvrtc", extra=extra, evidence=evidence))
    if "missing" in said:
        evidence = f"The system says: {said['missing']}"
        return wrong("nvrtc", _GROUP, problem("no-nvrtc", extra=extra, evidence=evidence))
    version = packages.versions.get("nvrtc") or ".".join(map(str, said["version"]))
    if arch and arch not in said["archs"]:
        known = f"sm_{min(said['archs'])} to sm_{max(said['archs'])}"
        evidence = f"NVRTC {version} compiles for {known}, this GPU is sm_{arch}"
        return wrong("nvrtc", _GROUP, problem("cuda-arch", evidence=evidence))
    return found("nvrtc", _GROUP, f"NVRTC {version}", said["path"])


def _nvrtc_paths(machine: Machine, packages: Packages) -> Iterator[str]:
    """Where cuda.bindings finds it: its own package, the environment, the toolkit, the system."""
    if packages.nvrtc is not None:
        yield str(packages.nvrtc)
    name = f"libnvrtc.so.{packages.bindings}" if packages.bindings else "libnvrtc.so"
    yield str(Path(sys.prefix) / "lib" / name)
    for variable in ("CUDA_HOME", "CUDA_PATH"):
        if machine.environ.get(variable):
            yield str(Path(machine.environ[variable]) / "lib64" / name)
    yield name


def _c_compiler(machine: Machine) -> Check:
    """As Triton looks for it: $CC, else gcc, else clang."""
    path = machine.environ.get("PATH", "")
    named = machine.environ.get("CC")
    if named is not None:
        program = shutil.which(named, path=path)
        if program is None:
            evidence = f"$CC is {named!r}, which is no program"
            return wrong("c-compiler", _GROUP, problem("no-compiler", evidence=evidence))
        return found("c-compiler", _GROUP, f"C compiler {named} ($CC)", program)
    for name in ("gcc", "clang"):
        program = shutil.which(name, path=path)
        if program is not None:
            return found("c-compiler", _GROUP, f"C compiler {name}", program)
    evidence = "looked for $CC, gcc and clang on PATH"
    return wrong("c-compiler", _GROUP, problem("no-compiler", evidence=evidence))


def _headers(machine: Machine) -> Check:
    if (machine.include / "Python.h").is_file():
        return found("python-headers", _GROUP, "Python.h", str(machine.include))
    evidence = f"looked in {machine.include}"
    met = problem("no-python-headers", evidence=evidence)
    return wrong("python-headers", _GROUP, met)


def _ptxas(machine: Machine, packages: Packages, arch: int) -> Check:
    blackwell = arch >= _BLACKWELL and any(path.name == "ptxas-blackwell" for path in packages.ptxas)
    name, variable = ("ptxas-blackwell", "TRITON_PTXAS_BLACKWELL_PATH") if blackwell else ("ptxas", "TRITON_PTXAS_PATH")
    named = machine.environ.get(variable)
    program = Path(named) if named else next((path for path in packages.ptxas if path.name == name), None)
    if program is None or not program.is_file():
        evidence = f"{variable} is {named!r}" if named else "triton's folder backends/nvidia/bin does not hold it"
        return wrong("ptxas", _GROUP, problem("ptxas-missing", evidence=evidence))
    if not arch:
        return beside("ptxas", _GROUP, f"{name}: no GPU to compile for", str(program))
    try:
        command = [str(program), "--help"]
        child = subprocess.run(command, capture_output=True, text=True, timeout=machine.limit_s, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        evidence = f"{program} does not start: {error}"
        return wrong("ptxas", _GROUP, problem("ptxas-missing", evidence=evidence))
    archs = {int(number) for number in re.findall(r"'sm_(\d+)", child.stdout)}
    if not archs:
        return unknown("ptxas", _GROUP, f"{name} does not list its architectures", str(program))
    if arch not in archs:
        evidence = f"{name} assembles for sm_{min(archs)} to sm_{max(archs)}, this GPU is sm_{arch}"
        return wrong("ptxas", _GROUP, problem("ptxas-arch", evidence=evidence))
    return found("ptxas", _GROUP, f"{name} knows sm_{arch}", str(program))
