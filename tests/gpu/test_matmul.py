"""The Triton matmuls on the GPU: right at odd sizes and any strides, nothing written outside, traced as they run."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from gpu_explain.kernels.session import Session

INF, NAN = float("inf"), float("nan")
POISON = -12345.0
SMALLEST = 2.0**-24  # of float16: what is below may be rounded away
DTYPES = ("float32", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2")
SHAPES = ((1, 1, 1), (1, 300, 40), (257, 1, 8), (300, 513, 200), (513, 777, 1), (127, 129, 65), (128, 256, 64))
WAYS = ("ordinary", "persistent")

Call = Callable[..., Any]


@pytest.fixture(params=WAYS)
def call(whole_gpu: Session, request: pytest.FixtureRequest) -> Call:
    """One of the matmuls, as ``call(a, b, out=None, config=None)``."""
    return _way(whole_gpu, request.param)


def _way(gpu: Session, name: str) -> Call:
    from gpu_explain.kernels.matmul import matmul
    from gpu_explain.kernels.matmul_persistent import matmul_persistent

    if name == "ordinary":
        return matmul
    return lambda a, b, out=None, config=None: matmul_persistent(a, b, out, sms=gpu.device.sms, config=config)


def _randn(gpu: Session, rows: int, columns: int, dtype: str) -> Any:
    import torch

    wanted = getattr(torch, dtype)
    if wanted.itemsize == 1 and gpu.device.compute_capability < (8, 9):
        pytest.skip("no float8 on this GPU")
    return torch.randn(rows, columns, device="cuda").to(wanted)


def _far(got: Any, a: Any, b: Any) -> float:
    """Distance to the float64 product, as a share of the sum of the products' sizes: NaN when anything is."""
    wanted = a.double() @ b.double()
    scale = a.double().abs() @ b.double().abs()
    beyond = ((got.double() - wanted).abs() - SMALLEST).clamp(min=0)
    return float((beyond / (scale + 1e-30)).max().nan_to_num(nan=INF))


# A share of the sum of |a·b|: rounding of the operands (tf32 drops 13 bits) and of the result.
ALLOWED = {"float32": 2e-3, "float16": 1e-3, "bfloat16": 8e-3, "float8_e4m3fn": 8e-3, "float8_e5m2": 8e-3}


@pytest.mark.parametrize("dtype", DTYPES)
def test_it_is_the_product_and_writes_nothing_else(whole_gpu: Session, call: Call, dtype: str) -> None:
    import torch

    for m, n, k in SHAPES if dtype == "float16" else SHAPES[-1 - (dtype != "float8_e5m2") :]:
        a, b = _randn(whole_gpu, m, k, dtype), _randn(whole_gpu, k, n, dtype)
        kind = torch.bfloat16 if "float8" in dtype else a.dtype
        room = torch.full((m * n + 512,), POISON, dtype=kind, device="cuda")
        out = room[256 : 256 + m * n].view(m, n)
        assert call(a, b, out) is out
        whole_gpu.synchronise()
        assert _far(out, a, b) <= ALLOWED[dtype], f"{m} × {n} × {k}"
        assert (room[:256] == room[-1]).all()
        assert (room[256 + m * n :] == room[-1]).all()
        assert room[-1].item() == torch.tensor(POISON, dtype=kind).item()


@pytest.mark.sanitised
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_small_products_stay_inside_their_memory(
    whole_gpu: Session, call: Call, dtype: str, request: pytest.FixtureRequest
) -> None:
    if "persistent" in request.node.name and os.environ.get("SANITISER") == "initcheck":
        pytest.skip("initcheck does not see what the copy engine writes, and takes C for unwritten")
    for m, n, k in ((64, 128, 64), (67, 41, 37)):
        a, b = _randn(whole_gpu, m, k, dtype), _randn(whole_gpu, k, n, dtype)
        out = call(a, b)
        whole_gpu.synchronise()
        assert _far(out, a, b) <= ALLOWED[dtype]


@pytest.mark.parametrize(
    ("dtype", "turned"),
    [
        ("float16", "a"),
        ("float16", "b"),
        ("float16", "ab"),
        ("float32", "a"),
        ("float32", "b"),
        ("float8_e4m3fn", "ab"),
    ],
)
def test_transposed_views(whole_gpu: Session, call: Call, dtype: str, turned: str) -> None:
    for m, n, k in ((256, 384, 144), (130, 70, 50)):
        a = _randn(whole_gpu, k, m, dtype).t() if "a" in turned else _randn(whole_gpu, m, k, dtype)
        b = _randn(whole_gpu, n, k, dtype).t() if "b" in turned else _randn(whole_gpu, k, n, dtype)
        assert _far(call(a, b), a, b) <= ALLOWED[dtype], f"{m} × {n} × {k}"


def test_wide_and_narrow_elements_are_laid_along_k_for_the_tensor_cores_of_hopper(gpu: Session) -> None:
    from gpu_explain.kernels.matmul import along_k

    if gpu.device.compute_capability[0] not in (9, 10):
        pytest.skip("its tensor cores take them from registers")
    for dtype in ("float32", "float8_e4m3fn"):
        a, b = _randn(gpu, 40, 64, dtype).t(), _randn(gpu, 40, 72, dtype)
        x, y = along_k(a, b)
        assert x.stride() == (40, 1)
        assert y.stride() == (1, 40)
        assert x.float().equal(a.float())
        assert y.float().equal(b.float())
        assert along_k(x, y)[0] is x
        assert along_k(x, y)[1] is y
    a, b = _randn(gpu, 40, 64, "float16").t(), _randn(gpu, 40, 72, "float16")
    assert along_k(a, b)[0] is a
    assert along_k(a, b)[1] is b


def test_a_matrix_is_turned_as_torch_does_it(whole_gpu: Session) -> None:
    import torch

    from gpu_explain.kernels.turned import turned

    for dtype, shapes in (
        (torch.float32, ((1, 1), (129, 64), (0, 3))),
        (torch.int8, ((1000, 2047),)),
        (torch.bfloat16, ((77, 63),)),
        (torch.int64, ((77, 63),)),
    ):
        for rows, columns in shapes:
            x = torch.randint(-100, 100, (rows, columns + 1), device="cuda").to(dtype)
            for view in (x, x[:, 1:].t()):
                assert turned(view).is_contiguous()
                assert turned(view).equal(view.t())
    rows, columns = 46400, 46400  # above 2^31 elements
    if torch.cuda.mem_get_info()[0] < 4 * rows * columns:
        pytest.skip("twice 2.2 GB and room to compare do not fit")
    x = torch.randint(-100, 100, (rows, columns), dtype=torch.int8, device="cuda")
    assert turned(x).equal(x.t())
    del x
    torch.cuda.empty_cache()


@pytest.mark.parametrize("offset", [0, 1, 8])
def test_views_that_begin_anywhere_amid_nan(whole_gpu: Session, call: Call, offset: int) -> None:
    """Everything around the operands is NaN, so that one that was read and did not belong would show."""
    import torch

    for m, n, k in ((100, 90, 33), (128, 256, 72), (129, 257, 64)):
        rooms, views = [], []
        for rows, columns in ((m, k), (k, n), (m, n)):
            room = torch.full((rows + 2, columns + offset + 24), NAN, dtype=torch.float16, device="cuda")
            rooms.append(room)
            views.append(room[1:-1, offset : offset + columns])
        a, b, out = views
        a[:], b[:] = torch.randn(m, k, device="cuda"), torch.randn(k, n, device="cuda")
        call(a, b, out)
        assert _far(out, a, b) <= ALLOWED["float16"], f"{m} × {n} × {k}"
        out.fill_(NAN)
        assert bool(rooms[2].isnan().all())


def test_strides_of_more_than_one_in_both_dimensions(whole_gpu: Session, call: Call) -> None:
    a, b = _randn(whole_gpu, 200, 300, "float16")[::2, ::3], _randn(whole_gpu, 200, 140, "float16")[::2, ::2]
    room = _randn(whole_gpu, 200, 280, "float16")
    before, out = room.clone(), room[::2, ::4]
    call(a, b, out)
    assert _far(out, a, b) <= ALLOWED["float16"]
    before[::2, ::4] = out
    assert before.equal(room)


def test_multiples_of_sixteen_bytes_that_are_none_of_sixteen_elements(whole_gpu: Session, call: Call) -> None:
    from gpu_explain.kernels.matmul import unit_of

    for m, n, k, unit in ((130, 264, 72, 8), (130, 256, 64, 1), (130, 260, 72, 1)):
        a, b = _randn(whole_gpu, m, k, "float16"), _randn(whole_gpu, k, n, "float16")
        out = call(a, b)
        assert unit_of(a, b, out) == unit
        assert _far(out, a, b) <= ALLOWED["float16"]


def test_one_row_may_stand_for_all(whole_gpu: Session, call: Call) -> None:
    a, b = _randn(whole_gpu, 1, 64, "float16").expand(100, 64), _randn(whole_gpu, 64, 80, "float16")
    assert _far(call(a, b), a, b) <= ALLOWED["float16"]


def test_every_shipped_configuration_is_right(whole_gpu: Session, call: Call, request: pytest.FixtureRequest) -> None:
    from gpu_explain.kernels.matmul_configs import ladder, persistent_ladder

    capability = whole_gpu.device.compute_capability
    for dtype in ("float32", "float16", "float8_e4m3fn"):
        a, b = _randn(whole_gpu, 520, 776, dtype), _randn(whole_gpu, 776, 1032, dtype)
        out = call(a, b)
        ordinary = "ordinary" in request.node.name
        item, stored = a.element_size(), out.element_size()
        rungs = ladder(capability, item) if ordinary else persistent_ladder(capability, item, stored)
        for config in rungs if dtype == "float16" else rungs[:1]:
            assert _far(call(a, b, config=config), a, b) <= ALLOWED[dtype], str(config)


def test_a_tile_stored_in_halves_is_the_same(gpu: Session) -> None:
    from gpu_explain.kernels.matmul import shipped_for
    from gpu_explain.kernels.matmul_persistent import matmul_persistent

    a, b = _randn(gpu, 1000, 520, "float16"), _randn(gpu, 520, 1032, "float16")
    one = shipped_for(a, b)
    results = [
        matmul_persistent(a, b, sms=gpu.device.sms, config=replace(one, num_stages=2, store_parts=parts), tma=tma)
        for parts in (1, 2)
        for tma in (None, False)
    ]
    assert all(result.equal(results[0]) for result in results)


def test_a_part_of_the_gpu_computes_the_same(gpu: Session) -> None:
    from gpu_explain.kernels.matmul import matmul
    from gpu_explain.kernels.matmul_persistent import matmul_persistent, persistent_config, stay

    a, b = _randn(gpu, 1000, 520, "float16"), _randn(gpu, 520, 2056, "float16")
    one = persistent_config(a, b, a.new_empty(1000, 2056), gpu.device.sms)
    assert stay(a, b, a.new_empty(1000, 2056), gpu.device.sms, replace(one, block_m=64, block_n=64)) == gpu.device.sms
    for out in (matmul(a, b), *(matmul_persistent(a, b, sms=gpu.device.sms, tma=tma) for tma in (None, False))):
        assert _far(out, a, b) <= ALLOWED["float16"]


def test_out_may_be_float32(whole_gpu: Session, call: Call) -> None:
    import torch

    a, b = _randn(whole_gpu, 200, 304, "float16"), _randn(whole_gpu, 304, 400, "float16")
    out = torch.full((200, 400), POISON, device="cuda")
    call(a, b, out)
    assert _far(out, a, b) <= 1e-6


def test_infinity_and_nan_are_as_torch_has_them(whole_gpu: Session, call: Call) -> None:
    import torch

    a, b = _randn(whole_gpu, 150, 70, "float16"), _randn(whole_gpu, 70, 300, "float16")
    a[3, 69], a[149, 0], b[69, 299], b[0, 7] = INF, NAN, -INF, NAN
    got, wanted = call(a, b), a @ b
    assert torch.equal(got.isnan(), wanted.isnan())
    assert torch.equal(got.isinf(), wanted.isinf())
    assert torch.equal(got[got.isinf()], wanted[wanted.isinf()])


def test_no_rows_columns_or_steps(whole_gpu: Session, call: Call) -> None:
    import torch

    for m, n in ((0, 5), (5, 0), (0, 0)):
        assert call(_randn(whole_gpu, m, 3, "float16"), _randn(whole_gpu, 3, n, "float16")).shape == (m, n)
    out = torch.full((5, 7), POISON, dtype=torch.float16, device="cuda")
    call(_randn(whole_gpu, 5, 0, "float16"), _randn(whole_gpu, 0, 7, "float16"), out)
    assert out.eq(0).all()


@pytest.mark.parametrize("way", WAYS)
def test_more_elements_than_32_bits_count(whole_gpu: Session, way: str) -> None:
    import torch

    m = n = 46400  # m · n is above 2^31
    if torch.cuda.mem_get_info()[0] < 1.5 * 2 * m * n:
        pytest.skip("a product of 4.3 GB does not fit")
    a, b = _randn(whole_gpu, m, 16, "float16"), _randn(whole_gpu, 16, n, "float16")
    out = torch.full((m, n), NAN, dtype=torch.float16, device="cuda")
    _way(whole_gpu, way)(a, b, out)
    for rows in (slice(0, 128), slice(m // 2, m // 2 + 128), slice(m - 128, m)):
        assert _far(out[rows], a[rows], b) <= ALLOWED["float16"]
    assert not any(bool(part.isnan().any()) for part in out.split(4096))
    del out
    torch.cuda.empty_cache()


@pytest.mark.parametrize("way", WAYS)
def test_operands_beyond_32_bits_count(whole_gpu: Session, way: str) -> None:
    import torch

    rows, apart = 130, 2**24 + 64  # so that row 128 begins above 2^31
    if torch.cuda.mem_get_info()[0] < 3 * 2 * rows * apart:
        pytest.skip("two operands of 4.4 GB do not fit")
    a = torch.empty((rows, apart), dtype=torch.float16, device="cuda")[:, :96].normal_()
    b = torch.empty((rows, apart), dtype=torch.float16, device="cuda")[:, :96].normal_()
    call = _way(whole_gpu, way)
    assert _far(call(a, b.t()), a, b.t()) <= ALLOWED["float16"]
    assert _far(call(a.t(), b), a.t(), b) <= ALLOWED["float16"]
    del a, b
    torch.cuda.empty_cache()


def test_what_a_descriptor_cannot_take_goes_by_pointers(gpu: Session) -> None:
    import torch

    from gpu_explain.kernels.matmul_persistent import matmul_persistent, why_no_tma

    if gpu.device.compute_capability < (9, 0):
        pytest.skip("no Tensor Memory Accelerator")
    a, b = _randn(gpu, 64, 72, "float16"), _randn(gpu, 72, 128, "float16")
    out = torch.empty(64, 128, dtype=torch.float16, device="cuda")
    assert not why_no_tma(a, b, out)
    assert not why_no_tma(a.t().contiguous().t(), b.t().contiguous().t(), out)
    shifted = torch.empty(64 * 128 + 1, dtype=torch.float16, device="cuda")[1:].view(64, 128)
    assert "out does not begin" in why_no_tma(a, b, shifted)
    assert "a has rows that do not begin" in why_no_tma(_randn(gpu, 64, 73, "float16")[:, :72], b, out)
    assert "b has no dimension" in why_no_tma(a, _randn(gpu, 72, 256, "float16")[:, ::2], out)
    with pytest.raises(ValueError, match="tma: operands that a descriptor takes expected, but out does not begin"):
        matmul_persistent(a, b, shifted, tma=True)


def test_the_traced_kernel_is_the_same_and_leaves_a_record(gpu: Session) -> None:
    import torch

    from gpu_explain.kernels.matmul import matmul, matmul_traced, programs, shipped_for
    from gpu_explain.kernels.trace import record_trace

    a, b = _randn(gpu, 2048, 512, "float16"), _randn(gpu, 512, 4096, "float16")
    out = torch.full((2048, 4096), POISON, dtype=torch.float16, device="cuda")
    config = shipped_for(a, b)
    trace = record_trace(
        gpu,
        lambda record, arrivals: matmul_traced(record, arrivals, a, b, out, config=config),
        blocks=programs(2048, 4096, config),
        threads=32 * config.num_warps,
        name="tiles",
        title="",
        kernel="matmul_kernel",
        language="Triton",
    )
    assert out.equal(matmul(a, b, config=config))
    assert sorted(trace.ticket) == list(range(programs(2048, 4096, config)))
    assert len(set(trace.sm)) <= gpu.device.sms


@pytest.mark.parametrize("tma", [None, False])
def test_the_traced_persistent_kernel_tells_who_did_which_tile(gpu: Session, tma: bool | None) -> None:
    import torch

    from gpu_explain.kernels.matmul import programs
    from gpu_explain.kernels.matmul_persistent import (
        matmul_persistent,
        matmul_persistent_traced,
        persistent_config,
        stay,
    )
    from gpu_explain.kernels.trace import record_trace

    m, n, sms = 4096, 4096, gpu.device.sms
    a, b = _randn(gpu, m, 512, "float16"), _randn(gpu, 512, n, "float16")
    out = torch.full((m, n), POISON, dtype=torch.float16, device="cuda")
    config = persistent_config(a, b, out, sms)
    tiles, blocks = programs(m, n, config), stay(a, b, out, sms, config)
    done = torch.full((2, tiles), -1, dtype=torch.int64, device="cuda")

    def launch(record: Any, arrivals: Any) -> None:
        matmul_persistent_traced(record, arrivals, done, a, b, out, sms=sms, config=config, tma=tma)

    trace = record_trace(
        gpu,
        launch,
        blocks=blocks,
        threads=32 * config.num_warps,
        name="programs",
        title="",
        kernel="matmul_persistent_kernel",
        language="Triton",
    )
    assert out.equal(matmul_persistent(a, b, sms=sms, config=config, tma=tma))
    assert blocks == sms
    assert len(set(trace.sm)) <= sms
    who, when = done.tolist()
    assert who == [tile % blocks for tile in range(tiles)]
    for block in range(blocks):
        assert when[block::blocks] == sorted(when[block::blocks])
    assert max(when) - min(when) <= max(trace.end_ns)


def test_a_tuned_shape_is_right_and_not_searched_again(whole_gpu: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    from gpu_explain.kernels import matmul as module
    from gpu_explain.kernels.matmul_configs import ladder

    few = ladder(whole_gpu.device.compute_capability, 2)[:2]
    monkeypatch.setattr(module, "search_space", lambda *_: few)
    a, b = _randn(whole_gpu, 500, 72, "float16"), _randn(whole_gpu, 72, 600, "float16")
    assert _far(module.matmul(a, b, tune=True), a, b) <= ALLOWED["float16"]
    tuner = module._tuned()
    assert len(tuner.cache) == 1
    monkeypatch.setattr(tuner, "_bench", lambda *_, **__: pytest.fail("searched again"))
    assert _far(module.matmul(a, b, tune=True), a, b) <= ALLOWED["float16"]
    tuner.cache.clear()  # as a new process: the outcome is on disk
    assert _far(module.matmul(a, b, tune=True), a, b) <= ALLOWED["float16"]
    module._tuned.cache_clear()


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (lambda a, b: (a.double(), b), r"a: float32 or .* expected, got float64"),
        (lambda a, b: (a, b.cpu()), "b: the device of a, cuda:0, expected, got cpu"),
        (lambda a, b: (a, b[:-1]), "b: 64 rows expected"),
        (lambda a, b: (a, b, (a @ b).cpu()), "out: the device of a, cuda:0, expected, got cpu"),
        (lambda a, b: (a, b, (a @ b)[:-1]), "out: shape"),
        (lambda a, b: (a, b, a), "out: memory apart from a's expected"),
    ],
)
def test_a_wrong_argument_is_named(whole_gpu: Session, call: Call, change: Call, named: str) -> None:
    with pytest.raises(ValueError, match=named):
        call(*change(_randn(whole_gpu, 64, 64, "float16"), _randn(whole_gpu, 64, 64, "float16")))
