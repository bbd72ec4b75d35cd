"""What can be changed in ``sm-map``, and what the choices mean on the GPU at hand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpu_explain.scenes.base import Choice, Chosen, Device, Parameter
from gpu_explain.scenes.base.usual import int_of, language_parameter, sharp_cycles, sms_parameter

MILLION = 1_000_000
MOST_BLOCKS = 100_000
"""Blocks that may be typed: beyond that the recording, not the GPU, takes the time."""


def parameters(device: Device, chosen: Mapping[str, str]) -> tuple[Parameter, ...]:
    """Elements are one block's worth, half as many blocks as SMs, and a million; see :func:`resolve`."""
    sizes = [n for n in (device.warp_size, 256, 1024) if n <= device.threads_per_block]
    threads = int(chosen.get("threads", "256"))
    return (
        Parameter(
            "elements",
            "elements",
            (Choice("one-block"), Choice("half-the-SMs"), Choice("million", MILLION)),
            "million",
            typed=(1, MOST_BLOCKS * threads),
            help="One thread for each: enough for one block, for half as many blocks as SMs, or a million.",
        ),
        Parameter(
            "threads",
            "threads",
            tuple(Choice(str(n), n) for n in sizes),
            "256",
            unit="a block",
            help="Threads in a block: elements ÷ threads, rounded up, is the number of blocks.",
        ),
        Parameter(
            "work",
            "work",
            (Choice("uneven", "uneven"), Choice("alike", "alike")),
            "uneven",
            help="How long each block waits: a while of its own, as blocks of real work do, or all the same.",
        ),
        sms_parameter(device),
        language_parameter(),
    )


def launch_of(device: Device, chosen: Chosen) -> dict[str, Any]:
    """The arguments of :func:`gpu_explain.kernels.grid.record` that the choices give.

    Blocks that work alike wait twice as long as their trace needs to be sharp; uneven ones half to one and a half of
    that.
    """
    sharp = sharp_cycles(device)
    uneven = chosen["work"].value == "uneven"
    return {
        "language": str(chosen["language"].value),
        "elements": int_of(chosen, "elements"),
        "threads": int_of(chosen, "threads"),
        "least": sharp if uneven else 2 * sharp,
        "spread": 2 * sharp if uneven else 0,
    }


def resolve(gpu: Any, offered: tuple[Parameter, ...], chosen: Mapping[str, str]) -> tuple[Parameter, ...]:
    """Fill in the numbers of elements: they follow the block size and the SMs in use."""
    now = {p.id: p.choice(chosen[p.id]) for p in offered}
    threads = int_of(now, "threads")
    with gpu.on_sms(int_of(now, "sms")) as narrowed:
        sms = narrowed.device.sms
    counts: dict[str, int | str] = {"one-block": threads, "half-the-SMs": max(sms // 2, 1) * threads}
    return tuple(p.resolved(counts) if p.id == "elements" else p for p in offered)
