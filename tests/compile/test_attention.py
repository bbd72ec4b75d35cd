"""Attention compiles for every architecture, with the configuration it is launched with there and with no GPU."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

triton = pytest.importorskip("triton", reason="triton is not installed")

from gpu_explain.kernels.attention_configs import HEADS, Configuration, configuration, copy_engine_helps  # noqa: E402
from tests.compile.resources import SHARED_LIMIT, resources  # noqa: E402

ITEM = {"fp16": 2, "bf16": 2, "fp32": 4}
WAYS = [(arch, dtype, False) for arch in SHARED_LIMIT for dtype in ITEM]
WAYS += [(arch, dtype, True) for arch, dtype, _ in WAYS if copy_engine_helps((arch // 10, 0), ITEM[dtype])]


def compiled(
    arch: int,
    head: int,
    *,
    dtype: str = "fp16",
    causal: bool = True,
    descriptors: bool = True,
    c: Configuration | None = None,
) -> Any:
    """The kernel as :func:`attention` launches it on contiguous tensors."""
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    from gpu_explain.kernels.attention import attention_kernel

    c = c or configuration((arch // 10, arch % 10), ITEM[dtype], head, descriptors=descriptors)
    names = attention_kernel.arg_names
    tensors = ("q", "k", "v", "out")
    signature: dict[str, Any] = dict.fromkeys(names, "i32") | {"out": f"*{dtype}", "scale": "fp32"}
    constants: dict[Any, Any] = {"CAUSAL": causal, "HEAD": head, "BLOCK_M": c.block_m, "BLOCK_N": c.block_n}
    sixteen: dict[Any, Any] = {(names.index("out"),): [["tt.divisibility", 16]]}
    for name in tensors:
        at = names.index(f"{name}_strides")
        signature[f"{name}_strides"] = ("i32", "i32", "i32", "constexpr")
        constants[(at, 3)] = 1
        sixteen |= {(at, place): [["tt.divisibility", 16]] for place in range(3)}
    for name in tensors[:3]:
        block = c.block_m if name == "q" else c.block_n
        signature[name] = f"tensordesc<{dtype}[1, 1, {block}, {head}]>" if descriptors else f"*{dtype}"
        if not descriptors:
            sixteen[(names.index(name),)] = [["tt.divisibility", 16]]
    signature |= dict.fromkeys(("CAUSAL", "HEAD", "BLOCK_M", "BLOCK_N"), "constexpr")
    options = {"num_warps": c.num_warps, "num_stages": c.num_stages}
    source = ASTSource(attention_kernel, signature, constants, sixteen)
    return triton.compile(source, target=GPUTarget("cuda", arch, 32), options=options)


def machine_code(kernel: Any, folder: Path) -> str:
    """The instructions of a compiled kernel. Skips where triton brings no nvdisasm."""
    disassembler = Path(triton.__file__).parent / "backends" / "nvidia" / "bin" / "nvdisasm"
    if not disassembler.is_file():
        pytest.skip("this triton brings no nvdisasm")
    cubin = folder / "kernel.cubin"
    cubin.write_bytes(kernel.asm["cubin"])
    return subprocess.run([disassembler, "-c", cubin], capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize(("arch", "dtype", "descriptors"), WAYS)
@pytest.mark.parametrize("head", HEADS)
def test_what_is_launched_neither_spills_nor_exceeds_shared_memory(
    arch: int, dtype: str, descriptors: bool, head: int
) -> None:
    kernel = compiled(arch, head, dtype=dtype, descriptors=descriptors)
    assert resources(kernel.asm["cubin"]) == (0, 0)
    assert kernel.metadata.shared <= SHARED_LIMIT[arch]


@pytest.mark.parametrize("head", HEADS)
def test_hopper_multiplies_out_of_shared_memory_and_copies_with_its_engine(head: int, tmp_path: Path) -> None:
    by_engine = machine_code(compiled(90, head, causal=False), tmp_path)
    by_threads = machine_code(compiled(90, head, causal=False, descriptors=False), tmp_path)
    for code, wanted, never in ((by_engine, "UTMALDG", "LDGSTS"), (by_threads, "LDGSTS", "UTMALDG")):
        assert "HGMMA" in code
        assert wanted in code
        assert never not in code
        assert "MUFU.EX2" in code


def test_only_blocks_at_the_edge_of_the_mask_pay_for_it() -> None:
    """Comparing every score with the mask is a branch of the loop; no tensor is selected from outside of it."""
    lines = compiled(90, 64).asm["ttgir"].splitlines()
    loop, branch, otherwise = (
        next(i for i, one in enumerate(lines) if word in one) for word in ("scf.for", "scf.if", "} else {")
    )
    end = next(i for i, one in enumerate(lines) if i > otherwise and "scf.yield" in one and "#mma1" in one)
    selects = [i for i, one in enumerate(lines[:end]) if "arith.select" in one and "tensor<" in one]
    assert loop < branch < selects[0] == selects[-1] < otherwise < end
