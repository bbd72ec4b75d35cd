"""Doctor's table and JSON: readable everywhere, and the JSON fit for a public report."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from gpu_explain.app.doctor.check import Check, Examination, State, found, wrong
from gpu_explain.app.doctor.exchange import to_json
from gpu_explain.app.doctor.private import Secrets, at_home, public, secrets_here
from gpu_explain.app.doctor.table import table
from gpu_explain.app.exits import Exit
from gpu_explain.app.report import Printer
from gpu_explain.scenes.base.conditions import Group, Platform, problem
from tests.unit.doctoring import Made
from tests.unit.fakes import Fakes

ROOT = Path(__file__).resolve().parents[2]
NOBODY = Secrets((), (), ())
ALICE = Secrets(("/home/alice",), ("alice",), ("ws-17.example.org", "ws-17"))


@pytest.fixture
def made(tmp_path: Path, fakes: Fakes) -> Made:
    return Made(tmp_path, fakes)


def lines(examination: Examination, width: int = 100, secrets: Secrets = NOBODY) -> list[str]:
    return ["".join(text for text, _ in line) for line in table(examination, secrets, width)]


def with_checks(*checks: Check, gpu_here: bool = True) -> Examination:
    return Examination(tuple(checks), gpu_here, 0.4, Platform(distribution="ubuntu"))


# ---------------------------------------------------------------- the table


def test_what_is_fine_shares_lines_and_what_is_not_has_its_own(made: Made) -> None:
    (made.folder / "bin/gcc").unlink()
    text = lines(made.having(NO_COLOR="1").examined(), 120)
    (packages,) = (line for line in text if line.startswith(" packages"))
    assert "✓ torch 2.11.0+cu130, CUDA 13.0   ✓ triton 3.6.0 (the one this torch wants)" in packages
    at = next(number for number, line in enumerate(text) if "✗" in line)
    assert text[at].split("✗")[1].strip() == "There is no C compiler"
    assert text[at + 1].strip() == (
        "Triton builds its launcher with one at first use; looked for $CC, gcc and clang on PATH"
    )
    assert text[at + 2].strip() == "→ sudo apt install gcc python3-dev"
    assert any("! There is no colour here" in line for line in text)
    assert text[-1].endswith("Replay works: gpu-explain --replay   exit 1")


@pytest.mark.parametrize("width", [20, 25, 39, 40, 60, 80, 120])
def test_no_line_is_wider_than_the_terminal(made: Made, width: int) -> None:
    made.having(FAKE_COUNT="2", FAKE_PROCESSES="3", CUDA_LAUNCH_BLOCKING="1", CC="/nowhere/cc", NO_COLOR="1")
    for line in lines(made.examined(), width):
        # A path or a command cannot be parted.
        assert len(line) <= width or " " not in line.strip(" →·✓✗!?")


def test_below_the_least_width_it_is_wrapped_at_that(made: Made) -> None:
    made.having(CUDA_LAUNCH_BLOCKING="1", NO_COLOR="1")
    examination = made.examined()
    assert lines(examination, 1) == lines(examination, 20)
    assert lines(examination, 20) != lines(examination, 21)


@pytest.mark.parametrize("width", [20, 39, 100])
def test_the_same_words_are_there_in_every_width(made: Made, width: int) -> None:
    examination = made.having(NO_COLOR="1").examined()
    assert " ".join(lines(examination, width)).split() == " ".join(lines(examination, 120)).split()


def test_each_state_has_its_sign() -> None:
    text = "\n".join(
        lines(
            with_checks(
                found("a", Group.DRIVER, "here"),
                Check("b", Group.GPU, State.NOT_APPLICABLE, "not needed"),
                Check("c", Group.PROFILER, State.UNKNOWN, "nobody knows"),
                wrong("d", Group.COMPILER, problem("no-compiler", evidence="x")),
                wrong("e", Group.TERMINAL, problem("no-colour", evidence="x")),
            )
        )
    )
    for sign in ("✓ here", "· not needed", "? nobody knows", "✗ There is no C compiler", "! There is no colour"):
        assert sign in text


def test_the_verdict_follows_the_checks() -> None:
    stops = wrong("d", Group.COMPILER, problem("no-compiler", evidence="x"))
    limits = wrong("e", Group.TERMINAL, problem("no-colour", evidence="x"))
    assert with_checks(limits).exit is Exit.OK
    assert with_checks(limits, stops).exit is Exit.FAILED
    assert with_checks(stops, gpu_here=False).exit is Exit.NO_GPU


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_every_encoding_can_write_it(made: Made, encoding: str) -> None:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding=encoding)
    Printer(stream, stream).lines(table(made.having(FAKE_MODE="3").examined(), NOBODY))
    text = raw.getvalue().decode(encoding)
    assert "takes one program at a time" in text
    assert ("✓" in text) == (encoding == "utf-8")
    assert encoding == "utf-8" or "-> Close gpu-explain" in text


def test_home_is_a_tilde_in_the_table() -> None:
    there = wrong("a", Group.CACHES, problem("no-nvrtc", evidence="/home/alice/x"), "/home/alice/y", "/home/alicette")
    text = "\n".join(lines(with_checks(there), secrets=ALICE))
    assert "~/x" in text
    assert "~/y" in text
    assert "/home/alicette" in text


# ---------------------------------------------------------------- nothing private


@pytest.mark.parametrize(
    ("text", "public_text"),
    [
        ("/home/alice/.triton/cache", "~/.triton/cache"),
        ("/home/alicette/x", "/home/alicette/x"),
        ("/tmp/torchinductor_alice", "/tmp/torchinductor_<user>"),
        ("/mnt/data/alice/env", "/mnt/data/<user>/env"),
        ("malice is not a name", "malice is not a name"),
        ("on ws-17: no", "on <host>: no"),
        ("ws-17.example.org refused", "<host> refused"),
        ("GPU-7fe3a1b2-11cc-22dd-33ee-445566778899 fell", "<uuid> fell"),
        ("MIG-7fe3a1b2-11cc-22dd-33ee-445566778899", "<uuid>"),
        ("Serial Number: 1654922006536", "Serial Number: <serial>"),
        ("serial=0123456789", "serial=<serial>"),
        ("driver 580.159.04 (CUDA 13.0)", "driver 580.159.04 (CUDA 13.0)"),
    ],
)
def test_what_names_a_person_or_a_machine_is_taken_out(text: str, public_text: str) -> None:
    assert public(text, ALICE) == public_text


def test_a_common_name_is_taken_out_of_paths_only() -> None:
    root = Secrets(("/root",), ("root",), ())
    assert (
        public("/root/x and /data/root/y and torchinductor_root", root)
        == "~/x and /data/<user>/y and torchinductor_<user>"
    )
    assert public("as root", root) == "as root"


def test_a_home_that_is_a_link_is_home_by_both_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "me").symlink_to(tmp_path / "real")
    monkeypatch.setenv("HOME", str(tmp_path / "me"))
    secrets = secrets_here()
    assert at_home(f"{tmp_path}/me/a", secrets) == "~/a"
    assert at_home(f"{tmp_path}/real/a", secrets) == "~/a"


def test_the_json_holds_nothing_private(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    """The real function, on a machine whose every path, and whose driver's message, holds what must not be told."""
    home = made.folder / "zebedee"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("USER", "zebedee")
    monkeypatch.setenv("HOSTNAME", "magicroundabout")
    (home / "file").touch()
    made.having(HOME=str(home), CC=f"{home}/cc", TRITON_CACHE_DIR=f"{home}/file/x", TRITON_PTXAS_PATH=f"{home}/ptxas")
    examination = made.examined()
    uuid = "GPU-7fe3a1b2-11cc-22dd-33ee-445566778899"
    detail = f"magicroundabout {home} zebedee {uuid} serial: 1654922006536"
    more = wrong("more", Group.WORKER, problem("scene-broken", what=detail, why=detail, detail=detail), detail)
    examination = Examination((*examination.checks, more), True, 1.0, examination.platform, gpus=((detail, "9.0", 1),))
    text = to_json(examination, secrets_here()).decode()
    for secret in ("zebedee", str(home), "magicroundabout", uuid, "1654922006536"):
        assert secret not in text
    assert "~/cc" in text
    assert "<host>" in text


# ---------------------------------------------------------------- the JSON


def test_the_json_is_as_documented(made: Made) -> None:
    (made.folder / "bin/gcc").unlink()
    content: dict[str, Any] = json.loads(to_json(made.examined(), NOBODY))
    assert set(content) == {
        *("schema", "gpu_explain", "exit", "verdict", "deep", "seconds", "gpu_here", "platform", "gpus", "checks")
    }
    assert (content["schema"], content["exit"], content["gpu_here"], content["deep"]) == (1, 1, True, False)
    assert set(content["platform"]) == {
        *("system", "distribution", "package_manager", "container", "wsl", "python", "environment")
    }
    assert content["gpus"] == [{"name": "Made-up GPU", "compute_capability": "9.0", "memory_bytes": 24_000_000_000}]
    for check in content["checks"]:
        assert set(check) == {"id", "group", "state", "text", "evidence", "stops", "problem"}
        assert check["state"] in {"found", "not found", "not applicable", "could not check"}
    (failed,) = (check for check in content["checks"] if check["problem"])
    assert failed["problem"]["id"] == "no-compiler"
    assert failed["stops"] is True
    assert failed["problem"]["effect"] == "stops live mode"
    assert set(failed["problem"]) == {"id", "what", "why", "remedy", "detail", "effect"}


def test_its_description_names_every_field(made: Made) -> None:
    from gpu_explain.app.doctor import exchange

    content = json.loads(to_json(made.examined(), NOBODY))
    names = {*content, *content["platform"], *content["gpus"][0], *content["checks"][0]}
    for name in names:
        assert f'"{name}"' in (exchange.__doc__ or "")


# ---------------------------------------------------------------- the command


def command(*arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "gpu_explain", "doctor", *arguments],
        capture_output=True,
        encoding=environ.get("PYTHONIOENCODING", "utf-8").partition(":")[0] or "ascii",
        timeout=60,
        check=False,
        env={**os.environ, "PYTHONIOENCODING": "utf-8", **environ},
        stdin=subprocess.DEVNULL,
    )


@pytest.mark.parametrize("arguments", [("--nonsense",), ("more",), ("--deep", "x")])
def test_wrong_usage_is_exit_code_two(arguments: tuple[str, ...]) -> None:
    done = command(*arguments)
    assert done.returncode == Exit.USAGE
    assert "usage: gpu-explain doctor" in done.stderr
    assert done.stdout == ""


def test_help_names_the_options_and_exit_codes() -> None:
    text = command("--help").stdout
    for word in ("--deep", "--json", "  0  ", "  1  ", "  2  ", "  3  "):
        assert word in text


def test_the_real_command_answers_within_two_seconds_and_its_exit_code_is_the_reports(fakes: Fakes) -> None:
    began = time.monotonic()
    done = command("--json", LD_LIBRARY_PATH=fakes.driver, FAKE_INIT="803")
    took = time.monotonic() - began
    content = json.loads(done.stdout)
    assert done.returncode == content["exit"] == Exit.FAILED
    assert "mismatch" in [check["problem"]["id"] for check in content["checks"] if check["problem"]]
    assert done.stderr == ""
    assert content["seconds"] < 2
    assert took < 10  # on a machine that is busy with other tests


@pytest.mark.parametrize(
    ("environ", "says"),
    [
        ({"TERM": "dumb"}, "TERM is 'dumb'"),
        ({"PYTHONIOENCODING": "latin-1"}, "This one is set to iso8859-1"),
        ({"PYTHONIOENCODING": "ascii"}, "This one is set to ascii by PYTHONIOENCODING -> unset PYTHONIOENCODING"),
        ({"PYTHONIOENCODING": "ascii:replace"}, "unset PYTHONIOENCODING"),
        ({"PYTHONIOENCODING": "", "PYTHONUTF8": "0", "LC_ALL": "C", "PYTHONCOERCECLOCALE": "0"}, "LC_ALL=C.UTF-8"),
        ({"NO_COLOR": "1"}, "NO_COLOR is set"),
        ({"COLUMNS": "40", "LINES": "10"}, "40"),
    ],
    ids=str,
)
def test_every_terminal_gets_a_report(environ: dict[str, str], says: str) -> None:
    done = command(**environ)
    assert says in " ".join(done.stdout.split())
    assert done.returncode in {Exit.OK, Exit.FAILED, Exit.NO_GPU}
    assert "Traceback" not in done.stderr
    assert "\x1b" not in done.stdout  # it is not a terminal


def test_json_is_utf8_whatever_the_terminal_can_write() -> None:
    arguments = [sys.executable, "-m", "gpu_explain", "doctor", "--json"]
    done = subprocess.run(
        arguments, capture_output=True, check=False, timeout=60, env={**os.environ, "PYTHONIOENCODING": "ascii"}
    )
    assert done.stderr == b""
    assert json.loads(done.stdout.decode("utf-8"))["schema"] == 1


@pytest.mark.parametrize("columns", [20, 30, 40])
def test_a_narrow_terminal_gets_a_narrow_report(columns: int) -> None:
    text = command(COLUMNS=str(columns), LINES="10").stdout
    assert "too small for the walkthrough" in " ".join(text.split())
    for line in text.splitlines():
        assert len(line) <= columns or " " not in line.strip(" →·✓✗!?")


@pytest.mark.parametrize("driver", [False, True])
def test_it_makes_no_folder_for_a_cache(tmp_path: Path, fakes: Fakes, driver: bool) -> None:
    done = command(
        HOME=str(tmp_path / "home"),
        XDG_CACHE_HOME=str(tmp_path / "home" / "cache"),
        PYTHONDONTWRITEBYTECODE="1",
        LD_LIBRARY_PATH=fakes.driver if driver else "",
    )
    assert done.returncode in {Exit.OK, Exit.FAILED, Exit.NO_GPU}
    assert list(tmp_path.rglob("*")) == []


def test_it_imports_neither_a_gpu_library_nor_a_screen() -> None:
    code = (
        "import sys\nfrom gpu_explain.app.cli import main\nmain(['doctor'])\n"
        "heavy = ('torch', 'triton', 'cuda', 'pynvml', 'numpy', 'textual')\n"
        "print([name for name in heavy if name in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stderr.strip() == "[]"
