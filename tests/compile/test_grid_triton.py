"""The recorder of sm-map in Triton: compiles for every architecture, and its stamps stand where they must."""

from __future__ import annotations

import re
from typing import Any

import pytest

triton = pytest.importorskip("triton", reason="triton is not installed")

ARCHITECTURES = (80, 86, 89, 90, 100, 120)
SIGNATURE = {
    "record": "*i64",
    "arrivals": "*i32",
    "warp_record": "*i64",
    "owner": "*i32",
    "n": "i32",
    "least": "i32",
    "spread": "i32",
    "THREADS": "constexpr",
    "WARP": "constexpr",
}


def compiled(arch: int, threads: int) -> Any:
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    from gpu_explain.kernels.grid_triton import traced_elements

    source = ASTSource(traced_elements, SIGNATURE, {"THREADS": threads, "WARP": 32})
    return triton.compile(source, target=GPUTarget("cuda", arch, 32), options={"num_warps": threads // 32})


@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize("threads", [32, 256, 1024])
def test_it_compiles(arch: int, threads: int) -> None:
    assert compiled(arch, threads).asm["cubin"].startswith(b"\x7fELF")


def test_a_warp_is_stamped_before_the_tracer_and_after_the_wait() -> None:
    ptx = compiled(90, 256).asm["ptx"]
    order = re.findall(r"%globaltimer|%smid|%laneid|nanosleep|bar\.sync", ptx)
    assert order.count("%globaltimer") == 4  # the warps' and the block's, at both ends
    assert order.count("%smid") == 3  # declared pure, these would have become one
    stamps = [at for at, one in enumerate(order) if one == "%globaltimer"]
    assert stamps[1] < order.index("%laneid") < order.index("nanosleep") < stamps[2] < stamps[3]
    assert "bar.sync" in order[stamps[2] : stamps[3]]


def test_a_thread_has_one_element() -> None:
    """One signature a thread: with two, lanes would not be what the picture says."""
    ptx = compiled(90, 256).asm["ptx"]
    assert len(re.findall(r"st\.global\.b32", ptx)) == 1
    assert ptx.count("%laneid;") == 1
