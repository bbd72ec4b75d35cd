"""What can be changed in ``waves``, and what the choices mean on the GPU at hand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpu_explain.scenes.base import Choice, Chosen, Device, Parameter
from gpu_explain.scenes.base.usual import int_of, language_parameter, sharp_cycles, sms_parameter


def parameters(device: Device, chosen: Mapping[str, str]) -> tuple[Parameter, ...]:
    """Block counts are named by what fits; their numbers come from the occupancy API in :func:`resolve`."""
    sizes = [n for n in (128, 256, 512, 1024) if n <= device.threads_per_block]
    least = sharp_cycles(device)
    return (
        Parameter(
            "blocks",
            "blocks",
            tuple(Choice(name) for name in ("sms", "fits", "fits+1", "2fits", "2fits+1", "4fits+1")),
            "fits+1",
            typed=(1, 20_000),
            help="How many blocks are launched: one per SM, as many as fit, one more, …",
        ),
        Parameter(
            "threads",
            "threads",
            tuple(Choice(str(n), n) for n in sizes),
            str(sizes[-1]),
            unit="a block",
            help="Threads in a block. Smaller blocks: more of them fit.",
        ),
        Parameter(
            "work",
            "work",
            (Choice("wait", "wait"), Choice("compute", "compute")),
            "wait",
            help="Blocks that only wait do not compete; blocks that compute share their SM.",
        ),
        Parameter(
            "cycles",
            "for",
            tuple(Choice(f"x{k}", k * least) for k in (1, 2, 4)),
            "x2",
            unit="cycles",
            help="How long a block waits, in SM clock cycles (computing blocks: a multiply-add every 4 cycles).",
        ),
        sms_parameter(device),
        language_parameter(),
    )


def launch_of(chosen: Chosen) -> dict[str, Any]:
    """The arguments that every launcher takes, from the choices."""
    cycles, work = int_of(chosen, "cycles"), str(chosen["work"].value)
    return {
        "work": work,
        "language": str(chosen["language"].value),
        "threads": int_of(chosen, "threads"),
        "amount": cycles // 4 if work == "compute" else cycles,
    }


def fit_of(gpu: Any, launch: Mapping[str, Any]) -> Any:
    """Residents of the chosen kernel on one SM, by the occupancy API (a ``kernels.blocks.Fit``)."""
    from gpu_explain.kernels import blocks

    return blocks.fit(gpu, work=launch["work"], language=launch["language"], threads=launch["threads"])


def resolve(gpu: Any, offered: tuple[Parameter, ...], chosen: Mapping[str, str]) -> tuple[Parameter, ...]:
    """Fill in the block counts: SMs × residents, by the occupancy API, for the kernel that is chosen."""
    by_id = {p.id: p for p in offered}
    now = {p.id: p.choice(chosen[p.id]) for p in offered}
    with gpu.on_sms(int_of(now, "sms")) as narrowed:
        sms = narrowed.device.sms
        fits = sms * fit_of(narrowed, launch_of(now)).residents
    counts = {
        "sms": sms,
        "fits": fits,
        "fits+1": fits + 1,
        "2fits": 2 * fits,
        "2fits+1": 2 * fits + 1,
        "4fits+1": 4 * fits + 1,
    }
    return tuple(by_id[p.id].resolved(dict(counts)) if p.id == "blocks" else p for p in offered)
