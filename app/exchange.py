"""The report of ``--run-all`` for other programs: JSON and JUnit XML.

JSON, schema 1::

    {"schema": 1, "gpu_explain": "0.1.0", "mode": "live" | "recorded", "recorded": "2026-11-29" | null,
     "started": ISO 8601, "seconds": {"all": s, "opening": s, "compile": s, "measure": s},
     "strict": bool, "exit": 0…3, "device": {… as scenes.base.Device …} | null, "versions": {name: version},
     "neighbours": [{"what": …, "text": …}], "problem": Problem | null, "no_gpu": Problem | null,
     "absent": [scene ids that the recording does not hold], "unknown": [files in it that are no known scenes],
     "scenes": [{"id": …, "number": …, "title": …, "failed": bool, "problems": [Problem],
                 "seconds": {"all": s, "compile": s, "measure": s},
                 "chosen": {parameter: choice}, "claims": [Claim], "quantities": [… as scenes.base.Quantity …],
                 "choices": [{"chosen": …, "claims": [Claim], "problem": Problem | null}]}]}

    Claim:   {"id", "text", "nature": "law" | "expectation", "outcome": "held" | "missed" | "surprise" | "not checked",
              "held": true | false | null (not checked), "value": number | null, "unit",
              "wanted": {"low": number | null, "high": number | null, "why"}, "unchecked", "likely", "inputs", "source"}
    Problem: {"id", "what", "why", "remedy", "detail", "sticky"}

``choices`` are those beside the default one. ``compile`` and ``measure`` are seconds on the machine that measured, so
in a recording they are the recorded ones. A number that is not finite is ``null``.

JUnit: one ``testsuite`` a scene; in it a case ``measured`` (an error when the scene broke) and one case a
claim. A missed law is a failure, and under ``--strict`` a surprise and an unchecked law are too; a claim that
was not checked is skipped otherwise. So there are as many cases as measurements and claims, and the root says so.
"""

from __future__ import annotations

import re
from typing import Any
from xml.etree import ElementTree as ET

import msgspec

from gpu_explain import __version__
from gpu_explain.app.counting import value_text
from gpu_explain.app.report import wanted_text
from gpu_explain.app.verify import Check, Result, Run, fails
from gpu_explain.scenes.base import Claim, Nature, Outcome

SCHEMA = 1
"""Goes up when a field changes its meaning or goes; a new field leaves it."""


def to_json(run: Run, *, strict: bool) -> bytes:
    """The run as JSON, indented, with a newline at its end."""
    content = {
        "schema": SCHEMA,
        "gpu_explain": __version__,
        "mode": "live" if run.live else "recorded",
        "recorded": run.recorded or None,
        "started": run.started,
        "seconds": {"all": run.seconds, "opening": run.opening, **_steps(run.results)},
        "strict": strict,
        "exit": run.exit(strict=strict).value,
        "device": run.device,
        "versions": run.versions,
        "neighbours": run.neighbours,
        "problem": run.problem,
        "no_gpu": run.no_gpu,
        "absent": run.absent,
        "unknown": run.unknown,
        "scenes": [_scene(result, strict=strict) for result in run.results],
    }
    return msgspec.json.format(msgspec.json.encode(content), indent=2) + b"\n"


def to_junit(run: Run, *, strict: bool) -> bytes:
    """The run as JUnit XML, with a newline at its end."""
    checks = [check for result in run.results for check in result.checks]
    counted = f"gpu-explain: measurements {len(checks)}, claims {sum(len(check.claims) for check in checks)}"
    root = ET.Element("testsuites", name=counted, time=f"{run.seconds:.3f}")
    for result in run.results:
        _suite(root, run, result, strict=strict)
    if run.problem is not None:
        suite = ET.SubElement(root, "testsuite", name="run", tests="1", failures="0", errors="1", skipped="0")
        case = ET.SubElement(suite, "testcase", classname="gpu_explain", name="something was checked")
        _tell(case, "error", run.problem.sentence, run.problem.detail)
    for name in ("tests", "failures", "errors", "skipped"):
        root.set(name, str(sum(int(suite.get(name, "0")) for suite in root)))
    ET.indent(root)
    return bytes(ET.tostring(root, encoding="utf-8", xml_declaration=True)) + b"\n"


def _scene(result: Result, *, strict: bool) -> dict[str, Any]:
    check, m = result.default, result.default.measurement
    return {
        "id": result.scene.id,
        "number": result.scene.number,
        "title": result.scene.title,
        "failed": result.failed(strict=strict),
        "problems": result.problems,
        "seconds": {"all": result.seconds, **_steps((result,))},
        "chosen": m.chosen if m else check.chosen,
        "claims": [_claim(claim) for claim in check.claims],
        "quantities": list(m.quantities) if m else [],
        "choices": [_choice(other) for other in result.checks[1:]],
    }


def _choice(check: Check) -> dict[str, Any]:
    return {"chosen": check.chosen, "claims": [_claim(claim) for claim in check.claims], "problem": check.problem}


def _claim(claim: Claim) -> dict[str, Any]:
    held = None if claim.outcome is Outcome.NOT_CHECKED else claim.outcome is Outcome.HELD
    return {
        "id": claim.id,
        "text": claim.text,
        "nature": claim.nature,
        "outcome": claim.outcome,
        "held": held,
        "value": claim.value,
        "unit": claim.unit,
        "wanted": {"low": claim.low, "high": claim.high, "why": claim.why},
        "unchecked": claim.unchecked,
        "likely": claim.likely,
        "inputs": claim.inputs,
        "source": claim.source,
    }


def _steps(results: tuple[Result, ...]) -> dict[str, float]:
    return {step: sum(result.seconds_in(step) for result in results) for step in ("compile", "measure")}


def _suite(root: ET.Element, run: Run, result: Result, *, strict: bool) -> None:
    suite = ET.SubElement(root, "testsuite", name=result.scene.id, timestamp=run.started[:19])
    properties = ET.SubElement(suite, "properties")
    facts = {"gpu": run.device.name if run.device else "", "recorded": run.recorded, **run.versions}
    for name, value in facts.items():
        if value:
            ET.SubElement(properties, "property", name=name, value=_clean(value))
    for check in result.checks:
        _cases(suite, result, check, strict=strict)
    if result.unrecorded is not None:
        case = ET.SubElement(suite, "testcase", classname=_class(result), name="recorded")
        _tell(case, "error", result.unrecorded.sentence, result.unrecorded.detail)
    suite.set("time", f"{result.seconds:.3f}")
    suite.set("tests", str(len(suite.findall("testcase"))))
    for name, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(name, str(len(suite.findall(f"testcase/{tag}"))))


def _cases(suite: ET.Element, result: Result, check: Check, *, strict: bool) -> None:
    """The case ``measured`` and one case a claim; those of other choices carry the choices in their names."""
    where = "" if check is result.default else f" [{' '.join(f'{k}={v}' for k, v in check.chosen.items())}]"
    measured = ET.SubElement(suite, "testcase", classname=_class(result), name=f"measured{where}")
    if check is result.default:
        measured.set("time", f"{result.seconds:.3f}")
    if check.problem is not None:
        _tell(measured, "error", check.problem.sentence, check.problem.detail)
    for claim in check.claims:
        case = ET.SubElement(suite, "testcase", classname=_class(result), name=f"{claim.id}{where}")
        _judge(case, claim, strict=strict)


def _judge(case: ET.Element, claim: Claim, *, strict: bool) -> None:
    value = "–" if claim.value is None else value_text(claim.value, claim.unit)
    said = f"{claim.text}: {value}, wanted {wanted_text(claim)} ({claim.why})"
    if fails(claim, strict=strict):
        kind = "law" if claim.nature is Nature.LAW else "expectation"
        reason = f" Not checked: {claim.unchecked}." if claim.value is None else ""
        _tell(case, "failure", f"{kind} {claim.outcome.value}: {said}.{reason}", claim.likely)
    elif claim.outcome is Outcome.NOT_CHECKED:
        ET.SubElement(case, "skipped", message=_clean(claim.unchecked))
    else:
        mark = "" if claim.outcome is Outcome.HELD else f"{claim.outcome.value}: "
        ET.SubElement(case, "system-out").text = _clean(mark + said)


def _tell(case: ET.Element, tag: str, message: str, detail: str) -> None:
    ET.SubElement(case, tag, message=_clean(message)).text = _clean(detail)


def _class(result: Result) -> str:
    return f"gpu_explain.{result.scene.id}"


def _clean(text: str) -> str:
    """Without the characters that XML 1.0 cannot hold (section 2.2 of the recommendation)."""
    return re.sub("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", "?", text)
