"""Attention in Triton's interpreter, against float64 on the CPU: masks, layouts and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("triton", reason="triton is not installed")

from gpu_explain.kernels.attention import (  # noqa: E402
    attention,
    fits_descriptor,
    flops,
    fused_bytes,
    reference,
    seen_scores,
    unfused_bytes,
)

POISON = -12345.0


def randn(*shape: int, dtype: Any = torch.float32, offset: int = 0) -> Any:
    n = torch.Size(shape).numel()
    return torch.randn(n + offset, dtype=dtype)[offset:].view(shape)


def assert_right(got: Any, q: Any, k: Any, v: Any, **mask: Any) -> None:
    wanted = reference(q.double(), k.double(), v.double(), **mask)
    tolerance = 2e-5 if q.dtype == torch.float32 else 2e-3
    torch.testing.assert_close(got.double(), wanted, rtol=tolerance, atol=tolerance)


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")  # 0 / 0 in rows that see nothing, then replaced
@pytest.mark.parametrize(
    "mask", [{}, {"causal": True}, {"causal": True, "diagonal": 65}, {"causal": True, "diagonal": -50}]
)
@pytest.mark.parametrize(("q_len", "k_len"), [(1, 1), (3, 130), (130, 3), (150, 200), (257, 65)])
@pytest.mark.parametrize("offset", [0, 1], ids=["descriptors", "pointers"])
def test_it_is_float64_within_rounding_and_writes_nothing_else(
    mask: dict[str, Any], q_len: int, k_len: int, offset: int
) -> None:
    torch.manual_seed(q_len)
    q = randn(1, 2, q_len, 64, offset=offset)
    k, v = randn(1, 2, k_len, 64, offset=offset), randn(1, 2, k_len, 64, offset=offset)
    assert fits_descriptor(k) == (not offset)
    room = torch.full((1, 3, q_len + 2, 66), POISON)
    out = room[:, :2, 1 : 1 + q_len, 1:65]
    attention(q, k, v, out=out, **mask)
    assert_right(out, q, k, v, **mask)
    out.fill_(POISON)
    assert (room == POISON).all()


@pytest.mark.parametrize("together", [1, 2, 3, 5])
def test_all_blocks_of_all_heads_have_their_turn(together: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpu_explain.kernels.attention.heads_together", lambda *_: together)
    q, k, v = (randn(1, 5, 300, 64) for _ in range(3))
    out = torch.full_like(q, POISON)
    attention(q, k, v, causal=True, out=out)
    assert_right(out, q, k, v, causal=True)


@pytest.mark.parametrize("head", [64, 128])
def test_half_precision_and_strides(head: int) -> None:
    q = randn(2, 140, 3, head, dtype=torch.float16).transpose(1, 2)
    k, v = (randn(2, 3, 70, 2 * head, dtype=torch.float16)[..., ::2] for _ in range(2))
    assert_right(attention(q, k, v, scale=0.3), q, k, v, scale=0.3)
    assert_right(attention(k, q, q, causal=True), k, q, q, causal=True)


def test_nothing_in_is_nothing_out() -> None:
    assert attention(randn(1, 2, 0, 64), randn(1, 2, 3, 64), randn(1, 2, 3, 64)).shape == (1, 2, 0, 64)
    assert (attention(randn(1, 2, 3, 64), randn(1, 2, 0, 64), randn(1, 2, 0, 64)) == 0).all()


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (lambda t: {"q": t["q"].double()}, "q: float16 or bfloat16 or float32 expected, got float64"),
        (lambda t: {"q": t["q"][0]}, "q: 4 dimensions expected"),
        (lambda t: {"q": t["q"][..., :63]}, "q: a head of 64 or 128 elements expected"),
        (lambda t: {"k": t["k"].half()}, "k: the dtype of q, float32, expected, got float16"),
        (lambda t: {"k": t["k"][:, :1]}, r"k: shape \(1, 2, k_len, 64\) expected"),
        (lambda t: {"v": t["v"][:, :, 1:]}, r"v: shape \(1, 2, 7, 64\) expected, got \(1, 2, 6, 64\)"),
        (lambda t: {"out": t["v"]}, r"out: shape \(1, 2, 5, 64\) expected"),
        (lambda _: {"scale": 0.0}, r"scale: a positive number below 1e\+38 expected, got 0.0"),
        (lambda _: {"scale": float("nan")}, r"scale: a positive number below 1e\+38 expected, got nan"),
        (lambda _: {"scale": 3e38}, "scale: a positive number below"),
        (lambda _: {"scale": True}, "scale: a positive number below"),
        (lambda _: {"causal": "no"}, "causal: True or False expected, got 'no'"),
        (lambda t: {"out": t["q"]}, "out: memory apart from q's expected"),
        (lambda t: {"out": t["q"][:, :, :1].expand(1, 2, 5, 64)}, "out: an address for each element expected"),
        (lambda _: {"diagonal": 3}, "diagonal: 0 expected without causal, got 3"),
        (lambda _: {"diagonal": 0.5, "causal": True}, "diagonal: an integer from"),
    ],
)
def test_a_wrong_argument_is_named(change: Any, named: str) -> None:
    tensors = {"q": randn(1, 2, 5, 64), "k": randn(1, 2, 7, 64), "v": randn(1, 2, 7, 64)}
    with pytest.raises(ValueError, match=named):
        attention(**(tensors | change(tensors)))


def test_arithmetic_is_counted_where_the_mask_leaves_it() -> None:
    for q_len in range(1, 7):
        for k_len in range(1, 7):
            for diagonal in range(-8, 9):
                mask = torch.ones(q_len, k_len).tril(diagonal)
                assert seen_scores(q_len, k_len, causal=True, diagonal=diagonal) == mask.sum().item()
    assert flops(1, 16, 4096, 4096, 64) == 4 * 16 * 4096**2 * 64
    assert flops(1, 16, 4096, 4096, 64, causal=True) == pytest.approx(2 * 16 * 4096**2 * 64, rel=1e-3)


def test_bytes_are_those_of_the_tensors() -> None:
    q, k = torch.empty(2, 3, 50, 64, dtype=torch.float16), torch.empty(2, 3, 70, 64, dtype=torch.float16)
    scores = q @ k.transpose(-1, -2)
    assert fused_bytes(2, 3, 50, 70, 64) == 2 * (q.nbytes + k.nbytes)
    assert unfused_bytes(2, 3, 50, 70, 64) == 2 * (q.nbytes + k.nbytes) + 6 * scores.nbytes
    assert fused_bytes(2, 3, 50, 70, 64, item=4) == 2 * fused_bytes(2, 3, 50, 70, 64)
