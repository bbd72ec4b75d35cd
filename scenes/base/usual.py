"""Parameters that several scenes offer, and what their choices rest on."""

from __future__ import annotations

from math import ceil

from gpu_explain.scenes.base.measurement import Device
from gpu_explain.scenes.base.parameter import Choice, Parameter
from gpu_explain.scenes.base.scene import Chosen

STEPS_PER_BLOCK = 50
"""A traced block lasts at least this many steps of %globaltimer, so that the step blurs its ends by under 2 %."""
_FASTEST_GHZ = 3
"""Above any SM clock sold: a wait of so many cycles a ns lasts long enough on all of them."""


def sharp_cycles(device: Device) -> int:
    """Cycles that a traced block waits at least, in round numbers: 20 000 wherever the timer is fine enough."""
    return ceil(STEPS_PER_BLOCK * device.timer_step_ns * _FASTEST_GHZ / 20_000) * 20_000


def sms_parameter(device: Device) -> Parameter:
    """How many SMs a launch may use: green contexts, where there are any."""
    return Parameter(
        "sms", "SMs", sm_choices(device), "all", unit="in use", help="A green context: a smaller GPU, for real."
    )


def sm_choices(device: Device) -> tuple[Choice, ...]:
    """The smallest green context, about a third of the GPU, and all of it."""
    every = Choice("all", device.sms)
    if not device.sm_granularity or device.sms < device.sms_total:
        return (every,)
    third = device.sms // 3 // device.sm_granularity * device.sm_granularity
    sizes = {size: name for name, size in (("third", third), ("least", device.sm_granularity)) if 0 < size < device.sms}
    return (*(Choice(sizes[size], size) for size in sorted(sizes)), every)


def language_parameter() -> Parameter:
    """CUDA or Triton."""
    return Parameter(
        "language",
        "written in",
        (Choice("CUDA", "CUDA"), Choice("Triton", "Triton")),
        "CUDA",
        help="The same kernel, written twice.",
    )


def int_of(chosen: Chosen, id: str) -> int:
    """The value of a numeric parameter."""
    return int(chosen[id].value or 0)
