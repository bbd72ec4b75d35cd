"""What of ``[live]`` is installed, by metadata and file names: nothing is imported."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib import machinery, metadata
from pathlib import Path

OLDEST_TORCH = (2, 9)
"""As the ``[live]`` extra asks for (pyproject.toml; ``tests/unit/test_packages.py`` holds them together)."""

NEWEST_PYTHON = (3, 13)
"""The newest Python that gpu-explain is tried with (the classifiers of pyproject.toml)."""

_MODULES = {"torch": "torch", "triton": "triton", "cuda-core": "", "cuda-bindings": ""}
_NVRTC = ("nvidia-cuda-nvrtc", "nvidia-cuda-nvrtc-cu12", "nvidia-cuda-nvrtc-cu13")


@dataclass(frozen=True)
class Packages:
    """What of ``[live]`` is installed.

    Attributes:
        missing: Names of the packages that are not.
        torch_cuda: CUDA version that torch was built for; ``None`` for a build without CUDA (or no torch).
        bindings: Major version of cuda-bindings; 0 when not installed.
        versions: Version by name of what is there; torch's with its build, such as ``2.11.0+cu130``.
        triton_wanted: The version of triton that torch's metadata asks for; empty when it names none.
        nvrtc: libnvrtc of its own package; ``None`` when there is none.
        ptxas: The assemblers that triton brings.
    """

    missing: tuple[str, ...]
    torch_cuda: tuple[int, int] | None
    bindings: int
    versions: dict[str, str] = field(default_factory=dict)
    triton_wanted: str = ""
    nvrtc: Path | None = None
    ptxas: tuple[Path, ...] = ()


def installed(path: Sequence[str] | None = None) -> Packages:
    """What is installed in the folders of ``path`` (``sys.path`` by default)."""
    path = list(sys.path if path is None else path)
    versions = {name: version for name in (*_MODULES, "nvidia-ml-py") if (version := _version(name, path))}
    missing = tuple(name for name, module in _MODULES.items() if name not in versions and not _module(module, path))
    torch = _module("torch", path)
    if torch is not None:
        versions["torch"] = _torch_version(torch) or versions.get("torch", "")
    triton = _module("triton", path)
    nvrtc, nvrtc_version = _nvrtc(path)
    if nvrtc_version:
        versions["nvrtc"] = nvrtc_version
    bindings = versions.get("cuda-bindings", "").split(".")[0]
    return Packages(
        missing=missing,
        torch_cuda=_torch_cuda(torch),
        bindings=int(bindings) if bindings.isdigit() else 0,
        versions=versions,
        triton_wanted=_triton_wanted(path),
        nvrtc=nvrtc,
        ptxas=tuple(sorted((triton.parent / "backends/nvidia/bin").glob("ptxas*"))) if triton else (),
    )


def numbers(version: str) -> tuple[int, ...]:
    """The leading numbers of a version: ``2.11.0+cu130`` is ``(2, 11, 0)``."""
    found = re.match(r"\d+(\.\d+)*", version)
    return tuple(int(part) for part in found.group().split(".")) if found else ()


def _distribution(name: str, path: list[str]) -> metadata.Distribution | None:
    return next(iter(metadata.Distribution.discover(name=name, path=path)), None)


def _version(name: str, path: list[str]) -> str:
    found = _distribution(name, path)
    return (found.version or "") if found else ""


def _module(name: str, path: list[str]) -> Path | None:
    """The file of a module, by name (builds of triton carry other names). A namespace without a file is no package."""
    spec = machinery.PathFinder.find_spec(name, path) if name else None
    return Path(spec.origin) if spec is not None and spec.origin is not None else None


def _torch_cuda(torch: Path | None) -> tuple[int, int] | None:
    """``torch.version.cuda``, read from the text of torch/version.py: importing torch takes seconds."""
    found = re.search(r"^cuda\b[^=\n]*=\s*['\"](\d+)\.(\d+)", _torch_text(torch), re.MULTILINE)
    return (int(found[1]), int(found[2])) if found else None


def _torch_version(torch: Path) -> str:
    found = re.search(r"^__version__\b[^=\n]*=\s*['\"]([^'\"]+)", _torch_text(torch), re.MULTILINE)
    return found[1] if found else ""


def _torch_text(torch: Path | None) -> str:
    if torch is None:
        return ""
    try:
        return torch.with_name("version.py").read_text(encoding="utf-8")
    except OSError:
        return ""


def _triton_wanted(path: list[str]) -> str:
    """``3.6.0`` of torch's ``Requires-Dist: triton==3.6.0; platform_system == "Linux"``."""
    torch = _distribution("torch", path)
    for line in (torch.requires or ()) if torch else ():
        found = re.match(r"(?:pytorch-)?triton\s*\(?==\s*([\w.+]+)", line)
        if found:
            return found[1]
    return ""


def _nvrtc(path: list[str]) -> tuple[Path | None, str]:
    """NVRTC's library and its package's version."""
    for name in _NVRTC:
        found = _distribution(name, path)
        for file in (found.files or ()) if found else ():
            if re.fullmatch(r"libnvrtc\.so\.\d+|nvrtc64_\d+_0\.dll", file.name):
                assert found is not None
                return Path(str(file.locate())), found.version
    return None, ""
