"""What the chains measure depends on the order of machine instructions: it is read in the machine code."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.compile.sass import ARCHITECTURES, machine_code

triton = pytest.importorskip("triton", reason="triton is not installed")
pytest.importorskip("cuda.bindings.nvrtc", reason="cuda-bindings is not installed", exc_type=ImportError)


@pytest.fixture
def code(request: pytest.FixtureRequest, tmp_path: Path) -> dict[str, list[str]]:
    return machine_code("chase.cu", request.param, tmp_path)


def clock_reads(instructions: list[str]) -> list[int]:
    return [i for i, one in enumerate(instructions) if "SR_CLOCKLO" in one]


def waited_for(instructions: list[str], load: int, until: int) -> bool:
    """Whether an instruction between a load and ``until`` reads what it loads, and so waits for it."""
    loaded = int(re.search(r"LD[GS]\S*\s+R(\d+)", instructions[load]).group(1))  # type: ignore[union-attr]
    reads = re.compile(rf"\bR({loaded}|{loaded + 1})\b")
    return any(reads.search(one.partition(",")[2]) for one in instructions[load + 1 : until])


@pytest.mark.parametrize("code", ARCHITECTURES, indirect=True)
def test_the_second_clock_read_waits_for_the_value(code: dict[str, list[str]]) -> None:
    instructions = code["single_loads"]
    first, second = clock_reads(instructions)[:2]
    loads = [i for i in range(first, second) if instructions[i].startswith("LDG")]
    assert len(loads) == 1
    assert waited_for(instructions, loads[0], second)


@pytest.mark.parametrize("code", ARCHITECTURES, indirect=True)
@pytest.mark.parametrize("kernel", ["chase", "host_chase", "shared_chase"])
def test_the_end_of_a_lap_waits_for_its_last_load(code: dict[str, list[str]], kernel: str) -> None:
    instructions = code[kernel]
    start, end = clock_reads(instructions)
    loads = [i for i in range(start, end) if re.match(r"(@!?P\d )?LD[GS]", instructions[i])]
    assert len(loads) >= 16
    assert waited_for(instructions, loads[-1], end)


@pytest.mark.parametrize("code", ARCHITECTURES, indirect=True)
@pytest.mark.parametrize("kernel", ["chase", "single_loads", "chase_from"])
def test_the_ring_is_warmed(code: dict[str, list[str]], kernel: str) -> None:
    """Loads of which nothing comes are removed, and then the first lap would be a cold one."""
    barrier = next(i for i, one in enumerate(code[kernel]) if "BAR.SYNC" in one and i > 3)
    last = len(code[kernel]) - next(i for i, one in enumerate(reversed(code[kernel])) if "BAR.SYNC" in one)
    before = code[kernel][: max(barrier, last)]
    loads = [one for one in before if "LDG" in one]
    assert len(loads) >= 2
    assert any("+0x8]" in one for one in loads)  # the word that leads a whole block's length further


@pytest.mark.parametrize("code", ARCHITECTURES, indirect=True)
def test_the_additions_stay_a_chain(code: dict[str, list[str]]) -> None:
    instructions = code["add_chain"]
    assert sum(one.startswith("FADD") for one in instructions) >= 64
    assert not any(one.startswith("FFMA") for one in instructions)


@pytest.mark.parametrize("arch", [80, 86, 89, 90, 100, 120])
def test_triton_reads_sixteen_bytes_a_thread(arch: int) -> None:
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    from gpu_explain.kernels import bandwidth
    from gpu_explain.kernels.bandwidth_triton import read_footprint

    types: dict[str, Any] = {"words": "*i32", "never": "*i32", "strides": "*i32"}
    types |= {"chunks": "i32", "apart": "i32", "count": "i32"}
    source = ASTSource(
        read_footprint,
        {**types, "BLOCK": "constexpr"},
        {"BLOCK": bandwidth.GRANULE // 4},
        {(0,): [["tt.divisibility", 16]]},
    )
    kernel = triton.compile(source, target=GPUTarget("cuda", arch, 32), options={"num_warps": bandwidth.THREADS // 32})
    loads = re.findall(r"ld\.global\S*", kernel.asm["ptx"])
    assert sum(".v4" in one for one in loads) >= 8
    assert len(loads) == sum(".v4" in one for one in loads) + 1  # and the stride, once
    assert kernel.metadata.shared <= 1024
