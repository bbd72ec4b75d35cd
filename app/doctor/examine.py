"""Looks at everything and says what it found."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context

from gpu_explain.app.doctor.check import Check, Examination
from gpu_explain.app.doctor.compilers import compiler_checks
from gpu_explain.app.doctor.deep import deep_checks
from gpu_explain.app.doctor.drivers import Asked, ask_machine, driver_checks, gpu_checks, neighbour_checks
from gpu_explain.app.doctor.machine import Machine
from gpu_explain.app.doctor.packages import package_checks
from gpu_explain.app.doctor.surroundings import cache_checks, profiler_checks, terminal_checks, variable_checks
from gpu_explain.app.packages import installed
from gpu_explain.scenes.base.conditions import Group, speaking_for

_FOR_LIVE = (Group.PACKAGES, Group.COMPILER, Group.CACHES, Group.VARIABLES, Group.PROFILER)
"""What only live mode needs."""

Deep = Callable[[Machine, Callable[[str], None]], Iterator[Check]]


def examine(
    machine: Machine,
    *,
    deep: bool = False,
    progress: Callable[[str], None] | None = None,
    deeply: Deep = lambda machine, progress: deep_checks(machine.environ, progress),
) -> Examination:
    """Examine a machine; ``deep`` launches kernels on it too. ``progress`` is told what takes long."""
    with speaking_for(machine.platform):
        return _examine(machine, deep, progress or _quietly, deeply)


def _examine(machine: Machine, deep: bool, progress: Callable[[str], None], deeply: Deep) -> Examination:
    began = time.perf_counter()
    with ThreadPoolExecutor(1) as beside:
        # Metadata is read while the driver starts.
        asking = beside.submit(copy_context().run, ask_machine, machine)
        packages = installed(machine.path)
        asked = asking.result()
    checks = [*driver_checks(machine, asked), *gpu_checks(asked), *neighbour_checks(machine, asked)]
    checks += package_checks(machine, asked.driver, packages)
    checks += compiler_checks(machine, asked.driver, packages)
    checks += [*cache_checks(machine), *variable_checks(machine)]
    if not deep or asked.driver is None:
        checks += profiler_checks(deep)
    checks += terminal_checks(machine)
    if not asked.gpu_here:
        checks = [_spared(check) for check in checks]
    if deep and asked.driver is not None:
        checks += deeply(machine, progress)
    order = list(Group)
    checks.sort(key=lambda check: order.index(check.group))
    return Examination(
        checks=tuple(checks),
        gpu_here=asked.gpu_here,
        seconds=time.perf_counter() - began,
        deep=deep and asked.driver is not None,
        platform=machine.platform,
        gpus=_gpus(asked),
    )


def _quietly(doing: str) -> None:
    """Nobody watches."""


def _spared(check: Check) -> Check:
    return check.spared("nothing to mend without a GPU") if check.group in _FOR_LIVE else check


def _gpus(asked: Asked) -> tuple[tuple[str, str, int], ...]:
    gpus = asked.driver.gpus if asked.driver else ()
    return tuple((gpu.name, ".".join(map(str, gpu.capability)), gpu.memory) for gpu in gpus)
