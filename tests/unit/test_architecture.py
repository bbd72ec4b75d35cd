"""The examples in ARCHITECTURE.md are true."""

from __future__ import annotations

import doctest
from pathlib import Path


def test_the_examples_in_the_architecture_document_run() -> None:
    path = Path(__file__).parents[2] / "ARCHITECTURE.md"
    result = doctest.testfile(str(path), module_relative=False)
    assert result.attempted > 10
    assert result.failed == 0
