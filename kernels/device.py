"""Facts about the GPU: what the driver reports, versions of what runs, and who else is there.

Only :func:`describe` must succeed. Everything that NVML alone knows (highest clock, MIG profile, neighbours) is left
empty where NVML is absent or refuses, as in many containers and under WSL.
"""

from __future__ import annotations

import importlib.metadata
import os
import platform
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gpu_explain import __version__
from gpu_explain.scenes.base import Device, Neighbour

BUSY_PERCENT = 5
"""Utilisation in percent above which an idle-looking GPU counts as used by someone (NVML rounds and lags)."""


def checked(result: tuple[Any, ...]) -> Any:
    """The value of a driver call. Raises ``RuntimeError`` with the driver's own name of the error."""
    code, *values = result
    if int(code) != 0:
        raise RuntimeError(f"{code.name} ({int(code)})")
    return values[0] if len(values) == 1 else tuple(values)


def uuid_of(ordinal: int) -> str:
    """UUID of a CUDA device as NVML spells it: ``GPU-…``, or ``MIG-…`` for a slice."""
    from cuda.bindings import driver

    raw = checked(driver.cuDeviceGetUuid(checked(driver.cuDeviceGet(ordinal)))).bytes
    digits = bytes(raw).hex()
    text = "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))
    return f"GPU-{text}"


def describe(ordinal: int, *, sm_granularity: int, timer_step_ns: int) -> Device:
    """The whole GPU of that CUDA ordinal. Raises ``RuntimeError`` when the driver does not answer."""
    from cuda.bindings import driver

    handle = checked(driver.cuDeviceGet(ordinal))
    names = driver.CUdevice_attribute

    def attribute(name: str) -> int:
        return int(checked(driver.cuDeviceGetAttribute(getattr(names, f"CU_DEVICE_ATTRIBUTE_{name}"), handle)))

    name = checked(driver.cuDeviceGetName(128, handle)).split(b"\0")[0].decode(errors="replace")
    sms = attribute("MULTIPROCESSOR_COUNT")
    warp_size = attribute("WARP_SIZE")
    threads_per_sm = attribute("MAX_THREADS_PER_MULTIPROCESSOR")
    version = int(checked(driver.cuDriverGetVersion()))
    nvml = Nvml(uuid_of(ordinal))
    try:
        clock = nvml.clock_max_mhz()
        mig = nvml.mig_profile()
        driver_version = nvml.driver_version() or _driver_version_from_kernel()
    finally:
        nvml.close()
    if not clock:
        with suppress(RuntimeError):
            clock = attribute("CLOCK_RATE") // 1000
    return Device(
        name=name.strip(),
        compute_capability=(attribute("COMPUTE_CAPABILITY_MAJOR"), attribute("COMPUTE_CAPABILITY_MINOR")),
        sms=sms,
        sms_total=sms,
        sm_granularity=sm_granularity,
        warp_size=warp_size,
        threads_per_sm=threads_per_sm,
        blocks_per_sm=attribute("MAX_BLOCKS_PER_MULTIPROCESSOR"),
        warps_per_sm=threads_per_sm // warp_size,
        threads_per_block=attribute("MAX_THREADS_PER_BLOCK"),
        registers_per_sm=attribute("MAX_REGISTERS_PER_MULTIPROCESSOR"),
        shared_per_sm=attribute("MAX_SHARED_MEMORY_PER_MULTIPROCESSOR"),
        shared_per_block=attribute("MAX_SHARED_MEMORY_PER_BLOCK_OPTIN"),
        l2_bytes=attribute("L2_CACHE_SIZE"),
        memory_bytes=int(checked(driver.cuDeviceTotalMem(handle))),
        clock_max_mhz=clock,
        driver=driver_version,
        driver_cuda=(version // 1000, version % 1000 // 10),
        timer_step_ns=timer_step_ns,
        mig=mig,
    )


def _driver_version_from_kernel() -> str:
    with suppress(OSError):
        found = re.search(r"\b\d{3}\.\d+(\.\d+)?\b", Path("/proc/driver/nvidia/version").read_text())
        if found:
            return found.group()
    return ""


def versions(driver: str) -> Mapping[str, str]:
    """Versions of what runs, by the keys of the worker protocol; a package that is absent is left out."""
    found = {"gpu_explain": __version__, "python": platform.python_version()}
    for key, package in (
        ("torch", "torch"),
        ("triton", "triton"),
        ("numpy", "numpy"),
        ("cuda_core", "cuda-core"),
        ("cuda_bindings", "cuda-bindings"),
    ):
        with suppress(importlib.metadata.PackageNotFoundError):
            found[key] = importlib.metadata.version(package)
    with suppress(Exception):  # torch's own tells the CUDA build as well: 2.11.0+cu130
        import torch

        found["torch"] = str(torch.__version__)
    with suppress(Exception):
        from gpu_explain.kernels.loader import nvrtc_version

        found["nvrtc"] = nvrtc_version()
    if driver:
        found["driver"] = driver
    return found


_CLOCKS = {"SM": 1, "memory": 2, "video": 3}  # NVML_CLOCK_SM, _MEM, _VIDEO


class Nvml:
    """NVML's view of one GPU, found by UUID since NVML and CUDA number devices differently. Never raises."""

    def __init__(self, uuid: str) -> None:
        """Open NVML; without it every answer is empty."""
        self._nvml: Any = None
        self._handle: Any = None
        self._started = False
        with suppress(Exception):
            import pynvml

            pynvml.nvmlInit()
            self._nvml, self._started = pynvml, True
            for spelling in (uuid, uuid.replace("GPU-", "MIG-", 1)):
                with suppress(pynvml.NVMLError):
                    self._handle = pynvml.nvmlDeviceGetHandleByUUID(spelling)
                    break

    def close(self) -> None:
        """Let go of NVML."""
        if self._started:
            with suppress(Exception):
                self._nvml.nvmlShutdown()
            self._started, self._handle = False, None

    def _ask(self, name: str, *arguments: Any) -> Any:
        if self._handle is None:
            return None
        with suppress(Exception):
            return getattr(self._nvml, name)(self._handle, *arguments)
        return None

    def driver_version(self) -> str:
        """Version of the driver, such as ``580.159.04``; empty when unknown."""
        if not self._started:
            return ""
        with suppress(Exception):
            found = self._nvml.nvmlSystemGetDriverVersion()
            return found.decode() if isinstance(found, bytes) else str(found)
        return ""

    def clock_max_mhz(self) -> int:
        """Highest SM clock in MHz; 0 when unknown."""
        return int(self._ask("nvmlDeviceGetMaxClockInfo", 1) or 0)  # 1 is NVML_CLOCK_SM

    def clocks_mhz(self) -> dict[str, int]:
        """The clocks now in MHz by the name of what they drive; those that NVML does not tell are left out.

        Latencies to the L2 and beyond take part of their way outside the SM's clock.
        """
        found = {name: self._ask("nvmlDeviceGetClockInfo", which) for name, which in _CLOCKS.items()}
        return {name: int(mhz) for name, mhz in found.items() if mhz}

    def mig_profile(self) -> str:
        """The MIG profile such as ``1g.5gb``; empty when MIG is off."""
        name = self._ask("nvmlDeviceGetName") or ""
        name = name.decode() if isinstance(name, bytes) else str(name)
        return name.partition(" MIG ")[2]

    def utilisation(self) -> int | None:
        """Share of the last moments in which a kernel ran, in percent; ``None`` when unknown."""
        found = self._ask("nvmlDeviceGetUtilizationRates")
        return None if found is None else int(found.gpu)

    def processes(self) -> tuple[dict[int, int], dict[int, int]]:
        """Memory in bytes by process id: of those that compute and of those that only draw."""
        found = []
        for name in ("nvmlDeviceGetComputeRunningProcesses", "nvmlDeviceGetGraphicsRunningProcesses"):
            found.append({int(p.pid): int(p.usedGpuMemory or 0) for p in self._ask(name) or ()})
        compute, drawing = found
        return compute, {pid: used for pid, used in drawing.items() if pid not in compute}


@dataclass
class Neighbours:
    """Watches for other work on the GPU.

    Made before this process opens the GPU: what appears in NVML's list when it opens is this process, under whatever
    id a container shows.
    """

    uuid: str
    _before: frozenset[int] = field(init=False)
    _own: frozenset[int] = field(init=False)
    _busy_at_start: int | None = field(init=False)

    def __post_init__(self) -> None:
        """Note who is there already, and how busy the GPU is while we do nothing."""
        self._own = frozenset({os.getpid()})
        nvml = Nvml(self.uuid)
        try:
            self._before = frozenset(nvml.processes()[0])
            self._busy_at_start = nvml.utilisation()
        finally:
            nvml.close()

    def opened(self) -> None:
        """Call once this process has opened the GPU."""
        nvml = Nvml(self.uuid)
        try:
            new = frozenset(nvml.processes()[0]) - self._before
        finally:
            nvml.close()
        if os.getpid() not in new and len(new) == 1:
            self._own |= new

    def at_start(self) -> tuple[Neighbour, ...]:
        """Processes now, and how busy the GPU was before this process used it."""
        return self.now() + _busy(self._busy_at_start)

    def now(self, *, idle: bool = False) -> tuple[Neighbour, ...]:
        """Who is there now.

        ``idle``: this process has not used the GPU for a second, so that utilisation is somebody else's.
        """
        nvml = Nvml(self.uuid)
        try:
            compute, drawing = nvml.processes()
            busy = nvml.utilisation() if idle else None
        finally:
            nvml.close()
        found = []
        for processes, word in ((compute, "other"), (drawing, "display")):
            others = {pid: used for pid, used in processes.items() if pid not in self._own}
            if others:
                many = len(others) > 1
                used = sum(others.values())  # 0 where the driver does not tell, as under WSL
                does = (
                    ("hold" if many else "holds") + f" {used / 1e9:.1f} GB"
                    if used
                    else ("are" if many else "is") + " there"
                )
                found.append(Neighbour("process", f"{len(others)} {word} process{'es' if many else ''} {does}"))
        return tuple(found) + _busy(busy)


def _busy(percent: int | None) -> tuple[Neighbour, ...]:
    if percent is None or percent <= BUSY_PERCENT:
        return ()
    return (Neighbour("utilisation", f"the GPU was busy {percent} % of the time before this measurement"),)
