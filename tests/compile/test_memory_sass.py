"""What the kernels on coalescing, banks and transposes measure depends on their machine code: it is read here."""

from __future__ import annotations

import re
import subprocess
from itertools import pairwise
from pathlib import Path

import pytest

from gpu_explain.kernels.loader import CUDA_FOLDER, compile_to_cubin
from tests.compile.sass import ARCHITECTURES, labels, machine_code

triton = pytest.importorskip("triton", reason="triton is not installed")
pytest.importorskip("cuda.bindings.nvrtc", reason="cuda-bindings is not installed", exc_type=ImportError)

FILES = ("coalescing.cu", "bank_conflicts.cu", "transpose.cu", "chase.cu", "bandwidth.cu")
WIDTHS = {1: "U8", 2: "U16", 4: "", 8: "64", 16: "128"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One for all, so that a file is compiled once for each architecture."""
    return tmp_path_factory.mktemp("code")


def named(code: list[str], *names: str) -> list[int]:
    """Where instructions stand whose name begins so, predicated or not."""
    return [i for i, one in enumerate(code) if re.match(rf"(@!?U?P\d+ )?({'|'.join(names)})\b", one)]


def register(instruction: str) -> str:
    """The register that an instruction writes."""
    return re.search(r"\bR\d+", instruction).group()  # type: ignore[union-attr]


@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize("file", FILES)
def test_nothing_lies_in_local_memory(file: str, arch: str, folder: Path) -> None:
    tool = Path(triton.__file__).parent / "backends" / "nvidia" / "bin" / "cuobjdump"
    if not tool.is_file():
        pytest.skip("this triton brings no cuobjdump")
    cubin = folder / "code.cubin"
    cubin.write_bytes(compile_to_cubin(CUDA_FOLDER / file, arch))
    said = subprocess.run([tool, "--dump-resource-usage", cubin], capture_output=True, text=True, check=True).stdout
    used = re.findall(r"REG:(\d+) STACK:(\d+) .*?LOCAL:(\d+)", said)
    assert used
    assert all((stack, local) == ("0", "0") for _, stack, local in used)


@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize("width", WIDTHS)
def test_a_lane_loads_as_wide_as_said_and_several_loads_are_under_way_at_once(
    width: int, arch: str, folder: Path
) -> None:
    code = machine_code("coalescing.cu", arch, folder)[f"read_lanes_{width}"]
    loads = named(code, "LDG")
    assert len(loads) == 32, "16 where addresses are written down, 16 where they are not"
    kinds = {part for i in loads for part in code[i].split()[0].split(".") if part in WIDTHS.values()}
    assert kinds == ({WIDTHS[width]} if WIDTHS[width] else set())
    together = 4 if width < 16 else 2  # wide words need more registers
    for first in (0, 8, 16, 24):
        *before, last = loads[first : first + together]
        used = re.compile(rf"\b({'|'.join(register(code[i]) for i in before)})\b")
        between = [code[i].partition(",")[2] for i in range(before[-1] + 1, last)]
        assert not any(used.search(one) for one in between), "a load waits for one of those before it"


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_the_l1_is_left_out_where_that_is_said(arch: str, folder: Path) -> None:
    code = machine_code("coalescing.cu", arch, folder)
    assert all("STRONG.GPU" in code["read_lanes_4_past_l1"][i] for i in named(code["read_lanes_4_past_l1"], "LDG"))
    assert not any("STRONG" in code["read_lanes_4"][i] for i in named(code["read_lanes_4"], "LDG"))


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_footprints_are_read_sixteen_bytes_at_a_time_and_past_the_l1_where_that_is_said(
    arch: str, folder: Path
) -> None:
    code = machine_code("bandwidth.cu", arch, folder)
    for name, past in (("read_footprint", False), ("read_footprint_past_l1", True)):
        _, *loads = (code[name][i] for i in named(code[name], "LDG"))  # the first is of the block's stride
        assert len(loads) >= 8
        assert all(".128" in one for one in loads)
        assert {"STRONG.GPU" in one for one in loads} == {past}


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_loads_from_shared_memory_are_neither_merged_nor_hoisted(arch: str, folder: Path) -> None:
    code = machine_code("bank_conflicts.cu", arch, folder)["bank_loads"]
    start, end = (i for i, one in enumerate(code) if "SR_CLOCKLO" in one)
    loads = [i for i in named(code, "LDS") if start < i < end]
    assert len(loads) == 16
    assert not any(part in code[i].split()[0] for i in loads for part in (".64", ".128"))
    (branch,) = (i for i in named(code, "BRA") if loads[-1] < i < end)
    begin = labels("bank_conflicts.cu", arch, folder)["bank_loads"][re.search(r"\.L_\w+", code[branch]).group()]  # type: ignore[union-attr]
    assert start < begin <= loads[0], "the loads are in the loop"
    assert min(named(code, "BAR")) < start
    for load in loads:
        after = [one.partition(",")[2] for one in code[load + 1 : end]]
        assert any(re.search(rf"\b{register(code[load])}\b", one) for one in after), "all are waited for"


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_a_link_of_the_chain_needs_the_one_before(arch: str, folder: Path) -> None:
    code = machine_code("bank_conflicts.cu", arch, folder)["bank_chain"]
    start, end = (i for i, one in enumerate(code) if "SR_CLOCKLO" in one)
    loads = [code[i] for i in named(code, "LDS") if start < i < end]
    assert len(loads) >= 16
    chained = [re.search(rf"\[{register(before)}(\.\w+)?\]", after) for before, after in pairwise(loads[:16])]
    assert all(chained)


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_the_wide_transpose_moves_sixteen_bytes_everywhere(arch: str, folder: Path) -> None:
    code = machine_code("transpose.cu", arch, folder)["transpose_wide"]
    for kind in ("LDG", "STS", "LDS", "STG"):
        found = [code[i] for i in named(code, kind)]
        assert found
        assert len(found) % 4 == 0
        assert all(".128" in one.split()[0] + one.split()[1] for one in found)
    loads, barrier = named(code, "LDG"), named(code, "BAR")[0]
    assert max(loads) < min(named(code, "STS")) < barrier < min(named(code, "LDS"))


@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize("method", ["naive", "tile", "padded", "swizzled"])
def test_the_others_load_all_their_numbers_before_they_wait(method: str, arch: str, folder: Path) -> None:
    code = machine_code("transpose.cu", arch, folder)[f"transpose_{method}"]
    assert len(named(code, "LDG")) == len(named(code, "STG")) == 8
    first_store = named(code, "STG" if method == "naive" else "STS")[0]
    assert named(code, "LDG")[-1] < first_store
    if method != "naive":
        assert len(named(code, "LDS")) == len(named(code, "STS")) == 8


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_one_load_lies_between_the_clocks_of_a_line(arch: str, folder: Path) -> None:
    code = machine_code("chase.cu", arch, folder)["lines_from"]
    start, end = (i for i, one in enumerate(code) if "SR_CLOCKLO" in one)
    loads = [i for i in named(code, "LDG") if start < i < end]
    assert len(loads) == 1
    assert "STRONG.GPU" in code[loads[0]]
    loaded = register(code[loads[0]])
    assert any(re.search(rf"\b{loaded}\b", one.partition(",")[2]) for one in code[loads[0] + 1 : end])
