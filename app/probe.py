"""Asks the NVIDIA driver, in a process of its own: ``python -I -S probe.py [--context] [--device N]``.

Standard library and ctypes only, no import of ours: it must start in a blink, and a driver that crashes or hangs
takes this process along and nothing else. Says one JSON object a line, each with its ``stage``, as soon as it is
known, so that whoever asked also learns how far a driver came that hangs half way:

    {"stage": "library", "path": …}              libcuda loaded; {"missing": …} when it does not
    {"stage": "init", "error": 0, "version": 13000}
    {"stage": "devices", "error": 0, "gpus": [{"name", "capability", "sms", "memory", "mode", "watchdog", "bus"}]}
    {"stage": "nvml", "error": 0, "driver", "gpus": [{"bus", "mig", "free", "processes", "held", "busy"}]}
    {"stage": "context", "gpu": 0, "error": 0, "call": …, "free": bytes, "total": bytes}   with --context
    {"stage": "done"}

Nothing here names a process, a user or a serial number.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import signal
import sys
from typing import Any

# Numbers of cuda.h, CUdevice_attribute.
_CAPABILITY = (75, 76)
_SMS, _WATCHDOG, _MODE = 16, 17, 20

_NOT_FOUND = -1
"""Stands for the error of a library that does not load."""


def say(stage: str, **found: object) -> None:
    """One line of the answer, at once."""
    sys.stdout.write(json.dumps({"stage": stage, **found}) + "\n")
    sys.stdout.flush()


def main(arguments: list[str]) -> None:
    """The whole conversation."""
    name = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"
    say("starting")
    try:
        cuda: Any = ctypes.CDLL(name)
    except OSError as error:
        say("library", missing=str(error))
        say("done")
        return
    say("library", path=_path_of("libcuda"))
    gpus = _devices(cuda)
    _nvml([str(gpu["bus"]) for gpu in gpus])
    if "--context" in arguments and gpus:
        wanted = int(arguments[arguments.index("--device") + 1]) if "--device" in arguments else None
        for index in range(len(gpus)) if wanted is None else [wanted]:
            if _context(cuda, index):
                break
    say("done")


def _devices(cuda: Any) -> list[dict[str, object]]:
    error = cuda.cuInit(0)
    version = ctypes.c_int(0)
    cuda.cuDriverGetVersion(ctypes.byref(version))
    say("init", error=error, version=version.value)
    if error:
        return []
    count = ctypes.c_int(0)
    error = cuda.cuDeviceGetCount(ctypes.byref(count))
    gpus = [_device(cuda, index) for index in range(0 if error else count.value)]
    say("devices", error=error, gpus=gpus)
    return gpus


def _device(cuda: Any, index: int) -> dict[str, object]:
    handle, value = ctypes.c_int(), ctypes.c_int()
    cuda.cuDeviceGet(ctypes.byref(handle), index)
    text = ctypes.create_string_buffer(256)
    cuda.cuDeviceGetName(text, 256, handle)
    name = text.value.decode("utf-8", "replace")

    def attribute(which: int) -> int:
        return value.value if cuda.cuDeviceGetAttribute(ctypes.byref(value), which, handle) == 0 else 0

    memory = ctypes.c_size_t(0)
    cuda.cuDeviceTotalMem_v2(ctypes.byref(memory), handle)
    bus = ""
    if cuda.cuDeviceGetPCIBusId(text, 256, handle) == 0:
        bus = text.value.decode("ascii", "replace")
    return {
        "name": name,
        "capability": [attribute(which) for which in _CAPABILITY],
        "sms": attribute(_SMS),
        "memory": memory.value,
        "mode": attribute(_MODE),
        "watchdog": bool(attribute(_WATCHDOG)),
        "bus": bus,
    }


def _context(cuda: Any, index: int) -> bool:
    """Make a context and take a little memory, as the first line of every program does; both are given back."""
    handle, context = ctypes.c_int(), ctypes.c_void_p()
    cuda.cuDeviceGet(ctypes.byref(handle), index)
    error = cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), handle)
    if error:
        say("context", gpu=index, error=error, call="cuDevicePrimaryCtxRetain", free=0, total=0)
        return False
    cuda.cuCtxSetCurrent(context)
    free, total, memory = ctypes.c_size_t(0), ctypes.c_size_t(0), ctypes.c_uint64(0)
    cuda.cuMemGetInfo_v2(ctypes.byref(free), ctypes.byref(total))
    error = cuda.cuMemAlloc_v2(ctypes.byref(memory), ctypes.c_size_t(1 << 20))
    if not error:
        cuda.cuMemFree_v2(memory)
    cuda.cuDevicePrimaryCtxRelease_v2(handle)
    say("context", gpu=index, error=error, call="cuMemAlloc", free=free.value, total=total.value)
    return not error


class _Memory(ctypes.Structure):
    """``nvmlMemory_t`` of nvml.h."""

    _fields_ = (("total", ctypes.c_ulonglong), ("free", ctypes.c_ulonglong), ("used", ctypes.c_ulonglong))


class _Use(ctypes.Structure):
    """``nvmlUtilization_t`` of nvml.h, in percent."""

    _fields_ = (("gpu", ctypes.c_uint), ("memory", ctypes.c_uint))


class _Process(ctypes.Structure):
    """``nvmlProcessInfo_t`` of nvml.h since version 2."""

    _fields_ = (
        ("pid", ctypes.c_uint),
        ("used", ctypes.c_ulonglong),
        ("gpu_instance", ctypes.c_uint),
        ("compute_instance", ctypes.c_uint),
    )


def _nvml(buses: list[str]) -> None:
    """What NVML says of the GPUs that CUDA counts, before this process is one of those on them; of all without any."""
    try:
        nvml: Any = ctypes.CDLL("nvml.dll" if sys.platform == "win32" else "libnvidia-ml.so.1")
    except OSError as error:
        say("nvml", error=_NOT_FOUND, why=str(error), driver="", gpus=[])
        return
    answered = nvml.nvmlInit_v2()
    if answered:
        say("nvml", error=answered, driver="", gpus=[])
        return
    text = ctypes.create_string_buffer(96)
    driver = text.value.decode("ascii", "replace") if nvml.nvmlSystemGetDriverVersion(text, 96) == 0 else ""
    handles = []
    for bus in buses:
        handle = ctypes.c_void_p()
        if nvml.nvmlDeviceGetHandleByPciBusId_v2(bus.encode(), ctypes.byref(handle)) == 0:
            handles.append((bus, handle))
    if not buses:
        count = ctypes.c_uint(0)
        nvml.nvmlDeviceGetCount_v2(ctypes.byref(count))
        for index in range(count.value):
            handle = ctypes.c_void_p()
            if nvml.nvmlDeviceGetHandleByIndex_v2(index, ctypes.byref(handle)) == 0:
                handles.append(("", handle))
    say("nvml", error=0, driver=driver, gpus=[{"bus": bus, **_seen(nvml, handle)} for bus, handle in handles])
    nvml.nvmlShutdown()


def _seen(nvml: Any, handle: Any) -> dict[str, object]:
    """What NVML knows of one GPU; ``None`` for what it does not tell (as under WSL, or in a slice)."""
    memory, use = _Memory(), _Use()
    now, after = ctypes.c_uint(0), ctypes.c_uint(0)
    free = memory.free if nvml.nvmlDeviceGetMemoryInfo(handle, ctypes.byref(memory)) == 0 else None
    busy = use.gpu if nvml.nvmlDeviceGetUtilizationRates(handle, ctypes.byref(use)) == 0 else None
    mig = now.value if nvml.nvmlDeviceGetMigMode(handle, ctypes.byref(now), ctypes.byref(after)) == 0 else 0
    processes = held = None
    with contextlib.suppress(AttributeError):  # drivers before 510 have no third version
        room = (_Process * 256)()
        count = ctypes.c_uint(len(room))
        if nvml.nvmlDeviceGetComputeRunningProcesses_v3(handle, ctypes.byref(count), room) == 0:
            processes = count.value
            # All bits set: the driver does not tell.
            held = sum(one.used for one in room[: count.value] if one.used < 1 << 60)
    return {"mig": bool(mig), "free": free, "processes": processes, "held": held, "busy": busy}


def _path_of(name: str) -> str:
    """Where a loaded library lies; empty when the system does not tell."""
    with contextlib.suppress(OSError), open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:  # noqa: PTH123
        for line in maps:
            path = line.rstrip().partition("/")[2]
            if name in path.rpartition("/")[2]:
                return "/" + path
    return ""


if __name__ == "__main__":
    # Ctrl-C ends it even inside a library that hangs, where Python's own handler would never run.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    main(sys.argv[1:])
