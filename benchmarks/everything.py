"""Every benchmark of the kernels, one process each, as one dated result file: ``python benchmarks/everything.py``.

Writes ``benchmarks/results/<day>-<gpu>.md`` (or where ``--out`` says). Each part begins with the device, versions and
other work seen on the GPU; each figure with the SM clock of its samples. Ctrl-C keeps what was measured until then.
"""

from __future__ import annotations

import argparse
import datetime as dt
import os
import re
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # started as a file, only its own folder is there

from benchmarks.compare import INTERRUPTED, UNUSABLE  # noqa: E402  (as the next)
from gpu_explain.app.detect import why_not_live  # noqa: E402
from gpu_explain.scenes.base.places import writable  # noqa: E402

PARTS = ("threads", "memory", "pointwise", "matmul_ladder", "matmul", "attention")
_DEVICE = re.compile(r"^\d{4}-\d\d-\d\d, ([^,]+),", re.MULTILINE)
_LEAVING_S = 5.0
"""A part that is interrupted prints what it has; a kernel that runs meanwhile must end first."""


@dataclass(frozen=True)
class Part:
    """What became of one benchmark.

    Attributes:
        name: Which one.
        code: Its exit code, or minus the signal that ended it.
        printed: Its tables, as far as it came.
        last: What it said last on standard error.
        interrupted: Whether Ctrl-C ended it.
    """

    name: str
    code: int
    printed: str
    last: str
    interrupted: bool = False

    @property
    def text(self) -> str:
        """What stands in the file. Where it failed, what it said last is there too, so that the others are kept."""
        if self.interrupted:
            return f"{self.printed}\n\n**{self.name} was interrupted.**".strip()
        if self.code:
            return (
                f"{self.printed}\n\n**{self.name} ended with exit code {self.code}:**\n\n```\n{self.last}\n```".strip()
            )
        return self.printed


def part(name: str) -> Part:
    """Run one benchmark to its end, or to Ctrl-C."""
    print(f"{name} …", file=sys.stderr, end=" ", flush=True)
    began = time.monotonic()
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    command = [sys.executable, str(ROOT / "benchmarks" / f"{name}.py")]
    interrupted = False
    with tempfile.TemporaryFile("w+", encoding="utf-8") as out, tempfile.TemporaryFile("w+", encoding="utf-8") as said:
        environ = {**os.environ, "PYTHONPATH": path, "PYTHONIOENCODING": "utf-8"}
        with subprocess.Popen(command, env=environ, stdout=out, stderr=said) as process:
            try:
                process.wait()
            except KeyboardInterrupt:  # which the terminal sends to the part as well
                interrupted = True
                try:
                    process.wait(_LEAVING_S)
                except subprocess.TimeoutExpired:
                    process.kill()
        print("interrupted" if interrupted else f"{time.monotonic() - began:.0f} s", file=sys.stderr)
        for file in (out, said):
            file.seek(0)
        last = "\n".join(said.read().rstrip().splitlines()[-5:])
        return Part(name, process.returncode, out.read().strip(), last, interrupted)


def main(arguments: list[str] | None = None) -> int:
    """Command line.

    Returns 0 when every part ran, 1 when one failed, 2 when none could or the file cannot be written, 130 after Ctrl-C.
    """
    parser = argparse.ArgumentParser(description="Runs the benchmarks of the kernels and writes one result file.")
    parser.add_argument("--out", type=Path, help="the file to write")
    named = f"only these: {', '.join(PARTS)}"
    parser.add_argument("parts", nargs="*", type=_part_name, metavar="part", default=PARTS, help=named)
    options = parser.parse_args(arguments)
    if unwritable := _why_unwritable(options.out or _default([])):
        print(unwritable, file=sys.stderr)
        return UNUSABLE
    if missing := why_not_live():
        print(missing.sentence, file=sys.stderr)
        return UNUSABLE
    return _finish(_run(options.parts), options.out)


def _run(names: list[str]) -> list[Part]:
    """The parts one after another, until one is interrupted."""
    done: list[Part] = []
    try:
        for name in names:
            done.append(part(name))
            if done[-1].interrupted:
                break
    except KeyboardInterrupt:  # between two of them, or twice
        done.append(Part("the next one", INTERRUPTED, "", "", interrupted=True))
    return done


def _finish(done: list[Part], named: Path | None) -> int:
    """Write the file, when there is anything to write, and say how it went."""
    interrupted = any(one.interrupted for one in done)
    if not any(one.printed for one in done):
        if interrupted:
            return INTERRUPTED
        if all(one.code == UNUSABLE for one in done):
            print(done[0].last, file=sys.stderr)
            return UNUSABLE
    out = named or _default(done)
    text = "\n\n".join(one.text for one in done) + "\n"
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(text, encoding="utf-8")
    except OSError as error:
        print(f"{out} cannot be written ({error.strerror}). What was measured:\n", file=sys.stderr)
        print(text)
        return UNUSABLE
    print(out, file=sys.stderr)
    return INTERRUPTED if interrupted else int(any(one.code for one in done))


def _default(done: list[Part]) -> Path:
    """Where it goes when nobody says; what was interrupted does not take the place of what ran to its end."""
    found = _DEVICE.search("\n".join(one.printed for one in done))
    device = re.sub(r"[^a-z0-9]+", "-", found[1].lower()).strip("-") if found else "unknown-gpu"
    unfinished = "-interrupted" if any(one.interrupted for one in done) else ""
    return ROOT / "benchmarks" / "results" / f"{dt.datetime.now(dt.UTC).date().isoformat()}-{device}{unfinished}.md"


def _part_name(text: str) -> str:
    if text not in PARTS:
        raise argparse.ArgumentTypeError(f"{text!r} is none of {', '.join(PARTS)}")
    return text


def _why_unwritable(out: Path) -> str:
    """Why a file cannot be written, as a sentence; empty when it can. Nothing is left of having tried."""
    out = out.absolute()
    if out.is_dir():
        return f"{out} is a folder: name a file in it."
    if not (os.access(out, os.W_OK) if out.exists() else writable(out.parent)):
        return f"{out} cannot be written: name another place."
    return ""


if __name__ == "__main__":
    raise SystemExit(main())
