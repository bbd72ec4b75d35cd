"""The environment that the worker starts in: the shell's, less what would spoil its measurements."""

from __future__ import annotations

import os
import sysconfig
from collections.abc import Mapping
from pathlib import Path

import gpu_explain
from gpu_explain.scenes.base.places import cache_candidates, writable

SPOILING: dict[str, str] = {
    "CUDA_LAUNCH_BLOCKING": "every launch would wait for its kernel",
    "CUDA_DISABLE_PERF_BOOST": "the GPU would stay at low clocks",
    "CUDA_ENABLE_COREDUMP_ON_EXCEPTION": "a faulty kernel would write a core dump instead of an error",
    "CUDA_FORCE_PTX_JIT": "other code than the one shown would run",
    "CUDA_INJECTION32_PATH": "a profiler would slow every launch",
    "CUDA_INJECTION64_PATH": "a profiler would slow every launch",
    "NVTX_INJECTION32_PATH": "a profiler would slow every launch",
    "NVTX_INJECTION64_PATH": "a profiler would slow every launch",
    "NVIDIA_TF32_OVERRIDE": "fp32 would be computed in another format than the one shown",
    "PYTORCH_NO_CUDA_MEMORY_CACHING": "every allocation would wait for the GPU",
    "PYTORCH_JIT": "other code than the one shown would run",
    "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE": "fp32 would be computed in another format than the one shown",
    "TORCHDYNAMO_DISABLE": "torch.compile would do nothing",
    "TORCH_COMPILE_DISABLE": "torch.compile would do nothing",
    "TRITON_INTERPRET": "Triton kernels would run on the CPU",
    "TRITON_ALWAYS_COMPILE": "every launch would compile again",
    "TRITON_KERNEL_OVERRIDE": "other code than the one shown would run",
    "TRITON_DEBUG": "Triton kernels would carry checks",
}
"""Variables that are unset for the worker, and what each would do to a measurement."""

_OFF = {"", "0"}


def spoiling(environ: Mapping[str, str]) -> tuple[str, ...]:
    """Names of the variables that are set and would spoil measurements. Nothing is made for knowing it."""
    return tuple(name for name in SPOILING if environ.get(name, "") not in _OFF)


def worker_environment(
    inherited: Mapping[str, str] | None = None, *, bytecode: Path | None = None
) -> tuple[dict[str, str], tuple[str, ...]]:
    """The environment for the worker, and the names of the variables that were set and are not in it.

    Args:
        inherited: The shell's; this process's by default.
        bytecode: A folder for bytecode that may not lie beside the sources. By default it goes into our own cache,
            which is made for it.
    """
    environ = dict(os.environ if inherited is None else inherited)
    unset = spoiling(environ)
    for name in SPOILING:
        environ.pop(name, None)
    # The worker is started by module name, so it must find this very package: as installed it does so by
    # itself, from a checkout that is only on sys.path it does not.
    home = Path(gpu_explain.__file__).resolve().parent.parent
    if str(home) not in {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}:
        environ["PYTHONPATH"] = os.pathsep.join(filter(None, [environ.get("PYTHONPATH", ""), str(home)]))
    _keep_bytecode(environ, bytecode)
    # Captured output is for a crash report: it must not wait in a buffer when the process dies.
    environ["PYTHONUNBUFFERED"] = "1"
    return environ, unset


def _keep_bytecode(environ: dict[str, str], named: Path | None) -> None:
    """Where Python must not leave bytecode beside the sources, have the worker's kept in our own cache.

    Without any, each start compiles torch and its compiler anew: 12 s of a scene's 18 on an H200 machine.
    """
    if environ.pop("PYTHONDONTWRITEBYTECODE", "") in _OFF or "PYTHONPYCACHEPREFIX" in environ:
        return
    if named is not None:
        environ["PYTHONPYCACHEPREFIX"] = str(named)
        return
    for folder in cache_candidates(environ):
        # Python runs what it finds there: a folder that another user made is not ours to trust.
        ours = not folder.exists() or not hasattr(os, "getuid") or folder.stat().st_uid == os.getuid()
        if ours and writable(folder):
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            environ["PYTHONPYCACHEPREFIX"] = str(folder / "bytecode")
            return
    environ["PYTHONDONTWRITEBYTECODE"] = "1"


def unset_sentence(unset: tuple[str, ...]) -> str:
    """Which variables were unset and why, in one sentence; empty when none was."""
    if not unset:
        return ""
    return "Unset for the measurements: " + ", ".join(f"{name} ({SPOILING[name]})" for name in unset) + "."
