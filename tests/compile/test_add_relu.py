"""relu(a + b) compiles for every architecture, with 16-byte loads where it may and NaN kept, with no GPU."""

from __future__ import annotations

import re
from typing import Any

import pytest

from gpu_explain.kernels.loader import CUDA_FOLDER

triton = pytest.importorskip("triton", reason="triton is not installed")

ARCHITECTURES = (80, 86, 89, 90, 100, 120)


def triton_ptx(arch: int, *, aligned: bool) -> str:
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    from gpu_explain.kernels.add_relu import BLOCK_SIZE, NUM_WARPS, add_relu_kernel

    signature = {"a": "*fp32", "b": "*fp32", "c": "*fp32", "n": "i32", "BLOCK_SIZE": "constexpr"}
    sixteen: Any = {(at,): [["tt.divisibility", 16]] for at in range(4)} if aligned else {}
    source = ASTSource(add_relu_kernel, signature, {"BLOCK_SIZE": BLOCK_SIZE}, sixteen)
    kernel = triton.compile(source, target=GPUTarget("cuda", arch, 32), options={"num_warps": NUM_WARPS})
    assert kernel.asm["cubin"].startswith(b"\x7fELF")
    assert kernel.metadata.shared == 0
    return str(kernel.asm["ptx"])


def cuda_ptx(kernel: str) -> str:
    """The PTX of one kernel of ``add_relu.cu``; the product itself makes CUBIN."""
    from cuda.bindings import nvrtc

    text = (CUDA_FOLDER / "add_relu.cu").read_bytes()
    _, program = nvrtc.nvrtcCreateProgram(text, b"add_relu.cu", 0, [], [])
    (result,) = nvrtc.nvrtcCompileProgram(program, 1, [b"--gpu-architecture=compute_90"])
    assert result == nvrtc.nvrtcResult.NVRTC_SUCCESS
    _, size = nvrtc.nvrtcGetPTXSize(program)
    ptx = b" " * size
    nvrtc.nvrtcGetPTX(program, ptx)
    return ptx.decode().split(f".entry {kernel}(")[1].split(".entry")[0]


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_triton_loads_sixteen_bytes_where_everything_divides_by_sixteen(arch: int) -> None:
    ptx = triton_ptx(arch, aligned=True)
    assert len(re.findall(r"ld\.global\.v4\.b32", ptx)) == 2
    assert len(re.findall(r"st\.global\.v4\.b32", ptx)) == 1
    assert "max.NaN.f32" in ptx


def test_triton_loads_four_bytes_where_it_must() -> None:
    ptx = triton_ptx(90, aligned=False)
    assert ".v4" not in ptx
    assert len(re.findall(r"ld\.global\.b32", ptx)) == 8


def test_cuda_loads_sixteen_bytes_in_one_kernel_and_four_in_the_other() -> None:
    quads, each = cuda_ptx("add_relu_quads"), cuda_ptx("add_relu_each")
    assert len(re.findall(r"ld\.global\S*\.v4\.f32", quads)) == 2
    assert len(re.findall(r"st\.global\S*\.v4\.f32", quads)) == 1
    assert ".v4" not in each


def test_the_kernels_count_of_bytes_is_the_scenes_count_of_trips() -> None:
    from gpu_explain.kernels.fusion import moved_bytes
    from gpu_explain.scenes.fusion.measure import EAGER_TRIPS, FUSED_TRIPS, ITEM
    from tests.simulated.fusion import moved_bytes as simulated

    for n in (1, 2**28):
        assert moved_bytes(n) == simulated(n) == (EAGER_TRIPS * ITEM * n, FUSED_TRIPS * ITEM * n)
