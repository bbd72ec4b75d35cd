"""Measure a scene on a made-up GPU inside the test's own process: no worker, no pipe."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from types import ModuleType

import gpu_explain.kernels
from gpu_explain.scenes.base import Device, Findings, Measurement
from gpu_explain.scenes.registry import find_scene
from tests.simulated import blocks as simulated_blocks
from tests.simulated.models import MODELS


@contextlib.contextmanager
def simulated_kernels() -> Iterator[None]:
    """Put the made-up GPU in the place of ``kernels.blocks`` for a while."""
    name = "gpu_explain.kernels.blocks"
    before, module = sys.modules.get(name), getattr(gpu_explain.kernels, "blocks", None)
    sys.modules[name] = simulated_blocks
    gpu_explain.kernels.blocks = simulated_blocks  # type: ignore[attr-defined,unused-ignore]
    try:
        yield
    finally:
        _put_back(name, before, module)


def _put_back(name: str, before: ModuleType | None, module: ModuleType | None) -> None:
    if before is None:
        del sys.modules[name]
    else:
        sys.modules[name] = before
    if module is None:
        del gpu_explain.kernels.blocks  # type: ignore[attr-defined,unused-ignore]
    else:
        gpu_explain.kernels.blocks = module  # type: ignore[attr-defined,unused-ignore]


@dataclass(frozen=True)
class SimulatedGpu:
    """The little of a session that scenes themselves use."""

    device: Device

    def progress(self, doing: str, share: float | None = None) -> None:
        """Nobody watches."""

    @contextlib.contextmanager
    def on_sms(self, sms: int) -> Iterator[SimulatedGpu]:
        """A narrower GPU."""
        yield SimulatedGpu(replace(self.device, sms=sms))


def measure(scene_id: str = "waves", model: str = "sms132", **chosen: str) -> Measurement:
    """A complete measurement of a scene on a made-up GPU."""
    scene, gpu = find_scene(scene_id), SimulatedGpu(MODELS[model])
    parts: dict[str, Findings] = {}
    with simulated_kernels():
        offered = scene.parameters(gpu.device, chosen)
        choices = {p.id: chosen.get(p.id, p.default) for p in offered}
        offered = scene.resolve(gpu, offered, choices)
        resolved = {p.id: p.choice(choices[p.id]) for p in offered}
        for part in scene.parts:
            parts[part.name] = part.measure(gpu, resolved, parts)
    return Measurement(scene_id, choices, offered, gpu.device, {"made-up": "1"}, "2026-11-29T12:00:00Z", parts)
