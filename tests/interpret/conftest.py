"""Triton kernels on the CPU: the interpreter has to be chosen before triton is imported, so in a process of its own."""

from __future__ import annotations

import os

import pytest


@pytest.fixture(autouse=True)
def _interpreter() -> None:
    if os.environ.get("TRITON_INTERPRET") != "1":
        pytest.skip("run with TRITON_INTERPRET=1, in a process of its own")
