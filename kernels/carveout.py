"""How an SM's one memory is split into shared memory and L1 while a kernel runs there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpu_explain.kernels.loader import Kernel

if TYPE_CHECKING:
    from gpu_explain.kernels.session import Session

LARGEST_L1 = 0
"""Percent of the SM's memory to be kept for shared memory: none more than the kernel declares."""


def prefer_shared(gpu: Session, kernel: Kernel, percent: int) -> None:
    """Ask for ``percent`` (0 … 100) of an SM's shared-memory limit while this CUDA kernel runs; the rest is L1.

    The driver takes the nearest split that holds what the kernel declares. Raises ``ValueError`` naming a wrong
    argument, ``RuntimeError`` when the driver refuses.
    """
    from cuda.bindings import driver

    _check(percent)
    which = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT
    handle = driver.CUkernel(int(kernel.handle.handle))
    (result,) = driver.cuKernelSetAttribute(which, percent, handle, driver.CUdevice(gpu.ordinal))
    if result != driver.CUresult.CUDA_SUCCESS:
        raise RuntimeError(f"cuKernelSetAttribute: {result}")


def prefer_shared_triton(compiled: Any, percent: int) -> None:
    """The same for a Triton kernel that has been launched; ``compiled`` is what its launch returned."""
    from cuda.bindings import driver

    _check(percent)
    which = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT
    (result,) = driver.cuFuncSetAttribute(driver.CUfunction(int(compiled.function)), which, percent)
    if result != driver.CUresult.CUDA_SUCCESS:
        raise RuntimeError(f"cuFuncSetAttribute: {result}")


def _check(percent: int) -> None:
    if not 0 <= percent <= 100:
        raise ValueError(f"percent: 0 to 100 expected, got {percent}")
