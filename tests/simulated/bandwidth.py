"""A made-up GPU behind the interface of ``kernels/bandwidth.py``. Only tests use it."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gpu_explain.scenes.base import SourceText, Timing
from tests.simulated.chase import CLOCK_GHZ, DRAM, FAR, L1, NEAR, hits

LANGUAGES = ("CUDA", "Triton")
GRANULE = 64 * 1024
PER_SM = 32 << 20
BYTES_A_CYCLE = {L1: 110.0, NEAR: 48.0, FAR: 38.0}
DRAM_GB_PER_S = 3000.0


@dataclass(frozen=True)
class Read:
    """As ``kernels.bandwidth.Read``."""

    footprint: int
    bytes: int
    timing: Timing

    def rate(self, us: float) -> float:
        """GB/s when the launch takes ``us``."""
        return self.bytes / us / 1e3

    @property
    def gb_per_s(self) -> float:
        """GB/s by the median."""
        return self.rate(self.timing.median_us)


def read_footprints(
    gpu: Any, *, footprints: Sequence[int], languages: Sequence[str] = LANGUAGES, samples: int = 7
) -> dict[str, tuple[Read, ...]]:
    """Rates by the distance that answers; all SMs share DRAM."""
    return {language: _read(gpu, language, footprints, samples) for language in languages}


def _read(gpu: Any, language: str, footprints: Sequence[int], samples: int) -> tuple[Read, ...]:
    sms = gpu.device.sms
    rates = {far: sms * wide * CLOCK_GHZ for far, wide in BYTES_A_CYCLE.items()}
    rates[DRAM] = min(DRAM_GB_PER_S, rates[FAR] * 0.9)
    found = []
    for size in footprints:
        noise = random.Random(size)
        us = sum(share * sms * PER_SM / rates[far] / 1e3 for far, share in hits(gpu.device, size).items())
        us *= 1.03 if language == "Triton" else 1.0
        timing = Timing(
            tuple(us * (1 + noise.random() * 0.004) + 3.5 for _ in range(samples)),
            (CLOCK_GHZ * 1000,) * samples,
            3.5,
            method="simulated",
        )
        found.append(Read(size, sms * PER_SM, timing))
    return tuple(found)


def read_host(gpu: Any, *, size: int = 32 << 20, samples: int = 7) -> Read:
    """A bus of 50 GB/s."""
    return Read(size, size, Timing((size / 50e3,) * samples, (CLOCK_GHZ * 1000,) * samples, 3.5, method="simulated"))


def sources(language: str) -> tuple[SourceText, ...]:
    """A stand-in for the file that ran, marked as such."""
    text = f"// simulated reading in {language}\nread();\n"
    return (SourceText(f"tests/simulated/bandwidth.{language}", "cuda", text, {"read": (2, 2)}),)
