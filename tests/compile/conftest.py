"""Compiles for GPUs that are not here: NVRTC and Triton need none."""

from __future__ import annotations

import os

import pytest


@pytest.fixture(autouse=True)
def _compiler_not_interpreter(tmp_path: object, monkeypatch: pytest.MonkeyPatch) -> None:
    if os.environ.get("TRITON_INTERPRET") == "1":
        pytest.skip("TRITON_INTERPRET=1 replaces the compiler: run tests/compile in a process of its own")
    # A kernel that was kept from an earlier run would hide that it no longer compiles.
    monkeypatch.setenv("GPU_EXPLAIN_CACHE", str(tmp_path))
