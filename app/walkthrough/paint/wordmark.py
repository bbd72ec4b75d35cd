"""The product's name in half-block letters, five pixels high on three lines."""

from __future__ import annotations

from gpu_explain.scenes.draw.canvas import Canvas
from gpu_explain.scenes.draw.ink import Ink

_LETTERS = {
    "G": (".###", "#...", "#.##", "#..#", ".###"),
    "P": ("###.", "#..#", "###.", "#...", "#..."),
    "U": ("#..#", "#..#", "#..#", "#..#", ".##."),
    "-": ("..", "..", "##", "..", ".."),
    "E": ("####", "#...", "###.", "#...", "####"),
    "X": ("#..#", "#..#", ".##.", "#..#", "#..#"),
    "L": ("#...", "#...", "#...", "#...", "####"),
    "A": (".##.", "#..#", "####", "#..#", "#..#"),
    "I": ("###", ".#.", ".#.", ".#.", "###"),
    "N": ("#..#", "##.#", "#.##", "#..#", "#..#"),
}

LINES = 3
"""Lines the name takes."""


def wordmark(canvas: Canvas, x: int, y: int) -> int:
    """Write the name with its upper left corner at ``(x, y)``; returns the column after it."""
    for index, letter in enumerate("GPU-EXPLAIN"):
        rows = (*_LETTERS[letter], "." * 5)
        ink = Ink.A if index < 3 else Ink.FAINT if letter == "-" else Ink.STRONG
        for line in range(LINES):
            upper, lower = rows[2 * line], rows[2 * line + 1]
            pairs = zip(upper, lower[: len(upper)].ljust(len(upper), "."), strict=True)
            text = "".join({"##": "█", "#.": "▀", ".#": "▄", "..": " "}[a + b] for a, b in pairs)
            canvas.put(x, y + line, text, ink)
        x += len(rows[0]) + 1
    return x - 1


def width() -> int:
    """Cells the name takes."""
    return sum(len(_LETTERS[letter][0]) + 1 for letter in "GPU-EXPLAIN") - 1
