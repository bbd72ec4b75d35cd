"""What of ``kernels/`` can be proven without a GPU: captured output, arguments, neighbours, what opening says."""

from __future__ import annotations

import os
import subprocess
import sys
from math import gcd
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from gpu_explain.kernels import blocks
from gpu_explain.kernels.capture import captured_output
from gpu_explain.kernels.device import Neighbours, Nvml
from gpu_explain.scenes.base import Neighbour
from gpu_explain.scenes.base.conditions import CATALOGUE, Group
from tests.unit import made_up

GPU: Any = SimpleNamespace(device=made_up.device())


def test_output_of_the_process_is_caught_in_order(capfd: pytest.CaptureFixture[str]) -> None:
    synchronised: list[str] = []

    def synchronise() -> None:
        synchronised.append("waited")
        os.write(1, b"last\n")  # a device's printf arrives when one waits for it

    with captured_output(synchronise) as caught:
        os.write(1, b"first\n")
        os.write(1, b"second\n")
    assert synchronised == ["waited"]
    assert caught.text == "first\nsecond\nlast\n"
    os.write(1, b"after\n")
    assert capfd.readouterr().out == "after\n"


def test_c_buffers_are_flushed_into_the_capture() -> None:
    code = (
        "import ctypes, os\n"
        "from gpu_explain.kernels.capture import captured_output\n"
        "c = ctypes.CDLL(None)\n"
        "c.printf(b'before\\n')\n"
        "with captured_output() as caught:\n"
        "    c.printf(b'inside\\n')\n"
        "assert caught.text == 'inside\\n', caught.text\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "before\n", "")


def test_output_is_given_back_after_an_error(capfd: pytest.CaptureFixture[str]) -> None:
    caught = None
    try:
        with captured_output() as caught:
            os.write(1, b"so far\n")
            raise ZeroDivisionError
    except ZeroDivisionError:
        pass
    assert caught
    assert caught.text == "so far\n"
    os.write(1, b"after\n")
    assert capfd.readouterr().out == "after\n"


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"work": "sleep"}, "work: one of wait, compute"),
        ({"language": "cuda"}, "language: one of CUDA, Triton"),
        ({"threads": 0}, "threads: 1 to 1024"),
        ({"threads": 1025}, "threads: 1 to 1024"),
        ({"threads": 96, "language": "Triton"}, "threads: a power of two"),
        ({"threads": 16, "language": "Triton"}, "threads: a power of two"),
        ({"shared_bytes": -1}, "shared_bytes: 0 to"),
        ({"shared_bytes": 1 << 20}, "shared_bytes: 0 to"),
        ({"shared_bytes": 64, "language": "Triton"}, "shared_bytes: 0"),
        ({"amount": 0}, "amount: 1 to"),
        ({"amount": 10**12}, "amount: 1 to"),
        ({"blocks": 0}, "blocks: 1 to"),
    ],
)
def test_a_wrong_argument_is_named_with_what_was_expected(wrong: dict[str, Any], named: str) -> None:
    good: dict[str, Any] = {"work": "wait", "language": "CUDA", "blocks": 8, "threads": 256, "amount": 1000}
    with pytest.raises(ValueError, match=rf"^{named}\b.* expected.*, got "):
        blocks.trace_blocks(GPU, name="t", title="t", **{**good, **wrong})


class FakeNvml(ModuleType):
    """NVML of a GPU on which processes come and go."""

    NVMLError = RuntimeError

    def __init__(self) -> None:
        super().__init__("pynvml")
        self.compute: dict[int, int] = {}
        self.drawing: dict[int, int] = {}
        self.busy = 0
        self.by_uuid = "GPU-1"

    def nvmlInit(self) -> None:
        pass

    def nvmlShutdown(self) -> None:
        pass

    def nvmlDeviceGetHandleByUUID(self, uuid: str) -> str:
        if uuid != self.by_uuid:
            raise RuntimeError("not found")
        return uuid

    def nvmlDeviceGetComputeRunningProcesses(self, handle: str) -> list[Any]:
        return [SimpleNamespace(pid=pid, usedGpuMemory=used) for pid, used in self.compute.items()]

    def nvmlDeviceGetGraphicsRunningProcesses(self, handle: str) -> list[Any]:
        return [SimpleNamespace(pid=pid, usedGpuMemory=used) for pid, used in self.drawing.items()]

    def nvmlDeviceGetUtilizationRates(self, handle: str) -> Any:
        return SimpleNamespace(gpu=self.busy)

    def nvmlDeviceGetName(self, handle: str) -> str:
        return "NVIDIA A100 MIG 1g.5gb"

    def nvmlDeviceGetClockInfo(self, handle: str, which: int) -> int:
        if which == 3:
            raise RuntimeError("not supported")
        return {1: 1410, 2: 1215}[which]


@pytest.fixture
def nvml(monkeypatch: pytest.MonkeyPatch) -> FakeNvml:
    fake = FakeNvml()
    monkeypatch.setitem(sys.modules, "pynvml", fake)
    return fake


def test_clocks_that_are_not_told_are_left_out(nvml: FakeNvml) -> None:
    assert Nvml("GPU-1").clocks_mhz() == {"SM": 1410, "memory": 1215}
    assert Nvml("GPU-2").clocks_mhz() == {}


def test_an_idle_gpu_has_no_neighbours(nvml: FakeNvml) -> None:
    watch = Neighbours("GPU-1")
    nvml.compute[os.getpid()] = 500_000_000
    watch.opened()
    nvml.busy = 90  # our own work
    assert watch.at_start() == watch.now() == ()


def test_others_are_counted_and_we_are_not_even_under_another_number(nvml: FakeNvml) -> None:
    nvml.compute = {1: 2_000_000_000}
    watch = Neighbours("GPU-1")
    nvml.compute[4_000_000] = 500_000_000  # this process, as the host of a container numbers it
    watch.opened()
    assert watch.now() == (Neighbour("process", "1 other process holds 2.0 GB"),)
    nvml.compute[2] = 1_200_000_000
    nvml.drawing = {3: 0}
    assert [n.text for n in watch.now()] == ["2 other processes hold 3.2 GB", "1 display process is there"]


def test_a_gpu_that_is_busy_before_us_is_said_so(nvml: FakeNvml) -> None:
    nvml.busy = 80
    watch = Neighbours("GPU-1")
    watch.opened()
    nvml.busy = 0
    assert [n.what for n in watch.at_start()] == ["utilisation"]
    assert "80 %" in watch.at_start()[0].text
    nvml.busy = 40
    assert watch.now() == ()  # it may be us
    assert [n.what for n in watch.now(idle=True)] == ["utilisation"]


def test_without_nvml_nothing_is_claimed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", None)
    watch = Neighbours("GPU-1")
    watch.opened()
    assert watch.at_start() == ()
    one = Nvml("GPU-1")
    assert (one.driver_version(), one.clock_max_mhz(), one.mig_profile(), one.utilisation()) == ("", 0, "", None)
    one.close()


def test_a_mig_slice_is_found_and_named(nvml: FakeNvml) -> None:
    nvml.by_uuid = "MIG-1"
    one = Nvml("GPU-1")
    assert one.mig_profile() == "1g.5gb"
    one.close()


@pytest.mark.parametrize("device", ["", "0"])
def test_opening_without_a_driver_or_packages_is_a_sentence(device: str) -> None:
    code = (
        "from gpu_explain.kernels.opening import open_session\n"
        "from gpu_explain.scenes.base import ProblemError\n"
        f"try:\n    open_session({device})\n"
        "except ProblemError as error:\n    print(error.problem.id)\n"
        "else:\n    print('opened')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    groups = {Group.PACKAGES, Group.DRIVER, Group.GPU}
    assert done.stdout.strip() in {"opened", *(one.id for one in CATALOGUE if one.group in groups)}


@pytest.mark.parametrize("sms", [8, 40, 132])
@pytest.mark.parametrize("chunks", [3, 7, 28, 480, 960])
def test_blocks_that_share_a_footprint_each_visit_all_of_it_and_none_walks_behind_another(
    sms: int, chunks: int
) -> None:
    """SMs that walk one after the other are answered together, and read more than the L2 delivers by itself."""
    from gpu_explain.kernels.bandwidth import GRANULE, Plan

    plan = Plan.of(chunks * GRANULE, blocks=sms, l2_bytes=chunks * GRANULE)
    strides = plan.strides(sms)
    for stride in set(strides):
        assert {step * stride % chunks for step in range(chunks)} == set(range(chunks))
    most = sum(gcd(stride, chunks) == 1 for stride in range(1, chunks))
    assert len(set(strides)) >= min(sms, most) / 2
    assert Plan.of(chunks * GRANULE * sms, blocks=sms, l2_bytes=GRANULE).strides(sms) == [1] * sms


def test_nothing_is_collected_while_much_is_imported_and_nothing_of_it_is_looked_at_later() -> None:
    import gc

    from gpu_explain.kernels.collector import lasting

    assert gc.isenabled()
    before = gc.get_freeze_count()
    try:
        with lasting():
            assert not gc.isenabled()
            kept = [[number] for number in range(1000)]
        assert gc.isenabled()
        assert gc.get_freeze_count() >= before + len(kept)
        with pytest.raises(ImportError), lasting():
            raise ImportError
        assert gc.isenabled()
    finally:
        gc.unfreeze()
