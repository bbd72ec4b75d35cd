"""Every file of ``cuda/`` compiles for every architecture that we say it runs on."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpu_explain.kernels.loader import CUDA_FOLDER, cache_folder, compile_to_cubin
from gpu_explain.scenes.base import ProblemError

ARCHITECTURES = ("sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120")
SOURCES = sorted(path.name for path in CUDA_FOLDER.glob("*.cu"))

pytest.importorskip("cuda.bindings.nvrtc", reason="cuda-bindings is not installed", exc_type=ImportError)


def test_there_is_something_to_compile() -> None:
    assert "blocks.cu" in SOURCES


@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize("name", SOURCES)
def test_it_compiles_to_code_of_that_architecture(name: str, arch: str) -> None:
    cubin = compile_to_cubin(CUDA_FOLDER / name, arch)
    assert cubin.startswith(b"\x7fELF")
    for function in ("wait_blocks", "traced_compute_blocks") if name == "blocks.cu" else ():
        assert f".text.{function}\0".encode() in cubin


def test_an_error_names_file_line_and_caret(tmp_path: Path) -> None:
    broken = tmp_path / "broken.cu"
    broken.write_text('#include "trace.cuh"\nextern "C" __global__ void f(int *a)\n{\n    a[0] = missing;\n}\n')
    with pytest.raises(ProblemError) as caught:
        compile_to_cubin(broken, "sm_90")
    problem = caught.value.problem
    assert problem.id == "cuda-compile"
    assert problem.sentence.startswith("broken.cu does not compile. broken.cu, line 4: ")
    assert "a[0] = missing;" in problem.detail
    assert "^" in problem.detail


def test_an_error_in_a_header_names_the_header(tmp_path: Path) -> None:
    (tmp_path / "own.cuh").write_text("#pragma once\n\n__device__ int f( { return 1; }\n")
    (tmp_path / "uses.cu").write_text('#include "own.cuh"\nextern "C" __global__ void g() {}\n')
    with pytest.raises(ProblemError, match=r"own\.cuh, line 3"):
        compile_to_cubin(tmp_path / "uses.cu", "sm_90")


def test_a_header_that_is_not_there_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "uses.cu").write_text('#include "nowhere.cuh"\nextern "C" __global__ void g() {}\n')
    with pytest.raises(ProblemError, match=r"line 1.*nowhere\.cuh"):
        compile_to_cubin(tmp_path / "uses.cu", "sm_90")


def test_an_unknown_architecture_is_a_sentence() -> None:
    with pytest.raises(ProblemError, match="cannot compile for sm_35") as caught:
        compile_to_cubin(CUDA_FOLDER / "blocks.cu", "sm_35")
    assert caught.value.problem.id == "cuda-arch"


def test_a_changed_header_is_compiled_anew(tmp_path: Path) -> None:
    (tmp_path / "own.cuh").write_text("#define VALUE 1\n")
    (tmp_path / "uses.cu").write_text(
        '#include "own.cuh"\nextern "C" __global__ void g(int *a)\n{\n    *a = VALUE;\n}\n'
    )
    first = compile_to_cubin(tmp_path / "uses.cu", "sm_90")
    folder = cache_folder()
    assert folder is not None
    (kept,) = folder.glob("uses-sm_90-*.cubin")
    kept.write_bytes(b"\x7fELF from the cache")
    assert compile_to_cubin(tmp_path / "uses.cu", "sm_90") == b"\x7fELF from the cache"
    (tmp_path / "own.cuh").write_text("#define VALUE 2\n")
    assert compile_to_cubin(tmp_path / "uses.cu", "sm_90") not in (first, b"\x7fELF from the cache")
    assert len(list(folder.glob("uses-sm_90-*.cubin"))) == 2


def test_a_damaged_kept_kernel_is_compiled_anew(tmp_path: Path) -> None:
    first = compile_to_cubin(CUDA_FOLDER / "timing.cu", "sm_90")
    folder = cache_folder()
    assert folder is not None
    (kept,) = folder.glob("timing-sm_90-*.cubin")
    kept.write_bytes(b"")
    assert compile_to_cubin(CUDA_FOLDER / "timing.cu", "sm_90") == first
