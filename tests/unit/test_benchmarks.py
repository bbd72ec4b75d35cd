"""Benchmarks as commands: what keeps them from running is a sentence, and what they measured is not lost."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import everything
from benchmarks.compare import INTERRUPTED, UNUSABLE, command
from benchmarks.everything import PARTS
from gpu_explain.scenes.base import Problem, ProblemError

ROOT = Path(__file__).resolve().parents[2]
NO_GPU = Problem("no-driver", "There is no NVIDIA GPU to be seen here", "No driver", "Get one")
HEAD = "2026-11-30, Made-up GPU 5, 4 SMs"


@pytest.fixture
def parts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> dict[str, str]:
    """A usable GPU, and benchmarks that are these lines of Python; results go to a folder of their own."""
    codes = dict.fromkeys(PARTS, f"print('# ' + NAME); print({HEAD!r})")
    (tmp_path / "benchmarks").mkdir()

    def ready() -> None:
        for name, code in codes.items():
            (tmp_path / "benchmarks" / f"{name}.py").write_text(f"NAME = {name!r}\n{code}\n")

    monkeypatch.setattr(everything, "ROOT", tmp_path)
    monkeypatch.setattr(everything, "why_not_live", ready)
    return codes


def results(tmp_path: Path) -> list[Path]:
    return sorted((tmp_path / "benchmarks" / "results").glob("*"))


def test_every_part_goes_into_one_file_named_after_the_gpu(parts: dict[str, str], tmp_path: Path) -> None:
    assert everything.main([]) == 0
    (found,) = results(tmp_path)
    assert found.name.endswith("-made-up-gpu-5.md")
    assert [line for line in found.read_text().splitlines() if line.startswith("#")] == [f"# {name}" for name in PARTS]


def test_a_part_that_fails_does_not_take_the_others_along(parts: dict[str, str], tmp_path: Path) -> None:
    parts["memory"] = "raise RuntimeError('of its own')"
    assert everything.main(["threads", "memory", "--out", str(tmp_path / "out.md")]) == 1
    text = (tmp_path / "out.md").read_text()
    assert "# threads" in text
    assert "**memory ended with exit code 1:**" in text
    assert "RuntimeError: of its own" in text


def test_without_a_gpu_it_is_one_sentence_and_no_file(
    parts: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(everything, "why_not_live", lambda: NO_GPU)
    assert everything.main([]) == UNUSABLE
    assert capsys.readouterr().err == f"{NO_GPU.sentence}\n"
    assert results(tmp_path) == []


def test_a_gpu_that_no_part_can_open_leaves_no_file(
    parts: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in PARTS:
        parts[name] = "import sys; print('It is in use.', file=sys.stderr); sys.exit(2)"
    assert everything.main([]) == UNUSABLE
    assert capsys.readouterr().err.splitlines()[-1] == "It is in use."
    assert results(tmp_path) == []


@pytest.mark.parametrize("out", ["folder", "file/out.md"])
def test_a_place_that_cannot_be_written_is_known_before_the_measuring(
    parts: dict[str, str], out: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(everything, "part", lambda name: pytest.fail(f"{name} was measured"))
    assert everything.main(["--out", str(tmp_path / out)]) == UNUSABLE
    assert str(tmp_path / out) in capsys.readouterr().err


def test_what_was_measured_is_printed_where_it_can_no_longer_be_written(
    parts: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out" / "out.md"
    parts["threads"] += f"; open({str(out.parent)!r}, 'w').close()"
    assert everything.main(["threads", "--out", str(out)]) == UNUSABLE
    assert "# threads" in capsys.readouterr().out


def test_a_part_that_is_not_there_is_wrong_usage_that_names_those_that_are(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        everything.main(["nonsense"])
    assert ended.value.code == 2
    assert f"'nonsense' is none of {', '.join(PARTS)}\n" in capsys.readouterr().err


def test_ctrl_c_keeps_the_parts_that_are_done_and_what_the_last_one_printed(
    parts: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts["memory"] = (
        "import os, signal, time\nprint('half of it', flush=True)\nos.kill(os.getppid(), signal.SIGINT)\ntime.sleep(30)"
    )
    monkeypatch.setattr(everything, "_LEAVING_S", 0.1)
    assert everything.main([]) == INTERRUPTED
    (found,) = results(tmp_path)
    assert found.name.endswith("-made-up-gpu-5-interrupted.md")
    text = found.read_text()
    assert "# threads" in text
    assert text.endswith("half of it\n\n**memory was interrupted.**\n")


def test_ctrl_c_before_anything_was_measured_leaves_no_file(parts: dict[str, str], tmp_path: Path) -> None:
    parts["threads"] = "import os, signal; os.kill(os.getppid(), signal.SIGINT)"
    assert everything.main([]) == INTERRUPTED
    assert results(tmp_path) == []


def test_a_part_as_a_command() -> None:
    def missing() -> None:
        raise ProblemError(NO_GPU)

    def interrupted() -> None:
        raise KeyboardInterrupt

    assert command(lambda: None) == 0
    assert command(missing) == UNUSABLE
    assert command(interrupted) == INTERRUPTED


@pytest.mark.parametrize("name", PARTS)
def test_a_part_alone_without_a_gpu_is_one_sentence(name: str) -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "benchmarks" / f"{name}.py")],
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
        env={**os.environ, "PYTHONPATH": str(ROOT), "CUDA_VISIBLE_DEVICES": ""},
    )
    assert (done.returncode, done.stdout) == (UNUSABLE, "")
    assert done.stderr.count("\n") == 1
    assert "Traceback" not in done.stderr
