"""Every benchmark of the kernels, one process each, as one dated result file: ``python benchmarks/everything.py``.

Writes ``benchmarks/results/<day>-<gpu>.md`` (or where ``--out`` says). Each part begins with the device, versions and
other work seen on the GPU; each figure with the SM clock of its samples.
"""

from __future__ import annotations

import argparse
import datetime as dt
import os
import re
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PARTS = ("threads", "memory", "pointwise", "matmul_ladder", "matmul", "attention")
_DEVICE = re.compile(r"^\d{4}-\d\d-\d\d, ([^,]+),", re.MULTILINE)


def part(name: str) -> str:
    """What one benchmark prints. Where it fails, what it said last stands instead, so that the others are kept."""
    print(f"{name} …", file=sys.stderr, end=" ", flush=True)
    began = time.monotonic()
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    ran = subprocess.run(
        [sys.executable, str(ROOT / "benchmarks" / f"{name}.py")],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    print(f"{time.monotonic() - began:.0f} s", file=sys.stderr)
    if ran.returncode:
        last = "\n".join(ran.stderr.rstrip().splitlines()[-5:])
        return f"{ran.stdout}\n\n**{name} ended with exit code {ran.returncode}:**\n\n```\n{last}\n```"
    return ran.stdout.strip()


def main(arguments: list[str] | None = None) -> int:
    """Command line. Returns 0 when every part ran, else 1."""
    parser = argparse.ArgumentParser(description="Runs the benchmarks of the kernels and writes one result file.")
    parser.add_argument("--out", type=Path, help="the file to write")
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], help="only these")
    options = parser.parse_args(arguments)
    texts = [part(name) for name in options.parts or PARTS]
    found = _DEVICE.search("\n".join(texts))
    device = re.sub(r"[^a-z0-9]+", "-", found[1].lower()).strip("-") if found else "unknown-gpu"
    day = dt.datetime.now(dt.UTC).date().isoformat()
    out: Path = options.out or ROOT / "benchmarks" / "results" / f"{day}-{device}.md"
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text("\n\n".join(texts) + "\n", encoding="utf-8")
    print(out, file=sys.stderr)
    return int(any("ended with exit code" in text for text in texts))


if __name__ == "__main__":
    raise SystemExit(main())
