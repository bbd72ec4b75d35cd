"""The real program in a real terminal: tmux, keys in, screen out."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from gpu_explain.app.recording import pack
from tests.simulated.inprocess import measure

pytestmark = pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")

PATIENCE = 20.0
"""Seconds until something must have appeared: generous, since two cores may be busy."""


class Terminal:
    """A terminal of its own that runs the program."""

    def __init__(self, folder: Path, columns: int, lines: int, *arguments: str, **environ: str) -> None:
        self._socket = f"gpu-explain-{uuid.uuid4().hex[:8]}"
        self.exit_code = folder / "exit"
        self._pid = folder / "pid"
        command = " ".join([sys.executable, "-m", "gpu_explain", *arguments])
        clean = {name: value for name, value in os.environ.items() if not name.startswith(("TMUX", "NO_COLOR"))}
        settings = {"LC_ALL": "C.UTF-8", "COLORTERM": "truecolor", **environ}
        shell = " ".join(f"{name}={value}" for name, value in settings.items())
        self._tmux(
            "new-session", "-d", "-x", str(columns), "-y", str(lines),
            f"env {shell} sh -c 'echo $$ > {self._pid}; exec {command}'; echo $? > {self.exit_code}; sleep 60",
            env=clean,
        )  # fmt: skip

    def _tmux(self, *arguments: str, env: dict[str, str] | None = None) -> str:
        done = subprocess.run(
            ["tmux", "-L", self._socket, "-f", "/dev/null", *arguments],
            check=True, capture_output=True, text=True, env=env,
        )  # fmt: skip
        return done.stdout

    def press(self, *keys: str) -> None:
        self._tmux("send-keys", *keys)

    @property
    def pid(self) -> int:
        """Of the program, once it has been started."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end and not (self._pid.exists() and self._pid.read_text().strip()):
            time.sleep(0.01)
        return int(self._pid.read_text())

    def state(self) -> tuple[bool, bool]:
        """Whether it is on the alternate screen, and whether the cursor can be seen."""
        alternate, cursor = self._tmux("display-message", "-p", "#{alternate_on} #{cursor_flag}").split()
        return alternate == "1", cursor == "1"

    def wait_until_asleep(self) -> None:
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            if Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()[0] == "T":
                return
            time.sleep(0.1)
        raise AssertionError(f"it was not stopped:\n{self.screen()}")

    def screen(self) -> str:
        return self._tmux("capture-pane", "-p")

    def wait_for(self, text: str) -> str:
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            screen = self.screen()
            if text in screen:
                return screen
            time.sleep(0.1)
        raise AssertionError(f"{text!r} did not appear:\n{self.screen()}")

    def resize(self, columns: int, lines: int) -> None:
        self._tmux("resize-window", "-x", str(columns), "-y", str(lines))

    def wait_for_exit(self) -> int:
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            if self.exit_code.exists() and self.exit_code.read_text().strip():
                return int(self.exit_code.read_text())
            time.sleep(0.1)
        raise AssertionError(f"it did not end:\n{self.screen()}")

    def close(self) -> None:
        with contextlib.suppress(subprocess.CalledProcessError):  # closed already
            self._tmux("kill-server")


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recording of waves from a made-up GPU."""
    folder = tmp_path_factory.mktemp("recording")
    (folder / "waves.json.gz").write_bytes(pack([measure("waves")]))
    return folder


@pytest.fixture
def terminal(tmp_path: Path, recording: Path) -> Iterator[Terminal]:
    opened = Terminal(tmp_path, 120, 40, "--replay", str(recording))
    yield opened
    opened.close()


def test_a_walk_from_the_start_screen_to_the_end(terminal: Terminal) -> None:
    start = terminal.wait_for("Waves")
    assert "choose a scene" in start
    assert "RECORDED" in start
    terminal.press("Enter")
    first = terminal.wait_for("1/6")
    assert "WHO WORKED WHEN" in first or "RESIDENT" in first
    terminal.press("NPage")
    terminal.wait_for("2/6")
    terminal.press("Right")
    terminal.wait_for("3/6")
    terminal.press("Left")
    terminal.wait_for("2/6")
    terminal.press("s")
    assert "as it ran" in terminal.wait_for("as it ran")
    terminal.press("Escape")
    terminal.wait_for("2/6")
    terminal.press("i")
    terminal.wait_for("Where does this come from?")
    terminal.press("Escape")
    terminal.wait_for("2/6")
    terminal.press("?")
    terminal.wait_for("WALK")
    terminal.press("Escape")
    terminal.wait_for("2/6")
    terminal.press("q")
    assert terminal.wait_for_exit() == 0


def test_a_terminal_made_smaller_and_larger_while_it_runs(terminal: Terminal) -> None:
    terminal.wait_for("Waves")
    terminal.press("Enter")
    terminal.wait_for("1/6")
    terminal.resize(80, 24)
    terminal.wait_for("v picture")
    terminal.press("v")
    terminal.wait_for("v words")
    terminal.resize(40, 10)
    terminal.wait_for("needs at least")
    terminal.resize(120, 40)
    assert "PARAMETERS" in terminal.wait_for("PARAMETERS")


@pytest.mark.parametrize(
    "environ", [{"NO_COLOR": "1"}, {"TERM": "screen", "COLORTERM": "''"}], ids=["no colour", "16 colours"]
)
def test_fewer_colours_are_enough(tmp_path: Path, recording: Path, environ: dict[str, str]) -> None:
    opened = Terminal(tmp_path, 120, 40, "--replay", str(recording), "--scene", "waves", **environ)
    try:
        assert "PARAMETERS" in opened.wait_for("1/6")
        opened.press("q")
        assert opened.wait_for_exit() == 0
    finally:
        opened.close()


@pytest.mark.parametrize("delay", [0.3, 0.5, 2.0])
@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGINT"])
def test_a_signal_leaves_the_terminal_as_it_was(terminal: Terminal, name: str, delay: float) -> None:
    number = signal.Signals[name]
    pid = terminal.pid
    time.sleep(delay)
    os.kill(pid, number)
    assert terminal.wait_for_exit() == 128 + number
    assert terminal.state() == (False, True)
    assert "fault" not in terminal.screen()
    terminal.press("e", "c", "h", "o")
    assert "echo" in terminal.wait_for("echo")


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="there is no /proc to see what sleeps")
def test_control_z_goes_to_the_shell_and_back(terminal: Terminal) -> None:
    terminal.wait_for("Waves")
    terminal.press("Enter")
    terminal.wait_for("1/6")
    terminal.press("C-z")
    terminal.wait_until_asleep()
    assert terminal.state() == (False, True)
    os.kill(terminal.pid, signal.SIGCONT)
    terminal.wait_for("1/6")
    assert terminal.state() == (True, False)
    terminal.press("NPage")
    terminal.wait_for("2/6")
    terminal.press("q")
    assert terminal.wait_for_exit() == 0


def test_a_terminal_that_is_closed_ends_the_program(terminal: Terminal) -> None:
    terminal.wait_for("Waves")
    pid = terminal.pid
    terminal.close()
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end and Path(f"/proc/{pid}").exists():
        time.sleep(0.1)
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
