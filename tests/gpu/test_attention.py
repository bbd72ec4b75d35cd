"""Attention on the GPU, in Triton and in Gluon: right against float64, zeros where nothing is seen, linear memory."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest

from gpu_explain.kernels.attention_configs import HEADS
from gpu_explain.kernels.session import Session

NAN, INF = float("nan"), float("inf")
POISON = -12345.0
TOLERANCE = {"float16": 1e-3, "bfloat16": 8e-3, "float32": 2e-6}
"""Of the norm of the difference against float64, by the norm of the result."""
LENGTHS = ((1, 1), (1, 300), (300, 1), (17, 63), (64, 64), (127, 129), (128, 257), (300, 200), (511, 1025))
MASKS = ({"causal": False}, {"causal": True}, {"causal": True, "diagonal": 65}, {"causal": True, "diagonal": -40})


Attend = Callable[..., Any]


@pytest.fixture(params=["Triton", "Gluon"])
def attend(whole_gpu: Session, request: pytest.FixtureRequest) -> Attend:
    """One of the two kernels, as ``attend(q, k, v, …)``."""
    if request.param == "Triton":
        from gpu_explain.kernels.attention import attention

        return attention
    if whole_gpu.device.compute_capability[0] != 9:
        pytest.skip("written for compute capability 9")
    from gpu_explain.kernels.attention_hopper import attention_hopper

    return attention_hopper


def randn(*shape: int, dtype: str = "float16", offset: int = 0) -> Any:
    """Random numbers that begin ``offset`` elements behind an aligned address."""
    import torch

    n = torch.Size(shape).numel()
    return torch.randn(n + offset, device="cuda", dtype=getattr(torch, dtype))[offset:].view(shape)


def difference(got: Any, q: Any, k: Any, v: Any, **mask: Any) -> float:
    """Norm of the difference against float64, by the norm of the result."""
    from gpu_explain.kernels.attention import reference

    wanted = reference(q.double(), k.double(), v.double(), **mask)
    norm = wanted.norm().item()
    return (got.double() - wanted).norm().item() / (norm or 1.0)


def check_against_float64(attend: Attend, head: int, dtype: str, offset: int) -> None:
    """All lengths and masks; the result goes into a view of poisoned memory, and nothing around it changes."""
    import torch

    for q_len, k_len in LENGTHS:
        q = randn(2, 3, q_len, head, dtype=dtype, offset=offset)
        k, v = (randn(2, 3, k_len, head, dtype=dtype, offset=offset) for _ in range(2))
        for mask in MASKS:
            room = torch.full((2, 5, q_len + 7, head + 3), POISON, device="cuda", dtype=q.dtype)
            out = room[:, :3, 2 : 2 + q_len, 1 : 1 + head]
            attend(q, k, v, out=out, **mask)
            assert difference(out, q, k, v, **mask) < TOLERANCE[dtype], f"{q_len} queries, {k_len} keys, {mask}"
            out.fill_(POISON)
            assert (room == POISON).all(), f"{q_len} queries, {k_len} keys, {mask}"


@pytest.mark.parametrize(("head", "dtype"), [(64, "float16"), (128, "bfloat16")])
def test_it_is_float64_within_rounding_and_writes_nothing_else(attend: Attend, head: int, dtype: str) -> None:
    check_against_float64(attend, head, dtype, offset=0)


@pytest.mark.parametrize(("head", "dtype", "offset"), [(64, "float16", 1), (64, "float32", 0), (128, "float32", 1)])
def test_so_are_float32_and_addresses_that_are_not_aligned(
    whole_gpu: Session, head: int, dtype: str, offset: int
) -> None:
    from gpu_explain.kernels.attention import attention

    check_against_float64(attention, head, dtype, offset)


def test_any_strides_are_taken(whole_gpu: Session) -> None:
    import torch

    from gpu_explain.kernels.attention import attention, fits_descriptor

    head = 128
    plain = randn(2, 4, 200, head)
    rows_of_heads = randn(2, 200, 4, head).transpose(1, 2)
    packed = randn(2, 200, 3, 4, head).permute(2, 0, 3, 1, 4)[1]
    gaps = randn(2, 4, 200, 2 * head)[..., ::2]
    columns = randn(2, 4, head, 200).transpose(2, 3)
    one_for_all = randn(2, 1, 200, head).expand(2, 4, 200, head)
    odd = randn(2, 4, 200, head + 1)[..., :head]
    flipped_batches = randn(4, 2, 200, head).transpose(0, 1)
    layouts = (plain, rows_of_heads, packed, gaps, columns, one_for_all, odd, flipped_batches)
    assert [fits_descriptor(t) for t in layouts] == [True, True, True, False, False, False, False, True]
    for at, k in enumerate(layouts):
        q, v = layouts[at - 1], layouts[at - 2]
        out = torch.full((2, 200, 4, head), POISON, device="cuda", dtype=q.dtype).transpose(1, 2)
        assert attention(q, k, v, causal=True, out=out) is out
        assert difference(out, q, k, v, causal=True) < TOLERANCE["float16"], f"layout {at}"


def test_what_the_copy_engine_cannot_fetch_is_refused_by_name(whole_gpu: Session) -> None:
    from gpu_explain.kernels.attention_hopper import attention_hopper

    if whole_gpu.device.compute_capability[0] != 9:
        pytest.skip("written for compute capability 9")
    q, odd = randn(1, 2, 100, 64), randn(1, 2, 100, 64, offset=1)
    with pytest.raises(ValueError, match="k: rows without gaps, and address and strides"):
        attention_hopper(q, odd, q)
    with pytest.raises(ValueError, match="v: rows without gaps, and address and strides"):
        attention_hopper(q, q, randn(1, 2, 64, 100).transpose(2, 3))
    with pytest.raises(ValueError, match="q: float16 or bfloat16 expected, got float32"):
        attention_hopper(q.float(), q.float(), q.float())


@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("causal", [False, True])
def test_long_sequences_agree_with_torch(attend: Attend, head: int, causal: bool) -> None:
    import torch
    from torch.nn.functional import scaled_dot_product_attention

    q, k, v = (randn(1, 7, 8192, head) for _ in range(3))
    got = attend(q, k, v, causal=causal)
    wanted = scaled_dot_product_attention(q, k, v, is_causal=causal)
    assert torch.linalg.vector_norm(got - wanted) < 1e-3 * torch.linalg.vector_norm(wanted)
    assert torch.equal(got, attend(q, k, v, causal=causal))  # no order of additions is left to chance


def test_large_scores_do_not_overflow(whole_gpu: Session) -> None:
    from gpu_explain.kernels.attention import attention

    q, k, v = (randn(1, 2, 300, 64, dtype="float32") for _ in range(3))
    got = attention(30 * q, 30 * k, v)
    # Scores of 10⁴ in float32 are known to 10⁻³ or so, and so are their exponentials.
    assert difference(got, 30 * q, 30 * k, v) < 1e-2
    assert bool(got.isfinite().all())
    assert difference(attention(q, k, v, scale=1e-3), q, k, v, scale=1e-3) < TOLERANCE["float32"]


def test_rows_that_see_no_key_are_zero_and_torch_agrees(attend: Attend) -> None:
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.nn.functional import scaled_dot_product_attention

    q, k, v = randn(1, 2, 300, 64), randn(1, 2, 200, 64), randn(1, 2, 200, 64)
    for diagonal in (-1, -129, -299, -300, -1000):
        got = attend(q, k, v, causal=True, diagonal=diagonal)
        nothing = min(-diagonal, 300)
        assert (got[:, :, :nothing] == 0).all()
        assert (got[:, :, nothing:] != 0).any(-1).all()
        seen = torch.ones(300, 200, dtype=torch.bool, device="cuda").tril(diagonal)
        with sdpa_kernel(SDPBackend.MATH):
            wanted = scaled_dot_product_attention(q, k, v, attn_mask=seen)
        torch.testing.assert_close(got, wanted, rtol=2e-3, atol=2e-3)


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_nan_reaches_the_rows_that_see_it(attend: Attend, dtype: str) -> None:
    import torch

    from gpu_explain.kernels.attention import reference

    if dtype == "float32" and attend.__name__ == "attention_hopper":
        pytest.skip("takes no float32")
    q, k, v = (randn(1, 1, 150, 64, dtype=dtype) for _ in range(3))
    q[0, 0, 3, 5] = NAN  # a row of NaN
    k[0, 0, 140, 1] = NAN  # every row that sees this key
    v[0, 0, 149, 2] = INF  # a column: of the last row, which sees it, and of those where 0 · inf makes NaN, as in torch
    got = attend(q, k, v, causal=True)
    assert got[0, 0, 3].isnan().all()
    assert got[0, 0, 140:].isnan().all()
    unharmed = [row for row in range(140) if row != 3]
    others = [column for column in range(64) if column != 2]
    wanted = reference(q.double(), k.double(), v.double(), causal=True)[0, 0, unharmed][:, others]
    torch.testing.assert_close(got[0, 0, unharmed][:, others].double(), wanted, rtol=2e-3, atol=2e-3)


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_infinite_scores_are_as_torch_has_them(attend: Attend, dtype: str) -> None:
    import torch

    from gpu_explain.kernels.attention import reference

    if dtype == "float32" and attend.__name__ == "attention_hopper":
        pytest.skip("takes no float32")
    q, k, v = (randn(1, 1, 150, 64, dtype=dtype) for _ in range(3))
    k[..., :2] = k[..., :2].abs() + 1
    q[0, 0, 0, 0] = INF  # row 0: scores of inf, and inf - inf is NaN
    q[0, 0, 1, 1] = -INF  # row 1: nothing but scores of -inf, and so no key is seen
    q[0, 0, 2:, 3] = q[0, 0, 2:, 3].abs() + 1
    q[0, 0, 1, 3] = 0.5
    k[0, 0, :140, 3] = -INF  # all other rows: -inf in the first blocks, as if these keys were not there
    got = attend(q, k, v)
    assert got[0, 0, 0].isnan().all()
    assert (got[0, 0, 1] == 0).all()
    q, k, v = q[:, :, 2:], k[:, :, 140:], v[:, :, 140:]
    torch.testing.assert_close(
        got[:, :, 2:].double(), reference(q.double(), k.double(), v.double()), rtol=2e-3, atol=2e-3
    )


def test_nothing_in_is_nothing_out(attend: Attend) -> None:
    import torch

    assert attend(randn(2, 3, 0, 64), randn(2, 3, 5, 64), randn(2, 3, 5, 64)).shape == (2, 3, 0, 64)
    assert attend(*(randn(0, 3, 5, 64) for _ in range(3))).shape == (0, 3, 5, 64)
    out = torch.full((1, 1, 5, 64), POISON, device="cuda", dtype=torch.float16)
    attend(randn(1, 1, 5, 64), randn(1, 1, 0, 64), randn(1, 1, 0, 64), out=out)
    assert (out == 0).all()


@pytest.mark.parametrize("heads_apart", [False, True], ids=["many heads", "far apart"])
def test_more_elements_than_32_bits_count(attend: Attend, heads_apart: bool) -> None:
    import torch

    # 2^31 elements and a few heads more; "far apart" leaves them out, so that strides are what passes 2^31.
    many = 2**31 // (64 * 64) + 3
    if torch.cuda.mem_get_info()[0] < 5 * 2 * 64 * 64 * many:
        pytest.skip("four tensors of 4.3 GB do not fit")
    q, k, v, out = (torch.empty(1, many, 64, 64, device="cuda", dtype=torch.float16) for _ in range(4))
    step = many - 1 if heads_apart else 1
    q, k, v, out = (t[:, ::step] for t in (q, k, v, out))
    last = slice(-1, None)
    for tensor in (q, k, v):
        tensor[:, 1:-1] = 0.5
        tensor[:, :1] = torch.randn_like(tensor[:, :1])
        tensor[:, last] = torch.randn_like(tensor[:, last])
    out.fill_(POISON)
    attend(q, k, v, out=out)
    for place in (slice(0, 1), last):
        assert difference(out[:, place], q[:, place], k[:, place], v[:, place]) < TOLERANCE["float16"]
    assert not (out == POISON).any()
    del q, k, v, out
    torch.cuda.empty_cache()


def test_memory_grows_with_the_length_and_not_with_its_square(attend: Attend) -> None:
    import torch

    from gpu_explain.kernels.attention import reference

    def extra_bytes(function: Any, length: int) -> int:
        q, k, v = (randn(1, 4, length, 64) for _ in range(3))
        function(q, k, v)  # what is allocated once does not count
        torch.cuda.synchronize()
        before = torch.cuda.memory_allocated()
        torch.cuda.reset_peak_memory_stats()
        function(q, k, v)
        return torch.cuda.max_memory_allocated() - before

    lengths = (1024, 2048, 4096)
    own = [extra_bytes(attend, length) for length in lengths]
    unfused = [extra_bytes(reference, length) for length in lengths]
    assert own == [2 * 4 * 64 * length for length in lengths]  # the output, and nothing else
    assert all(3.5 < longer / shorter < 4.5 for shorter, longer in pairwise(unfused))
    assert all(bytes >= 2 * 4 * length**2 for bytes, length in zip(unfused, lengths, strict=True))


def test_it_runs_on_part_of_the_gpu(gpu: Session) -> None:
    from gpu_explain.kernels.attention import attention

    q, k, v = (randn(1, 16, 1000, 64) for _ in range(3))
    assert difference(attention(q, k, v, causal=True), q, k, v, causal=True) < TOLERANCE["float16"]
