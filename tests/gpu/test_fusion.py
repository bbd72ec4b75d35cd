"""relu(a + b) on the GPU: right to the last bit, and as the scene says."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from gpu_explain.kernels.session import Session
from gpu_explain.scenes.base import Measurement, Nature, Outcome
from gpu_explain.scenes.registry import find_scene

INF, NAN = float("inf"), float("nan")
SPECIAL = (NAN, INF, -INF, 0.0, -0.0, 1e-45, -1e-45, 3.4e38, -3.4e38, 1.5, -1.5)
SIZES = (1, 2, 3, 4, 5, 31, 255, 256, 1000, 1023, 1024, 1025, 4099, 2**20, 2**20 + 3)
POISON = -12345.0

Call = Callable[..., Any]


@pytest.fixture(params=["triton", "cuda"])
def call(gpu: Session, request: pytest.FixtureRequest) -> Iterator[Call]:
    """One of the two fused kernels, as ``call(a, b, out)``."""
    from gpu_explain.kernels.add_relu import add_relu
    from gpu_explain.kernels.add_relu_cuda import add_relu_cuda

    if request.param == "triton":
        yield add_relu
    else:
        yield lambda a, b, out=None: add_relu_cuda(gpu, a, b, out)


def _bits_equal(got: Any, wanted: Any) -> bool:
    import torch

    return torch.equal(got.view(torch.int32), wanted.view(torch.int32))


def _randn(n: int) -> Any:
    import torch

    return torch.randn(n, device="cuda")


@pytest.mark.parametrize("offset", [0, 1, 2])
def test_it_is_torch_to_the_last_bit_and_writes_nothing_else(gpu: Session, call: Call, offset: int) -> None:
    import torch

    for n in SIZES:
        a, b = _randn(n + offset)[offset:], _randn(n + offset)[offset:]
        room = torch.full((n + offset + 64,), POISON, device="cuda")
        call(a, b, room[offset : offset + n])
        gpu.synchronise()
        assert _bits_equal(room[offset : offset + n], (a + b).relu()), f"n = {n}"
        assert (room[:offset] == POISON).all(), f"n = {n}"
        assert (room[offset + n :] == POISON).all(), f"n = {n}"


def test_nan_infinity_and_both_zeros_are_as_torch_has_them(gpu: Session, call: Call) -> None:
    import torch

    pairs = torch.tensor([(x, y) for x in SPECIAL for y in SPECIAL], device="cuda")
    a, b = pairs[:, 0].contiguous(), pairs[:, 1].contiguous()
    got, wanted = call(a, b), (a + b).relu()
    assert _bits_equal(got, wanted)
    assert bool(got.isnan().any())
    assert bool(got.isinf().any())


def test_the_result_may_go_where_an_input_was(gpu: Session, call: Call) -> None:
    a, b = _randn(1003), _randn(1003)
    wanted = (a + b).relu()
    assert call(a, b, a) is a
    assert _bits_equal(a, wanted)


def test_no_elements_are_no_launch(gpu: Session, call: Call) -> None:
    assert call(_randn(0), _randn(0)).shape == (0,)


def test_more_elements_than_32_bits_count(gpu: Session, call: Call) -> None:
    import torch

    n = 2**31 + 5
    if torch.cuda.mem_get_info()[0] < 3.2 * 4 * n:
        pytest.skip("three arrays of 8.6 GB do not fit")
    a, b = torch.zeros(n, device="cuda"), torch.ones(n, device="cuda")
    a[-3:] = torch.tensor([7.0, -9.0, NAN], device="cuda")
    c = torch.full((n,), POISON, device="cuda")
    call(a, b, c)
    assert c[-3:-1].tolist() == [8.0, 0.0]
    assert bool(c[-1].isnan())
    assert c[: n - 3].min().item() == c[: n - 3].max().item() == 1.0
    del a, b, c
    torch.cuda.empty_cache()


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (lambda a, b: (a.double(), b), "a: float32.* expected, got float64"),
        (lambda a, b: (a, b[:-1]), r"b: shape \(64,\) expected"),
        (lambda a, b: (a, b.cpu()), "b: the device of a, cuda:0, expected"),
        (lambda a, b: (a.view(2, -1).t(), b.view(2, -1).t()), "a: a contiguous tensor expected"),
        (lambda a, b: (a, b, a.half()), "out: .*float32.* expected, got float16"),
    ],
)
def test_a_wrong_argument_is_named(gpu: Session, call: Call, change: Call, named: str) -> None:
    with pytest.raises(ValueError, match=named):
        call(*change(_randn(64), _randn(64)))


def test_the_roofs_move_what_they_say(gpu: Session) -> None:
    import torch

    from gpu_explain.kernels.roofs import MIXES, WIDTHS, roof_launch

    n = 4 * 256 * 4 * 3 + 4 * 77
    a, b = (torch.randint(-(2**31), 2**31 - 1, (n,), dtype=torch.int32, device="cuda") for _ in range(2))
    for mix in MIXES:
        for words in WIDTHS:
            c = torch.zeros_like(a)
            roof_launch(gpu, mix=mix, words=words, arrays=(a, b, c) if mix == "2r1w" else (a, c))()
            gpu.synchronise()
            assert torch.equal(c, a ^ b if mix == "2r1w" else a)


def test_torch_compile_agrees_and_is_compiled_once_a_size(gpu: Session) -> None:
    import torch

    from gpu_explain.kernels.add_relu_compiled import compiled_for

    for n in (1024, 4096):
        a, b = _randn(n), _randn(n)
        function = compiled_for(gpu, n)
        assert function is compiled_for(gpu, n)
        assert torch.equal(function(a, b), (a + b).relu())


def test_eager_takes_as_long_as_its_two_kernels(gpu: Session) -> None:
    from gpu_explain.kernels import fusion

    n = min(2**26, fusion.most_elements(gpu))
    t = fusion.race(gpu, n=n, entrants=("eager", "add", "relu"))
    apart = t["add"].median_us + t["relu"].median_us
    assert t["eager"].median_us == pytest.approx(apart, rel=0.04, abs=2 * (t["add"].floor_us or 0.0))


def test_eager_holds_one_array_more(gpu: Session) -> None:
    from gpu_explain.kernels import fusion

    extra = fusion.extra_bytes(gpu, n=2**20, entrants=("eager", "triton", "cuda"))
    assert extra == {"eager": 2 * 4 * 2**20, "triton": 4 * 2**20, "cuda": 4 * 2**20}


def test_results_that_differ_are_counted(gpu: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    from gpu_explain.kernels import add_relu, fusion

    def wrong(a: Any, b: Any) -> Any:
        c = add_relu.reference(a, b)
        c[-2:] += 1
        return c

    assert fusion.differing(gpu, n=4096, entrants=("triton", "cuda")) == {"triton": 0, "cuda": 0}
    monkeypatch.setattr(add_relu, "add_relu", wrong)
    assert fusion.differing(gpu, n=4096, entrants=("triton",)) == {"triton": 2}


def test_every_law_of_the_scene_holds(gpu: Session) -> None:
    from gpu_explain.kernels.worker import Bench

    scene, sent = find_scene("fusion"), list[Measurement]()
    Bench(gpu).measure(scene, {"n": "2^24"}, again=False, send=sent.append)
    wrong = [c for c in scene.claims(sent[-1]) if c.nature is Nature.LAW and c.outcome is Outcome.MISSED]
    assert not wrong
    for step in range(len(scene.steps)):
        assert scene.words(sent[-1], step).look
