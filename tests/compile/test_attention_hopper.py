"""Attention for Hopper: no spills, and softmax really stands between the two waits, in the machine code."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

triton = pytest.importorskip("triton", reason="triton is not installed")

from gpu_explain.kernels.attention_configs import HEADS, hopper_configuration  # noqa: E402
from tests.compile.resources import SHARED_LIMIT  # noqa: E402
from tests.compile.test_attention import machine_code  # noqa: E402

WARP_GROUP = 128


def compiled(head: int, *, causal: bool, dtype: str = "fp16") -> Any:
    """The kernel as :func:`attention_hopper` launches it on contiguous tensors."""
    from triton.backends.compiler import GPUTarget
    from triton.experimental.gluon import language as gl
    from triton.experimental.gluon._runtime import GluonASTSource

    from gpu_explain.kernels.attention_hopper import attention_hopper_kernel

    c = hopper_configuration(head)
    names = attention_hopper_kernel.arg_names
    at = names.index("out_strides")
    signature: dict[str, Any] = dict.fromkeys(names, "i32") | {"out": f"*{dtype}", "scale": "fp32"}
    signature["out_strides"] = ("i32", "i32", "i32", "constexpr")
    for name, rows in (("q", c.block_m), ("k", c.block_n), ("v", c.block_n)):
        layout = gl.NVMMASharedLayout.get_default_for([1, 1, rows, head], gl.float16)
        signature[name] = f"tensordesc<{dtype}[1, 1, {rows}, {head}],{layout!r}>"
    sizes = {"CAUSAL": causal, "HEAD": head, "BLOCK_M": c.block_m, "BLOCK_N": c.block_n, "STAGES": c.num_stages}
    signature |= dict.fromkeys(sizes, "constexpr")
    sixteen: Any = {(names.index("out"),): [["tt.divisibility", 16]]}
    sixteen |= {(at, place): [["tt.divisibility", 16]] for place in range(3)}
    source = GluonASTSource(attention_hopper_kernel, signature, sizes | {(at, 3): 1}, sixteen)
    return triton.compile(source, target=GPUTarget("cuda", 90, 32), options={"num_warps": c.num_warps})


@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("dtype", ["fp16", "bf16"])
def test_it_neither_spills_nor_exceeds_shared_memory(head: int, causal: bool, dtype: str, tmp_path: Path) -> None:
    kernel = compiled(head, causal=causal, dtype=dtype)
    code = machine_code(kernel, tmp_path)
    assert "HGMMA" in code
    assert "UTMALDG" in code
    assert not re.search(r"\b(LDL|STL)\b", code)
    assert kernel.metadata.shared <= SHARED_LIMIT[90]


@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("causal", [False, True])
def test_softmax_is_computed_while_a_product_is_under_way(head: int, causal: bool, tmp_path: Path) -> None:
    """Between "all but the last product" and "all products" lie the exponentials of a whole block, in both groups."""
    code = machine_code(compiled(head, causal=causal), tmp_path)
    c = hopper_configuration(head)
    order = re.findall(r"MUFU\.EX2|DEPBAR\.LE gsb0, 0x[01]", code)
    between = []
    for at, one in enumerate(order):
        if one.endswith("0x1"):
            after = next(later for later in range(at, len(order)) if order[later].endswith("0x0"))
            between.append(order[at:after].count("MUFU.EX2"))
    assert len(between) == 2
    assert min(between) >= c.block_m * c.block_n // WARP_GROUP
