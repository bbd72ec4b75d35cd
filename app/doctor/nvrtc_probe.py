"""Loads NVRTC in a process of its own and says which architectures it knows: ``python -I -S nvrtc_probe.py PATH…``.

The first of the paths that loads is asked. One JSON object: ``{"path", "version": [major, minor], "archs": [75, …]}``,
or ``{"missing": why}``. Standard library and ctypes only; no GPU is needed.
"""

from __future__ import annotations

import ctypes
import json
import signal
import sys
from typing import Any


def main(paths: list[str]) -> None:
    """Ask the first that loads."""
    why = "no path was given"
    for path in paths:
        try:
            nvrtc: Any = ctypes.CDLL(path)
        except OSError as error:
            why = str(error)
            continue
        major, minor, count = ctypes.c_int(), ctypes.c_int(), ctypes.c_int()
        nvrtc.nvrtcVersion(ctypes.byref(major), ctypes.byref(minor))
        nvrtc.nvrtcGetNumSupportedArchs(ctypes.byref(count))
        archs = (ctypes.c_int * count.value)()
        nvrtc.nvrtcGetSupportedArchs(archs)
        said = {"path": path, "version": [major.value, minor.value], "archs": list(archs)}
        sys.stdout.write(json.dumps(said) + "\n")
        return
    sys.stdout.write(json.dumps({"missing": why}) + "\n")


if __name__ == "__main__":
    # Ctrl-C ends it even inside a library that hangs, where Python's own handler would never run.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    main(sys.argv[1:])
