"""Runs every check this machine can run, one process each, and ends with a table: ``python tools/check.py``.

Each suite has a process of its own because TRITON_INTERPRET must be set before triton is imported for one of
them and must be absent for another, and because a fault on a GPU ends the process that made it.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NOTHING_COLLECTED = 5  # pytest's exit code when no test was left to run


@dataclass(frozen=True)
class Check:
    """One command.

    Attributes:
        name: What the table calls it.
        group: ``lint`` or ``tests``.
        command: The tool and its arguments; the tool is the one of the environment that runs this.
        variables: Environment variables to set, or to remove (``None``).
        may_be_empty: Whether it is fine that every test of it is skipped for want of a GPU.
    """

    name: str
    group: str
    command: tuple[str, ...]
    variables: Mapping[str, str | None] = field(default_factory=dict)
    may_be_empty: bool = False


CHECKS = (
    Check("ruff", "lint", ("ruff", "check", ".")),
    Check("mypy", "lint", ("mypy",)),
    Check("import contracts", "lint", ("lint-imports",)),
    Check("gpu", "tests", ("pytest", "tests/gpu"), {"TRITON_INTERPRET": None}, may_be_empty=True),
    Check("interpret", "tests", ("pytest", "tests/interpret"), {"TRITON_INTERPRET": "1"}),
    Check("compile", "tests", ("pytest", "tests/compile"), {"TRITON_INTERPRET": None}),
    Check("unit and ui", "tests", ("pytest", "tests/unit", "tests/ui"), {"TRITON_INTERPRET": None}),
)


def run(check: Check, more: list[str]) -> tuple[bool, float]:
    """Run one check in the foreground. Returns whether it passed, and the seconds it took."""
    variables = dict(os.environ)
    for name, value in check.variables.items():
        variables.pop(name, None)
        if value is not None:
            variables[name] = value
    print(f"\n━━ {check.name}: {' '.join(check.command)}", flush=True)
    began = time.monotonic()
    tool = str(Path(sys.executable).parent / check.command[0])
    command = [tool, *check.command[1:], *(more if check.group == "tests" else [])]
    code = subprocess.run(command, cwd=ROOT, env=variables, check=False).returncode
    return code == 0 or (code == NOTHING_COLLECTED and check.may_be_empty), time.monotonic() - began


def main(arguments: list[str] | None = None) -> int:
    """Command line. Returns 0 when every check passed, else 1; all of them run either way."""
    parser = argparse.ArgumentParser(description="Runs the checks and prints a table of what passed.")
    parser.add_argument("--only", choices=["lint", "tests"], help="one group")
    parser.add_argument("pytest", nargs="*", help="more arguments for pytest, after --")
    options = parser.parse_args(arguments)
    outcomes = [(c, *run(c, options.pytest)) for c in CHECKS if options.only in (None, c.group)]
    print("\n━━ all checks")
    for check, passed, seconds in outcomes:
        print(f"{'✓' if passed else '✗'} {check.name:<18}{seconds:7.1f} s")
    return 0 if all(passed for _, passed, _ in outcomes) else 1


if __name__ == "__main__":
    raise SystemExit(main())
