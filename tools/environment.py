"""Sets up ``.venv`` with what this machine can use: ``python3 tools/environment.py run|test``.

No GPU: the light set that replays recordings, in seconds. An NVIDIA GPU: the ``live`` extra too, beside the
torch that this Python already has, where it has one that fits, so that no gigabytes are downloaded twice.
Needs the standard library only, and nothing happens when all is in place already.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.metadata
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import venv
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ENVIRONMENT = ROOT / ".venv"
FIRST_CUDA_13_DRIVER = 580
FIRST_TORCH = (2, 9)
# What a torch build decides for everyone: pins of another build's stack must not be laid over it.
_GPU_STACK = re.compile(r"^(torch|triton|numpy|cuda[-_]|nvidia[-_](?!ml))", re.IGNORECASE)


@dataclass(frozen=True)
class Torch:
    """A torch that a Python already has: its version and the CUDA it was built for (empty: a CPU build)."""

    version: str
    cuda: str


@dataclass(frozen=True)
class Machine:
    """What decides which packages are installed.

    Attributes:
        python: Version of the Python that runs this, ``(major, minor)``.
        driver: Version of the NVIDIA driver, such as ``580.159.04``; empty without a usable GPU.
        torch: The torch that this Python has, if any.
        folders: Where this Python keeps its packages.
    """

    python: tuple[int, int]
    driver: str
    torch: Torch | None
    folders: tuple[str, ...]


@dataclass(frozen=True)
class Plan:
    """What goes into ``.venv``.

    Attributes:
        why: One sentence for the person who waits.
        extras: Extras of ``pyproject.toml``.
        reuse: Folders of packages to see from inside ``.venv``.
        pins: Lines of pip's constraints file.
    """

    why: str
    extras: tuple[str, ...]
    reuse: tuple[str, ...]
    pins: tuple[str, ...]


def plan(machine: Machine, purpose: str, cpu_pins: Iterable[str], gpu_pins: Iterable[str]) -> Plan:
    """Decide what to install for ``run`` or ``test`` on a machine. Pure."""
    dev = ("dev",) if purpose == "test" else ()
    if not machine.driver:
        if purpose == "test":
            return Plan("No NVIDIA GPU here: every test but those on a GPU.", ("dev", "live"), (), tuple(cpu_pins))
        return Plan("No NVIDIA GPU here: the light set, which plays recordings.", (), (), tuple(cpu_pins))

    modern = int(machine.driver.split(".")[0]) >= FIRST_CUDA_13_DRIVER
    seen = f"An NVIDIA GPU with driver {machine.driver} is here"
    if machine.torch and fits(machine.torch, modern=modern):
        live = "live" if machine.torch.cuda.startswith("13") else "live-cu12"
        return Plan(
            f"{seen}, and this Python's torch {machine.torch.version} is reused.",
            (*dev, live),
            machine.folders,
            (*matching(gpu_pins, machine.torch.version), f"torch=={machine.torch.version}"),
        )
    if modern:
        return Plan(f"{seen}: torch is downloaded, some gigabytes, once.", (*dev, "live"), (), tuple(gpu_pins))
    # From 2.11 on, the torch that a plain `pip install` finds is built for CUDA 13.
    older = (*without_gpu_stack(gpu_pins), "torch<2.11")
    return Plan(f"{seen}: a torch for CUDA 12 is downloaded, some gigabytes, once.", (*dev, "live-cu12"), (), older)


def fits(torch: Torch, *, modern: bool) -> bool:
    """Whether an installed torch can be used: new enough, with CUDA, and not with a newer CUDA than the driver's."""
    numbers = tuple(int(part) for part in re.findall(r"\d+", torch.version)[:2])
    major = torch.cuda.split(".")[0]
    return numbers >= FIRST_TORCH and (major == "12" or (major == "13" and modern))


def matching(pins: Iterable[str], version: str) -> tuple[str, ...]:
    """The pins when they were made for this torch, else only those that no torch build decides."""
    lines = tuple(pins)
    if f"torch=={version.split('+')[0]}" in lines:
        return tuple(line for line in lines if not line.startswith("torch=="))
    return without_gpu_stack(lines)


def without_gpu_stack(pins: Iterable[str]) -> tuple[str, ...]:
    """The pins that no torch build decides."""
    return tuple(line for line in pins if not _GPU_STACK.match(line))


def read_pins(path: Path) -> tuple[str, ...]:
    """The lines of a constraints file, comments left out."""
    lines = (line.split("#")[0].strip() for line in path.read_text(encoding="utf-8").splitlines())
    return tuple(line for line in lines if line)


def look() -> Machine:
    """The machine that this runs on."""
    folders = tuple(p for p in sys.path if Path(p).name in {"site-packages", "dist-packages"} and Path(p).is_dir())
    driver = driver_version()
    return Machine(sys.version_info[:2], driver, own_torch() if driver else None, folders)


def driver_version() -> str:
    """Version of the NVIDIA driver when a GPU answers, else an empty string."""
    smi = shutil.which("nvidia-smi") or "/usr/lib/wsl/lib/nvidia-smi"
    try:
        asked = subprocess.run(
            [smi, "--query-gpu=driver_version", "--format=csv,noheader"],
            capture_output=True,
            text=True,
            timeout=30,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return _driver_of_kernel_module()
    found = re.search(r"\d+(\.\d+)+", asked.stdout)
    return found.group() if found else ""


def _driver_of_kernel_module() -> str:
    """The same from the kernel module, for containers that hold the driver but not its tools."""
    if not any(Path("/dev").glob("nvidia[0-9]*")):
        return ""
    try:
        text = Path("/proc/driver/nvidia/version").read_text(encoding="utf-8")
    except OSError:
        return ""
    found = re.search(r"\b\d{3,}(\.\d+)+", text)
    return found.group() if found else ""


def own_torch() -> Torch | None:
    """The torch of the Python that runs this, read without importing it (that takes seconds)."""
    spec = importlib.util.find_spec("torch")
    if spec is None or spec.origin is None:
        return None
    text = (Path(spec.origin).parent / "version.py").read_text(encoding="utf-8")
    cuda = re.search(r"^cuda\b[^=]*= *['\"]([\d.]+)['\"]", text, re.MULTILINE)
    try:
        return Torch(importlib.metadata.version("torch"), cuda.group(1) if cuda else "")
    except importlib.metadata.PackageNotFoundError:
        return None


def fingerprint(wanted: Plan) -> str:
    """Changes whenever something has to be installed anew."""
    what = json.dumps([asdict(wanted), (ROOT / "pyproject.toml").read_text(encoding="utf-8"), sys.version, sys.prefix])
    return hashlib.sha256(what.encode()).hexdigest()


def build(wanted: Plan, purpose: str) -> None:
    """Bring ``.venv`` to the plan. Ends the program with a sentence when that is impossible."""
    stamp = ENVIRONMENT / "environment.json"
    done = _read_stamp(stamp)
    now = fingerprint(wanted)
    if done.get(purpose) == now and (ENVIRONMENT / "bin" / "gpu-explain").exists():
        return
    print(f"{wanted.why} Setting up {ENVIRONMENT.name} …", flush=True)
    base = f"{sys.version} at {sys.prefix}"
    has_pip = any((ENVIRONMENT / "lib").glob("python3*/site-packages/pip"))
    if done.get("python", base) != base or not has_pip or not (ENVIRONMENT / "bin" / "python").exists():
        _create()
        done = {}
    packages = next((ENVIRONMENT / "lib").glob("python3*/site-packages"))
    link = packages / "gpu_explain_reuses_torch.pth"
    link.unlink(missing_ok=True)
    if wanted.reuse:
        link.write_text("\n".join(wanted.reuse) + "\n", encoding="utf-8")
    pins = ENVIRONMENT / "constraints.txt"
    pins.write_text("\n".join(wanted.pins) + "\n", encoding="utf-8")
    # The build backend from the same pins and no environment of its own, which would know no pins.
    _pip(pins, "setuptools>=77", quiet=True)
    target = f"{ROOT}[{','.join(wanted.extras)}]" if wanted.extras else str(ROOT)
    downloads_torch = bool({"live", "live-cu12"} & set(wanted.extras)) and not wanted.reuse
    _pip(pins, "--no-build-isolation", "--editable", target, quiet=not downloads_torch)
    stamp.write_text(json.dumps({**done, "python": base, purpose: now}), encoding="utf-8")


def _read_stamp(stamp: Path) -> dict[str, str]:
    """What was set up before; nothing when the stamp is missing or damaged."""
    try:
        found = json.loads(stamp.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return {str(key): str(value) for key, value in found.items()} if isinstance(found, dict) else {}


def _create() -> None:
    """A fresh ``.venv``, with pip."""
    if importlib.util.find_spec("ensurepip") is None:
        name = f"python{sys.version_info.major}.{sys.version_info.minor}"
        sys.exit(f"{name} cannot make virtual environments: apt-get install {name}-venv (or the like), then again.")
    venv.create(ENVIRONMENT, with_pip=True, clear=True, symlinks=True)


def _pip(pins: Path, *arguments: str, quiet: bool) -> None:
    """Install into ``.venv``. Ends the program when pip fails, after pip's own words."""
    command = [str(ENVIRONMENT / "bin" / "python"), "-m", "pip", "install", "--disable-pip-version-check"]
    command += ["--quiet"] if quiet else []
    # The variable as well as the option, so that environments which pip makes on the way know the pins too.
    surroundings = os.environ | {"PIP_CONSTRAINT": str(pins)}
    if subprocess.run([*command, "--constraint", str(pins), *arguments], env=surroundings, check=False).returncode:
        sys.exit("pip could not install what gpu-explain needs: its message is above.")


def main(arguments: list[str] | None = None) -> None:
    """Command line: ``run`` for using gpu-explain, ``test`` for its tests and checks."""
    parser = argparse.ArgumentParser(description="Sets up .venv with what this machine can use.")
    parser.add_argument("purpose", choices=["run", "test"])
    purpose = parser.parse_args(arguments).purpose
    cpu, gpu = (read_pins(ROOT / f"constraints-{name}.txt") for name in ("cpu", "h200"))
    build(plan(look(), purpose, cpu, gpu), purpose)


if __name__ == "__main__":
    main()
