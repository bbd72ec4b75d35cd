"""relu(a + b) through ``torch.compile``: the same Python line, fused by Inductor.

One compiled function for each size. With one for all sizes, the size would be a variable of the generated kernel:
nothing then says that it divides by 16, and the loads become narrow.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from types import FunctionType
from typing import TYPE_CHECKING, Any

from gpu_explain.kernels.add_relu import reference
from gpu_explain.kernels.collector import lasting

if TYPE_CHECKING:
    from gpu_explain.kernels.session import Session


def compiled_for(gpu: Session, n: int) -> Callable[[Any, Any], Any]:
    """The compiled function for n numbers; compiles at the first call for that n, and counts the time as such.

    Raises what ``torch.compile`` raises: there may be no C compiler, or no Inductor for this Python.
    """
    key = ("add_relu_compiled", n)
    if key not in gpu.loaded:
        import torch

        began = time.perf_counter()
        try:
            with lasting():
                import torch._inductor.config as inductor

                inductor.compile_threads = 1  # else a pool of processes is started for one small kernel
                # Dynamo keeps compiled code with the function's own and gives up after eight sizes: each has its own.
                own = FunctionType(reference.__code__.replace(co_name=f"add_relu_{n}"), reference.__globals__)
                function = torch.compile(own, dynamic=False, fullgraph=True)
                a = torch.zeros(n, device=f"cuda:{gpu.ordinal}")
                function(a, a.clone())
                gpu.synchronise()
                gpu.loaded[key] = function
        finally:
            gpu.spent_compiling(time.perf_counter() - began)
    compiled: Callable[[Any, Any], Any] = gpu.loaded[key]
    return compiled
