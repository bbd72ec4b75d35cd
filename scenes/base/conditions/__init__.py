"""The one catalogue of what can be wrong, and the only place where a ``Problem`` is made.

It lies in ``scenes/base`` since app and kernels both speak from it and neither may import the other: the start
screen, ``--run-all``, the worker and ``doctor`` say the same words for the same condition. ``TROUBLESHOOTING.md`` is
written from it (``tools/troubleshooting.py``).

>>> from gpu_explain.scenes.base.conditions import Platform, problem, speaking_for
>>> with speaking_for(Platform(manager="apt")):
...     problem("no-compiler", evidence="looked for $CC, gcc and clang on PATH").remedy
'sudo apt install gcc python3-dev'
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from gpu_explain.scenes.base.conditions import asking, driver, gpu, machine, packages, running
from gpu_explain.scenes.base.conditions.codes import code_in
from gpu_explain.scenes.base.conditions.condition import Condition, Effect, Group
from gpu_explain.scenes.base.conditions.platform import Platform, here, look, speaking_for
from gpu_explain.scenes.base.problem import Problem

__all__ = [
    "CATALOGUE",
    "Condition",
    "Effect",
    "Group",
    "Platform",
    "by_code",
    "code_in",
    "condition",
    "here",
    "look",
    "problem",
    "recognise",
    "speaking_for",
]

# `package-broken` is compared last of its kind: `ImportError` says little where `libnvrtc` says much.
CATALOGUE: tuple[Condition, ...] = (
    *running.CONDITIONS,
    *driver.CONDITIONS,
    *gpu.CONDITIONS,
    *machine.CONDITIONS,
    *sorted(packages.CONDITIONS, key=lambda one: one.id == "package-broken"),
    *asking.CONDITIONS,
)
"""Every condition, in the order in which raw errors are compared with them."""

_BY_ID = {one.id: one for one in CATALOGUE}


def condition(id: str) -> Condition:
    """The condition of that id. Raises ``KeyError``: an id that is not in the catalogue is our own mistake."""
    return _BY_ID[id]


def problem(
    id: str,
    /,
    *,
    detail: str = "",
    extra: str = "live",
    mig: bool = False,
    **evidence: str,
) -> Problem:
    """A condition that was met, in words, with the remedy for this machine.

    Args:
        id: The condition's.
        detail: The original error text.
        extra: The extra that ``{install}`` installs here: ``live`` or ``live-cu12``.
        mig: Whether the GPU is a MIG slice, for which some remedies differ.
        evidence: The fields of the condition's templates.
    """
    one = condition(id)
    platform = here()
    tags = platform.tags | ({"mig"} if mig else set())
    remedy = next((text for tag, text in one.remedy.items() if not tag or tag in tags), "")
    fields = _Fields({**platform.words(extra), **evidence})
    return Problem(
        id=id,
        what=_filled(one.what, fields),
        why=_filled(one.why, fields),
        remedy=_filled(remedy, fields),
        detail=detail,
        sticky=one.sticky,
    )


def by_code(code: int) -> Condition | None:
    """The condition behind a number of the driver or the runtime (cuda.h, ``CUresult``)."""
    return next((one for one in CATALOGUE if code in one.codes), None)


def recognise(text: str) -> Condition | None:
    """The condition behind the text of a raw error (its type included), ``None`` when it is none of the known ones."""
    code = code_in(text)
    return by_code(code) if code else next((one for one, sign in _signs() if sign.search(text)), None)


@cache
def _signs() -> tuple[tuple[Condition, re.Pattern[str]], ...]:
    return tuple(_compiled())


def _compiled() -> Iterator[tuple[Condition, re.Pattern[str]]]:
    for one in CATALOGUE:
        yield from ((one, re.compile(sign)) for sign in one.signs)


class _Fields(dict[str, str]):
    """A field that nobody handed over is left open: a sentence with a gap is better than an error in an error."""

    def __missing__(self, key: str) -> str:
        return "…"


def _filled(template: str, fields: _Fields) -> str:
    # Evidence that is empty must not leave "…; " at the end of a sentence.
    return template.format_map(fields).strip().removesuffix(";").replace(" ()", "").strip()
