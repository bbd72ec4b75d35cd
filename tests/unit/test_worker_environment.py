"""The worker keeps bytecode of its own where the shell forbids it beside the sources."""

from __future__ import annotations

from pathlib import Path

from gpu_explain.app.environment import worker_environment


def test_bytecode_goes_to_our_own_cache_where_it_may_not_lie_beside_the_sources(tmp_path: Path) -> None:
    environ, unset = worker_environment({"PYTHONDONTWRITEBYTECODE": "1", "GPU_EXPLAIN_CACHE": str(tmp_path / "cache")})
    assert "PYTHONDONTWRITEBYTECODE" not in environ
    assert environ["PYTHONPYCACHEPREFIX"] == str(tmp_path / "cache" / "bytecode")
    assert unset == ()


def test_who_names_a_place_for_bytecode_keeps_it(tmp_path: Path) -> None:
    environ, _ = worker_environment(
        {"PYTHONDONTWRITEBYTECODE": "1", "PYTHONPYCACHEPREFIX": "mine", "GPU_EXPLAIN_CACHE": str(tmp_path)}
    )
    assert environ["PYTHONPYCACHEPREFIX"] == "mine"


def test_nothing_changes_where_bytecode_is_written_anyway(tmp_path: Path) -> None:
    environ, _ = worker_environment({"GPU_EXPLAIN_CACHE": str(tmp_path)})
    assert "PYTHONPYCACHEPREFIX" not in environ
