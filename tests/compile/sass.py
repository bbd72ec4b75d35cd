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
    return {name: code for name, (code, _) in _disassembled(source, arch, folder).items()}


def labels(source: str, arch: str, folder: Path) -> dict[str, dict[str, int]]:
    """For each kernel, which instruction each label stands before: where a branch goes."""
    return {name: found for name, (_, found) in _disassembled(source, arch, folder).items()}


@cache
def _disassembled(source: str, arch: str, folder: Path) -> dict[str, tuple[list[str], dict[str, int]]]:
    triton = pytest.importorskip("triton", reason="triton is not installed")
    disassembler = Path(triton.__file__).parent / "backends" / "nvidia" / "bin" / "nvdisasm"
    if not disassembler.is_file():
        pytest.skip("this triton brings no nvdisasm")
    cubin = folder / f"{source}-{arch}.cubin"
    cubin.write_bytes(compile_to_cubin(CUDA_FOLDER / source, arch))
    listed = subprocess.run([disassembler, "-c", cubin], capture_output=True, text=True, check=True).stdout
    found: dict[str, tuple[list[str], dict[str, int]]] = {}
    code: list[str] = []
    places: dict[str, int] = {}
    for line in listed.splitlines():
        if section := re.search(r"\.section\s+\.text\.(\w+)", line):
            code, places = [], {}
            found[section.group(1)] = code, places
        elif label := re.match(r"(\.L_\w+):", line):
            places[label.group(1)] = len(code)
        elif instruction := re.match(r"\s+/\*[0-9a-f]{4,}\*/\s+(.+?)\s*;", line):
            code.append(instruction.group(1))
    return found
