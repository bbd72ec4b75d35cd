"""The examples in ARCHITECTURE.md are true."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_examples_in_the_architecture_document_run() -> None:
    result = doctest.testfile(str(ROOT / "ARCHITECTURE.md"), module_relative=False)
    assert result.attempted > 10
    assert result.failed == 0


def test_the_table_of_kernels_names_every_file_and_no_other() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    rows = re.findall(
        r"^\| [^|]+ \|([^|]*)\|([^|]*)\|$", text.split("## The kernels")[1].split("\n## ")[0], re.MULTILINE
    )
    cuda, kernels = ([name for row in rows[1:] for name in re.findall(r"\w+", row[column])] for column in (0, 1))
    rungs = sorted(path.stem for path in (ROOT / "cuda").glob("matmul_*.cu"))
    assert [rungs[0], rungs[-1]] == [name for name in cuda if name.startswith("matmul_")]
    there = {path.stem for path in (ROOT / "cuda").glob("*.cu")} - set(rungs)
    assert sorted(there) == sorted(name for name in cuda if name not in rungs)
    assert sorted(path.stem for path in (ROOT / "kernels").glob("*.py") if path.stem != "__init__") == sorted(kernels)
