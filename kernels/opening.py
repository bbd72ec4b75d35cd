"""Opens a GPU: which one, whether it can be used, and what is missing when it cannot."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

from gpu_explain.kernels.device import Neighbours, describe, uuid_of, versions
from gpu_explain.kernels.session import Session, SharedState, split_sms
from gpu_explain.scenes.base import Problem, ProblemError

OLDEST = (7, 5)
"""Compute capability below which NVRTC of CUDA 13 compiles nothing."""


def open_session(device_index: int | None = None, sms: int | None = None) -> Session:
    """Open a GPU: the one of that CUDA number, else the first usable one. Makes its stream current on this thread.

    ``sms`` narrows everything to a green context of about that many SMs. Raises :class:`ProblemError` with what is
    missing and what to do: ``no-live``, ``no-driver``, ``driver``, ``torch-cpu``, ``no-gpu``, ``gpu-unusable``.
    """
    torch = _torch()
    ordinals = _ordinals(torch, device_index)
    refused = []
    for ordinal in ordinals:
        try:
            return _open(torch, ordinal, sms)
        except ProblemError as error:
            if error.problem.id not in ("gpu-unusable", "gpu-too-old") or len(ordinals) == 1:
                raise
            refused.append(error.problem)
    raise ProblemError(
        Problem(
            "gpu-unusable",
            f"None of the {len(ordinals)} GPUs can be used",
            refused[0].why,
            refused[0].remedy,
            detail="\n".join(f"GPU {n}: {p.sentence}" for n, p in zip(ordinals, refused, strict=True)),
        )
    )


def _torch() -> Any:
    try:
        import cuda.bindings.driver
        import cuda.core  # noqa: F401
        import torch
        import triton  # noqa: F401  (found missing now rather than half way through a scene)
    except ImportError as error:
        raise ProblemError(
            Problem(
                "no-live",
                "Live mode is not installed",
                f"{error.name or 'a package'} cannot be imported",
                "pip install 'gpu-explain[live]'",
                detail=str(error),
            )
        ) from error
    return torch


def _ordinals(torch: Any, device_index: int | None) -> tuple[int, ...]:
    """CUDA numbers to try, or the problem that there are none."""
    from cuda.bindings import driver

    try:
        (code,) = driver.cuInit(0)
    except Exception as error:  # cuda.bindings raises RuntimeError when libcuda does not load
        raise ProblemError(
            Problem(
                "no-driver",
                "No NVIDIA driver is visible here",
                "libcuda.so.1 does not load",
                "Install the driver; a container needs --gpus all",
                detail=str(error),
            )
        ) from error
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if int(code) not in (0, 100):  # 100: no device
        raise ProblemError(
            Problem("driver", "The NVIDIA driver does not start", f"cuInit answers {code.name}", "gpu-explain doctor")
        )
    _, count = driver.cuDeviceGetCount() if int(code) == 0 else (0, 0)
    if not count:
        why = f"CUDA_VISIBLE_DEVICES={visible!r} hides every GPU" if visible is not None else "the driver lists none"
        raise ProblemError(Problem("no-gpu", "There is no NVIDIA GPU to use", why, "gpu-explain doctor"))
    if torch.version.cuda is None:
        raise ProblemError(
            Problem(
                "torch-cpu",
                "The installed PyTorch is the CPU build",
                f"torch {torch.__version__} has no CUDA in it",
                "pip install 'gpu-explain[live]' in a fresh environment",
            )
        )
    if device_index is None:
        return tuple(range(count))
    if not 0 <= device_index < count:
        raise ProblemError(
            Problem("no-gpu", f"There is no GPU {device_index}", f"CUDA counts {count} from 0", "nvidia-smi -L lists")
        )
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
        raise ProblemError(
            Problem(
                "gpu-unusable",
                f"GPU {ordinal} cannot be opened",
                str(error).partition("\n")[0],
                "gpu-explain doctor",
                detail=str(error),
            )
        ) from error
    if capability < OLDEST:
        raise ProblemError(
            Problem(
                "gpu-too-old",
                f"GPU {ordinal} is older than CUDA 13 supports",
                f"its compute capability is {capability[0]}.{capability[1]}, and {OLDEST[0]}.{OLDEST[1]} is needed",
                "Use the recording: gpu-explain --replay",
            )
        )
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
