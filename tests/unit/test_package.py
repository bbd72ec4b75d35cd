"""The package as others get it: what is in the wheel, and what must never be in the sources."""

from __future__ import annotations

import importlib.metadata
import io
import os
import re
import subprocess
import sys
import tokenize
import tomllib
import venv
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import gpu_explain
from gpu_explain.scenes.registry import all_scenes

ROOT = Path(__file__).resolve().parents[2]
CODE = ("app", "cuda", "kernels", "scenes")
SHIPPED = (".py", ".cu", ".cuh", ".tcss", ".json.gz")
# Figures of one card (SMs, blocks at once, L2, threads at once …). A GPU of another size must not meet them in code.
ONE_CARD = {"132", "264", "265", "528", "529", "1056", "1057", "2112", "8448", "3960", "62914560", "233472", "232448"}
LONGEST_MODULE = 400


def project() -> dict[str, object]:
    found = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert isinstance(found, dict)
    return found


def sources(*endings: str) -> Iterator[Path]:
    for folder in CODE:
        yield from (path for path in sorted((ROOT / folder).rglob("*")) if path.name.endswith(endings))


def relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def test_the_version_is_the_metadatas() -> None:
    assert gpu_explain.__version__ == importlib.metadata.version("gpu-explain")


def test_python_3_11_is_enough() -> None:
    assert project()["requires-python"] == ">=3.11"


def test_the_cuda_folder_is_no_package() -> None:
    """With an ``__init__.py`` it would hide NVIDIA's own ``cuda`` wherever the repository is the working folder."""
    assert (ROOT / "cuda").is_dir()
    strangers = [p.name for p in (ROOT / "cuda").rglob("*") if p.is_file() and p.suffix not in {".cu", ".cuh"}]
    assert not strangers


def test_the_links_lead_to_the_folders() -> None:
    for folder in CODE:
        link = ROOT / "gpu_explain" / folder
        assert link.is_symlink()
        assert link.readlink().as_posix() == f"../{folder}"


@pytest.mark.parametrize("path", [*sources(".py", ".cu", ".cuh")], ids=relative)
def test_a_module_can_be_read_in_one_sitting(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= LONGEST_MODULE


def numbers(path: Path) -> Iterator[tuple[int, str]]:
    """Line and spelling of every number in the code of a file; comments and texts are left out."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.NUMBER:
                yield token.start[0], token.string
        return
    blank = re.compile(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\])*\"", re.DOTALL)
    code = blank.sub(lambda found: re.sub(r"[^\n]", " ", found.group()), text)
    for number, line in enumerate(code.splitlines(), 1):
        yield from ((number, word) for word in re.findall(r"(?<![\w.])\d[\d']*(?![\w.])", line))


@pytest.mark.parametrize("path", [*sources(".py", ".cu", ".cuh")], ids=relative)
def test_no_number_of_one_card_is_in_the_code(path: Path) -> None:
    assert not [(line, n) for line, n in numbers(path) if n.replace("_", "").replace("'", "") in ONE_CARD]


@pytest.mark.parametrize(("text", "found"), [("n = 1_056  # 132\n", 1), ("s = '264'\n", 0), ("y = 132.5\n", 0)])
def test_numbers_of_one_card_would_be_found_in_python(text: str, found: int, tmp_path: Path) -> None:
    path = tmp_path / "made_up.py"
    path.write_text(text, encoding="utf-8")
    assert len([n for _, n in numbers(path) if n.replace("_", "") in ONE_CARD]) == found


def test_numbers_of_one_card_would_be_found_in_cuda(tmp_path: Path) -> None:
    path = tmp_path / "made_up.cu"
    path.write_text('// 132 SMs\nint n = 132; /* 264\n 264 */ float f = 264.0f; asm("132"); int m = 1\'056;\n')
    assert [(line, n) for line, n in numbers(path) if n.replace("'", "") in ONE_CARD] == [(2, "132"), (3, "1'056")]


def test_both_tested_sets_pin_what_the_light_install_needs() -> None:
    for name in ("cpu", "h200"):
        text = (ROOT / f"constraints-{name}.txt").read_text(encoding="utf-8").lower()
        for package in ("textual", "rich", "numpy", "msgspec", "torch", "triton", "cuda-core", "nvidia-cuda-nvrtc"):
            assert re.search(rf"^{package}==", text, re.MULTILINE), f"{package} in constraints-{name}.txt"


# --- the wheel --------------------------------------------------------------------------------------------


def git(*arguments: str) -> str:
    command = ["git", "-C", str(ROOT), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel built from a clean clone of what is committed: ``build/`` folders keep files that were deleted."""
    if not (ROOT / ".git").exists():
        pytest.skip("no git repository here (a copy of the files): the wheel is built from a clean clone")
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(["git", "clone", "-q", str(ROOT), str(folder / "clone")], check=True, timeout=60)
    command = [
        sys.executable,
        "-m",
        "build",
        "--wheel",
        "--no-isolation",
        "--outdir",
        str(folder),
        str(folder / "clone"),
    ]
    built = subprocess.run(command, capture_output=True, text=True, timeout=110, check=False)
    assert built.returncode == 0, built.stdout + built.stderr
    (found,) = folder.glob("*.whl")
    return found


def test_the_wheel_holds_every_tracked_source_and_nothing_else(wheel: Path) -> None:
    tracked = git("ls-files", *CODE, "gpu_explain").splitlines()
    wanted = {f"gpu_explain/{path}" for path in tracked if path.split("/")[0] in CODE and path.endswith(SHIPPED)}
    wanted |= {"gpu_explain/__init__.py", "gpu_explain/__main__.py", "gpu_explain/py.typed"}
    with zipfile.ZipFile(wheel) as archive:
        held = {name for name in archive.namelist() if ".dist-info/" not in name}
    assert held == wanted


def test_every_tracked_file_is_of_a_kind_that_the_wheel_holds() -> None:
    strangers = [path for path in git("ls-files", *CODE).splitlines() if not path.endswith((*SHIPPED, ".gitkeep"))]
    assert not strangers


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_the_wheel_answers_from_another_folder(wheel: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    venv.create(home, with_pip=True)
    python = home / "bin" / "python"
    command = [str(python), "-m", "pip", "install", "-q", "-c", str(ROOT / "constraints-cpu.txt"), str(wheel)]
    installed = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
    if installed.returncode and "No matching distribution" in installed.stderr and not os.environ.get("CI"):
        pytest.skip("no package index can be reached from here")
    assert installed.returncode == 0, installed.stderr
    apart = {name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "VIRTUAL_ENV"}}

    def answer(*arguments: str) -> str:
        command = [str(home / "bin" / "gpu-explain"), *arguments]
        return subprocess.run(
            command, capture_output=True, text=True, timeout=60, check=True, cwd=tmp_path, env=apart
        ).stdout

    assert answer("--version").split()[-1] == gpu_explain.__version__
    listed = answer("--list").splitlines()
    assert len(listed) == len(all_scenes())
    for line, scene in zip(listed, all_scenes(), strict=True):
        assert re.match(rf"\s*{scene.number}\s+{re.escape(scene.id)}\s+{re.escape(scene.title)}\s*$", line)
    assert (
        "torch"
        not in subprocess.run(
            [python, "-m", "pip", "list"], capture_output=True, text=True, timeout=60, check=True
        ).stdout.split()
    )
