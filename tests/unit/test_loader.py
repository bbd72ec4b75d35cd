"""Where compiled kernels are kept, and which headers belong to a source."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from gpu_explain.kernels.loader import cache_folder, compile_to_cubin, headers_of
from gpu_explain.scenes.base import ProblemError


def test_the_variable_names_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPU_EXPLAIN_CACHE", str(tmp_path / "new" / "place"))
    assert cache_folder() == tmp_path / "new" / "place"


def test_a_folder_that_cannot_be_made_falls_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "a file"
    file.write_text("")
    monkeypatch.setenv("GPU_EXPLAIN_CACHE", str(file / "no folder"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(file / "neither"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    found = cache_folder()
    assert found == tmp_path / f"gpu-explain-{os.getuid()}"
    assert stat.S_IMODE(found.stat().st_mode) == 0o700


def test_nothing_writable_means_no_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "a file"
    file.write_text("")
    monkeypatch.setenv("GPU_EXPLAIN_CACHE", str(file / "a"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(file / "b"))
    monkeypatch.setattr("tempfile.tempdir", str(file))
    assert cache_folder() is None


def test_the_platforms_folder_is_the_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GPU_EXPLAIN_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "gpu-explain"


def test_headers_are_followed_and_system_headers_left_alone(tmp_path: Path) -> None:
    (tmp_path / "a.cuh").write_text('#include "b.cuh"\n')
    (tmp_path / "b.cuh").write_text('#include "a.cuh"\n#include <math.h>\n')
    source = '#include "a.cuh"\n  #  include "trace.cuh"\n// #include "c.cuh"\n'
    assert list(headers_of(source, tmp_path)) == ["a.cuh", "trace.cuh", "b.cuh"]


def test_a_source_that_is_not_there_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(ProblemError) as caught:
        compile_to_cubin(tmp_path / "gone.cu", "sm_90")
    assert caught.value.problem.id == "cuda-source"
    assert "gone.cu" in caught.value.problem.sentence
