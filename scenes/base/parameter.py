"""What a viewer can change: parameters and their choices."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Choice:
    """One choice of a parameter.

    Attributes:
        id: Stable over devices, such as ``fits+1``; recordings are found by it.
        value: What it means on this device (265), or ``None`` until the worker has resolved it.
        label: What the screen shows; the value where there is one, else the id.
    """

    id: str
    value: int | str | None = None
    label: str = ""

    @property
    def text(self) -> str:
        """The label, else the value, else the id."""
        if self.label:
            return self.label
        return f"{self.value:,}".replace(",", " ") if isinstance(self.value, int) else str(self.value or self.id)


@dataclass(frozen=True)
class Parameter:
    """One parameter of a scene.

    Attributes:
        id: Stable id, such as ``blocks``.
        label: Name on the screen.
        choices: What is offered, in order.
        default: Id of the default choice.
        unit: A few words after the choices, such as ``a block``.
        typed: Lowest and highest number that may be typed when live; ``None`` where typing makes no sense.
        help: One sentence on what it does.
    """

    id: str
    label: str
    choices: tuple[Choice, ...]
    default: str
    unit: str = ""
    typed: tuple[int, int] | None = None
    help: str = ""

    def __post_init__(self) -> None:
        """The default must be among the choices and ids must differ."""
        ids = [choice.id for choice in self.choices]
        if self.default not in ids or len(set(ids)) != len(ids):
            raise ValueError(f"parameter {self.id}: default {self.default!r} or ids {ids} are wrong")

    def choice(self, id: str) -> Choice:
        """The choice of that id; ``=300`` is the typed number 300. Raises ``KeyError``."""
        for one in self.choices:
            if one.id == id:
                return one
        if self.typed and id.startswith("=") and id[1:].isascii() and id[1:].isdigit():
            number = int(id[1:])
            if self.typed[0] <= number <= self.typed[1]:
                return Choice(id, number)
        raise KeyError(f"{self.id} has no choice {id!r}")

    def resolved(self, values: dict[str, int | str]) -> Parameter:
        """The same parameter with the values of its choices filled in, by choice id."""
        return replace(
            self,
            choices=tuple(replace(c, value=values[c.id]) if c.id in values else c for c in self.choices),
        )
