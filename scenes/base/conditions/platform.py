"""The kind of machine this is, as far as a remedy depends on it. Standard library, nothing started, read only."""

from __future__ import annotations

import os
import re
import sys
import sysconfig
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import gpu_explain

_MANAGERS = {
    "debian": "apt",
    "ubuntu": "apt",
    "fedora": "dnf",
    "rhel": "dnf",
    "centos": "dnf",
    "amzn": "dnf",
    "arch": "pacman",
    "suse": "zypper",
    "opensuse": "zypper",
    "alpine": "apk",
}
_CONTAINER_WORDS = re.compile(r"docker|kubepods|containerd|libpod|lxc")


@dataclass(frozen=True)
class Platform:
    """A machine as remedies see it.

    Attributes:
        system: ``linux``, ``darwin`` or ``win32``.
        distribution: ``ID`` of /etc/os-release, such as ``ubuntu``; empty when unknown.
        manager: Package manager: apt, dnf, pacman, zypper, apk, or empty.
        container: docker, podman, kubernetes, apptainer, another word, or empty outside of containers.
        wsl: Whether this is Linux in Windows.
        environment: ``conda``, ``venv``, ``managed`` (a system Python that refuses pip, PEP 668) or ``system``.
        administrator: Whether commands need no ``sudo``.
        python: Version of this Python, such as ``3.12``.
        checkout: Folder of the source checkout that gpu-explain runs from; empty when it is installed by name.
    """

    system: str = "linux"
    distribution: str = ""
    manager: str = ""
    container: str = ""
    wsl: bool = False
    environment: str = "venv"
    administrator: bool = False
    python: str = "3.12"
    checkout: str = ""

    @property
    def tags(self) -> frozenset[str]:
        """What remedies may be given for."""
        tags = {self.system, self.distribution, self.manager, self.container, self.environment}
        tags |= {"container"} if self.container else set()
        tags |= {"wsl"} if self.wsl else set()
        return frozenset(tags - {""})

    def install(self, extra: str) -> str:
        """The command that installs an extra, or none, as this gpu-explain is installed: from a checkout or by name."""
        extra = f"[{extra}]" if extra else ""
        target = f"-e '{self.checkout}{extra}'" if self.checkout else f"'gpu-explain{extra}'"
        return self.pip(target)

    def pip(self, what: str) -> str:
        """The pip command of this Python; one that refuses pip gets an environment beside it."""
        if self.environment == "managed":
            return f"python3 -m venv gpu-explain-env && gpu-explain-env/bin/pip install {what}"
        return f"pip install {what}"

    def words(self, extra: str = "live") -> dict[str, str]:
        """The fields that every template may use."""
        return {
            "sudo": "" if self.administrator else "sudo ",
            "python": self.python,
            "pip": self.pip("").rstrip(),
            "install": self.install(extra),
            "install_light": self.install(""),
            "install_cu12": self.install("live-cu12"),
        }


_spoken_for: ContextVar[Platform | None] = ContextVar("the machine that remedies are for", default=None)


def here() -> Platform:
    """The machine that remedies are for: this one, unless :func:`speaking_for` says otherwise."""
    return _spoken_for.get() or _this()


@contextmanager
def speaking_for(platform: Platform) -> Iterator[None]:
    """Remedies made inside the block are for that machine."""
    token = _spoken_for.set(platform)
    try:
        yield
    finally:
        _spoken_for.reset(token)


@cache
def _this() -> Platform:
    return look(os.environ)


def look(environ: Mapping[str, str], root: Path = Path("/")) -> Platform:
    """A machine by its variables and its files under ``root``."""
    release = _os_release(root)
    family = (release.get("ID", ""), *release.get("ID_LIKE", "").split())
    return Platform(
        system=sys.platform,
        distribution=release.get("ID", ""),
        manager=next((_MANAGERS[name] for name in family if name in _MANAGERS), ""),
        container=_container(environ, root),
        wsl="WSL_DISTRO_NAME" in environ or "microsoft" in _read(root / "proc/version").lower(),
        environment=_environment(environ),
        administrator=hasattr(os, "geteuid") and os.geteuid() == 0,
        python=f"{sys.version_info.major}.{sys.version_info.minor}",
        checkout=_checkout(),
    )


def _checkout() -> str:
    home = Path(gpu_explain.__file__).resolve().parent.parent
    return str(home) if (home / "pyproject.toml").is_file() else ""


def _environment(environ: Mapping[str, str]) -> str:
    conda = environ.get("CONDA_PREFIX")
    if conda and Path(sys.prefix).is_relative_to(conda):
        return "conda"
    if sys.prefix != sys.base_prefix:
        return "venv"
    managed = Path(sysconfig.get_path("stdlib")) / "EXTERNALLY-MANAGED"
    return "managed" if managed.is_file() else "system"


def _container(environ: Mapping[str, str], root: Path) -> str:
    if "KUBERNETES_SERVICE_HOST" in environ:
        return "kubernetes"
    if "APPTAINER_CONTAINER" in environ or "SINGULARITY_CONTAINER" in environ:
        return "apptainer"
    if (root / "run/.containerenv").exists():
        return "podman"
    if (root / ".dockerenv").exists():
        return "docker"
    found = _CONTAINER_WORDS.search(_read(root / "proc/1/cgroup"))
    if found or _read(root / "proc/self/mounts").startswith("overlay / overlay"):
        return {"kubepods": "kubernetes", "libpod": "podman"}.get(found.group() if found else "", "docker")
    return environ.get("container", "")


def _os_release(root: Path) -> dict[str, str]:
    lines = (line.partition("=") for line in _read(root / "etc/os-release").splitlines())
    return {name: value.strip("\"' ") for name, _, value in lines if value}


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
