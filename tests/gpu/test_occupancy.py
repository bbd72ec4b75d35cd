"""An SM holds as many blocks as its stocks allow: by arithmetic, by the driver, and counted in a traced launch."""

from __future__ import annotations

import pytest

from gpu_explain.kernels import occupancy
from gpu_explain.kernels.session import Session

KB = 1024


@pytest.mark.parametrize("held", occupancy.HELD)
@pytest.mark.parametrize("threads", [96, 256])
def test_registers_take_places_away(gpu: Session, held: int, threads: int) -> None:
    found = occupancy.probe(gpu, held=held, threads=threads)
    assert found.registers >= held
    assert found.limits.residents == found.api
    assert set(found.trace.peak_by_sm.values()) == {found.api}
    assert found.trace.moved == 0


@pytest.mark.parametrize("shared_bytes", [0, 5 * KB, 20 * KB, 33 * KB, 70 * KB])
def test_shared_memory_takes_places_away(gpu: Session, shared_bytes: int) -> None:
    if shared_bytes > gpu.device.shared_per_block:
        pytest.skip("this GPU has not so much")
    found = occupancy.probe(gpu, held=8, threads=128, shared_bytes=shared_bytes)
    assert found.limits.residents == found.api
    assert set(found.trace.peak_by_sm.values()) == {found.api}


@pytest.mark.parametrize("threads", [32, 1024])
def test_places_for_blocks_and_for_threads_run_out(gpu: Session, threads: int) -> None:
    found = occupancy.probe(gpu, held=8, threads=threads)
    assert found.api == (gpu.device.blocks_per_sm if threads == 32 else gpu.device.threads_per_sm // threads)
    assert found.seen == found.limits.residents == found.api


@pytest.mark.sanitised
def test_blocks_keep_what_they_hold(whole_gpu: Session) -> None:
    for held in (8, 192):
        found = occupancy.probe(whole_gpu, held=held, threads=32, shared_bytes=100, amount=1000)
        assert found.trace.blocks == whole_gpu.device.sms * found.api + 1


@pytest.mark.sanitised
@pytest.mark.parametrize(("name", "n"), [("add_each", 1), ("add_each", 1001), ("add_quads", 4), ("add_quads", 1028)])
def test_the_additions_add_and_write_nothing_else(whole_gpu: Session, name: str, n: int) -> None:
    import torch

    from gpu_explain.kernels.loader import load

    a, b = torch.randn(n, device="cuda"), torch.randn(n, device="cuda")
    room = torch.full((n + 64,), -12345.0, device="cuda")
    blocks = -(-n // (occupancy.WIDTHS[name] * 256))
    load(whole_gpu, occupancy.FILE, name).launch(whole_gpu, blocks, 256, a, b, room, n)
    whole_gpu.synchronise()
    assert torch.equal(room[:n], a + b)
    assert (room[n:] == -12345.0).all()


def test_sixteen_bytes_a_thread_need_half_the_places(gpu: Session) -> None:
    most = occupancy.add_by_residents(gpu, residents=(1, 4, 8), n=1 << 25, samples=5)
    rate = {(one.kernel, one.residents): one.gb_per_s for one in most}
    assert rate["add_each", 1] < rate["add_each", 4] < rate["add_each", 8]
    assert rate["add_quads", 1] > 2 * rate["add_each", 1]
    lost = {name: 1 - rate[name, 4] / rate[name, 8] for name in occupancy.WIDTHS}
    assert lost["add_quads"] < 0.5 * lost["add_each"]
    if gpu.device.sms == gpu.device.sms_total:  # a part of the SMs does not keep all of DRAM busy
        assert lost["add_quads"] < 0.1


def test_a_wrong_argument_is_named(whole_gpu: Session) -> None:
    with pytest.raises(ValueError, match="held: one of 8, 32, 64, 128, 192 expected, got 9"):
        occupancy.probe(whole_gpu, held=9, threads=32)
    with pytest.raises(ValueError, match="threads: fewer expected"):
        occupancy.probe(whole_gpu, held=192, threads=1024)
    with pytest.raises(ValueError, match="n: a multiple of 4"):
        occupancy.add_by_residents(whole_gpu, residents=(1,), n=10)
    with pytest.raises(ValueError, match="residents: an integer from 1 to 8"):
        occupancy.add_by_residents(whole_gpu, residents=(9,), n=16)
