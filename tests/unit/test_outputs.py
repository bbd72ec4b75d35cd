"""Reports are whole or not there, and streams that are closed or full are a sentence and exit code two."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from gpu_explain.app import cli, outputs
from gpu_explain.app.exits import Exit
from gpu_explain.app.paths import place
from gpu_explain.app.report import Printer
from gpu_explain.app.streams import watched
from gpu_explain.scenes.base import ProblemError
from tests.unit.test_cli import gpu, scenes  # noqa: F401 — fixtures
from tests.unit.test_verify import Terminal

FULL = Path("/dev/full")
ROOT = Path(__file__).resolve().parents[2]
needs_full = pytest.mark.skipif(not FULL.exists(), reason="no /dev/full here")


def shell(line: str, **environ: str) -> subprocess.CompletedProcess[str]:
    """A command line with ``gpu-explain`` in it, as the shell runs it."""
    command = f'gpu-explain() {{ "{sys.executable}" -m gpu_explain "$@"; }}; {line}'
    inherited = {name: value for name, value in os.environ.items() if name != "GPU_EXPLAIN_DEBUG"}
    return subprocess.run(
        ["bash", "-c", command],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env=inherited | environ,
        stdin=subprocess.DEVNULL,
    )


# ---------------------------------------------------------------- report files


def test_a_full_disk_keeps_the_report_that_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    report = tmp_path / "j.json"
    report.write_text("the old one")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    found = outputs.write(str(report), b"the new one")
    assert found is not None
    assert "No space left" in found.sentence
    assert "[Errno" not in found.sentence
    assert report.read_text() == "the old one"
    assert [entry.name for entry in tmp_path.iterdir()] == ["j.json"]


def test_a_report_takes_the_place_of_the_old_one_with_its_rights_and_through_links(tmp_path: Path) -> None:
    real = tmp_path / "real.json"
    real.write_text("old")
    real.chmod(0o640)
    (tmp_path / "link.json").symlink_to(real)
    assert outputs.write(str(tmp_path / "link.json"), b"new") is None
    assert real.read_text() == "new"
    assert real.stat().st_mode & 0o777 == 0o640
    assert (tmp_path / "link.json").is_symlink()


@needs_full
@pytest.mark.parametrize("order", [("--json", "--junit"), ("--junit", "--json")])
def test_one_report_that_cannot_be_written_does_not_take_the_other_along(
    gpu: Callable[..., None],  # noqa: F811
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    order: tuple[str, str],
) -> None:
    gpu()
    good = tmp_path / "good"
    assert cli.main(["--run-all", order[0], str(FULL), order[1], str(good)]) == Exit.USAGE
    assert good.stat().st_size > 100
    assert "/dev/full cannot be written. No space left on device." in capsys.readouterr().err


def test_two_reports_in_one_file_are_wrong_usage(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "a")
    for first, second in (("a", "a"), ("a", "./a"), ("link", "a")):
        with pytest.raises(ProblemError, match="would both write to"):
            outputs.check({"json": f"{tmp_path}/{first}", "junit": f"{tmp_path}/{second}"})
    with pytest.raises(ProblemError, match="--json and --record"):
        outputs.check({"json": f"{tmp_path}/a.zip"}, record=f"{tmp_path}/a.zip")
    outputs.check({"json": os.devnull, "junit": os.devnull})
    outputs.check({"json": f"{tmp_path}/a", "junit": f"{tmp_path}/b"})
    assert {entry.name for entry in tmp_path.iterdir()} == {"link"}


def test_an_interrupted_run_leaves_no_empty_report(
    gpu: Callable[..., None],  # noqa: F811
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    gpu()
    monkeypatch.setattr("gpu_explain.app.verify.verify", interrupted)
    assert cli.main(["--run-all", "--json", str(tmp_path / "j.json")]) == Exit.INTERRUPTED
    assert list(tmp_path.iterdir()) == []


def test_a_recording_that_cannot_be_read_leaves_no_empty_report(tmp_path: Path) -> None:
    report = tmp_path / "j.json"
    assert cli.main(["--run-all", "--replay", str(tmp_path / "nothing"), "--json", str(report)]) == Exit.USAGE
    assert not report.exists()


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("{}/nowhere/j.json", "There is no such file or folder"),
        ("{}/file/j.json", "not a folder"),
        ("{}", "It is a folder"),
        ("~nosuchuser/j.json", "There is no such file or folder"),
    ],
)
def test_a_place_for_a_report_that_is_none_is_said_in_words(
    tmp_path: Path, path: str, why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    assert cli.main(["--run-all", "--replay", "--json", path.format(tmp_path)]) == Exit.USAGE
    error = capsys.readouterr().err
    assert why in error
    assert "Errno" not in error
    assert "Name another place" in error


def test_a_home_is_found_and_one_that_is_nobodys_stays_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/somewhere")
    assert place("~/x") == Path("/somewhere/x")
    assert place("~nosuchuser/x") == Path("~nosuchuser/x")


# ---------------------------------------------------------------- what is open already

REPLAY = "gpu-explain --run-all --replay --scene waves"
needs_descriptors = pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="no /proc/self/fd here")


def kept_and_report(path: Path) -> int:
    """The exit code in the report that follows what stood in a file before."""
    before, _, report = path.read_text().partition("\n")
    assert before == "before"
    return int(json.loads(report)["exit"])


@needs_descriptors
@pytest.mark.parametrize("name", ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", "{}/link", "-"])
def test_other_names_of_standard_output_are_it(name: str, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("/dev/stdout")
    out = tmp_path / "out"
    name = name.format(tmp_path)
    done = shell(f"(echo before; {REPLAY} --json {name}; echo after) >{out}; {REPLAY} --json {name} | cat")
    assert json.loads(done.stdout)["exit"] == 0
    assert done.stderr.count("1 scene") == 2  # the table makes room for it
    before, *report, after = out.read_text().splitlines()
    assert (before, after) == ("before", "after")
    assert json.loads("\n".join(report))["exit"] == 0


@needs_descriptors
@pytest.mark.parametrize("name", ["/dev/fd/7", "/proc/self/fd/7", "/proc/$$/fd/7", "{}/link"])
def test_what_is_open_is_written_to_and_not_replaced(name: str, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("/dev/fd/7")
    out, name = tmp_path / "out", name.format(tmp_path)
    done = shell(f"exec 7>{out}; echo before >&7; {REPLAY} --json {name}; echo -n $?")
    assert done.stdout.endswith("0"), done.stderr
    assert kept_and_report(out) == 0


@needs_descriptors
def test_standard_error_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert shell(f"echo before >{out}; {REPLAY} --json /dev/stderr 2>>{out}").returncode == Exit.OK
    assert kept_and_report(out) == 0


@needs_descriptors
def test_a_substituted_process_gets_the_report(tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = shell(
        f"{REPLAY} --json >(cat >{out}; echo read >{out}.done); while [ ! -e {out}.done ]; do sleep 0.05; done"
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(out.read_text())["exit"] == 0


@needs_descriptors
@pytest.mark.parametrize(
    ("options", "says"),
    [
        ("--json /dev/fd/9 9>&-", "/dev/fd/9 cannot be written. It is closed."),
        ("--json /dev/fd/9 9</dev/null", "It is open for reading only."),
        ("--json /dev/stderr 2>&-", ""),
        ("--json - --junit /dev/stdout", "standard output"),
        ("--json a --junit b", "--json and --junit would both write to"),
        ("--json a --record b.zip", "would both write to"),
        ("--json a >>a", "Standard output and --json would both write to a."),
        ("--junit b >>a", "Standard output and --junit would both write to b."),
        ("--json /dev/fd/7 --junit a 7>>a", "--json and --junit would both write to a."),
    ],
)
def test_one_file_under_two_names_and_a_closed_one_are_wrong_usage(options: str, says: str, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("as it was")
    (tmp_path / "b").hardlink_to(tmp_path / "a")
    (tmp_path / "b.zip").hardlink_to(tmp_path / "a")
    replay = "" if "--record" in options else "--replay --scene waves"
    done = shell(f"cd {tmp_path}; gpu-explain --run-all {replay} {options}", PYTHONPATH=str(ROOT))
    assert done.returncode == Exit.USAGE
    assert says in done.stderr
    assert (tmp_path / "a").read_text() == "as it was"
    assert (tmp_path / "a").samefile(tmp_path / "b")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_pipe_that_nobody_reads_is_refused_at_once_and_one_that_is_read_gets_all(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    done = shell(f"timeout 20 {sys.executable} -m gpu_explain --run-all --replay --json {pipe}")
    assert done.returncode == Exit.USAGE
    assert f"{pipe} cannot be written. Nobody reads from this pipe." in done.stderr
    assert done.stdout == ""
    done = shell(f"cat {pipe} >{tmp_path}/read & sleep 0.2; {REPLAY} --json {pipe}; code=$?; wait; exit $code")
    assert done.returncode == Exit.OK, done.stderr
    assert json.loads((tmp_path / "read").read_text())["exit"] == 0


@pytest.mark.parametrize("options", ["--json x", "--junit ./x", "--record x", "--record x.zip", "--replay x"])
def test_a_current_folder_that_is_gone_is_said(options: str, tmp_path: Path) -> None:
    replay = "" if "--re" in options else "--replay"
    done = shell(
        f"mkdir {tmp_path}/gone; cd {tmp_path}/gone; rmdir {tmp_path}/gone; gpu-explain --run-all {replay} {options}",
        PYTHONPATH=str(ROOT),
    )
    assert done.returncode == Exit.USAGE
    assert done.stderr.startswith("gpu-explain: The current folder is gone. ")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("place", ["n.zip", "dev", "file", "folder.zip"])
def test_what_is_in_the_way_of_a_recording_is_said_of_recording(
    gpu: Callable[..., None],  # noqa: F811
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    place: str,
) -> None:
    gpu()
    (tmp_path / "n.zip").write_text("hi")
    (tmp_path / "file").write_text("hi")
    (tmp_path / "folder.zip").mkdir()
    path = "/dev/null" if place == "dev" else str(tmp_path / place)
    assert cli.main(["--run-all", "--record", path]) == Exit.USAGE
    error = capsys.readouterr().err
    assert error.startswith(f"gpu-explain: Nothing can be recorded at {path}. It ")
    assert "replay" not in error
    assert "a file that ends in .zip" in error


# ---------------------------------------------------------------- streams


@needs_full
@pytest.mark.parametrize(
    "line",
    [
        "gpu-explain --list >/dev/full",
        "gpu-explain --help >/dev/full",
        "gpu-explain --version >/dev/full",
        "gpu-explain doctor --help >/dev/full",
        "gpu-explain --run-all --replay >/dev/full",
        "gpu-explain --run-all --replay --json - >/dev/full",
        "gpu-explain --run-all --replay --json /dev/full",
        "gpu-explain --list >&-",
        "gpu-explain --help >&-",
        "gpu-explain --run-all --replay >&-",
        "gpu-explain --run-all --replay --json - >&-",
        "gpu-explain --replay <&-",
        "gpu-explain --replay >&-",
        "gpu-explain --replay 2>&-",
        "gpu-explain --replay /nowhere 2>/dev/full",
    ],
)
def test_a_closed_or_full_stream_is_one_sentence_and_exit_code_two(line: str) -> None:
    done = shell(line)
    assert done.returncode == Exit.USAGE, done.stderr
    assert "Traceback" not in done.stderr
    assert "fault of its own" not in done.stderr
    assert "Exception ignored" not in done.stderr
    if "2>" not in line:
        assert (done.stderr + done.stdout).count("gpu-explain: ") == 1
        assert done.stderr.splitlines()[-1].startswith("gpu-explain: ")


@pytest.mark.parametrize("closed", ["2>&-", "2>/dev/full"])
def test_a_report_on_standard_output_needs_no_standard_error(closed: str) -> None:
    done = shell(f"gpu-explain --run-all --replay --scene waves --json - {closed}")
    assert done.returncode == Exit.OK
    assert json.loads(done.stdout)["exit"] == 0


@needs_full
def test_a_table_that_cannot_be_shown_does_not_take_the_report_along(tmp_path: Path) -> None:
    report = tmp_path / "j.json"
    done = shell(f"gpu-explain --run-all --replay --scene waves --json {report} >/dev/full")
    assert done.returncode == Exit.USAGE
    assert "Standard output cannot be written. No space left on device." in done.stderr
    assert json.loads(report.read_text())["exit"] == 0


def test_a_reader_that_goes_away_does_not_take_the_report_along(tmp_path: Path) -> None:
    report = tmp_path / "j.json"
    done = shell(f"gpu-explain --run-all --replay --scene waves --json {report} | true; exit ${{PIPESTATUS[0]}}")
    assert done.returncode in {Exit.BROKEN_PIPE, Exit.OK}  # it may have been faster than its reader
    assert json.loads(report.read_text())["exit"] == 0


def test_letters_that_a_stream_cannot_write_are_replaced() -> None:
    done = shell(
        "gpu-explain --help >/dev/null && gpu-explain --run-all --replay --scene '\u2022'", PYTHONIOENCODING="ascii"
    )
    assert done.returncode == Exit.USAGE
    assert "There is no scene called" in done.stderr
    assert shell("gpu-explain --list", PYTHONIOENCODING="ascii:strict").returncode == Exit.OK


def test_standard_streams_are_as_they_were_afterwards() -> None:
    before = sys.stdout, sys.stderr
    with watched():
        assert sys.stdout is not before[0]
    assert (sys.stdout, sys.stderr) == before


def test_a_stream_of_few_letters_gets_question_marks(monkeypatch: pytest.MonkeyPatch) -> None:
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding="ascii"))
    with watched():
        sys.stdout.write("5 µs ● \udcff")
        sys.stdout.flush()
    assert raw.getvalue() == b"5 ?s ? ?"


# ---------------------------------------------------------------- arguments


@pytest.mark.parametrize("option", ["--replay", "--record", "--json", "--junit", "--scene"])
def test_an_empty_argument_is_wrong_usage_that_names_the_option(
    option: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert cli.main(["--run-all", option, ""]) == Exit.USAGE
    assert f"{option} was given an empty text" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("other", [["--json", "x"], ["--run-all"], ["--replay"], ["--scene", "waves"], ["--strict"]])
def test_a_list_ignores_nothing(other: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["--list", *other]) == Exit.USAGE
    assert f"--list goes alone, without {other[0]}" in capsys.readouterr().err


# ---------------------------------------------------------------- an incomplete installation


def test_the_table_needs_no_rich(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rich", None)
    monkeypatch.setenv("TERM", "xterm-256color")
    out = Terminal()
    Printer(out, io.StringIO()).lines(iter([[("held", "green")]]))
    assert out.getvalue() == "held\n"


@pytest.mark.parametrize("missing", ["textual", "rich"])
def test_a_walkthrough_without_its_packages_names_them(
    missing: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in list(sys.modules):
        if name.split(".")[0] in {"textual", "rich"} or name.startswith("gpu_explain.app.walkthrough"):
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, missing, None)
    monkeypatch.setattr("gpu_explain.app.terminal.why_not_here", lambda *_: None)
    assert cli.main(["--replay"]) == Exit.USAGE
    error = capsys.readouterr().err
    assert missing in error
    assert "pip install" in error
    assert error.count("\n") == 1
