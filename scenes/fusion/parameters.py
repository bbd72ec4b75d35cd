"""What can be changed in ``fusion``, and what the choices mean on the GPU at hand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from gpu_explain.scenes.base import Choice, Device, Parameter

NAMES = {"eager": "eager", "compile": "torch.compile", "triton": "Triton", "cuda": "CUDA"}
"""What the entrants are called on the screen."""
SIZES = {"2^20": 2**20, "2^24": 2**24}
"""The sizes offered below the largest one."""
LARGEST = "largest"
MOST = 2**28


def parameters(device: Device, chosen: Mapping[str, str]) -> tuple[Parameter, ...]:
    """Sizes that this memory can take, and who races against eager; ``largest`` follows the free memory."""
    # Five arrays of four bytes in a quarter of the memory, and what fits twice is offered beside the largest.
    roomy = {id: n for id, n in SIZES.items() if 2 * 5 * 4 * n <= device.memory_bytes / 4}
    return (
        Parameter(
            "n",
            "n",
            (*(Choice(id, n, about(n)) for id, n in roomy.items()), Choice(LARGEST)),
            LARGEST,
            typed=(1024, MOST),
            help="How many numbers are added; the largest is what fits in a quarter of the free memory, at most 2^28.",
        ),
        Parameter(
            "racer",
            "race",
            tuple(
                Choice(id, id, label) for id, label in (("triton", "Triton"), ("compile", "compile"), ("cuda", "CUDA"))
            ),
            "triton",
            help="Which fused kernel races against eager: written in Triton, by torch.compile, or in CUDA C++.",
        ),
    )


def resolve(gpu: Any, offered: tuple[Parameter, ...], chosen: Mapping[str, str]) -> tuple[Parameter, ...]:
    """Fill in the largest size: what fits in a quarter of the memory that is free now."""
    from gpu_explain.kernels import fusion

    most = fusion.most_elements(gpu)

    def filled(parameter: Parameter) -> Parameter:
        choices = tuple(replace(c, value=most, label=about(most)) if c.id == LARGEST else c for c in parameter.choices)
        return replace(parameter, choices=choices)

    return tuple(filled(p) if p.id == "n" else p for p in offered)


def about(n: int) -> str:
    """A count in three digits at most: 2^20 is ``1 M``, 2^24 ``17 M``, 2^28 ``268 M``.

    >>> about(1024), about(2**24), about(1500)
    ('1 K', '17 M', '1.5 K')
    """
    for size, unit in ((10**9, " G"), (10**6, " M"), (10**3, " K")):
        if n >= size:
            value = n / size
            return f"{value:.0f}{unit}" if value >= 10 or abs(value - round(value)) < 0.05 else f"{value:.1f}{unit}"
    return str(n)
