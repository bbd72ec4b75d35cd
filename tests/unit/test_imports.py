"""Who may import whom, seen from outside: in a process of its own, by what is in ``sys.modules`` afterwards."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
GPU_LIBRARIES = {"torch", "triton", "cuda", "pynvml"}
SCREEN_LIBRARIES = {"textual", "rich"}

SAY = """
import json, sys
print("MODULES" + json.dumps([0, sorted({name.split(".")[0] for name in sys.modules})]))
"""

# Runs the command as `gpu-explain` would, without a screen, and says what was imported on the way.
WATCH = """
import json, sys
from gpu_explain.app.cli import main
try:
    code = main({arguments!r})
except SystemExit as ended:
    code = ended.code
print("\\nMODULES" + json.dumps([code, sorted({{name.split(".")[0] for name in sys.modules}})]))
"""


def modules_after(code: str) -> tuple[int, set[str]]:
    """Exit code and top-level modules after running a piece of code that ends with a MODULES line."""
    ended = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )
    found = re.search(r"^MODULES(.*)$", ended.stdout, re.MULTILINE)
    assert found, ended.stdout + ended.stderr
    exit_code, names = json.loads(found.group(1))
    return exit_code or 0, set(names)


def after_import(module: str) -> set[str]:
    code = (
        f"import json, sys, {module}\nprint('MODULES' + json.dumps([0, sorted(n.split('.')[0] for n in sys.modules)]))"
    )
    return modules_after(code)[1]


@pytest.mark.parametrize("arguments", [["--list"], ["--help"], ["--version"]])
def test_what_must_answer_at_once_imports_nothing_large(arguments: list[str]) -> None:
    code, names = modules_after(WATCH.format(arguments=arguments))
    assert code == 0
    assert not names & (GPU_LIBRARIES | SCREEN_LIBRARIES | {"numpy"})


@pytest.mark.parametrize(
    "arguments", [["--run-all", "--replay"], ["--run-all", "--replay", "--scene", "waves"]], ids=" ".join
)
def test_a_replay_imports_no_gpu_library(arguments: list[str]) -> None:
    code, names = modules_after(WATCH.format(arguments=arguments))
    assert code == 0
    assert not names & GPU_LIBRARIES


def test_nothing_that_people_meet_imports_a_gpu_library() -> None:
    code = """
import importlib, pkgutil
import gpu_explain.app
for module in pkgutil.walk_packages(gpu_explain.app.__path__, "gpu_explain.app."):
    importlib.import_module(module.name)
"""
    names = modules_after(code + SAY)[1]
    assert "textual" in names
    assert not names & GPU_LIBRARIES


def test_the_package_imports_nothing() -> None:
    before = after_import("argparse")
    assert after_import("gpu_explain") - before <= {"gpu_explain"}


def test_every_scene_can_be_looked_at_without_a_gpu_and_without_a_screen() -> None:
    code = "from gpu_explain.scenes.registry import all_scenes\nassert all_scenes()"
    assert not modules_after(code + SAY)[1] & (GPU_LIBRARIES | SCREEN_LIBRARIES | {"numpy"})


def test_a_worker_is_found_without_importing_a_gpu_library() -> None:
    assert not after_import("gpu_explain.kernels.worker") & (GPU_LIBRARIES | SCREEN_LIBRARIES)


def test_import_contracts_hold() -> None:
    tool = Path(sys.executable).parent / "lint-imports"
    ended = subprocess.run([tool], capture_output=True, text=True, timeout=100, check=False, cwd=ROOT)
    assert ended.returncode == 0, ended.stdout + ended.stderr


def third_party(folders: tuple[str, ...]) -> Iterator[tuple[str, Path]]:
    """Top-level modules outside the standard library that the files of these folders import."""
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
                if isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
                    names = [node.module]
                for name in {name.split(".")[0] for name in names} - set(sys.stdlib_module_names) - {"gpu_explain"}:
                    yield name, path.relative_to(ROOT)


def declared(extra: str = "") -> set[str]:
    """Names of the distributions that gpu-explain asks for, of one extra or of none."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted: list[str] = project["optional-dependencies"][extra] if extra else project["dependencies"]
    return {re.split(r"[^\w.-]", want)[0].lower() for want in wanted}


def test_the_light_install_declares_all_it_imports() -> None:
    light = declared()
    assert not light & declared("live")
    strangers = [(name, path) for name, path in third_party(("app", "scenes", "gpu_explain")) if name not in light]
    assert not strangers


def test_the_live_extra_declares_what_the_kernels_import() -> None:
    homes = {"cuda": {"cuda-core", "cuda-bindings"}, "pynvml": {"nvidia-ml-py"}}
    live = declared() | declared("live")
    for name, path in third_party(("kernels",)):
        assert homes.get(name, {name}) & live, f"{path} imports {name}"


def test_both_live_extras_ask_for_the_same_things() -> None:
    def plain(extra: str) -> set[str]:
        return {name.removesuffix("-cu12") for name in declared(extra)}

    assert plain("live") == plain("live-cu12")


@pytest.mark.parametrize("arguments", [["--list"], ["--run-all", "--replay"]], ids=" ".join)
def test_the_catalogue_of_what_can_be_wrong_is_imported_only_when_something_is(arguments: list[str]) -> None:
    code = (
        "import sys; from gpu_explain.app.cli import main\n"
        f"code = main({arguments!r})\n"
        "import json; there = [n for n in sys.modules if n.startswith('gpu_explain.scenes.base.conditions')]\n"
        "print('\\nMODULES' + json.dumps([code, there]))"
    )
    assert modules_after(code) == (0, set())
