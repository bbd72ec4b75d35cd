"""Ctrl-C is one word and exit code 130 from the first moment at which we can know of it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gpu_explain.app import cli, interrupts
from gpu_explain.app.exits import Exit
from gpu_explain.scenes import registry

ROOT = Path(__file__).resolve().parents[2]
COMMANDS = (["--list"], ["--version"], ["--run-all", "--replay"], ["doctor"], ["--nonsense"], ["--replay", "/nowhere"])

# Sends Ctrl-C to itself when the module named first is about to be imported, and goes on as `python -m` does.
INTERRUPTED = """
import _signal, os, sys
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            os.kill(os.getpid(), _signal.SIGINT)
sys.meta_path.insert(0, Finder())
sys.argv = ["gpu-explain", *{arguments!r}]
from gpu_explain.__main__ import main
raise SystemExit(main())
"""


def interrupted(module: str, arguments: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", INTERRUPTED.format(module=module, arguments=arguments)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        env={name: value for name, value in os.environ.items() if name != "GPU_EXPLAIN_DEBUG"},
    )


@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
@pytest.mark.parametrize("module", ["gpu_explain.app.cli", "argparse", "gpu_explain.scenes.base.problem"])
def test_ctrl_c_while_the_command_line_is_imported(module: str, arguments: list[str]) -> None:
    done = interrupted(module, arguments)
    assert (done.returncode, done.stderr.splitlines()[-1:]) == (Exit.INTERRUPTED, ["gpu-explain: interrupted"])
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("module", "arguments"),
    [
        ("gpu_explain.scenes.registry", ["--list"]),
        ("msgspec", ["--run-all", "--replay"]),
        ("msgspec._core", ["--run-all", "--replay"]),
        ("gpu_explain.app.replay", ["--run-all", "--replay"]),
        ("msgspec._core", ["doctor"]),
        ("gpu_explain.app.doctor.deep", ["doctor", "--json"]),
    ],
)
def test_ctrl_c_while_what_a_command_needs_is_imported(module: str, arguments: list[str]) -> None:
    done = interrupted(module, arguments)
    assert (done.returncode, done.stdout, done.stderr) == (Exit.INTERRUPTED, "", "gpu-explain: interrupted\n")


def test_no_extension_module_is_imported_once_ctrl_c_interrupts_again() -> None:
    code = (
        "import sys\n"
        "from gpu_explain.app import interrupts\n"
        "released = interrupts.release\n"
        "def release():\n"
        "    released()\n"
        "    seen.append('msgspec._core' in sys.modules)\n"
        "seen = []\n"
        "interrupts.release = release\n"
        "sys.argv = ['gpu-explain', *sys.argv[1:]]\n"
        "from gpu_explain.__main__ import main\n"
        "main()\n"
        "print(seen[0], file=sys.stderr)"
    )
    for arguments in (["--run-all", "--replay", "--scene", "waves"], ["doctor"]):
        done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True)
        assert done.stderr.splitlines()[-1] == "True"


@pytest.mark.parametrize("arguments", [["--list"], ["--run-all", "--replay"]], ids=" ".join)
def test_ctrl_c_at_any_moment_of_the_start(arguments: list[str]) -> None:
    """From our first line on: before it, Python itself is starting, and nobody can catch it."""
    seen = set()
    for delay_ms in range(0, 60, 6):
        with subprocess.Popen(
            [sys.executable, "-c", "print(flush=True)\n" + INTERRUPTED.format(module="", arguments=arguments)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=ROOT,
        ) as process:
            assert process.stdout is not None
            assert process.stderr is not None
            process.stdout.readline()
            time.sleep(0.003 + delay_ms / 1e3)
            process.send_signal(signal.SIGINT)
            process.stdout.read()
            error = process.stderr.read()
        # What was faster than the signal ended well.
        assert process.returncode in {Exit.INTERRUPTED, Exit.OK}, (delay_ms, error)
        assert "Traceback" not in error
        seen.add(process.returncode)
    assert Exit.INTERRUPTED in seen


def test_where_ctrl_c_is_ignored_it_stays_so() -> None:
    code = f"import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)\n{INTERRUPTED}"
    done = subprocess.run(
        [sys.executable, "-c", code.format(module="argparse", arguments=["--list"])],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_what_was_noted_interrupts_once_and_then_ctrl_c_is_as_before() -> None:
    before = signal.getsignal(signal.SIGINT)
    interrupts.hold()
    try:
        os.kill(os.getpid(), signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            interrupts.release()
    finally:
        signal.signal(signal.SIGINT, before)
    assert signal.getsignal(signal.SIGINT) is before
    interrupts.release()


def test_a_walkthrough_is_imported_whole(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    class Walkthrough:
        """The module, during whose import Ctrl-C is pressed."""

        def find_spec(self, name: str, path: object = None, target: object = None) -> None:
            if name == "gpu_explain.app.walkthrough":
                os.kill(os.getpid(), signal.SIGINT)
                found.append(len(found))

    found: list[int] = []
    monkeypatch.setattr("gpu_explain.app.terminal.why_not_here", lambda *_: None)
    monkeypatch.setattr("sys.meta_path", [Walkthrough(), *sys.meta_path])
    for name in list(sys.modules):
        if name.startswith("gpu_explain.app.walkthrough"):
            monkeypatch.delitem(sys.modules, name)
    assert cli.main(["--replay"]) == Exit.INTERRUPTED
    assert found
    assert "gpu_explain.app.walkthrough" in sys.modules
    assert capsys.readouterr().err == "gpu-explain: interrupted\n"
    assert registry.all_scenes()
