"""The real worker loop on a made-up GPU.

``python -m tests.simulated.worker --requests FD --replies FD --model sms40 [--fault NAME] [--once FILE]``
"""

from __future__ import annotations

import argparse
import os
import sys
from dataclasses import replace
from pathlib import Path

from gpu_explain.kernels import worker
from tests.simulated.inprocess import simulated_kernels
from tests.simulated.made_up_session import FAULTS, MadeUpSession
from tests.simulated.models import MODELS

ROOT = Path(__file__).parent.parent.parent


def command(model: str = "sms40", fault: str = "", once: str = "") -> tuple[str, ...]:
    """The worker command that a live source takes, for a made-up GPU. It needs ``environ`` below."""
    options = (("--fault", fault), ("--once", once))
    given = (text for name, value in options if value for text in (name, value))
    return (sys.executable, "-m", "tests.simulated.worker", "--model", model, *given)


def environ() -> dict[str, str]:
    """An environment in which the command is found from any folder."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")]))}


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--requests", type=int, required=True)
    parser.add_argument("--replies", type=int, required=True)
    parser.add_argument("--device", type=int)
    parser.add_argument("--sms", type=int)
    parser.add_argument("--model", choices=sorted(MODELS), default="sms40")
    parser.add_argument("--fault", choices=FAULTS, default="")
    parser.add_argument("--once", default="")
    given = parser.parse_args()
    device = MODELS[given.model]
    if given.sms is not None:
        device = replace(device, sms=min(given.sms, device.sms_total))

    def open_session() -> MadeUpSession:
        return MadeUpSession(device, given.fault, given.once, lambda: os.write(given.replies, b"this is no reply\n"))

    with simulated_kernels():
        return worker.run(given.requests, given.replies, open_session, abandon=lambda: os._exit(1))


if __name__ == "__main__":
    sys.exit(main())
