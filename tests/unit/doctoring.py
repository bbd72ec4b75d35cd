"""A machine on which everything is as it should be, made of fakes, for tests to break one thing at a time."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

from gpu_explain.app.doctor.check import Check, Examination
from gpu_explain.app.doctor.examine import examine
from gpu_explain.app.doctor.machine import Machine, Terminal
from gpu_explain.scenes.base.conditions import Platform
from tests.unit.fakes import Fakes

_NVRTC = r"""
#include <stdlib.h>
int nvrtcVersion(int *major, int *minor) { *major = 13; *minor = 0; return 0; }
int nvrtcGetNumSupportedArchs(int *n) { *n = 3; return 0; }
int nvrtcGetSupportedArchs(int *to) {
    const char *last = getenv("FAKE_NVRTC_LAST");
    to[0] = 75; to[1] = 80; to[2] = last ? atoi(last) : 90;
    return 0;
}
"""

_PTXAS = """#!/bin/sh
echo "Allowed values for this option: 'sm_75','sm_80',"
echo "'sm_90','sm_90a'."
"""

PLATFORM = Platform(distribution="ubuntu", manager="apt", environment="venv", python="3.12", administrator=False)


def distribution(site: Path, name: str, version: str, *requires: str, files: tuple[str, ...] = ()) -> None:
    """Metadata of a package, as pip leaves it."""
    for old in site.glob(f"{name.replace('-', '_')}-*.dist-info"):
        shutil.rmtree(old)
    info = site / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir(parents=True)
    lines = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}"]
    info.joinpath("METADATA").write_text("\n".join([*lines, *(f"Requires-Dist: {one}" for one in requires), ""]))
    info.joinpath("RECORD").write_text("".join(f"{file},,\n" for file in files))


class Made:
    """A machine that is being made, and what doctor says of it.

    Attributes:
        machine: The machine; :meth:`but` changes it.
        site: Its folder of Python packages.
        root: Where its /dev, /proc and /sys are.
        home: Its home folder.
    """

    def __init__(self, folder: Path, fakes: Fakes) -> None:
        self.site, self.root, self.home = folder / "site", folder / "root", folder / "home"
        for place in (self.site, self.root, self.home, folder / "bin", folder / "include"):
            place.mkdir()
        self._packages(Path(fakes.driver).parent)
        (folder / "include/Python.h").touch()
        gcc = folder / "bin/gcc"
        gcc.write_text("#!/bin/sh\n")
        gcc.chmod(0o755)
        self.folder = folder
        environ = {
            "PATH": str(folder / "bin"),
            "HOME": str(self.home),
            "GPU_EXPLAIN_CACHE": str(self.home / "cache"),
            "TORCHINDUCTOR_CACHE_DIR": str(self.home / "inductor"),
            "LD_LIBRARY_PATH": fakes.driver,
            "TERM": "xterm-256color",
        }
        self.machine = Machine(
            environ=environ,
            root=self.root,
            path=(str(self.site),),
            include=folder / "include",
            python=(3, 12),
            platform=PLATFORM,
            terminal=Terminal(True, "utf-8", (120, 40)),
        )

    def _packages(self, built: Path) -> None:
        torch, triton = self.site / "torch", self.site / "triton"
        torch.mkdir()
        (torch / "__init__.py").write_text("raise SystemExit('torch was imported')\n")
        self.torch("2.11.0+cu130", "13.0", wants="3.6.0")
        (triton / "backends/nvidia/bin").mkdir(parents=True)
        (triton / "__init__.py").write_text("raise SystemExit('triton was imported')\n")
        ptxas = triton / "backends/nvidia/bin/ptxas"
        ptxas.write_text(_PTXAS)
        ptxas.chmod(0o755)
        distribution(self.site, "triton", "3.6.0")
        distribution(self.site, "cuda-core", "1.2.0")
        distribution(self.site, "cuda-bindings", "13.3.1")
        distribution(self.site, "nvidia-ml-py", "13.6.0")
        library = "nvidia/cu13/lib/libnvrtc.so.13"
        distribution(self.site, "nvidia-cuda-nvrtc", "13.0.88", files=(library,))
        target = self.site / library
        target.parent.mkdir(parents=True)
        shutil.copy(_built_nvrtc(built), target)

    def torch(self, version: str, cuda: str, *, wants: str = "") -> None:
        """Put another torch there."""
        requires = (f'triton=={wants}; platform_system == "Linux"',) if wants else ()
        distribution(self.site, "torch", version.partition("+")[0], *requires)
        shown = f"'{cuda}'" if cuda else "None"
        text = f"__version__ = '{version}'\ncuda: Optional[str] = {shown}\n"
        (self.site / "torch/version.py").write_text(text)

    def remove(self, *packages: str) -> None:
        """Take packages away."""
        for package in packages:
            for info in self.site.glob(f"{package.replace('-', '_')}-*.dist-info"):
                shutil.rmtree(info)
            shutil.rmtree(self.site / package, ignore_errors=True)

    def but(self, **changes: Any) -> Made:
        """Change facts of the machine."""
        self.machine = replace(self.machine, **changes)
        return self

    def having(self, **variables: str | None) -> Made:
        """Set variables, or take them away (``None``)."""
        environ = dict(self.machine.environ)
        for name, value in variables.items():
            environ.pop(name, None)
            if value is not None:
                environ[name] = value
        return self.but(environ=environ)

    def examined(self) -> Examination:
        """What doctor finds."""
        return examine(self.machine)


def _built_nvrtc(folder: Path) -> Path:
    target = folder / "libnvrtc.so.13"
    if not target.exists():
        compiler = shutil.which("gcc") or shutil.which("cc")
        assert compiler is not None  # else there were no fakes
        (folder / "nvrtc.c").write_text(_NVRTC)
        subprocess.run([compiler, "-shared", "-fPIC", "-w", "-o", target, folder / "nvrtc.c"], check=True, timeout=60)
    return target


def met(examination: Examination, id: str) -> Check:
    """The check that met a condition."""
    found = [check for check in examination.checks if check.problem is not None and check.problem.id == id]
    everything = [check.problem.id for check in examination.checks if check.problem is not None]
    assert len(found) == 1, f"{id} is not among {everything}"
    return found[0]
