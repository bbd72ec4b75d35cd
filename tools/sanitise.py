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
_PYTEST = ("-m", "pytest", "-c", os.devnull, f"--rootdir={ROOT}", "--import-mode=importlib", "-p", "no:cacheprovider")
_SUMMARY = re.compile(r"(ERROR SUMMARY|RACECHECK SUMMARY): .*")


def main(arguments: list[str] | None = None) -> int:
    """Command line. Returns 0 when every tool found nothing and every test passed, 1 otherwise, 2 without the tool."""
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
        ran = subprocess.run(command, cwd=ROOT, env=variables, capture_output=True, text=True, check=False)
        good &= ran.returncode == 0
        summary = _SUMMARY.search(ran.stdout + ran.stderr)
        tests = next((line for line in reversed(ran.stdout.splitlines()) if " passed" in line or " failed" in line), "")
        verdict = "clean" if ran.returncode == 0 else f"exit {ran.returncode}"
        print(f"{tool:<10} {verdict:<8} {time.monotonic() - began:6.1f} s  {summary[0] if summary else ''}  {tests}")
        if ran.returncode:
            print(ran.stdout[-6000:], ran.stderr[-2000:], sep="\n")
    return 0 if good else 1


if __name__ == "__main__":
    raise SystemExit(main())
