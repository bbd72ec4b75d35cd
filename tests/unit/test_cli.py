"""The command line answers at once, refuses in one sentence, and never shows a traceback."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from xml.etree import ElementTree as ET

import pytest

from gpu_explain import __version__
from gpu_explain.app import cli
from gpu_explain.app.exits import Exit
from gpu_explain.app.live import Limits, LiveSource
from gpu_explain.app.shelf import Recorder, open_shelf
from gpu_explain.app.source import Source
from gpu_explain.app.terminal import why_not_here
from gpu_explain.scenes import registry
from gpu_explain.scenes.base import Problem
from tests.unit.made_up import measurement, tiny
from tests.unit.test_live import WORKER

NO_GPU = Problem("no-driver", "There is no NVIDIA GPU to be seen here", "No driver", "Get one")


def command(*arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "gpu_explain", *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={**os.environ, **environ},
        stdin=subprocess.DEVNULL,
    )


@pytest.fixture
def scenes(monkeypatch: pytest.MonkeyPatch) -> None:
    """The walkthrough consists of two made-up scenes."""
    monkeypatch.setattr(registry, "all_scenes", lambda: (tiny(), tiny(id="two", number=100)))


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch, scenes: None) -> Callable[..., None]:
    """A usable GPU: the scripted worker, with a fault if one is named."""

    def install(*options: str) -> None:
        def open_gpu(given: argparse.Namespace, retries: int) -> LiveSource:
            return LiveSource(command=(*WORKER, *options), limits=Limits(first=0.0, leaving=1.0), retries=retries)

        monkeypatch.setattr(cli, "_why_not_live", lambda _: None)
        monkeypatch.setattr(cli, "_open_gpu", open_gpu)

    return install


@pytest.fixture
def no_gpu(monkeypatch: pytest.MonkeyPatch, scenes: None, tmp_path: Path) -> None:
    """No GPU, and a bundled recording of the first scene."""
    Recorder(str(tmp_path / "bundled")).write((measurement(), measurement(size="big")))
    shelf = open_shelf(str(tmp_path / "bundled"))
    monkeypatch.setattr(cli, "_why_not_live", lambda _: NO_GPU)
    monkeypatch.setattr("gpu_explain.app.replay.bundled", lambda: shelf)


# ---------------------------------------------------------------- at once


def test_the_version_is_said() -> None:
    done = command("--version")
    assert (done.returncode, done.stdout) == (0, f"gpu-explain {__version__}\n")


def test_the_list_has_one_line_a_scene_with_number_id_and_title() -> None:
    done = command("--list")
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    assert len(lines) == len(registry.all_scenes())
    for line, scene in zip(lines, registry.all_scenes(), strict=True):
        assert line.split(maxsplit=2) == [str(scene.number), scene.id, scene.title]


def test_help_names_every_option_and_every_exit_code() -> None:
    text = command("--help").stdout
    for option in (
        "--run-all",
        "--replay",
        "--record",
        "--json",
        "--junit",
        "--strict",
        "--scene",
        "--device",
        "--sms",
    ):
        assert option in text
    for code in ("0", "1", "2", "3"):
        assert f"\n  {code}  " in text


@pytest.mark.parametrize("option", ["--list", "--help", "--version"])
def test_quick_answers_import_neither_a_screen_nor_numpy(option: str) -> None:
    code = (
        "import sys; from gpu_explain.app.cli import main\n"
        f"try: main([{option!r}])\n"
        "except SystemExit: pass\n"
        "heavy = ('textual', 'rich', 'numpy', 'torch', 'triton', 'cuda', 'asyncio', 'msgspec')\n"
        "print([name for name in heavy if name in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"


# ---------------------------------------------------------------- wrong usage


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--json", "x"], "belongs to --run-all"),
        (["--strict"], "belongs to --run-all"),
        (["--run-all", "--json", "-", "--junit", "-"], "standard output"),
        (["--run-all", "--replay", "--record", "x"], "--replay needs none"),
        (["--replay", "--sms", "40"], "--replay needs none"),
        (["--scene", "waves", "--scene", "10"], "Give --scene once"),
        (["--run-all", "--scene", "nonsense"], "no scene called 'nonsense'"),
        (["--scene", "nonsense"], "no scene called 'nonsense'"),
        (["--device", "first"], "whole number from 0"),
        (["--sms", "0"], "whole number from 1"),
        (["--run"], "unrecognized arguments"),
        (["--run-all", "--replay", "/nowhere"], "/nowhere cannot be replayed"),
        (["--replay", "/nowhere"], "terminal"),
        (["--run-all", "--json", "/nowhere/x.json"], "cannot be written"),
        (["--run-all", "--replay", "pyproject.toml"], "neither a folder nor a zip"),
    ],
)
def test_wrong_usage_is_one_sentence_and_exit_code_two(arguments: list[str], says: str) -> None:
    done = command(*arguments)
    assert done.returncode == Exit.USAGE
    assert says in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def test_a_fault_of_our_own_is_one_sentence_and_a_traceback_only_on_request(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken() -> None:
        raise ZeroDivisionError("division by zero")

    monkeypatch.setattr(registry, "all_scenes", broken)
    monkeypatch.delenv("GPU_EXPLAIN_DEBUG", raising=False)
    assert cli.main(["--list"]) == Exit.FAILED
    error = capsys.readouterr().err
    assert "ZeroDivisionError: division by zero" in error
    assert error.count("\n") == 1
    monkeypatch.setenv("GPU_EXPLAIN_DEBUG", "1")
    with pytest.raises(ZeroDivisionError):
        cli.main(["--list"])


@pytest.mark.parametrize("arguments", [["doctor"], ["--run-all", "--replay"]], ids=" ".join)
def test_a_package_of_our_own_that_is_missing_is_named_with_the_command(arguments: list[str]) -> None:
    code = (
        f"import sys; sys.modules['msgspec'] = None; from gpu_explain.app import cli; sys.exit(cli.main({arguments!r}))"
    )
    environ = {name: value for name, value in os.environ.items() if name != "GPU_EXPLAIN_DEBUG"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, env=environ)
    assert done.returncode == Exit.USAGE
    assert done.stderr.startswith("gpu-explain: gpu-explain is not completely installed.")
    assert "msgspec" in done.stderr
    assert "pip install" in done.stderr
    assert done.stderr.count("\n") == 1


def test_ctrl_c_is_one_word(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(registry, "all_scenes", interrupted)
    assert cli.main(["--list"]) == Exit.INTERRUPTED
    assert capsys.readouterr().err == "gpu-explain: interrupted\n"


def test_a_reader_that_goes_away_is_no_traceback(tmp_path: Path) -> None:
    Recorder(str(tmp_path / "rec")).write((measurement(),))
    code = (
        "import sys, time; from gpu_explain.app import cli; from gpu_explain.scenes import registry;"
        "from tests.unit.made_up import tiny; registry.all_scenes = lambda: (tiny(),) * 20000;"
        "sys.exit(cli.main(['--list']))"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        error = process.stderr.read()
    assert process.returncode == Exit.BROKEN_PIPE
    assert error == b""


# ---------------------------------------------------------------- the terminal


class Stream:
    def __init__(self, encoding: str = "utf-8", *, terminal: bool = True) -> None:
        self.encoding, self._terminal = encoding, terminal

    def isatty(self) -> bool:
        return self._terminal


@pytest.mark.parametrize(
    ("term", "streams", "id"),
    [
        ("xterm-256color", [Stream(), Stream(), Stream()], ""),
        ("xterm", [Stream(), Stream("UTF8"), Stream()], ""),
        ("xterm", [Stream(terminal=False), Stream(), Stream()], "no-terminal"),
        ("xterm", [Stream(), Stream(terminal=False), Stream()], "no-terminal"),
        ("xterm", [Stream(), Stream(), Stream(terminal=False)], "no-terminal"),
        ("dumb", [Stream(), Stream(), Stream()], "dumb-terminal"),
        ("", [Stream(), Stream(), Stream()], "dumb-terminal"),
        ("xterm", [Stream(), Stream("iso-8859-1"), Stream()], "no-utf8"),
        ("xterm", [Stream(), Stream("no-such-encoding"), Stream()], "no-utf8"),
    ],
)
def test_a_terminal_that_cannot_show_it_gets_a_sentence(term: str, streams: list[Stream], id: str) -> None:
    problem = why_not_here({"TERM": term}, *streams)  # type: ignore[arg-type]
    assert (problem.id if problem else "") == id
    assert problem is None or problem.remedy


@pytest.mark.parametrize(
    ("value", "names"),
    [
        ("ascii", "unset PYTHONIOENCODING"),
        ("latin-1:replace", "unset PYTHONIOENCODING"),
        ("utf-8", "LC_ALL"),
        (":replace", "LC_ALL"),
        ("", "LC_ALL"),
    ],
)
def test_the_remedy_for_an_encoding_names_the_variable_that_made_it(value: str, names: str) -> None:
    environ = {"TERM": "xterm", "PYTHONIOENCODING": value}
    problem = why_not_here(environ, Stream(), Stream("ascii"), Stream())  # type: ignore[arg-type]
    assert problem is not None
    assert names in problem.remedy


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("TEXTUAL_COLOR_SYSTEM", "bad", "'bad'"),
        ("TEXTUAL_COLOR_SYSTEM", "", "''"),
        ("TEXTUAL_DRIVER", "no.such:Driver", "no such driver"),
        ("TEXTUAL_DRIVER", "", "no such driver"),
        ("TEXTUAL_LOG", "/nonexistent/log", "cannot be written"),
        ("TEXTUAL_COLOR_SYSTEM", "truecolor", ""),
        ("TEXTUAL_DRIVER", "textual.drivers.linux_driver:LinuxDriver", ""),
        ("TEXTUAL_LOG", "", ""),
    ],
)
def test_a_variable_that_the_terminal_library_raises_on_gets_a_sentence(name: str, value: str, says: str) -> None:
    problem = why_not_here({"TERM": "xterm", name: value}, Stream(), Stream(), Stream())  # type: ignore[arg-type]
    if says:
        assert problem is not None
        assert problem.id == "terminal-variable"
        assert says in problem.sentence
        assert f"unset {name}" in problem.sentence
    else:
        assert problem is None


# ---------------------------------------------------------------- run-all


def test_run_all_measures_checks_and_writes_everything(
    gpu: Callable[..., None], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    gpu()
    files = [str(tmp_path / name) for name in ("report.json", "report.xml", "rec.zip")]
    code = cli.main(["--run-all", "--json", files[0], "--junit", files[1], "--record", files[2]])
    assert code == Exit.OK
    out = capsys.readouterr().out
    assert "2 scenes" in out
    assert "exit 0 (1 with --strict)" in out
    assert json.loads(Path(files[0]).read_text())["mode"] == "live"
    assert ET.parse(files[1]).getroot().get("failures") == "0"
    assert open_shelf(files[2]).scenes == ("tiny", "two")


def test_a_report_on_standard_output_leaves_it_to_the_report(
    gpu: Callable[..., None], capfd: pytest.CaptureFixture[str]
) -> None:
    gpu()
    assert cli.main(["--run-all", "--scene", "two", "--json", "-"]) == Exit.OK
    out, error = capfd.readouterr()
    assert [scene["id"] for scene in json.loads(out)["scenes"]] == ["two"]
    assert "1 scene" in error


def test_strict_fails_an_unchecked_law(gpu: Callable[..., None]) -> None:
    gpu()
    assert cli.main(["--run-all", "--strict"]) == Exit.FAILED


def test_a_worker_killed_while_measuring_is_one_sentence_and_exit_code_one(
    gpu: Callable[..., None], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    gpu("--fault", "crash", "--once", str(tmp_path / "once"))
    assert cli.main(["--run-all", "--record", str(tmp_path / "rec")]) == Exit.FAILED
    out, error = capsys.readouterr()
    assert out.count("killed by SIGKILL") == 1
    assert "Traceback" not in out + error
    assert open_shelf(str(tmp_path / "rec")).scenes == ("two",)


def test_without_a_gpu_the_bundled_recording_is_checked_and_said_so(
    no_gpu: None, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert cli.main(["--run-all", "--json", str(tmp_path / "x.json")]) == Exit.NO_GPU
    out = capsys.readouterr().out
    assert "RECORDED 2026-11-29" in out
    assert NO_GPU.sentence in out
    assert "exit 3" in out
    content = json.loads((tmp_path / "x.json").read_text())
    assert (content["mode"], content["exit"], content["no_gpu"]["id"]) == ("recorded", 3, "no-driver")


def test_replay_on_request_is_exit_code_zero(no_gpu: None) -> None:
    assert cli.main(["--run-all", "--replay"]) == Exit.OK


def test_nothing_is_recorded_from_a_recording(no_gpu: None, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert cli.main(["--run-all", "--record", str(tmp_path / "rec")]) == Exit.USAGE
    assert NO_GPU.what in capsys.readouterr().err
    assert not (tmp_path / "rec").exists()


def test_a_named_scene_that_was_not_recorded_is_said(no_gpu: None, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["--run-all", "--replay", "--scene", "two"]) == Exit.USAGE
    assert "two cannot be shown here. Not in this recording." in capsys.readouterr().err


def test_a_gpu_that_is_not_there_is_wrong_usage(
    monkeypatch: pytest.MonkeyPatch, no_gpu: None, capsys: pytest.CaptureFixture[str]
) -> None:
    missing = Problem("no-such-gpu", "There is no GPU 9 here")
    monkeypatch.setattr(cli, "_why_not_live", lambda _: missing)
    assert cli.main(["--run-all", "--device", "9"]) == Exit.USAGE
    assert "no GPU 9" in capsys.readouterr().err


def test_without_a_gpu_and_without_a_recording_both_are_said(
    monkeypatch: pytest.MonkeyPatch, no_gpu: None, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("gpu_explain.app.replay.bundled", lambda: None)
    assert cli.main(["--run-all"]) == Exit.USAGE
    error = capsys.readouterr().err
    assert NO_GPU.what in error
    assert "no bundled recording" in error


# ---------------------------------------------------------------- the walkthrough


@pytest.fixture
def walked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str | None, str]]:
    """What the walkthrough was started with: label, scene, notice."""
    found: list[tuple[str, str | None, str]] = []

    def run(source: Source, *, scene: str | None, presenting: bool = False, notice: Problem | None = None) -> int:
        found.append((source.label, scene, notice.id if notice else ""))
        return 0

    module = ModuleType("walkthrough")
    module.run = run  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "gpu_explain.app.walkthrough", module)
    monkeypatch.setattr("gpu_explain.app.terminal.why_not_here", lambda *_: None)
    return found


def test_with_a_gpu_the_walkthrough_is_live(
    gpu: Callable[..., None], walked: list[tuple[str, str | None, str]]
) -> None:
    gpu()
    assert cli.main(["--scene", "100"]) == Exit.OK
    assert walked == [("LIVE · opening the GPU …", "two", "")]


def test_without_a_gpu_the_walkthrough_is_the_recording_and_says_why(
    no_gpu: None, walked: list[tuple[str, str | None, str]]
) -> None:
    assert cli.main([]) == Exit.OK
    assert walked == [("RECORDED · Made-up GPU · 2026-11-29", None, "no-driver")]


def test_variables_that_were_unset_are_told_on_the_way_in(
    monkeypatch: pytest.MonkeyPatch, gpu: Callable[..., None], walked: list[tuple[str, str | None, str]]
) -> None:
    monkeypatch.setenv("CUDA_LAUNCH_BLOCKING", "1")
    gpu()
    assert cli.main([]) == Exit.OK
    assert walked[0][2] == "environment"
