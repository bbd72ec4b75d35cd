"""Doctor's report for other programs, and for a public one: ``gpu-explain doctor --json``.

JSON, schema 1::

    {"schema": 1, "gpu_explain": "0.1.0", "exit": 0 | 1 | 3, "verdict": …, "deep": bool, "seconds": s,
     "gpu_here": bool,
     "platform": {"system", "distribution", "package_manager", "container", "wsl": bool, "python", "environment"},
     "gpus": [{"name", "compute_capability": "9.0", "memory_bytes"}],
     "checks": [{"id", "group", "state": "found" | "not found" | "not applicable" | "could not check", "text",
                 "evidence": […], "stops": bool (live mode will not work because of it),
                 "problem": {"id", "what", "why", "remedy", "detail",
                             "effect": "stops live mode" | "no GPU" | "limits" | "one request"} | null}]}

Ids of problems are those of TROUBLESHOOTING.md. No text in it holds a user name, a home folder, a host name, a
serial number or a UUID.
"""

from __future__ import annotations

from typing import Any

import msgspec

from gpu_explain import __version__
from gpu_explain.app.doctor.check import Check, Examination
from gpu_explain.app.doctor.private import Secrets, public

SCHEMA = 1
"""Goes up when a field changes its meaning or goes; a new field leaves it."""


def to_json(examination: Examination, secrets: Secrets) -> bytes:
    """The report as JSON, indented, with a newline at its end."""
    platform = examination.platform
    content = {
        "schema": SCHEMA,
        "gpu_explain": __version__,
        "exit": examination.exit.value,
        "verdict": examination.verdict,
        "deep": examination.deep,
        "seconds": round(examination.seconds, 3),
        "gpu_here": examination.gpu_here,
        "platform": {
            "system": platform.system,
            "distribution": platform.distribution,
            "package_manager": platform.manager,
            "container": platform.container,
            "wsl": platform.wsl,
            "python": platform.python,
            "environment": platform.environment,
        },
        "gpus": [
            {"name": name, "compute_capability": capability, "memory_bytes": memory}
            for name, capability, memory in examination.gpus
        ],
        "checks": [_check(check) for check in examination.checks],
    }
    return msgspec.json.format(msgspec.json.encode(_public(content, secrets)), indent=2) + b"\n"


def _check(check: Check) -> dict[str, Any]:
    problem = check.problem
    return {
        "id": check.id,
        "group": check.group.value,
        "state": check.state.value,
        "text": check.text,
        "evidence": list(check.evidence),
        "stops": check.stops,
        "problem": problem
        and {
            "id": problem.id,
            "what": problem.what,
            "why": problem.why,
            "remedy": problem.remedy,
            "detail": problem.detail,
            "effect": check.effect,
        },
    }


def _public(value: Any, secrets: Secrets) -> Any:
    """The same with every text made public: none can be forgotten."""
    if isinstance(value, dict):
        return {key: _public(inner, secrets) for key, inner in value.items()}
    if isinstance(value, list):
        return [_public(inner, secrets) for inner in value]
    return public(value, secrets) if isinstance(value, str) else value
