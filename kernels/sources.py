"""Source files as they ran, with named line ranges found by reading the code, never by hard-coded numbers."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from gpu_explain.scenes.base import SourceText

_ROOT = Path(__file__).parent.parent


def cuda_lines(text: str, function: str) -> tuple[int, int]:
    """First and last line of a CUDA function's definition, the comment right above it included.

    Braces in strings or comments would mislead it; ``cuda/`` has none. Raises ``KeyError`` when there is no such
    definition.
    """
    lines = text.splitlines()
    opening = re.compile(rf"\b(__device__|__global__)\b[^;]*\b{re.escape(function)}\s*\(")
    for at, line in enumerate(lines):
        if not opening.search(line):
            continue
        depth, seen, last = 0, False, at
        while last < len(lines):
            depth += lines[last].count("{") - lines[last].count("}")
            seen = seen or "{" in lines[last]
            if seen and depth == 0:
                break
            last += 1
        first = at
        while first > 0 and lines[first - 1].startswith("//"):
            first -= 1
        return first + 1, last + 1
    raise KeyError(function)


def python_lines(text: str, function: str) -> tuple[int, int]:
    """First and last line of a top-level Python function, its decorators included. Raises ``KeyError``."""
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef) and node.name == function:
            first = min((d.lineno for d in node.decorator_list), default=node.lineno)
            return first, node.end_lineno or node.lineno
    raise KeyError(function)


@cache
def _text(path: str) -> str:
    # Kept from the first reading on: the kernels that run are those compiled from it.
    return (_ROOT / path).read_text(encoding="utf-8")


def source(path: str, focus: Mapping[str, str]) -> SourceText:
    """A file by its path from the repository's root; ``focus`` names a function for each line range."""
    text = _text(path)
    python = path.endswith(".py")
    find = python_lines if python else cuda_lines
    return SourceText(
        path=path,
        language="python" if python else "cuda",
        text=text,
        focus={name: find(text, function) for name, function in focus.items()},
    )
