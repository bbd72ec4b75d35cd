"""The matmul ladder's machine code: nothing in local memory, 16-byte loads where a rung claims them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gpu_explain.kernels.loader import CUDA_FOLDER, compile_to_cubin
from gpu_explain.kernels.matmul_cuda import RUNGS, Rung
from tests.compile.sass import ARCHITECTURES, machine_code

pytest.importorskip("cuda.bindings.nvrtc", reason="cuda-bindings is not installed", exc_type=ImportError)

STATIC_SHARED = 48 * 1024
"""What a block may hold without asking, on every architecture."""
NAMES = [rung.name for rung in RUNGS]


READS = {3: 40 / 32, 4: 10 / 16, 5: 24 / 128, 6: 8 / 128, 7: 8 / 128, 8: 6 / 128}
"""Read instructions of shared memory for each multiply-add in the plain kernels on sm_90: what cuda/matmul.cuh says."""


def plain(rung: Rung) -> list[str]:
    """The kernels of a rung that are timed."""
    return [rung.kernel, *([f"{rung.kernel}_any"] if rung.wide else [])]


def loads(code: list[str], *, of: str) -> list[str]:
    """The load instructions of one memory (LDG: global, LDS: shared), without what guards them."""
    return [match[0] for one in code if (match := re.search(rf"\b{of}\S*", one))]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One for all tests, so that what one has disassembled the next finds."""
    return tmp_path_factory.mktemp("ladder")


@pytest.fixture(params=RUNGS, ids=NAMES)
def rung(request: pytest.FixtureRequest) -> Rung:
    found: Rung = request.param
    return found


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_all_stays_in_registers_and_each_load_is_as_wide_as_it_says(rung: Rung, arch: str, folder: Path) -> None:
    code = machine_code(rung.file, arch, folder)
    assert set(plain(rung)) <= set(code)
    assert {f"{name}_counted" for name in plain(rung)} <= set(code)
    for name in plain(rung):
        assert not loads(code[name], of="LDL")
        assert not [one for one in code[name] if re.search(r"\bSTL", one)]
        from_global, from_shared = loads(code[name], of="LDG"), loads(code[name], of="LDS")
        if name == rung.kernel and rung.wide:
            assert from_global
            assert all(".128" in one for one in from_global)
            assert from_shared
            assert all(".128" in one for one in from_shared)
        else:
            assert from_global
            assert not [one for one in from_global if re.search(r"\.(64|128)", one)]
        assert bool(from_shared) == (rung.number >= 3)


@pytest.mark.parametrize("rung", [rung for rung in RUNGS if rung.number in READS], ids=lambda rung: rung.name)
def test_it_reads_shared_memory_as_seldom_as_the_ladder_says(rung: Rung, folder: Path) -> None:
    code = machine_code(rung.file, "sm_90", folder)[rung.kernel]
    assert len(loads(code, of="LDS")) / len(loads(code, of="FFMA")) <= READS[rung.number]


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_it_counts_nothing_unless_asked(rung: Rung, arch: str, folder: Path) -> None:
    code = machine_code(rung.file, arch, folder)
    for name, instructions in code.items():
        counts = [one for one in instructions if re.search(r"\b(MATCH|ATOM|RED)\b", one)]
        assert bool(counts) == name.endswith("_counted")


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_it_fits_without_asking_for_shared_memory(rung: Rung, arch: str) -> None:
    cubin = compile_to_cubin(CUDA_FOLDER / rung.file, arch)
    assert cubin.startswith(b"\x7fELF")
    assert shared_bytes(cubin, rung.kernel) <= STATIC_SHARED
    assert (shared_bytes(cubin, rung.kernel) > 0) == (rung.number >= 3)


def shared_bytes(cubin: bytes, kernel: str) -> int:
    """Size of a kernel's static shared memory: that of its section ``.nv.shared.<kernel>`` in the ELF file."""
    import struct

    (table,) = struct.unpack_from("<Q", cubin, 40)
    size, count, names_at = struct.unpack_from("<HHH", cubin, 58)
    headers = [struct.unpack_from("<IIQQQQ", cubin, table + size * i) for i in range(count)]
    names = headers[names_at][4]
    for name, _, _, _, _, length in headers:
        start = names + name
        if cubin[start : cubin.index(b"\0", start)] == f".nv.shared.{kernel}".encode():
            return int(length)
    return 0
