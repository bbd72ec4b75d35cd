"""Measure a scene on a made-up GPU inside the test's own process: no worker, no pipe."""

from __future__ import annotations

import contextlib
import importlib
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from unittest import mock

import gpu_explain.kernels
from gpu_explain.scenes.base import Device, Findings, Measurement
from gpu_explain.scenes.registry import find_scene
from tests.simulated.models import MODELS

_HERE = Path(__file__).parent


def twins() -> dict[str, ModuleType]:
    """Every module here that stands for one of the same name in ``kernels/``, by the latter's full name."""
    kernels = Path(gpu_explain.kernels.__file__ or "").parent
    return {
        f"gpu_explain.kernels.{name}": importlib.import_module(f"tests.simulated.{name}")
        for name in sorted(path.stem for path in _HERE.glob("*.py"))
        if name not in ("__init__", "worker") and (kernels / f"{name}.py").exists()
    }


@contextlib.contextmanager
def simulated_kernels() -> Iterator[None]:
    """Put the made-up GPU in the place of its twins in ``kernels/`` for a while."""
    with contextlib.ExitStack() as stack:
        for full, module in twins().items():
            stack.enter_context(mock.patch.dict(sys.modules, {full: module}))
            stack.enter_context(mock.patch.object(gpu_explain.kernels, full.rpartition(".")[2], module, create=True))
        yield


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
