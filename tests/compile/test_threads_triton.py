"""The Triton twins of the kernels on threads compile for every architecture without spills, with no GPU."""

from __future__ import annotations

import re
from typing import Any

import pytest

triton = pytest.importorskip("triton", reason="triton is not installed")

ARCHITECTURES = (80, 86, 89, 90, 100, 120)
OWNERS = {"owner": "*i64", "writes": "*i32", "n": "i32", "BLOCK": "constexpr"}
NUMBERS = {"out": "*i32", "n": "i32", "BLOCK": "constexpr"}
SQUARES = {"x": "*fp32", "y": "*fp32", "n": "i32", "BLOCK_SIZE": "constexpr"}


def compiled(kernel: Any, signature: dict[str, str], constants: dict[str, int], arch: int, aligned: int = 0) -> Any:
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    sixteen: Any = {(at,): [["tt.divisibility", 16]] for at in range(aligned)}
    source = ASTSource(kernel, signature, constants, sixteen)
    return triton.compile(source, target=GPUTarget("cuda", arch, 32), options={"num_warps": 4})


def checked(kernel: Any) -> str:
    """The kernel's PTX; it needs no shared memory and no stack."""
    assert kernel.asm["cubin"].startswith(b"\x7fELF")
    assert kernel.metadata.shared == 0
    ptx = str(kernel.asm["ptx"])
    assert ".local" not in ptx
    return ptx


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_square_loads_sixteen_bytes_where_everything_divides_by_sixteen(arch: int) -> None:
    from gpu_explain.kernels.square import BLOCK_SIZE, square_kernel

    ptx = checked(compiled(square_kernel, SQUARES, {"BLOCK_SIZE": BLOCK_SIZE}, arch, aligned=3))
    assert len(re.findall(r"ld\.global\.v4\.b32", ptx)) == 2
    assert len(re.findall(r"st\.global\.v4\.b32", ptx)) == 2


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_the_owners_sign_once_each(arch: int) -> None:
    from gpu_explain.kernels import ownership_triton

    for name in ("own_with_offset", "own_without_offset"):
        ptx = checked(compiled(getattr(ownership_triton, name), OWNERS, {"BLOCK": 128}, arch))
        assert len(re.findall(r"st\.global\.b64", ptx)) == 1
        assert len(re.findall(r"(atom|red)\.global\.\S*add", ptx)) == 1


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_the_guard_is_a_predicate_of_the_store(arch: int) -> None:
    from gpu_explain.kernels import guard_triton

    with_it = checked(compiled(guard_triton.number_guarded, NUMBERS, {"BLOCK": 128}, arch))
    assert re.search(r"@%p\d+ st\.global", with_it)
    without = checked(compiled(guard_triton.number_unguarded, NUMBERS, {"BLOCK": 128}, arch))
    assert "setp" not in without


def test_the_twins_take_the_same_arguments_in_the_same_order() -> None:
    import inspect

    from gpu_explain.kernels import guard_triton, ownership_triton, square
    from gpu_explain.kernels.loader import CUDA_FOLDER

    twins = [
        ("square.cu", "square", square.square_kernel),
        *[
            ("ownership.cu", name, getattr(ownership_triton, name))
            for name in ("own_with_offset", "own_without_offset")
        ],
        *[("guard.cu", name, getattr(guard_triton, name)) for name in ("number_guarded", "number_unguarded")],
    ]
    for file, name, kernel in twins:
        text = (CUDA_FOLDER / file).read_text(encoding="utf-8")
        cuda = re.search(rf"__global__ void {name}\(([^)]*)\)", text).group(1)  # type: ignore[union-attr]
        arguments = [re.findall(r"\w+", one)[-1] for one in cuda.split(",")]
        assert [one for one in inspect.signature(kernel.fn).parameters if not one.isupper()] == arguments
