"""Line ranges are found by reading the code."""

from __future__ import annotations

import pytest

from gpu_explain.kernels.blocks import LANGUAGES, WORKS, sources
from gpu_explain.kernels.sources import cuda_lines, python_lines
from gpu_explain.scenes.base import SourceText

CUDA = """// A file.

// What f does,
// in two lines.
__device__ __forceinline__ int f(int a)
{
    if (a) {
        return 1;
    }
    return f(a - 1);
}

extern "C" __global__ void g(int *out,
                             int n)
{
    out[0] = f(n);
}
"""
PYTHON = """import x

@x.jit
def f(a):
    return a

def g():
    return f(1)
"""


def test_a_cuda_function_with_its_comment() -> None:
    assert cuda_lines(CUDA, "f") == (3, 11)
    assert cuda_lines(CUDA, "g") == (13, 17)


def test_a_python_function_with_its_decorator() -> None:
    assert python_lines(PYTHON, "f") == (3, 5)
    assert python_lines(PYTHON, "g") == (7, 8)


@pytest.mark.parametrize("find", [cuda_lines, python_lines])
def test_a_function_that_is_not_there(find: object) -> None:
    with pytest.raises(KeyError, match="h"):
        find(CUDA if find is cuda_lines else PYTHON, "h")  # type: ignore[operator]


def shown(source: SourceText, name: str) -> str:
    first, last = source.focus[name]
    return "\n".join(source.text.splitlines()[first - 1 : last])


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("work", WORKS)
def test_the_focus_shows_what_it_names(work: str, language: str) -> None:
    blocks, trace = sources(work=work, language=language)
    assert f"{work}_blocks(" in shown(blocks, "kernel")
    assert "trace" not in shown(blocks, "kernel")
    assert {"wait": "clock64()", "compute": "0.5"}[work] in shown(blocks, work)
    assert "trace_begin" in shown(blocks, "trace")
    assert "trace_end" in shown(blocks, "trace")
    assert "globaltimer" in shown(trace, "trace")
    assert {"CUDA": "__syncthreads", "Triton": "debug_barrier"}[language] in shown(trace, "trace-end")


def test_the_twins_have_the_same_arguments_in_the_same_order() -> None:
    import ast
    import re

    cuda = sources(work="wait", language="CUDA")[0].text
    triton = sources(work="wait", language="Triton")[0].text
    functions = {n.name: n for n in ast.parse(triton).body if isinstance(n, ast.FunctionDef)}
    for name in ("wait_blocks", "compute_blocks", "traced_wait_blocks", "traced_compute_blocks"):
        found = re.search(rf"void {name}\(([^)]*)\)", cuda)
        assert found
        ours = [a.arg for a in functions[name].args.args if a.arg != "THREADS"]
        assert [argument.split()[-1].lstrip("*") for argument in found[1].split(",")] == ours
