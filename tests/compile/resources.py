"""What a compiled kernel takes, and what each architecture has."""

from __future__ import annotations

import re
import subprocess
import tempfile
from pathlib import Path

import pytest

SHARED_LIMIT = {80: 163 * 1024, 86: 99 * 1024, 89: 99 * 1024, 90: 227 * 1024, 100: 227 * 1024, 120: 99 * 1024}
"""Bytes of shared memory that a block may have, by architecture (CUDA C++ Programming Guide, Compute Capabilities)."""


def resources(cubin: bytes) -> tuple[int, int]:
    """Bytes of stack and of local memory a thread, where spilled registers lie. Skips where there is no cuobjdump."""
    triton = pytest.importorskip("triton", reason="triton is not installed")
    tool = Path(triton.__file__).parent / "backends" / "nvidia" / "bin" / "cuobjdump"
    if not tool.is_file():
        pytest.skip("this triton brings no cuobjdump")
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(cubin)
        file.flush()
        said = subprocess.run([tool, "-res-usage", file.name], capture_output=True, text=True, check=True).stdout
    found = re.search(r"STACK:(\d+).*?LOCAL:(\d+)", said)
    assert found is not None, said
    return int(found.group(1)), int(found.group(2))
