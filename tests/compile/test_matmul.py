"""The Triton matmuls compile for every architecture as shipped: no spills, shared memory as there is, tensor cores."""

from __future__ import annotations

import re
import subprocess
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gpu_explain.kernels.matmul_configs import (
    TMA_SINCE,
    Config,
    ladder,
    persistent_ladder,
    search_space,
    shared_limit,
    shipped,
)

triton = pytest.importorskip("triton", reason="triton is not installed")

ARCHITECTURES = (80, 86, 89, 90, 100, 120)
TYPES = {"fp32": 4, "fp16": 2, "fp8e4nv": 1}
MATRIX = {  # what multiplies tiles, in each architecture's machine code
    80: {"HMMA"},
    86: {"HMMA"},
    89: {"HMMA", "QMMA"},
    90: {"HGMMA", "QGMMA"},
    100: {"UTCHMMA", "UTCQMMA"},
    120: {"HMMA", "QMMA"},
}
UNSUPPORTED = {("fp8e4nv", 80), ("fp8e4nv", 86)}


def compiled(
    config: Config,
    arch: int,
    dtype: str,
    *,
    persistent: bool = False,
    tma: bool = False,
    turned: bool = False,
    traced: bool = False,
    unit: int = 1,
) -> Any:
    """A matmul of sizes that 16 divides, or ``unit`` if that is not 1; A by rows, B by rows or ``turned``."""
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    from gpu_explain.kernels.matmul import matmul_kernel
    from gpu_explain.kernels.matmul_persistent import matmul_persistent_kernel

    kernel = matmul_persistent_kernel if persistent else matmul_kernel
    constants: dict[str, Any] = {**config.meta, "EVEN_K": False, "UNIT": unit, "TRACED": traced}
    if persistent:
        constants |= {
            "STORE_PARTS": config.store_parts,
            "ACROSS": tma,
            "TMA": tma,
            "A_TURNED": False,
            "B_TURNED": tma and turned,
        }
    constants |= dict.fromkeys(("stride_ak", "stride_bk" if turned else "stride_bn", "stride_cn"), 1)
    signature = {name: "constexpr" if name in constants else "i32" for name in kernel.arg_names}
    records = {"record": "*i64", "arrivals": "*i32", "done": "*i64"}
    for name in records.keys() & set(kernel.arg_names):
        signature[name] = records[name] if traced else "constexpr"
        if not traced:
            constants[name] = None
    out = "bf16" if dtype == "fp8e4nv" else dtype
    m, n, k = config.block_m, config.block_n, config.block_k
    for name, kind, shape in (
        ("a", dtype, (m, k)),
        ("b", dtype, (n, k) if turned else (k, n)),
        ("c", out, (m, n // config.store_parts)),
    ):
        signature[name] = f"tensordesc<{kind}[{shape[0]}, {shape[1]}]>" if tma else f"*{kind}"
    sixteen: Any = {
        (at,): [["tt.divisibility", 16]]
        for at, name in enumerate(kernel.arg_names)
        if signature[name] != "constexpr" and "tensordesc" not in signature[name] and (unit == 1 or name in "abc")
    }
    source = ASTSource(kernel, signature, constants, sixteen)
    return triton.compile(source, target=GPUTarget("cuda", arch, 32), options=config.options)


def instructions(kernel: Any, folder: Path) -> Counter[str]:
    """How often each operation stands in the machine code. Skips where triton brings no nvdisasm."""
    disassembler = Path(triton.__file__).parent / "backends" / "nvidia" / "bin" / "nvdisasm"
    if not disassembler.is_file():
        pytest.skip("this triton brings no nvdisasm")
    cubin = folder / "kernel.cubin"
    cubin.write_bytes(kernel.asm["cubin"])
    listed = subprocess.run([disassembler, "-c", cubin], capture_output=True, text=True, check=True).stdout
    return Counter(re.findall(r"/\*[0-9a-f]{4,}\*/\s+(?:@!?\w+\s+)?([A-Z][A-Z0-9]+)", listed))


def sound(kernel: Any, arch: int, folder: Path) -> Counter[str]:
    """Check what must hold of every shipped kernel; returns its instructions."""
    found = instructions(kernel, folder)
    assert kernel.metadata.shared <= shared_limit(divmod(arch, 10))
    spilled = found["LDL"] + found["STL"]  # registers kept in memory
    assert spilled == 0, "registers were spilled"
    assert sum(found[name] for name in MATRIX[arch]) > 0
    assert found["FFMA"] == 0
    if arch == 90:  # matrix instructions follow one another: none waits for the one before
        assert found["WARPGROUP"] < found["HGMMA"] + found["QGMMA"] + 2
    return found


def rungs() -> list[Any]:
    found = []
    for arch in ARCHITECTURES:
        for dtype, item in TYPES.items():
            steps = ladder(divmod(arch, 10), item)
            # Of the others, the largest tile: it is the one that is short of registers and shared memory.
            found += [(arch, dtype, at) for at in range(len(steps) if dtype == "fp16" else 1)]
    return [one for one in found if (one[1], one[0]) not in UNSUPPORTED]


@pytest.mark.parametrize(("arch", "dtype", "rung"), rungs())
def test_every_shipped_configuration_fits_and_does_not_spill(arch: int, dtype: str, rung: int, tmp_path: Path) -> None:
    item = TYPES[dtype]
    turned = arch in (90, 100) and item != 2  # as along_k sees to
    config = ladder(divmod(arch, 10), item)[rung]
    sound(compiled(config, arch, dtype, turned=turned), arch, tmp_path)
    stays = persistent_ladder(divmod(arch, 10), item, 2 if dtype == "fp8e4nv" else item)[rung]
    found = sound(compiled(stays, arch, dtype, persistent=True, tma=arch >= 90, turned=turned), arch, tmp_path)
    assert (found["UTMALDG"] > 0) == (found["UTMASTG"] > 0) == (arch >= 90)


@pytest.mark.parametrize("arch", [80, 90, 120])
def test_pointers_do_where_descriptors_do_not(arch: int, tmp_path: Path) -> None:
    for config in persistent_ladder(divmod(arch, 10), 2, 2)[:2]:
        found = sound(compiled(config, arch, "fp16", persistent=True), arch, tmp_path)
        assert found["LDGSTS"] > 0  # copies to shared memory that nobody waits for


def copied_at_once(kernel: Any) -> set[int]:
    """Bytes that a thread copies to shared memory at once; empty where it does not copy but load and store."""
    sizes = re.findall(r"cp\.async\.\w+\.shared\.global \[.*?\], \[.*?\], (0x\w+|\d+)", kernel.asm["ptx"])
    return {int(size, 0) for size in sizes}


@pytest.mark.parametrize("arch", [80, 90])
@pytest.mark.parametrize("dtype", ["fp32", "fp16"])
def test_sixteen_bytes_are_copied_at_once(arch: int, dtype: str, tmp_path: Path) -> None:
    """Also of transposed weights, and of rows that begin at multiples of 16 bytes that are none of 16 elements."""
    item = TYPES[dtype]
    config = ladder(divmod(arch, 10), item)[0]
    for turned in (True, False) if item == 2 else (True,):
        for unit in (1, 16 // item):
            kernel = compiled(config, arch, dtype, turned=turned, unit=unit)
            sound(kernel, arch, tmp_path)
            assert copied_at_once(kernel) == {16}


def test_rows_that_begin_anywhere_are_not(tmp_path: Path) -> None:
    assert copied_at_once(compiled(ladder((8, 0), 2)[-1], 80, "fp16", unit=2)) <= {4}


@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize("item", [1, 4])
def test_a_matrix_is_turned_sixteen_bytes_at_a_time(arch: int, item: int, tmp_path: Path) -> None:
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    from gpu_explain.kernels.turned import BLOCKS, turn_kernel

    signature = dict.fromkeys(turn_kernel.arg_names, "i32") | {"x": f"*i{8 * item}", "y": f"*i{8 * item}"}
    signature |= {"stride_column": "constexpr", "BLOCK": "constexpr"}
    sixteen: Any = {(at,): [["tt.divisibility", 16]] for at in range(5)}
    source = ASTSource(turn_kernel, signature, {"stride_column": 1, "BLOCK": BLOCKS[item]}, sixteen)
    kernel = triton.compile(source, target=GPUTarget("cuda", arch, 32))
    assert kernel.metadata.shared <= 48 << 10
    assert instructions(kernel, tmp_path)["STL"] == 0
    words = re.findall(r"(?:ld|st)\.global\S*?\.(v\d)\.b32", kernel.asm["ptx"])
    assert words
    assert set(words) == {"v4"}


@pytest.mark.parametrize("arch", [80, 90, 100])
@pytest.mark.parametrize("persistent", [False, True])
def test_the_traced_kernel_does_not_spill_either(arch: int, persistent: bool, tmp_path: Path) -> None:
    steps = persistent_ladder(divmod(arch, 10), 2, 2) if persistent else ladder(divmod(arch, 10), 2)
    kernel = compiled(steps[0], arch, "fp16", persistent=persistent, tma=persistent and arch >= 90, traced=True)
    sound(kernel, arch, tmp_path)
    assert kernel.asm["ptx"].count("%globaltimer") >= 2 + persistent


@pytest.mark.parametrize(
    ("fault", "named"), [({"num_stages": 8}, "shared_limit"), ({"block_n": 256, "num_stages": 2}, "spilled")]
)
def test_a_configuration_that_does_not_fit_is_found_out(fault: dict[str, int], named: str, tmp_path: Path) -> None:
    config = replace(ladder((8, 6), 2)[0], **fault)
    with pytest.raises(AssertionError, match=named):
        sound(compiled(config, 86, "fp16"), 86, tmp_path)


def test_the_tile_is_taken_that_should_be_quickest() -> None:
    steps = ladder((9, 0), 2)
    large, small = steps[0], steps[-1]
    fits = 10 * large.block_m, 10 * large.block_n
    assert shipped(steps, 100, *fits) == large
    assert shipped(steps, 99, *fits) != large  # or a second round, for one tile
    assert shipped(steps, 51, *fits) == large
    assert shipped(steps, 100, 1, 1) == small


@pytest.mark.parametrize("capability", [(8, 0), (8, 6), (8, 9), (9, 0), (10, 0), (12, 0), (7, 5), (13, 0)])
@pytest.mark.parametrize("item", [1, 2, 4])
def test_what_may_be_tried_fits(capability: tuple[int, int], item: int) -> None:
    space = search_space(capability, item)
    assert set(ladder(capability, item)) <= set(space)
    assert len(space) == len(set(space)) >= 10
    for config in (*space, *persistent_ladder(capability, item, 4)):
        assert config.shared_bytes(item) <= shared_limit(capability)
        assert config.block_k * item in (64, 128, 256)
    if capability >= TMA_SINCE:
        for config in persistent_ladder(capability, item, 4):
            assert config.shared_bytes(item, 4) <= shared_limit(capability)
