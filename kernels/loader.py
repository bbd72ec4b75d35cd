"""Compiles the files of ``cuda/`` at run time and launches their kernels: NVRTC to CUBIN, no nvcc, no host compiler.

CUBIN and not PTX, because a driver older than the toolkit refuses newer PTX. What was compiled is kept on disk
under a hash of the source, its headers, the options, the architecture and NVRTC's version.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import tempfile
import time
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpu_explain.scenes.base import Problem, ProblemError
from gpu_explain.scenes.base.conditions import problem
from gpu_explain.scenes.base.places import cache_candidates

if TYPE_CHECKING:
    from gpu_explain.kernels.session import Session

CUDA_FOLDER = Path(__file__).parent.parent / "cuda"
_OPTIONS = ("--std=c++17", "--generate-line-info")
Extent = int | tuple[int, ...]
_INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)
_COMPILE_ERROR = re.compile(r"(?m)^(?P<file>[^\s(]+)\((?P<line>\d+)\): (?:catastrophic )?error: (?P<text>.+)$")


def cache_folder() -> Path | None:
    """Where compiled kernels are kept; ``None`` when no folder can be written.

    ``$GPU_EXPLAIN_CACHE``, else the platform's cache folder, else one of our own under the temporary folder.
    """
    for folder in cache_candidates(os.environ):
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            # Code is loaded from here: a folder that another user made is not ours to trust.
            if hasattr(os, "getuid") and folder.stat().st_uid != os.getuid():
                continue
            with tempfile.TemporaryFile(dir=folder):
                return folder
        except OSError:
            continue
    return None


def headers_of(source: str, folder: Path) -> dict[str, str]:
    """The own headers that a source includes, directly or not, as ``{name: text}``."""
    found: dict[str, str] = {}
    waiting = _INCLUDE.findall(source)
    while waiting:
        name = waiting.pop(0)
        path = next((p for p in (folder / name, CUDA_FOLDER / name) if p.is_file()), None)
        if name in found or path is None:  # NVRTC itself reports a header that is not there, with its line.
            continue
        found[name] = path.read_text(encoding="utf-8")
        waiting += _INCLUDE.findall(found[name])
    return found


def compile_to_cubin(path: Path, arch: str) -> bytes:
    """Compile one ``.cu`` file for an architecture such as ``sm_90``. Needs no GPU.

    Raises :class:`ProblemError`: ``cuda-compile`` with file, line and caret in its detail, ``cuda-arch`` where NVRTC
    does not know the architecture, ``cuda-source`` where the file cannot be read.
    """
    try:
        source = path.read_text(encoding="utf-8")
        headers = headers_of(source, path.parent)
    except (OSError, UnicodeDecodeError) as error:
        raise ProblemError(problem("cuda-source", file=path.name, evidence=str(error))) from error
    folder = cache_folder()
    if folder is None:
        return _nvrtc(source, path, headers, arch)
    key = hashlib.sha256()
    pieces = (nvrtc_version(), arch, *_OPTIONS, path.name, source)
    for piece in (*pieces, *sorted(name + "\0" + text for name, text in headers.items())):
        key.update(piece.encode() + b"\0\0")
    kept = folder / f"{path.stem}-{arch}-{key.hexdigest()[:32]}.cubin"
    with contextlib.suppress(OSError):
        cubin = kept.read_bytes()
        if cubin.startswith(b"\x7fELF"):
            return cubin
    cubin = _nvrtc(source, path, headers, arch)
    with contextlib.suppress(OSError):
        # Renamed into place: another worker never reads half a file.
        with tempfile.NamedTemporaryFile(dir=folder, delete=False) as new:
            new.write(cubin)
        Path(new.name).replace(kept)
    return cubin


@cache
def nvrtc_version() -> str:
    """Version of NVRTC, such as ``13.0``. Raises :class:`ProblemError` when it cannot be loaded."""
    nvrtc = _import_nvrtc()
    try:
        _, major, minor = nvrtc.nvrtcVersion()
    except Exception as error:  # cuda.bindings raises its own, undocumented, types when the library is absent
        raise _no_nvrtc(error) from error
    return f"{major}.{minor}"


def _import_nvrtc() -> Any:
    try:
        from cuda.bindings import nvrtc
    except ImportError as error:
        raise _no_nvrtc(error) from error
    return nvrtc


def _no_nvrtc(error: Exception) -> ProblemError:
    return ProblemError(
        problem(
            "no-nvrtc",
            evidence="cuda-bindings or nvidia-cuda-nvrtc is missing, or of another CUDA version than the driver",
            detail=str(error),
        )
    )


def _nvrtc(source: str, path: Path, headers: dict[str, str], arch: str) -> bytes:
    nvrtc = _import_nvrtc()
    nvrtc_version()  # a missing library becomes its sentence here
    success = nvrtc.nvrtcResult.NVRTC_SUCCESS
    result, program = nvrtc.nvrtcCreateProgram(
        source.encode(),
        path.name.encode(),
        len(headers),
        [text.encode() for text in headers.values()],
        [name.encode() for name in headers],
    )
    if result != success:
        raise ProblemError(problem("cuda-compile", file=path.name, where=f"NVRTC does not take it: {result}"))
    try:
        options = [option.encode() for option in (f"--gpu-architecture={arch}", *_OPTIONS)]
        (result,) = nvrtc.nvrtcCompileProgram(program, len(options), options)
        if result != success:
            raise ProblemError(_compile_problem(path, arch, _log(nvrtc, program), str(result)))
        _, size = nvrtc.nvrtcGetCUBINSize(program)
        cubin = b" " * size
        nvrtc.nvrtcGetCUBIN(program, cubin)
        return cubin
    finally:
        nvrtc.nvrtcDestroyProgram(program)


def _log(nvrtc: Any, program: Any) -> str:
    _, size = nvrtc.nvrtcGetProgramLogSize(program)
    log = b" " * size
    nvrtc.nvrtcGetProgramLog(program, log)
    return log.rstrip(b"\0 \n").decode(errors="replace")


def _compile_problem(path: Path, arch: str, log: str, result: str) -> Problem:
    if "gpu-architecture" in log:
        return problem("cuda-arch", evidence=f"NVRTC {nvrtc_version()} cannot compile for {arch}", detail=log)
    first = _COMPILE_ERROR.search(log)
    where = f"{first['file']}, line {first['line']}: {first['text']}" if first else result
    return problem("cuda-compile", file=path.name, where=where, detail=log or result)


@dataclass(frozen=True)
class Kernel:
    """One CUDA kernel, loaded.

    Attributes:
        name: The function's name.
        handle: The kernel as ``cuda.core`` knows it.
        registers: 32-bit registers a thread.
    """

    name: str
    handle: Any
    registers: int

    def launch(self, gpu: Session, blocks: Extent, threads: Extent, *arguments: Any, shared_bytes: int = 0) -> None:
        """Queue a launch on the session's stream.

        ``blocks`` and ``threads`` are numbers, or tuples of up to three, x first. Arguments are tensors (their address)
        and integers, which arrive as ``long long``; every parameter of a kernel in ``cuda/`` is one of the two.
        """
        from cuda.core import LaunchConfig, launch

        config = LaunchConfig(grid=blocks, block=threads, shmem_size=shared_bytes)
        values = (a if isinstance(a, int) else a.data_ptr() for a in arguments)
        launch(gpu.core_stream, config, self.handle, *values)

    def residents(self, threads: int, shared_bytes: int = 0) -> int:
        """Most blocks of that shape on one SM, by the occupancy API."""
        return int(self.handle.occupancy.max_active_blocks_per_multiprocessor(threads, shared_bytes))

    def allow_shared(self, gpu: Session, shared_bytes: int) -> None:
        """Let the kernel take that much dynamic shared memory a block.

        Also asks for the SM's largest carve-out, which is what the occupancy API reckons with.
        """
        from cuda.bindings import driver

        attribute = driver.CUfunction_attribute
        for which, value in (
            (attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, shared_bytes),
            (attribute.CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, 100),
        ):
            kernel = driver.CUkernel(int(self.handle.handle))
            (result,) = driver.cuKernelSetAttribute(which, value, kernel, driver.CUdevice(gpu.ordinal))
            if result != driver.CUresult.CUDA_SUCCESS:
                raise RuntimeError(f"cuKernelSetAttribute: {result}")


def load(gpu: Session, file: str | Path, name: str) -> Kernel:
    """The kernel ``name`` of a file of ``cuda/`` (or of a path), compiled for the session's GPU and loaded once.

    Raises :class:`ProblemError` as :func:`compile_to_cubin` does.
    """
    path = CUDA_FOLDER / file
    loaded = gpu.loaded
    if (path, name) not in loaded:
        from cuda.core import ObjectCode

        began = time.perf_counter()
        if path not in loaded:
            major, minor = gpu.device.compute_capability
            loaded[path] = ObjectCode.from_cubin(compile_to_cubin(path, f"sm_{major}{minor}"))
        handle = loaded[path].get_kernel(name)
        loaded[path, name] = Kernel(name, handle, int(handle.attributes.num_regs))
        gpu.spent_compiling(time.perf_counter() - began)
    kernel: Kernel = loaded[path, name]
    return kernel
