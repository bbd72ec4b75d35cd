"""Folders for compiled kernels, variables that spoil measurements, the profiler, the terminal."""

from __future__ import annotations

import getpass
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from gpu_explain.app.doctor.check import Check, beside, found, unknown, wrong
from gpu_explain.app.doctor.machine import Machine
from gpu_explain.app.environment import spoiling, unset_sentence
from gpu_explain.app.terminal import CANNOT_PLACE, is_utf8, no_utf8
from gpu_explain.app.walkthrough.paint.layout import SMALLEST
from gpu_explain.scenes.base.conditions import Group, problem
from gpu_explain.scenes.base.places import CACHE_VARIABLE, cache_candidates, nearest_folder, triton_cache, writable

_ROOM_BYTES = 200e6
"""torch.compile's and Triton's files for the whole walkthrough fit in it."""


def cache_checks(machine: Machine) -> Iterator[Check]:
    """Where compiled kernels go: ours, Triton's, Inductor's, and the temporary folder that all of them use."""
    ours = cache_candidates(machine.environ)
    usable = next((folder for folder in ours if writable(folder)), None)
    yield _folder("gpu-explain", ours[0] if ours else None, CACHE_VARIABLE, _instead(usable))
    folder, named = triton_cache(machine.environ)
    if named and not writable(folder):
        evidence = f"{named} leads to {folder}"
        met = problem("no-cache", variable=named, evidence=evidence)
        yield wrong("triton-cache", Group.CACHES, met)
    else:
        yield _folder("Triton", folder, "TRITON_CACHE_DIR", _instead(usable))
    temporary = _temporary()
    if temporary is None:
        evidence = "TMPDIR, /tmp, /var/tmp, /usr/tmp and the current folder cannot be written"
        met = problem("no-cache", variable="TMPDIR", evidence=evidence)
        yield wrong("temporary", Group.CACHES, met)
        return
    inductor = machine.environ.get("TORCHINDUCTOR_CACHE_DIR") or f"{temporary}/torchinductor_{_user()}"
    yield _folder("torch.compile", Path(inductor), "TORCHINDUCTOR_CACHE_DIR", "torch.compile will not work")
    yield from _room([place for place in (usable, folder, temporary) if place is not None])


def _folder(owner: str, folder: Path | None, variable: str, instead: str) -> Check:
    id = f"{owner.lower().replace('.', '-')}-cache"
    if folder is not None and writable(folder):
        return found(id, Group.CACHES, f"{owner}'s", str(folder))
    evidence = f"{folder or 'It'} cannot be written"
    return wrong(
        id,
        Group.CACHES,
        problem(
            "cache-unwritable",
            owner=owner,
            evidence=evidence,
            instead=instead,
            variable=variable,
        ),
    )


def _instead(usable: Path | None) -> str:
    other = f"{usable} is used instead" if usable is not None else "kernels are compiled anew each time"
    return f"Nothing to mend: {other}"


def _temporary() -> Path | None:
    try:
        return Path(tempfile.gettempdir())
    except OSError:
        return None


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):
        return "unknown_user"


def _room(places: list[Path]) -> Iterator[Check]:
    """Free room where they lie; the tightest place is told."""
    free = {}
    for place in places:
        try:
            free[place] = shutil.disk_usage(nearest_folder(place)).free
        except OSError:
            continue
    if not free:
        yield unknown("room", Group.CACHES, "free room is not known")
        return
    tightest = min(free, key=lambda place: free[place])
    if free[tightest] < _ROOM_BYTES:
        evidence = f"{free[tightest] / 1e6:.0f} MB are free at {tightest}"
        yield wrong("room", Group.CACHES, problem("disk-full", evidence=evidence))
    else:
        yield found("room", Group.CACHES, f"{free[tightest] / 1e9:.0f} GB of room", str(tightest))


def variable_checks(machine: Machine) -> Iterator[Check]:
    """Variables that would spoil measurements."""
    unset = spoiling(machine.environ)
    if unset:
        evidence = unset_sentence(unset).rstrip(".")
        yield wrong("variables", Group.VARIABLES, problem("environment", evidence=evidence))
    else:
        yield found("variables", Group.VARIABLES, "none that spoils a measurement is set")


def profiler_checks(deep: bool = False) -> Iterator[Check]:
    """Without launching something, nobody knows; ``deep`` when something should have been and could not be."""
    said = "CUPTI was not tried: there is no GPU to launch on" if deep else "CUPTI is tried by --deep"
    yield unknown("profiler", Group.PROFILER, said)


def terminal_checks(machine: Machine) -> Iterator[Check]:
    """Whether the walkthrough can be drawn here."""
    group, terminal, environ = Group.TERMINAL, machine.terminal, machine.environ
    if terminal.terminal:
        yield found("terminal", group, "a terminal")
    else:
        yield beside("terminal", group, "this is not a terminal (output is piped or redirected)")
    kind = environ.get("TERM", "")
    if kind in CANNOT_PLACE and (terminal.terminal or kind):
        evidence = f"TERM is {kind!r}"
        yield wrong("term", group, problem("dumb-terminal", evidence=evidence))
    elif kind:
        yield found("term", group, f"TERM={kind}")
    if is_utf8(terminal.encoding):
        yield found("encoding", group, "UTF-8")
    else:
        yield wrong("encoding", group, no_utf8(environ, terminal.encoding))
    if terminal.size is None:
        yield beside("size", group, "no size")
    elif terminal.size[0] < SMALLEST[0] or terminal.size[1] < SMALLEST[1]:
        has, least = "×".join(map(str, terminal.size)), "×".join(map(str, SMALLEST))
        evidence = f"It has {has} characters, {least} are needed and 120×40 are best"
        yield wrong("size", group, problem("small-terminal", evidence=evidence))
    else:
        yield found("size", group, "×".join(map(str, terminal.size)))
    if environ.get("NO_COLOR"):
        yield wrong("colour", group, problem("no-colour", evidence="NO_COLOR is set"))
    else:
        yield found("colour", group, _colours(environ.get("COLORTERM", ""), kind))


def _colours(colorterm: str, kind: str) -> str:
    if colorterm in {"truecolor", "24bit"}:
        return "true colour"
    return "256 colours" if "256color" in kind else "16 colours"
