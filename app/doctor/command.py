"""The command ``gpu-explain doctor``."""

from __future__ import annotations

import shutil
import sys

from gpu_explain.app.doctor.examine import examine
from gpu_explain.app.doctor.exchange import to_json
from gpu_explain.app.doctor.machine import this_machine
from gpu_explain.app.doctor.private import secrets_here
from gpu_explain.app.doctor.table import table
from gpu_explain.app.exits import Exit
from gpu_explain.app.report import Printer


def doctor(*, deep: bool, json: bool) -> Exit:
    """Examine this machine and print what was found; returns the exit code."""
    printer = Printer(sys.stdout, sys.stderr)
    machine = this_machine()
    try:
        examination = examine(machine, deep=deep, progress=printer.progress)
    finally:
        printer.quiet()
    secrets = secrets_here()
    if json:
        sys.stdout.flush()
        sys.stdout.buffer.write(to_json(examination, secrets))  # UTF-8, whatever the terminal can write
        sys.stdout.buffer.flush()
    else:
        printer.lines(table(examination, secrets, min(shutil.get_terminal_size((100, 24)).columns, 120)))
    return examination.exit
