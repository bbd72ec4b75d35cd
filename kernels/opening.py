"""Opens a GPU: which one, whether it can be used, and what is missing when it cannot."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

from gpu_explain.kernels.collector import lasting
from gpu_explain.kernels.device import Neighbours, describe, uuid_of, versions
from gpu_explain.kernels.session import Session, SharedState, split_sms
from gpu_explain.scenes.base import Problem, ProblemError
from gpu_explain.scenes.base.conditions import Effect, Group, by_code, condition, problem, recognise

OLDEST = (7, 5)
"""Compute capability below which NVRTC of CUDA 13 compiles nothing."""


def open_session(device_index: int | None = None, sms: int | None = None) -> Session:
    """Open a GPU: the one of that CUDA number, else the first usable one. Makes its stream current on this thread.

    ``sms`` narrows everything to a green context of about that many SMs. Raises :class:`ProblemError` with what is
    missing and what to do; the words are those of the catalogue (``scenes/base/conditions``).
    """
    torch = _torch()
    ordinals = _ordinals(torch, device_index)
    refused = []
    for ordinal in ordinals:
        try:
            return _open(torch, ordinal, sms)
        except ProblemError as error:
            if not _of_this_gpu(error.problem) or len(ordinals) == 1:
                raise
            refused.append(error.problem)
    raise ProblemError(
        problem(
            "gpu-unusable",
            evidence=f"None of the {len(ordinals)} GPUs can be used; the first: {refused[0].what}. {refused[0].why}",
            detail="\n".join(f"GPU {n}: {p.sentence}" for n, p in zip(ordinals, refused, strict=True)),
        )
    )


def _of_this_gpu(met: Problem) -> bool:
    """Whether another GPU of the machine may do where this one does not."""
    one = condition(met.id)
    return (one.group is Group.GPU and one.effect is Effect.STOPS) or met.id == "gpu-memory"


def _torch() -> Any:
    try:
        with lasting():
            import cuda.bindings.driver
            import cuda.core  # noqa: F401
            import torch
            import triton  # noqa: F401  (found missing now rather than half way through a scene)
    except ImportError as error:
        id = "no-live" if isinstance(error, ModuleNotFoundError) else "package-broken"
        evidence = f"{error.name or 'a package'} cannot be imported: {error}"
        raise ProblemError(problem(id, evidence=evidence, detail=str(error))) from error
    return torch


def _ordinals(torch: Any, device_index: int | None) -> tuple[int, ...]:
    """CUDA numbers to try, or the problem that there are none."""
    from cuda.bindings import driver

    try:
        (code,) = driver.cuInit(0)
    except Exception as error:  # cuda.bindings raises RuntimeError when libcuda does not load
        said = str(error).partition("\n")[0]
        met = recognise(said) or condition("no-driver")
        raise ProblemError(problem(met.id, evidence=f"the system says: {said}", detail=str(error))) from error
    if int(code) not in (0, 100):  # 100: no device
        known = by_code(int(code))
        id = known.id if known else "driver-error"
        raise ProblemError(problem(id, evidence=f"cuInit answered {int(code)} ({code.name})"))
    _, count = driver.cuDeviceGetCount() if int(code) == 0 else (0, 0)
    if not count:
        visible = os.environ.get("CUDA_VISIBLE_DEVICES")
        if visible is not None:
            raise ProblemError(problem("hidden", evidence=f"It is set to {visible!r}"))
        raise ProblemError(problem("no-gpu", evidence="It counts 0 GPUs"))
    if torch.version.cuda is None:
        _, version = driver.cuDriverGetVersion()
        evidence = f"torch {torch.__version__} was built without CUDA"
        wheels = "cu130" if version >= 13000 else "cu126"
        raise ProblemError(problem("torch-cpu", evidence=evidence, wheels=wheels))
    if device_index is None:
        return tuple(range(count))
    if not 0 <= device_index < count:
        there = f"{count}, counted from 0 as CUDA does"
        raise ProblemError(problem("no-such-gpu", number=str(device_index), there=there))
    return (device_index,)


def _open(torch: Any, ordinal: int, sms: int | None) -> Session:
    neighbours = Neighbours(uuid_of(ordinal))
    capability = (0, 0)
    try:
        from cuda.core import Device as CoreDevice

        torch.cuda.set_device(ordinal)
        torch.zeros(1, device=f"cuda:{ordinal}")
        CoreDevice(ordinal).set_current()
        capability = torch.cuda.get_device_capability(ordinal)
    except Exception as error:
        said = str(error).partition("\n")[0]
        known = recognise(f"{type(error).__name__}: {error}")
        id = known.id if known else "gpu-unusable"
        evidence = f"GPU {ordinal}: {said}"
        raise ProblemError(problem(id, evidence=evidence, doing="opening it", detail=str(error))) from error
    if capability < OLDEST:
        has, least = ".".join(map(str, capability)), ".".join(map(str, OLDEST))
        why = f"GPU {ordinal} has compute capability {has}, the kernels need {least} (Turing, 2018) or newer"
        raise ProblemError(problem("gpu-too-old", evidence=why))
    neighbours.opened()
    from cuda.core import Stream

    stream = torch.cuda.Stream(ordinal)
    torch.cuda.set_stream(stream)
    device = describe(ordinal, sm_granularity=_granularity(ordinal), timer_step_ns=0)
    shared = SharedState(ordinal, neighbours)
    session = Session(shared, device, stream, Stream.from_handle(stream.cuda_stream))
    from gpu_explain.kernels.trace import timer_step_ns

    session.device = replace(device, timer_step_ns=timer_step_ns(session))
    shared.versions = versions(device.driver)
    if sms is not None and sms != device.sms:
        with session.on_sms(sms) as narrow:
            pass
        torch.cuda.set_stream(narrow.stream)
        return narrow
    return session


def _granularity(ordinal: int) -> int:
    """The step in which green contexts grow, found by asking for one SM more than the smallest; 0 without them."""
    try:
        smallest = int(split_sms(ordinal, 1).sm_count)
        return int(split_sms(ordinal, smallest + 1).sm_count) - smallest
    except Exception:  # an old driver, MIG or a cuda.core without them: all mean "not here"
        return 0
