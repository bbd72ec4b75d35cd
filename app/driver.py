"""What the NVIDIA driver says, asked in a child process (``probe.py``), and what is wrong when it says nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gpu_explain.scenes.base import Problem
from gpu_explain.scenes.base.problem import problem

LIMIT_S = 20.0
"""Opening eight GPUs without the persistence daemon takes several seconds."""

PROBE = Path(__file__).with_name("probe.py")
VISIBLE = "CUDA_VISIBLE_DEVICES"

PROHIBITED, EXCLUSIVE = 2, 3
"""Compute modes (cuda.h, ``CUcomputemode``)."""

_NVML_MISMATCH = 18
"""``NVML_ERROR_LIB_RM_VERSION_MISMATCH`` (nvml.h)."""

_DOING = {
    "": "starting",
    "starting": "loading its library",
    "library": "starting it (cuInit)",
    "init": "counting the GPUs",
    "devices": "asking NVML",
    "nvml": "opening the GPU",
    "context": "closing the GPU",
}
"""What the probe was doing after the last stage that it told of."""


@dataclass(frozen=True)
class Gpu:
    """A GPU as the driver and NVML name it.

    Attributes:
        name: Product name.
        capability: Compute capability.
        sms: Its SMs.
        memory: Its memory, in bytes.
        mode: Compute mode: 0, :data:`PROHIBITED` or :data:`EXCLUSIVE`.
        watchdog: Whether kernels have a time limit.
        free: Free memory in bytes before we took any; ``None`` when NVML does not tell.
        processes: How many other programs compute on it; ``None`` when NVML does not tell.
        held: Memory that they hold, in bytes.
        busy: Share of the last moments in which a kernel ran, in percent; ``None`` when NVML does not tell.
    """

    name: str
    capability: tuple[int, int]
    sms: int = 0
    memory: int = 0
    mode: int = 0
    watchdog: bool = False
    free: int | None = None
    processes: int | None = None
    held: int | None = None
    busy: int | None = None

    @property
    def mig(self) -> str:
        """The MIG profile such as ``1g.5gb``; empty for a whole GPU. CUDA puts it into the name."""
        return self.name.partition(" MIG ")[2]


@dataclass(frozen=True)
class Driver:
    """What the driver said.

    Attributes:
        gpus: The visible GPUs, in CUDA's order.
        cuda: Newest CUDA version that it supports.
        version: Its own version, such as ``580.159.04``; empty when NVML does not tell.
        library: Where its library lies.
    """

    gpus: tuple[Gpu, ...]
    cuda: tuple[int, int]
    version: str = ""
    library: str = ""


@dataclass(frozen=True)
class Context:
    """An attempt to open a GPU.

    Attributes:
        gpu: Its number.
        error: CUDA's error; 0 when it went well.
        call: The call that answered so.
        free: Free memory in bytes, ours taken; 0 when it was not opened.
    """

    gpu: int
    error: int
    call: str
    free: int


@dataclass(frozen=True)
class Answer:
    """Everything the probe said.

    Attributes:
        stages: What it said, by stage.
        contexts: Its attempts to open a GPU.
        ended: ``done``, ``hung``, ``crashed`` or ``not started``.
        why: How it ended, in words, when it did not end well.
        output: What it wrote to standard error.
    """

    stages: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    contexts: tuple[Context, ...] = ()
    ended: str = "done"
    why: str = ""
    output: str = ""

    @property
    def gpus(self) -> int:
        """How many GPUs the driver counts."""
        return len(self.stages.get("devices", {}).get("gpus", ()))

    @property
    def nvml_error(self) -> int:
        """NVML's answer to its start, -1 when its library does not load, 0 when it went well or was not tried."""
        return int(self.stages.get("nvml", {}).get("error", 0))

    @property
    def mig_without_slices(self) -> bool:
        """Whether MIG is on while CUDA counts no GPU."""
        return not self.gpus and any(gpu.get("mig") for gpu in self.stages.get("nvml", {}).get("gpus", ()))


def ask(
    environ: Mapping[str, str], *, context: bool = False, device: int | None = None, limit_s: float = LIMIT_S
) -> Answer:
    """Ask the driver in a child process.

    With ``context`` it is also to open a GPU: ``device``, else the first that opens.
    """
    command = [sys.executable, "-I", "-S", str(PROBE)]
    command += ["--context"] if context else []
    command += ["--device", str(device)] if device is not None else []
    try:
        child = subprocess.run(
            command, capture_output=True, encoding="utf-8", errors="replace", timeout=limit_s, check=False, env=environ
        )
    except subprocess.TimeoutExpired as late:
        # Bytes even where text was asked for (CPython issue 87597).
        said = late.stdout.decode(errors="replace") if isinstance(late.stdout, bytes) else ""
        return _answer(said, "hung", f"It did not answer within {limit_s:.0f} seconds")
    except OSError as error:
        return _answer("", "not started", str(error))
    answer = _answer(child.stdout, "done", "", child.stderr)
    if "done" in answer.stages:
        return answer
    why = f"The process that asked it ended with code {child.returncode}"
    return _answer(child.stdout, "crashed", why, child.stderr)


def _answer(said: str, ended: str, why: str, output: str = "") -> Answer:
    stages: dict[str, Mapping[str, Any]] = {}
    contexts = []
    for line in said.splitlines():
        try:
            found = json.loads(line)
        except ValueError:
            continue  # something that the driver printed
        if not isinstance(found, dict) or "stage" not in found:
            continue
        stages[str(found["stage"])] = found
        if found["stage"] == "context":
            contexts.append(Context(int(found["gpu"]), int(found["error"]), str(found["call"]), int(found["free"])))
    if why and ended != "not started":
        why += f", while {_DOING.get(next(reversed(stages), ''), 'working')}"
    return Answer(stages, tuple(contexts), ended, why, output.strip())


def ask_driver(environ: Mapping[str, str] | None = None) -> Driver | Problem:
    """What the driver says about its GPUs, or why it says nothing."""
    environ = os.environ if environ is None else environ
    return understand(ask(environ), environ)


def understand(answer: Answer, environ: Mapping[str, str], root: Path = Path("/")) -> Driver | Problem:
    """An answer as a driver or a problem. ``root``: where /proc, /dev and /sys are looked for."""
    if answer.ended == "not started":
        return problem("driver-unknown", evidence=answer.why)
    library, init = answer.stages.get("library", {}), answer.stages.get("init")
    if "missing" in library:
        seen = hardware(root)
        evidence = f"the system says: {library['missing']}"
        if seen:
            return problem("gpu-without-driver", evidence=f"{seen}, and {evidence}", detail=str(library["missing"]))
        return problem("no-driver", evidence=evidence, detail=str(library["missing"]))
    devices = answer.stages.get("devices")
    if init is not None and (int(init["error"]) or (devices is not None and not answer.gpus)):
        return _no_gpus(answer, int(init["error"]), environ)
    if init is None or devices is None:
        id = "driver-hangs" if answer.ended == "hung" else "driver-crashes"
        return problem(id, evidence=answer.why, detail=answer.output)
    return _driver(answer)


def _driver(answer: Answer) -> Driver:
    init, nvml = answer.stages["init"], answer.stages.get("nvml", {})
    seen = {str(one["bus"]): one for one in nvml.get("gpus", ())}
    gpus = []
    for one in answer.stages["devices"]["gpus"]:
        also = dict(seen.get(str(one["bus"]), {}))
        if " MIG " in str(one["name"]):
            also["free"] = None  # NVML knows the whole card's
        major, minor = one["capability"]
        gpus.append(
            Gpu(
                name=str(one["name"]),
                capability=(int(major), int(minor)),
                sms=int(one["sms"]),
                memory=int(one["memory"]),
                mode=int(one["mode"]),
                watchdog=bool(one["watchdog"]),
                **{name: also.get(name) for name in ("free", "processes", "held", "busy")},
            )
        )
    version = int(init["version"])
    cuda = (version // 1000, version % 1000 // 10)
    return Driver(tuple(gpus), cuda, str(nvml.get("driver", "")), str(answer.stages["library"].get("path", "")))


def _no_gpus(answer: Answer, error: int, environ: Mapping[str, str]) -> Problem:
    """Why the driver starts no GPU: an error of cuInit, or a count of none."""
    evidence = f"cuInit answered {error}" if error else "It counts 0 GPUs"
    visible = environ.get(VISIBLE)
    if error in {0, 100, 101} and visible is not None:
        others = ask({name: value for name, value in environ.items() if name != VISIBLE}).gpus
        if others:
            there = "1 GPU is" if others == 1 else f"{others} GPUs are"
            return problem("hidden", evidence=f"It is set to {visible!r}, and without it {there} here")
    if answer.mig_without_slices:
        return problem("mig-empty", evidence="NVML says that MIG is on, and CUDA counts 0 GPUs")
    if answer.nvml_error == _NVML_MISMATCH:
        return problem("mismatch", evidence=f"NVML answered {_NVML_MISMATCH}")
    if error in {0, 101}:
        return problem("no-gpu", evidence=evidence)
    from gpu_explain.scenes.base.conditions import by_code  # here: a driver that works needs no catalogue

    known = by_code(error)
    id = known.id if known else "driver-error"
    if id == "driver-stub":
        evidence += f" from {answer.stages['library'].get('path') or 'it'}"
    return problem(id, evidence=evidence)


def hardware(root: Path = Path("/")) -> str:
    """How an NVIDIA GPU is seen without its driver's library, as a clause; empty when none is."""
    if any((root / "dev").glob("nvidia[0-9]*")):
        return "/dev has an NVIDIA GPU"
    if any((root / "proc/driver/nvidia/gpus").glob("*")):
        return "/proc/driver/nvidia lists a GPU"
    if (root / "dev/dxg").exists() and (root / "usr/lib/wsl/lib/libcuda.so.1").exists():
        return "/usr/lib/wsl/lib holds a driver"
    for device in (root / "sys/bus/pci/devices").glob("*"):
        if _word(device / "vendor") == "0x10de" and _word(device / "class").startswith("0x03"):
            return "an NVIDIA GPU is on the PCI bus"
    return ""


def _word(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii", errors="replace").strip()
    except OSError:
        return ""
