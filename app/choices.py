"""Which combinations of choices there are: what a recording holds, and how an incomplete choice is completed."""

from __future__ import annotations

from collections.abc import Mapping

from gpu_explain.scenes.base import Device, Parameter, Scene

_ROUNDS = 8
"""Choices may follow other choices; a scene whose parameters still change after so many rounds goes in a circle."""


def complete(scene: Scene, device: Device, chosen: Mapping[str, str]) -> dict[str, str]:
    """``chosen`` with a choice for every parameter of the scene, in the order of its parameters.

    A missing choice, and one that is not offered beside the others, becomes that parameter's default;
    parameters that the scene does not have are left out.

    Raises:
        ValueError: When the scene's parameters never settle.
    """
    now = dict(chosen)
    for _ in range(_ROUNDS):
        settled = {p.id: _valid(p, now.get(p.id)) for p in scene.parameters(device, now)}
        if settled == now:
            return settled
        now = settled
    raise ValueError(f"{scene.id}: its parameters follow each other in a circle")


def recorded_combinations(scene: Scene, device: Device) -> tuple[dict[str, str], ...]:
    """What a recording of the scene holds, each once, the default first.

    The default, every offered choice one axis at a time with the others at their defaults, and the
    combinations that the scene's steps use.
    """
    default = complete(scene, device, {})
    wanted = [default]
    for parameter in scene.parameters(device, default):
        wanted += [complete(scene, device, {**default, parameter.id: choice.id}) for choice in parameter.choices]
    wanted += [complete(scene, device, {**default, **extra}) for extra in scene.combinations]
    return tuple({tuple(one.items()): one for one in wanted}.values())


def _valid(parameter: Parameter, id: str | None) -> str:
    if id is None:
        return parameter.default
    try:
        return parameter.choice(id).id
    except KeyError:
        return parameter.default
