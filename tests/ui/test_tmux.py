"""The real program in a real terminal: tmux, keys in, screen out."""

from __future__ import annotations

import os
import shutil
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
        command = " ".join([sys.executable, "-m", "gpu_explain", *arguments])
        clean = {name: value for name, value in os.environ.items() if not name.startswith(("TMUX", "NO_COLOR"))}
        settings = {"LC_ALL": "C.UTF-8", "COLORTERM": "truecolor", **environ}
        shell = " ".join(f"{name}={value}" for name, value in settings.items())
        self._tmux(
            "new-session", "-d", "-x", str(columns), "-y", str(lines),
            f"env {shell} {command}; echo $? > {self.exit_code}; sleep 60",
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
