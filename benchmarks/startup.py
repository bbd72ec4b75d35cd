"""How fast gpu-explain starts, against an empty Textual app: ``python benchmarks/startup.py``.

First paint is the time from starting Python to the first frame that has left for the terminal, the program
running in a pseudo-terminal of 120 x 40. The yardstick is a Textual app with a header and a footer and
nothing between, measured the same way, one after the other in turns so that both see the same machine.
"""

from __future__ import annotations

import argparse
import fcntl
import os
import pty
import select
import signal
import statistics
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LIMIT_S = 30.0
EMPTY_APP = """
from textual.app import App
from textual.widgets import Footer, Header
class Empty(App):
    def compose(self):
        yield Header()
        yield Footer()
Empty().run()
"""


def first_paint(command: list[str], marks: tuple[bytes, ...]) -> float:
    """Seconds from start until one of the marks has arrived on a pseudo-terminal. Raises ``TimeoutError``."""
    began = time.perf_counter()
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(ROOT)
        os.execvpe(command[0], command, os.environ | {"TERM": "xterm-256color", "COLORTERM": "truecolor"})
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
    seen = b""
    try:
        while time.perf_counter() - began < LIMIT_S:
            if not select.select([terminal], [], [], 0.5)[0]:
                continue
            try:
                seen += os.read(terminal, 65536)
            except OSError:
                break
            if any(mark in seen for mark in marks):
                return time.perf_counter() - began
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        os.close(terminal)
    raise TimeoutError(f"{' '.join(command)} never painted; it wrote {seen[-500:]!r}")


def seconds(command: list[str]) -> float:
    """Seconds from start to end of a command that only prints. Raises ``CalledProcessError``."""
    began = time.perf_counter()
    subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - began


def main(arguments: list[str] | None = None) -> None:
    """Measure and print medians and the ratio."""
    parser = argparse.ArgumentParser(description="Prints how fast gpu-explain starts.")
    parser.add_argument("--rounds", type=int, default=9, help="samples of each; the median is printed")
    parser.add_argument("--replay", metavar="PATH", help="another recording than the bundled one")
    options = parser.parse_args(arguments)
    rounds = options.rounds
    replay = ["--replay", options.replay] if options.replay else ["--replay"]
    ours = str(Path(sys.executable).parent / "gpu-explain")
    walk, empty, listing, helping, bare = [], [], [], [], []
    for _ in range(rounds):
        # The footer is painted last: its keys on the screen mean that a whole frame is there.
        empty.append(first_paint([sys.executable, "-c", EMPTY_APP], (b"palette",)))
        walk.append(first_paint([ours, *replay], (b"help", b"quit")))
        listing.append(seconds([ours, "--list"]))
        helping.append(seconds([ours, "--help"]))
        bare.append(seconds([sys.executable, "-c", "pass"]))
    middle = statistics.median
    print(f"first paint: walkthrough          {middle(walk):6.3f} s")
    print(f"first paint: empty Textual app    {middle(empty):6.3f} s")
    print(f"             ratio                {middle(walk) / middle(empty):6.2f}    (wanted: at most 1.3)")
    print(f"--list                            {middle(listing):6.3f} s  (wanted: under 0.15)")
    print(f"--help                            {middle(helping):6.3f} s  (wanted: under 0.15)")
    print(f"python -c pass                    {middle(bare):6.3f} s  of each")


if __name__ == "__main__":
    main()
