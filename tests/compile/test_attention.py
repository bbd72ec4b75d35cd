"""Attention compiles for every architecture, with the configuration it is launched with there and with no GPU."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

triton = pytest.importorskip("triton", reason="triton is not installed")

from gpu_explain.kernels.attention_configs import HEADS, Configuration, configuration, copy_engine_helps  # noqa: E402

SHARED_LIMIT = {80: 163, 86: 99, 89: 99, 90: 227, 100: 227, 120: 99}
"""KiB of shared memory that a block may have."""
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


def tool(name: str, *arguments: str, cubin: bytes, folder: Path) -> str:
    path = Path(triton.__file__).parent / "backends" / "nvidia" / "bin" / name
    if not path.is_file():
        pytest.skip(f"this triton brings no {name}")
    (folder / "kernel.cubin").write_bytes(cubin)
    listed = subprocess.run([path, *arguments, folder / "kernel.cubin"], capture_output=True, text=True, check=True)
    return listed.stdout


def held(kernel: Any, arch: int, folder: Path) -> None:
    """Check that a kernel neither spills nor takes more shared memory than there is."""
    used = tool("cuobjdump", "-res-usage", cubin=kernel.asm["cubin"], folder=folder)
    assert re.search(r"STACK:0 .*LOCAL:0", used), used
    assert kernel.metadata.shared <= SHARED_LIMIT[arch] * 1024


@pytest.mark.parametrize(("arch", "dtype", "descriptors"), WAYS)
@pytest.mark.parametrize("head", HEADS)
def test_what_is_launched_neither_spills_nor_exceeds_shared_memory(
    arch: int, dtype: str, descriptors: bool, head: int, tmp_path: Path
) -> None:
    held(compiled(arch, head, dtype=dtype, descriptors=descriptors), arch, tmp_path)


@pytest.mark.parametrize("head", HEADS)
def test_hopper_multiplies_out_of_shared_memory_and_copies_with_its_engine(head: int, tmp_path: Path) -> None:
    by_engine = tool("nvdisasm", "-c", cubin=compiled(90, head, causal=False).asm["cubin"], folder=tmp_path)
    by_threads = tool(
        "nvdisasm", "-c", cubin=compiled(90, head, causal=False, descriptors=False).asm["cubin"], folder=tmp_path
    )
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
