"""A stand-in for ``kernels/deep_check.py`` that does what its first arguments tell it to, trial by trial.

``python -m tests.unit.scripted_deep cuda=hang triton=crash … --report FD TRIAL…``
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import time

from gpu_explain.scenes.base.conditions import problem
from gpu_explain.scenes.base.deep import Tried, encode


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("script", nargs="*")
    parser.add_argument("--report", type=int, required=True)
    script, rest = [a for a in sys.argv[1:] if "=" in a], [a for a in sys.argv[1:] if "=" not in a]
    given, trials = parser.parse_known_args(rest)
    faults = dict(one.split("=") for one in script)
    sys.stderr.write(f"started for {' '.join(given.script + trials)}\n")
    for id in [*given.script, *trials]:
        fault = faults.get(id, "")
        if fault == "hang":
            time.sleep(60)
        elif fault == "crash":
            os.kill(os.getpid(), signal.SIGSEGV)
        elif fault == "leave":
            return 3
        elif fault == "garbage":
            os.write(given.report, b"not json\n")
        elif fault == "other":
            os.write(given.report, encode(Tried("nonsense")))
        elif fault:
            met = problem(fault, doing=id, evidence="so it was told")
            os.write(given.report, encode(Tried(id, problem=met)))
            if met.sticky:
                return 1
        else:
            folders = " ".join(os.environ[name] for name in ("GPU_EXPLAIN_CACHE", "TRITON_CACHE_DIR"))
            os.write(
                given.report, encode(Tried(id, f"{id} works", 0.1, (folders, os.environ.get("TRITON_INTERPRET", ""))))
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
