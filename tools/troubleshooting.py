"""Writes TROUBLESHOOTING.md from the catalogue of conditions: ``python tools/troubleshooting.py [--check]``.

With ``--check`` nothing is written; the exit code says whether the page is as the catalogue is.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from textwrap import wrap

from gpu_explain.scenes.base.conditions import CATALOGUE, Condition, Effect, Group, Platform

PAGE = Path(__file__).resolve().parent.parent / "TROUBLESHOOTING.md"
_WIDTH = 120

_HEAD = """\
# Troubleshooting

<!-- Written by tools/troubleshooting.py from scenes/base/conditions. Change it there. -->

`gpu-explain doctor` looks at this machine and prints what is wrong, how it knows, and the command that mends it.
`gpu-explain doctor --deep` also compiles, launches, profiles and checks kernels. `gpu-explain doctor --json` can be
pasted into a public report: it holds no user name, home folder, host name, serial number or UUID, and its fields are
described in [app/doctor/exchange.py](app/doctor/exchange.py).

| exit code of `doctor` | means |
|---|---|
| 0 | live mode will work |
| 1 | a GPU is here, and something stops us |
| 2 | wrong usage |
| 3 | no GPU here: replay only |

Below is everything that gpu-explain knows to be able to go wrong, in the words that it uses everywhere. What stands in
*italics* is filled in with what was found; how that was found out is said beside it.
"""

_EFFECTS = {
    Effect.STOPS: "stops live mode (`doctor` exits with 1)",
    Effect.NO_GPU: "there is nothing to go live with (`doctor` exits with 3, or 1 where a GPU is seen all the same)",
    Effect.LIMITS: "live mode works, with something missing or slower (`doctor` exits with 0)",
    Effect.REQUEST: "ends what was asked for, and nothing else",
}

_PLATFORMS = {
    "apt": "Debian and its kin",
    "ubuntu": "Ubuntu",
    "dnf": "Fedora, RHEL and their kin",
    "fedora": "Fedora",
    "pacman": "Arch",
    "zypper": "SUSE",
    "apk": "Alpine",
    "container": "in a container",
    "docker": "in Docker",
    "podman": "in Podman",
    "kubernetes": "in Kubernetes",
    "apptainer": "in Apptainer",
    "wsl": "in WSL",
    "conda": "in a conda environment",
    "mig": "on a MIG slice",
    "darwin": "on macOS",
    "linux": "on another Linux",
    "": "elsewhere",
}

_TITLES = {
    Group.DRIVER: "The driver",
    Group.GPU: "The GPU",
    Group.NEIGHBOURS: "Others on the GPU",
    Group.PACKAGES: "Python packages",
    Group.COMPILER: "Compilers",
    Group.CACHES: "Caches",
    Group.VARIABLES: "Variables",
    Group.PROFILER: "The profiler",
    Group.TERMINAL: "The terminal",
    Group.KERNELS: "Kernels",
    Group.WORKER: "The worker and our own faults",
    Group.RECORDINGS: "Recordings and files",
    Group.USAGE: "Command line",
}


def page() -> str:
    """The whole page."""
    lines = [_HEAD]
    for group, title in _TITLES.items():
        lines.append(f"## {title}\n")
        for one in CATALOGUE:
            if one.group is group:
                lines += [*_entry(one), ""]
    return "\n".join(lines).rstrip("\n") + "\n"


def _entry(one: Condition) -> Iterator[str]:
    yield f"### {_open(one.what)}\n"
    # What was found on a machine has no place here, only what it means.
    why = re.sub(r"(; | \()?\{evidence\}\)?", "", one.why)
    if re.sub(r"\{\w+\}", "", why).strip(" .:"):
        yield from wrap(f"{_open(why)}.", _WIDTH, break_on_hyphens=False)
        yield ""
    yield from _item(f"Condition `{one.id}`: {_EFFECTS[one.effect]}.")
    yield from _item(f"Known by: {_open(one.detected)}")
    if len(one.remedy) == 1 and "" in one.remedy:
        yield from _item(f"What to do: {_code(one.remedy[''])}")
    elif one.remedy:
        yield "- What to do:"
        for tag, text in one.remedy.items():
            yield from _item(f"{_PLATFORMS[tag]}: {_code(text)}", "  ")


def _item(text: str, indent: str = "") -> Iterator[str]:
    yield from wrap(text, _WIDTH, initial_indent=f"{indent}- ", subsequent_indent=f"{indent}  ", break_on_hyphens=False)


def _open(text: str) -> str:
    """Fields in italics, and what Markdown would take for something else left alone."""
    text = re.sub(r"(?<![\w`{])((?:\w+/)*\w+_\w+)", r"`\1`", text.replace("*", r"\*"))
    return re.sub(r"\{(\w+)\}", r"*\1*", text)


def _code(text: str) -> str:
    """A remedy: words of the platform spelled out."""
    words = Platform().words()
    del words["python"]  # stays a field: it is this machine's
    text = re.sub(r"\{(\w+)\}", lambda found: words.get(found[1], found[0]), text.replace("*", r"\*"))
    return re.sub(r"\{(\w+)\}", r"*\1*", text)


def main(arguments: list[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description="Writes TROUBLESHOOTING.md from the catalogue of conditions.")
    parser.add_argument("--check", action="store_true", help="write nothing; 1 when the page is out of date")
    check = parser.parse_args(arguments).check
    text = page()
    if check:
        return 0 if PAGE.is_file() and PAGE.read_text(encoding="utf-8") == text else 1
    PAGE.write_text(text, encoding="utf-8")
    print(f"{PAGE.name}: {len(CATALOGUE)} conditions")
    return 0


if __name__ == "__main__":
    sys.exit(main())
