"""Folders that cannot be written, by whoever runs this: files in the way for the administrator, modes for others."""

from __future__ import annotations

import os
import pickle
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

import pytest

from gpu_explain.app.doctor.check import State
from gpu_explain.app.doctor.drivers import driver_checks
from gpu_explain.app.doctor.surroundings import cache_checks
from gpu_explain.app.exits import Exit
from gpu_explain.kernels import worker
from gpu_explain.scenes.base.places import cache_candidates, nearest_folder, triton_cache, writable
from tests.unit.doctoring import Made, met
from tests.unit.fakes import Fakes

T = TypeVar("T")
NOBODY = 65534


@pytest.fixture
def made(tmp_path: Path, fakes: Fakes) -> Made:
    return Made(tmp_path, fakes)


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that every user can reach, unlike pytest's own."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder
    for place in folder.rglob("*"):
        place.chmod(0o755)
    shutil.rmtree(folder)


def as_nobody(ask: Callable[[], T]) -> T:
    """What a question gives when somebody without rights asks it: the administrator may do everything."""
    if os.geteuid() != 0:
        return ask()
    receive, send = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
            os.write(send, pickle.dumps(ask()))
        finally:
            os._exit(0)
    os.close(send)
    with os.fdopen(receive, "rb") as answer:
        found: T = pickle.loads(answer.read())  # noqa: S301 (our own)
    os.waitpid(child, 0)
    return found


# ---------------------------------------------------------------- what can be written


def test_a_folder_is_tried_and_nothing_is_left(tmp_path: Path) -> None:
    assert writable(tmp_path)
    assert writable(tmp_path / "not" / "there" / "yet")
    assert list(tmp_path.iterdir()) == []


def test_a_file_in_the_way_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert not writable(tmp_path / "file")
    assert not writable(tmp_path / "file" / "below")
    assert nearest_folder(tmp_path / "file" / "below") == tmp_path / "file"


def test_a_read_only_folder_is_not_writable(open_folder: Path) -> None:
    (open_folder / "shut").mkdir(mode=0o555)
    assert not as_nobody(lambda: writable(open_folder / "shut"))
    assert not as_nobody(lambda: writable(open_folder / "shut" / "below"))


def test_triton_keeps_its_kernels_where_it_is_told(tmp_path: Path) -> None:
    assert triton_cache({"HOME": "/h"}) == (Path("/h/.triton/cache"), "")
    assert triton_cache({"HOME": "/h", "TRITON_HOME": "/t"}) == (Path("/t/.triton/cache"), "TRITON_HOME")
    assert triton_cache({"TRITON_CACHE_DIR": "/c", "TRITON_HOME": "/t"}) == (Path("/c"), "TRITON_CACHE_DIR")


def test_our_own_folder_comes_from_the_variable_first(tmp_path: Path) -> None:
    assert cache_candidates({"GPU_EXPLAIN_CACHE": "/mine"})[0] == Path("/mine")
    assert Path("/mine") not in cache_candidates({})


# ---------------------------------------------------------------- what doctor says


def test_a_read_only_home_gets_other_folders_and_live_mode_works(made: Made) -> None:
    home = made.folder / "a file"
    home.touch()
    found = made.having(HOME=str(home), GPU_EXPLAIN_CACHE=None).examined()
    check = met(found, "cache-unwritable")
    assert check.id == "triton-cache"
    assert check.problem is not None
    assert "where Triton keeps them" in check.problem.sentence
    assert f"{home}/.triton/cache cannot be written" in check.problem.why
    assert "is used instead" in check.problem.remedy
    assert found.exit is Exit.OK


def test_a_read_only_cache_of_ours_is_said(made: Made) -> None:
    (made.home / "cache").touch()
    check = met(made.examined(), "cache-unwritable")
    assert check.id == "gpu-explain-cache"
    assert check.problem is not None
    assert "export GPU_EXPLAIN_CACHE=" in check.problem.remedy


def test_a_cache_that_a_variable_leads_astray_stops_triton(made: Made) -> None:
    (made.home / "file").touch()
    found = made.having(TRITON_CACHE_DIR=str(made.home / "file/below")).examined()
    problem = met(found, "no-cache").problem
    assert problem is not None
    assert "TRITON_CACHE_DIR leads to" in problem.why
    assert found.exit is Exit.FAILED


def test_a_cache_of_inductor_that_cannot_be_written_is_said(made: Made) -> None:
    (made.home / "inductor").touch()
    problem = met(made.examined(), "cache-unwritable").problem
    assert problem is not None
    assert "torch.compile will not work" in problem.remedy


def test_a_home_and_a_cache_that_this_user_may_not_write(open_folder: Path, made: Made) -> None:
    (open_folder / "home").mkdir(mode=0o555)
    made.having(HOME=str(open_folder / "home"), GPU_EXPLAIN_CACHE=str(open_folder / "home/cache"))
    made.having(TORCHINDUCTOR_CACHE_DIR=str(open_folder / "home/inductor"))
    found = as_nobody(lambda: tuple(cache_checks(made.machine)))
    assert [check.id for check in found if check.problem is not None] == [
        *("gpu-explain-cache", "triton-cache", "torch-compile-cache")
    ]
    assert not any(check.stops for check in found)


def test_no_temporary_folder_stops_everything(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    def none() -> str:
        raise FileNotFoundError("No usable temporary directory found")

    monkeypatch.setattr(tempfile, "gettempdir", none)
    found = list(cache_checks(made.machine))
    (check,) = (check for check in found if check.id == "temporary")
    assert check.problem is not None
    assert check.problem.id == "no-cache"
    assert check.stops


def test_a_full_disk_is_said(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    class Usage:
        free = 12_000_000

    monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage())
    found = made.examined()
    problem = met(found, "disk-full").problem
    assert problem is not None
    assert "12 MB are free at " in problem.sentence
    assert found.exit is Exit.OK


def test_a_device_file_that_this_user_may_not_open(open_folder: Path, made: Made) -> None:
    (open_folder / "dev").mkdir()
    (open_folder / "dev/nvidia0").touch()
    (open_folder / "dev/nvidia0").chmod(0o600)
    made.but(root=open_folder)
    from gpu_explain.app.doctor.drivers import ask_machine

    asked = ask_machine(made.machine)
    found = as_nobody(lambda: tuple(driver_checks(made.machine, asked)))
    (check,) = (check for check in found if check.id == "device-files")
    if os.geteuid() == 0:
        assert check.problem is not None
        assert check.problem.id == "no-permission"
        assert "/dev/nvidia0" in check.problem.sentence
        assert "usermod -aG video,render" in check.problem.remedy
        assert check.stops
    else:
        assert check.state is State.FOUND  # its owner may


# ---------------------------------------------------------------- the worker goes where doctor says


def test_the_worker_gives_triton_another_folder_where_the_home_is_shut(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "home").touch()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("GPU_EXPLAIN_CACHE", str(tmp_path / "ours"))
    for name in ("TRITON_CACHE_DIR", "TRITON_HOME"):
        monkeypatch.setenv(name, "")  # so that what the worker sets is undone
        monkeypatch.delenv(name)
    worker._writable_triton_cache()
    assert os.environ["TRITON_CACHE_DIR"] == str(tmp_path / "ours" / "triton")


def test_the_worker_leaves_triton_its_own_folder_where_it_can_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("TRITON_CACHE_DIR", "TRITON_HOME"):
        monkeypatch.delenv(name, raising=False)
    worker._writable_triton_cache()
    assert "TRITON_CACHE_DIR" not in os.environ
