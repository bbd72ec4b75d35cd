"""Runs the kernels of ``cuda/`` under compute-sanitizer: ``python tools/sanitise.py [tests …]``, on a GPU machine.

memcheck finds accesses outside an allocation, racecheck unordered accesses to shared memory, initcheck reads of what
nobody wrote. What runs is every test marked ``sanitised``: small launches, since each access is looked at. torch's
caching allocator is off, or an overrun that stays inside one of its blocks would pass unseen.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TOOLS = ("memcheck", "racecheck", "initcheck")
FAULT = 86
"""Exit code that compute-sanitizer is asked for when it found something."""
CLEAN, NOTHING = "clean", "nothing ran"
_PYTEST = ("-m", "pytest", "-c", os.devnull, f"--rootdir={ROOT}", "--import-mode=importlib", "-p", "no:cacheprovider")
_SUMMARY = re.compile(r"(?:ERROR SUMMARY|RACECHECK SUMMARY): (\d+) .*")
_OUTCOME = re.compile(r"\b\d+ (passed|failed|skipped|deselected|errors?)\b")
_PASSED = re.compile(r"\b([1-9]\d*) passed\b")


def main(arguments: list[str] | None = None) -> int:
    """Command line. Returns 0 when tests ran, all passed and every tool found nothing, else 1; 2 without the tool."""
    parser = argparse.ArgumentParser(description="Runs the tests marked `sanitised` under compute-sanitizer.")
    parser.add_argument("--tool", choices=TOOLS, action="append", help="only this one (repeatable)")
    parser.add_argument("tests", nargs="*", default=["tests/gpu"], help="files of tests")
    options = parser.parse_args(arguments)
    sanitizer = shutil.which("compute-sanitizer")
    if sanitizer is None:
        print("compute-sanitizer is not on the PATH: it comes with the CUDA toolkit", file=sys.stderr)
        return 2
    variables = {**os.environ, "PYTORCH_NO_CUDA_MEMORY_CACHING": "1", "PYTHONPATH": str(ROOT)}
    if extra := os.environ.get("PYTHONPATH"):
        variables["PYTHONPATH"] += os.pathsep + extra
    good = True
    for tool in options.tool or TOOLS:
        command = [sanitizer, "--tool", tool, "--error-exitcode", str(FAULT), "--print-limit", "20"]
        command += [sys.executable, *_PYTEST, "-q", "--no-header", "-m", "sanitised", "-k", "not 40", *options.tests]
        began = time.monotonic()
        told = {**variables, "SANITISER": tool}  # a test may know what a tool cannot see
        ran = subprocess.run(command, cwd=ROOT, env=told, capture_output=True, text=True, check=False)
        said, summary, tests = judge(ran.returncode, ran.stdout, ran.stderr)
        good &= said == CLEAN
        print(f"{tool:<10} {said:<12} {time.monotonic() - began:6.1f} s  {summary}  {tests}")
        if said != CLEAN:
            print(ran.stdout[-6000:], ran.stderr[-2000:], sep="\n")
    return 0 if good else 1


def judge(code: int, stdout: str, stderr: str) -> tuple[str, str, str]:
    """What one tool's run amounts to: the verdict, the tool's own summary, pytest's last line.

    The verdict is :data:`CLEAN` only when a test ran and passed and the tool says itself that it found nothing: an
    exit code of 0 is also that of tests which were all skipped, and of a tool that never attached.
    """
    summaries = list(_SUMMARY.finditer(f"{stdout}\n{stderr}"))
    summary = next((one for one in summaries if int(one[1])), summaries[-1] if summaries else None)
    lines = [line for line in stdout.splitlines() if _OUTCOME.search(line) and "SUMMARY" not in line]
    tests = lines[-1] if lines else ""
    if code:
        said = f"exit {code}"
    elif summary is not None and int(summary[1]):
        said = "found faults"
    elif summary is None or not _PASSED.search(tests):
        said = NOTHING
    else:
        said = CLEAN
    return said, summary[0] if summary else "", tests


if __name__ == "__main__":
    raise SystemExit(main())
