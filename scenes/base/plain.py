"""Text that does nothing to a terminal but show itself."""

from __future__ import annotations

import re

HIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""Control characters but tab and newline, line separators, marks that turn the writing round, lone surrogates."""


def visible(text: str) -> str:
    r"""The text with what is hidden spelled out: an escape character becomes ``\x1b``."""
    return HIDDEN.sub(lambda found: f"\\x{ord(found[0]):02x}", text)


def is_plain(text: str) -> bool:
    """Whether a text is one line of letters."""
    return HIDDEN.search(text) is None and "\n" not in text and "\t" not in text
