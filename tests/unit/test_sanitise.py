"""The sanitiser says "clean" only of tests that ran and of a tool that says so itself."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tools import sanitise

NO_ERRORS = "========= ERROR SUMMARY: 0 errors"
NO_HAZARDS = "========= RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)"


@pytest.mark.parametrize(
    ("code", "lines", "verdict"),
    [
        (0, ("20 passed, 3 deselected in 9.10s", NO_ERRORS), "clean"),
        (0, ("20 passed in 9.10s", NO_HAZARDS), "clean"),
        (0, ("20 passed, 1 skipped in 9.10s", NO_ERRORS), "clean"),
        (0, ("20 skipped in 0.10s", NO_ERRORS), "nothing ran"),
        (0, ("0 passed, 20 skipped in 0.10s", NO_ERRORS), "nothing ran"),
        (0, ("20 passed in 9.10s",), "nothing ran"),
        (0, (NO_ERRORS,), "nothing ran"),
        (0, (), "nothing ran"),
        (0, ("20 passed in 9.10s", "========= ERROR SUMMARY: 3 errors"), "found faults"),
        (0, ("20 passed in 9.10s", "========= ERROR SUMMARY: 3 errors", NO_ERRORS), "found faults"),
        (
            0,
            ("20 passed in 9.10s", "========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)"),
            "found faults",
        ),
        (1, ("1 failed, 19 passed in 9.10s", NO_ERRORS), "exit 1"),
        (5, ("20 deselected in 0.10s", NO_ERRORS), "exit 5"),
        (86, ("20 passed in 9.10s", "========= ERROR SUMMARY: 1 error"), "exit 86"),
    ],
)
@pytest.mark.parametrize("on", ["stdout", "stderr"])
def test_a_verdict(code: int, lines: tuple[str, ...], verdict: str, on: str) -> None:
    tests = "\n".join(line for line in lines if "SUMMARY" not in line)
    tool = "\n".join(line for line in lines if "SUMMARY" in line)
    streams = (f"{tests}\n{tool}", "") if on == "stdout" else (tests, tool)
    assert sanitise.judge(code, *streams)[0] == verdict


@pytest.mark.parametrize(
    ("line", "code", "says"), [("1 skipped in 0.01s", 1, "nothing ran"), ("1 passed in 0.01s", 0, "clean")]
)
def test_tests_that_were_all_skipped_are_no_clean_run(
    line: str, code: int, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    tool = tmp_path / "compute-sanitizer"
    tool.write_text(f"#!/bin/sh\necho '{line}'\necho '{NO_ERRORS}'\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    assert sanitise.main(["--tool", "memcheck"]) == code
    assert f"memcheck   {says} " in capsys.readouterr().out
