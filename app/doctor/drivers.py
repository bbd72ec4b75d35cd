"""The driver, the GPUs and who else is on them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace

from gpu_explain.app.detect import LEAST_CAPABILITY
from gpu_explain.app.doctor.check import Check, beside, found, unknown, wrong
from gpu_explain.app.doctor.machine import Machine
from gpu_explain.app.driver import EXCLUSIVE, PROHIBITED, VISIBLE, Answer, Driver, Gpu, ask, hardware, understand
from gpu_explain.scenes.base import Problem
from gpu_explain.scenes.base.conditions import Effect, Group, by_code, condition, problem

DOT_CAPABILITY = (8, 0)
"""Triton supports compute capability 8.0 and newer; below it ``tl.dot`` becomes plain arithmetic."""

BUSY_PERCENT = 5
"""As in ``kernels/device.py``: NVML rounds and lags."""

_TIGHT_BYTES, _TIGHT_SHARE = 1e9, 0.1
_OUT_OF_MEMORY = 2


@dataclass(frozen=True)
class Asked:
    """What the driver said, and what it means.

    Attributes:
        answer: What the child process said.
        driver: The driver; ``None`` when it does not start.
        problem: Why it does not.
        seen: How an NVIDIA GPU is seen without it, as a clause.
    """

    answer: Answer
    driver: Driver | None
    problem: Problem | None
    seen: str

    @property
    def gpu_here(self) -> bool:
        """Whether there is an NVIDIA GPU, usable or not."""
        if self.driver is not None or self.seen:
            return True
        assert self.problem is not None
        return condition(self.problem.id).effect is Effect.STOPS


def ask_machine(machine: Machine) -> Asked:
    """Ask the driver, and have it open a GPU."""
    answer = ask(machine.environ, context=True, limit_s=machine.limit_s)
    met = understand(answer, machine.environ, machine.root)
    seen = hardware(machine.root)
    if isinstance(met, Problem):
        return Asked(answer, None, met, seen)
    return Asked(answer, met, None, seen)


def driver_checks(machine: Machine, asked: Asked) -> Iterator[Check]:
    """The driver's library, NVML, the device files and the variable that hides GPUs."""
    group, driver = Group.DRIVER, asked.driver
    if driver is None:
        assert asked.problem is not None
        evidence = [f"{VISIBLE}={machine.environ[VISIBLE]!r}"] if VISIBLE in machine.environ else []
        yield wrong("driver", group, asked.problem, *([asked.seen] if asked.seen else []), *evidence)
    else:
        name = f"driver {driver.version} " if driver.version else "driver "
        yield found("driver", group, f"{name}(CUDA {driver.cuda[0]}.{driver.cuda[1]})", driver.library)
    yield from _device_files(machine)
    if driver is None:
        return
    if machine.environ.get(VISIBLE) is not None:
        yield found("visible", group, f"{VISIBLE}={machine.environ[VISIBLE]}: {_count(len(driver.gpus), 'GPU')} seen")
    if asked.answer.nvml_error:
        why = str(asked.answer.stages["nvml"].get("why", "")) or f"NVML answered {asked.answer.nvml_error}"
        yield unknown("nvml", group, "NVML does not answer", problem=problem("no-nvml", evidence=why))
    elif "nvml" in asked.answer.stages:
        yield found("nvml", group, "NVML answers")


def _device_files(machine: Machine) -> Iterator[Check]:
    files = [*sorted((machine.root / "dev").glob("nvidia[0-9]*")), machine.root / "dev/nvidiactl"]
    there = [file for file in files if file.exists()]
    shut = [f"/dev/{file.name}" for file in there if not os.access(file, os.R_OK | os.W_OK)]
    if shut:
        evidence = f"May not be opened: {', '.join(shut)}"
        yield wrong("device-files", Group.DRIVER, problem("no-permission", evidence=evidence))
    elif there:
        yield found("device-files", Group.DRIVER, f"/dev/{there[0].name} may be opened")


def gpu_checks(asked: Asked) -> Iterator[Check]:
    """Each GPU, its settings, and whether one can be opened."""
    if asked.driver is None:
        yield beside("gpu", Group.GPU, "no GPU to look at: the driver lists none")
        return
    once_opened = {one.gpu: one.free for one in asked.answer.contexts if not one.error}
    for index, gpu in enumerate(asked.driver.gpus):
        number = f" {index}" if len(asked.driver.gpus) > 1 else ""
        free = once_opened.get(index) if gpu.free is None else gpu.free
        yield from _gpu(replace(gpu, free=free), f"gpu{number.strip()}", f"GPU{number}: " if number else "")
    yield _opening(asked)


def _gpu(gpu: Gpu, id: str, label: str) -> Iterator[Check]:
    group, name = Group.GPU, f"{label}{gpu.name}"
    has = ".".join(map(str, gpu.capability))
    memory = f"{gpu.memory / 1e9:.0f} GB" + (f" ({gpu.free / 1e9:.0f} free)" if gpu.free is not None else "")
    if gpu.capability < LEAST_CAPABILITY:
        least = ".".join(map(str, LEAST_CAPABILITY))
        evidence = f"{name} has compute capability {has}, the kernels need {least} (Turing, 2018) or newer"
        yield wrong(id, group, problem("gpu-too-old", evidence=evidence))
    else:
        yield found(id, group, f"{name}, compute {has}, {gpu.sms} SMs, {memory}")
    if LEAST_CAPABILITY <= gpu.capability < DOT_CAPABILITY:
        evidence = f"{name} has compute capability {has}"
        yield wrong(f"{id}-dot", group, problem("no-tensor-dot", evidence=evidence))
    if gpu.mode == PROHIBITED:
        evidence = f"The compute mode of {name} is Prohibited"
        yield wrong(f"{id}-mode", group, problem("gpu-prohibited", evidence=evidence))
    elif gpu.mode == EXCLUSIVE:
        evidence = f"The compute mode of {name} is Exclusive Process"
        yield wrong(f"{id}-mode", group, problem("gpu-exclusive", evidence=evidence))
    else:
        yield found(f"{id}-mode", group, f"{label}open to several programs")
    if gpu.mig:
        evidence = f"Its profile is {gpu.mig}, with {gpu.sms} SMs"
        yield wrong(f"{id}-mig", group, problem("mig-slice", evidence=evidence))
    else:
        yield beside(f"{id}-mig", group, f"{label}no MIG slice")
    if gpu.watchdog:
        evidence = f"Kernels on {name} have a time limit"
        yield wrong(f"{id}-watchdog", group, problem("watchdog", evidence=evidence))
    else:
        yield beside(f"{id}-watchdog", group, f"{label}no display watchdog")
    if gpu.free is not None and gpu.free < max(_TIGHT_BYTES, _TIGHT_SHARE * gpu.memory):
        evidence = f"{gpu.free / 1e9:.1f} of {gpu.memory / 1e9:.1f} GB are free on {name}"
        yield wrong(
            f"{id}-memory",
            group,
            problem("gpu-full", mig=bool(gpu.mig), evidence=evidence),
        )


def _opening(asked: Asked) -> Check:
    """Whether a context can be made, which is where exclusive modes, full memory and broken drivers show."""
    group, answer = Group.GPU, asked.answer
    opened = [one for one in answer.contexts if not one.error]
    if opened:
        return found("opens", group, f"opens ({opened[0].free / 1e9:.0f} GB free once opened)")
    if answer.ended == "hung":
        return unknown("opens", group, "opening it hangs", problem=problem("driver-hangs", evidence=answer.why))
    if answer.ended == "crashed":
        met = problem("driver-crashes", evidence=answer.why, detail=answer.output)
        return unknown("opens", group, "opening it crashes", problem=met)
    if not answer.contexts:
        return unknown("opens", group, "opening it was not tried")
    first = answer.contexts[0]
    known = by_code(first.error)
    id = known.id if known and known.effect is Effect.STOPS else "gpu-unusable"
    evidence = f"{first.call} answered {first.error} on GPU {first.gpu}"
    evidence += ": its memory is full" if first.error == _OUT_OF_MEMORY else ""
    return wrong("opens", group, problem(id, evidence=evidence))


def neighbour_checks(machine: Machine, asked: Asked) -> Iterator[Check]:
    """Other programs on the GPUs, and MPS. No names and no process ids: those are other people's."""
    group = Group.NEIGHBOURS
    if asked.driver is None:
        yield beside("neighbours", group, "no GPU to share")
        return
    for index, gpu in enumerate(asked.driver.gpus):
        number = f" {index}" if len(asked.driver.gpus) > 1 else ""
        id, label = f"neighbours{number.strip()}", f"GPU{number}: " if number else ""
        if gpu.processes is None and gpu.busy is None:
            yield unknown(id, group, f"{label}NVML does not say who else is there")
        elif gpu.processes or (gpu.busy or 0) > BUSY_PERCENT:
            yield wrong(id, group, problem("neighbours", evidence=_others(gpu, label)))
        else:
            yield found(id, group, f"{label}nobody else")
    pipe = machine.environ.get("CUDA_MPS_PIPE_DIRECTORY")
    control = machine.root / (pipe or "/tmp/nvidia-mps").lstrip("/") / "control"
    if pipe or control.exists():
        evidence = f"CUDA_MPS_PIPE_DIRECTORY={pipe}" if pipe else "/tmp/nvidia-mps/control is there"
        yield wrong("mps", group, problem("mps", evidence=evidence))
    else:
        yield beside("mps", group, "no MPS")


def _others(gpu: Gpu, label: str) -> str:
    """Who else is there, as a sentence without a full stop."""
    said = []
    if gpu.processes:
        held = f" holding {gpu.held / 1e9:.1f} GB" if gpu.held else ""
        said.append(_count(gpu.processes, "other program") + held)
    if (gpu.busy or 0) > BUSY_PERCENT:
        said.append(f"kernels ran {gpu.busy} % of the time")
    text = f"{label}{', '.join(said)}"
    return text + (" (of the whole card)" if gpu.mig else "")


def _count(number: int, thing: str) -> str:
    return f"{number} {thing}{'' if number == 1 else 's'}"
