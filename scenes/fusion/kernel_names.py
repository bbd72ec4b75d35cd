"""Names of kernels, as the profiler tells them and as they are shown."""

from __future__ import annotations

import re

from gpu_explain.scenes.draw.box import wrap


def does(name: str) -> str:
    """Which of the line's operations a kernel's name names; empty when it names none.

    torch's relu is a clamp from below.

    >>> does("triton_poi_fused_add_relu_0"), does("launch_clamp_scalar(Scalar)"), does("copy_kernel")
    ('add, relu', 'relu', '')
    """
    found = [("add", r"add"), ("relu", r"relu|clamp|threshold")]
    return ", ".join(operation for operation, pattern in found if re.search(pattern, name, re.IGNORECASE))


def numbered(number: int, took: str, name: str, width: int, lines: int) -> tuple[str, ...]:
    """A kernel's number, time and name, the name broken into lines; what is beyond them is cut with ``…``."""
    head = f"{number} {took:>9}  "
    pieces = wrap(name, max(width - len(head), 8))
    shown = pieces[:lines]
    if len(shown) < len(pieces):
        # As much of the rest as the last line takes: the words of a template are long.
        rest = " ".join(pieces[lines - 1 :])
        shown[-1] = _cut(rest, max(width - len(head), 8) - 1) + "…"
    return tuple((head if at == 0 else " " * len(head)) + piece for at, piece in enumerate(shown))


_PART = re.compile(r"::|, ")
"""Behind these a part of a C++ name ends."""


def _cut(name: str, most: int) -> str:
    """A name's beginning, ``most`` characters at the most, up to the end of a part of it where there is one.

    >>> _cut("Limits::operator()() const", 13), _cut("add_relu_kernel", 6)
    ('Limits::', 'add_re')
    """
    ends = [found.end() for found in _PART.finditer(name) if found.end() <= most]
    return name[: ends[-1]] if ends and len(name) > most else name[:most]


_NOISE = re.compile(r"at::native::|\(anonymous namespace\)::|at::|c10::|std::|^void ")
_LAST_ARGUMENTS = re.compile(r"\([^()]*\)$")


def short_name(name: str) -> str:
    """A kernel's name without what says nothing: namespaces, ``void``, the list of arguments.

    >>> short_name("void at::native::vectorized_elementwise_kernel<4, at::native::Add<float> >(int, float)")
    'vectorized_elementwise_kernel<4, Add<float>>'
    """
    short = _NOISE.sub("", name)
    if short.endswith(")"):
        depth = 0
        for at in range(len(short) - 1, -1, -1):
            depth += (short[at] == ")") - (short[at] == "(")
            if depth == 0:
                short = short[:at]
                break
    return re.sub(r"\s+>", ">", short).strip()
