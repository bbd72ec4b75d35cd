"""Every Triton kernel compiles for every architecture that Triton supports, with the registers that the twins leave."""

from __future__ import annotations

import re
from typing import Any

import pytest

triton = pytest.importorskip("triton", reason="triton is not installed")

ARCHITECTURES = (80, 86, 89, 90, 100, 120)
KERNELS = ("wait_blocks", "compute_blocks", "traced_wait_blocks", "traced_compute_blocks")
TYPES = {"record": "*i64", "arrivals": "*i32", "out": "*fp32", "amount": "i32"}


def compiled(name: str, arch: int, threads: int = 256) -> Any:
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    from gpu_explain.kernels import blocks_triton

    function = getattr(blocks_triton, name)
    signature = {argument: TYPES.get(argument, "constexpr") for argument in function.arg_names}
    constants = {"THREADS": threads} if "THREADS" in function.arg_names else {}
    source = ASTSource(function, signature, constants)
    return triton.compile(source, target=GPUTarget("cuda", arch, 32), options={"num_warps": threads // 32})


@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize("name", KERNELS)
def test_it_compiles(name: str, arch: int) -> None:
    kernel = compiled(name, arch)
    assert kernel.asm["cubin"].startswith(b"\x7fELF")
    assert kernel.metadata.shared <= 1024


def instructions(ptx: str) -> list[str]:
    """The instructions that matter here, in order."""
    found = re.findall(r"%globaltimer|%clock64|%smid|bar\.sync|atom\.\S+|fma\.rn\.f32", ptx)
    return [re.sub(r"atom\.\S+", "atom", one) for one in found]


def test_both_ends_of_a_block_are_stamped_and_the_end_after_a_barrier() -> None:
    order = instructions(compiled("traced_compute_blocks", 90).asm["ptx"])
    assert order.count("%globaltimer") == 2
    assert order.count("%smid") == 2  # declared pure, the two would have become one
    work = order.index("fma.rn.f32")
    last_work = len(order) - 1 - order[::-1].index("fma.rn.f32")
    assert order.index("%globaltimer") < order.index("%clock64") < order.index("atom") < work
    assert order[last_work + 1] == "bar.sync"
    assert set(order[last_work + 2 :]) == {"%globaltimer", "%clock64", "%smid"}


def test_the_wait_reads_the_clock_again_and_again() -> None:
    assert instructions(compiled("wait_blocks", 90).asm["ptx"]).count("%clock64") >= 2


def test_the_chain_is_made_of_multiply_adds() -> None:
    order = instructions(compiled("compute_blocks", 90).asm["ptx"])
    assert order.count("fma.rn.f32") >= 16
    assert "mul.f32" not in compiled("compute_blocks", 90).asm["ptx"]
