"""Takes out of a text what names a person or a machine: for a report that is pasted where everybody can read it."""

from __future__ import annotations

import getpass
import os
import re
import socket
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

_UUID = re.compile(r"\b(?:(?:GPU|MIG)-)?[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b")
_SERIAL = re.compile(r"(?i)\b(serial(?:\s+(?:number|no\.?))?\s*[:=#]?\s*)\d{6,}\b")
_COMMON = {"root", "localhost", ""}
"""Names that are words of our own sentences; they are taken out of paths only."""


@dataclass(frozen=True)
class Secrets:
    """What must not be told.

    Attributes:
        homes: Home folders, the longest first.
        users: Names of the user.
        hosts: Names of the machine.
    """

    homes: tuple[str, ...]
    users: tuple[str, ...]
    hosts: tuple[str, ...]


def secrets_here() -> Secrets:
    """Those of this machine and user."""
    homes = {os.environ.get("HOME", ""), _or_empty(lambda: str(Path.home()))}
    # A home folder is often a link: /home/me -> /data/home/me.
    homes |= {str(Path(home).resolve()) for home in homes if home}
    users = {os.environ.get("USER", ""), os.environ.get("LOGNAME", ""), _or_empty(getpass.getuser)}
    users |= {Path(home).name for home in homes if home}
    host = _or_empty(socket.gethostname)
    hosts = {host, host.partition(".")[0], os.environ.get("HOSTNAME", "")}
    return Secrets(
        tuple(sorted((home for home in homes if len(home) > 1), key=len, reverse=True)),
        tuple(sorted(users - {""})),
        tuple(sorted(hosts - _COMMON, key=len, reverse=True)),
    )


def at_home(text: str, secrets: Secrets) -> str:
    """Home folders as ``~``: what stands in the table."""
    for home in secrets.homes:
        text = re.sub(rf"(?<![\w.~-]){re.escape(home.rstrip('/'))}(?![\w.-])", "~", text)
    return text


def public(text: str, secrets: Secrets) -> str:
    """The text without home folders, user and host names, UUIDs and serial numbers."""
    text = at_home(text, secrets)
    text = _UUID.sub("<uuid>", text)
    text = _SERIAL.sub(r"\1<serial>", text)
    for host in secrets.hosts:
        text = re.sub(rf"(?<![A-Za-z0-9]){re.escape(host)}(?![A-Za-z0-9])", "<host>", text)
    for user in secrets.users:
        before = "[/_=-]" if user in _COMMON else "[^A-Za-z0-9]|^"
        text = re.sub(rf"(?P<before>{before}){re.escape(user)}(?![A-Za-z0-9])", r"\g<before><user>", text)
    return text


def _or_empty(ask: Callable[[], str]) -> str:
    """What a question to the system answers; empty when it cannot (a user without an entry, a home that is not set)."""
    try:
        return ask()
    except (KeyError, OSError, RuntimeError, ImportError):
        return ""
