"""Machine code as text, for tests of what depends on the order of instructions."""

from __future__ import annotations

import re
import subprocess
from functools import cache
from pathlib import Path

import pytest

from gpu_explain.kernels.loader import CUDA_FOLDER, compile_to_cubin

ARCHITECTURES = ("sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120")


@cache
def machine_code(source: str, arch: str, folder: Path) -> dict[str, list[str]]:
    """The instructions of each kernel of a file in cuda/, in order. Skips where triton brings no nvdisasm."""
    triton = pytest.importorskip("triton", reason="triton is not installed")
    disassembler = Path(triton.__file__).parent / "backends" / "nvidia" / "bin" / "nvdisasm"
    if not disassembler.is_file():
        pytest.skip("this triton brings no nvdisasm")
    cubin = folder / f"{source}-{arch}.cubin"
    cubin.write_bytes(compile_to_cubin(CUDA_FOLDER / source, arch))
    listed = subprocess.run([disassembler, "-c", cubin], capture_output=True, text=True, check=True).stdout
    found: dict[str, list[str]] = {}
    name = ""
    for line in listed.splitlines():
        if section := re.search(r"\.section\s+\.text\.(\w+)", line):
            name = section.group(1)
            found[name] = []
        elif code := re.match(r"\s+/\*[0-9a-f]{4,}\*/\s+(.+?)\s*;", line):
            found[name].append(code.group(1))
    return found
