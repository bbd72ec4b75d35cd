"""Vector add, softmax and sum as shipped: every architecture, 16-byte words, no spills, shared memory within limits."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.compile.resources import SHARED_LIMIT, resources
from tests.compile.sass import ARCHITECTURES as EVERY
from tests.compile.sass import machine_code

triton = pytest.importorskip("triton", reason="triton is not installed")

ARCHITECTURES = tuple(SHARED_LIMIT)
DTYPES = {"fp32": 4, "fp16": 2, "bf16": 2}
SHAPES = (
    (2**18, 256),
    (2**16, 1000),
    (2**15, 2048),
    (2**14, 4096),
    (2**12, 16384),
    (2**11, 32768),
    (2**10, 65536),
    (2**18, 257),
    (2**14, 4097),
    (2**11, 32767),
    (1335, 50257),
    (1335, 50258),
    (100, 5),
)


def compiled(function: Any, arch: int, types: dict[str, str], constants: dict[str, Any], num_warps: int) -> Any:
    """A kernel compiled as its launcher would have it: aligned pointers, and integers that 16 divides."""
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    signature = {name: types.get(name, "constexpr") for name in function.arg_names}
    sixteen: Any = {
        (at,): [["tt.divisibility", 16]]
        for at, name in enumerate(function.arg_names)
        if types.get(name, "").startswith("*")
    }
    source = ASTSource(function, signature, constants, sixteen)
    return triton.compile(source, target=GPUTarget("cuda", arch, 32), options={"num_warps": num_warps})


def assert_fits(kernel: Any, arch: int) -> None:
    assert resources(kernel.asm["cubin"]) == (0, 0)
    assert kernel.metadata.shared <= SHARED_LIMIT[arch]


def softmax_kernel(arch: int, dtype: str, rows: int, columns: int) -> Any:
    from gpu_explain.kernels import softmax

    path = softmax.path_for(rows, columns, DTYPES[dtype], softmax.unit_of(columns))
    constants = {"ROWS": path.rows, "BLOCK_SIZE": path.block_size, "UNIT": path.unit}
    function = softmax.softmax_wide_kernel if path.wide else softmax.softmax_rows_kernel
    types = {"x": f"*{dtype}", "y": f"*{dtype}"} | dict.fromkeys(("rows", "columns", "x_stride", "y_stride"), "i32")
    constants = {name: value for name, value in constants.items() if name in function.arg_names}
    return compiled(function, arch, types, constants, path.num_warps)


@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize("dtype", sorted(DTYPES))
def test_softmax_neither_spills_nor_takes_more_than_there_is(arch: int, dtype: str) -> None:
    for rows, columns in SHAPES:
        assert_fits(softmax_kernel(arch, dtype, rows, columns), arch)


@pytest.mark.parametrize("columns", [1000, 4096, 65536])
def test_softmax_loads_sixteen_bytes_where_rows_begin_at_such(columns: int) -> None:
    kernel = softmax_kernel(90, "fp32", 2**26 // columns, columns)
    loads, stores = (re.findall(rf"{one}\.global\S*", kernel.asm["ptx"]) for one in ("ld", "st"))
    assert loads
    assert stores
    assert all(".v4.b32" in one for one in loads + stores)


def test_softmax_of_odd_rows_loads_four_bytes() -> None:
    loads = re.findall(r"ld\.global\S*", softmax_kernel(90, "fp32", 2**14, 4097).asm["ptx"])
    assert loads
    assert not any(".v" in one for one in loads)


@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize("dtype", sorted(DTYPES))
def test_the_sum_and_its_second_launch(arch: int, dtype: str) -> None:
    from gpu_explain.kernels import reduce_sum

    for out, block, warps in (
        ("*fp32", reduce_sum.BLOCK_SIZE, reduce_sum.NUM_WARPS),
        (f"*{dtype}", reduce_sum.MOST_PARTIALS, reduce_sum.LAST_WARPS),
    ):
        types = {"x": f"*{dtype}", "out": out, "n": "i32", "share": "i32"}
        assert_fits(compiled(reduce_sum.sum_kernel, arch, types, {"BLOCK_SIZE": block}, warps), arch)


def add_kernel(arch: int, dtype: str, *, traced: bool) -> Any:
    from gpu_explain.kernels import vector_add

    types = dict.fromkeys("abc", f"*{dtype}") | {"n": "i32"}
    constants: dict[str, Any] = {"BLOCK_SIZE": vector_add.BLOCK_SIZE, "TRACED": traced}
    if traced:
        types |= {"record": "*i64", "arrivals": "*i32"}
    else:
        constants |= {"record": None, "arrivals": None}
    return compiled(vector_add.vector_add_kernel, arch, types, constants, vector_add.NUM_WARPS)


@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize("dtype", sorted(DTYPES))
def test_vector_add_compiles_traced_and_untraced(arch: int, dtype: str) -> None:
    for traced in (False, True):
        assert_fits(add_kernel(arch, dtype, traced=traced), arch)


def test_only_the_traced_add_reads_clocks_and_stamps_its_end_after_the_stores() -> None:
    plain, traced = (add_kernel(90, "fp32", traced=traced).asm["ptx"] for traced in (False, True))
    assert "%globaltimer" not in plain
    order = re.findall(r"%globaltimer|%smid|bar\.sync|ld\.global|st\.global\.v\d|st\.global(?=\.b32)", traced)
    assert order.count("%globaltimer") == 2
    assert order.count("%smid") == 2
    first, last = (i for i, one in enumerate(order) if one == "%globaltimer")
    loads = [i for i, one in enumerate(order) if one == "ld.global"]
    assert first < loads[0] < loads[-1] < last
    assert "bar.sync" in order[loads[-1] : last]


@pytest.mark.parametrize("arch", EVERY)
def test_cuda_quads_are_sixteen_bytes_and_nothing_spills(arch: str, tmp_path: Path) -> None:
    add, reduction = (machine_code(f"{name}.cu", arch, tmp_path) for name in ("vector_add", "reduction"))
    assert sum("LDG.E.128" in one for one in add["vector_add_quads"]) == 2
    assert sum("STG.E.128" in one for one in add["vector_add_quads"]) == 1
    assert not any(re.match(r"(@!?P\d )?(LDG|STG)\S*128", one) for one in add["vector_add_each"])
    for code in (*add.values(), *reduction.values()):
        assert not any(re.search(r"\b(LDL|STL)\b", one) for one in code)
    for name in ("sum_atomic_quads", "block_sums"):
        code = reduction[name]
        loads = [i for i, one in enumerate(code) if "LDG.E.128" in one]
        # Four loads in a row that nothing waits for in between.
        assert any("FADD" not in "".join(code[loads[k] : loads[k + 3]]) for k in range(len(loads) - 3))


@pytest.mark.parametrize("arch", EVERY)
def test_every_rung_of_the_ladder_has_the_atomics_and_shuffles_that_it_says(arch: str, tmp_path: Path) -> None:
    code = {name: "\n".join(lines) for name, lines in machine_code("reduction.cu", arch, tmp_path).items()}
    atomic = re.compile(r"\b(RED|ATOMG?|REDG)\b")
    for name, text in code.items():
        assert bool(atomic.search(text)) == ("atomic" in name), name
        assert ("SHFL" in text) == (name != "sum_atomic_each"), name
        assert ("BAR.SYNC" in text) == (name not in ("sum_atomic_each", "sum_atomic_warps")), name
