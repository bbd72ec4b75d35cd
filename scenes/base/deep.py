"""What ``doctor --deep`` tries, and what the process that tries it says: one JSON object a line.

Beside the data types since the app starts ``kernels/deep_check.py`` by name and neither may import the other.
"""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from gpu_explain.scenes.base.problem import Problem


@dataclass(frozen=True)
class Trial:
    """One thing that is tried.

    Attributes:
        id: Stable id.
        doing: What the progress line says.
        limit_s: Time limit in s; a hang is ended after it.
    """

    id: str
    doing: str
    limit_s: float


TRIALS = (
    Trial("open", "importing torch and opening the GPU", 120.0),
    Trial("cuda", "compiling and launching a CUDA kernel", 45.0),
    Trial("triton", "compiling and launching a Triton kernel", 60.0),
    Trial("profiler", "profiling both with CUPTI", 45.0),
    Trial("compile", "running torch.compile once", 120.0),
)
"""In the order tried; all but the first need what it opens."""


class Tried(msgspec.Struct, frozen=True):
    """What became of a trial.

    Attributes:
        id: The trial's.
        text: What is there, in a few words; empty when there is a problem.
        seconds: How long it took.
        evidence: How we know.
        problem: What went wrong.
    """

    id: str
    text: str = ""
    seconds: float = 0.0
    evidence: tuple[str, ...] = ()
    problem: Problem | None = None


_decoder: msgspec.json.Decoder[Tried] = msgspec.json.Decoder(Tried)


def encode(tried: Tried) -> bytes:
    """One line, its newline included."""
    return msgspec.json.encode(tried) + b"\n"


def decode(line: bytes) -> Tried:
    """What a line says. Raises ``msgspec.DecodeError``."""
    return _decoder.decode(line)
