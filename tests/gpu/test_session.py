"""What a scene is handed: the facts, a narrower GPU, captured output, memory asked for first."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from gpu_explain.kernels import blocks
from gpu_explain.kernels.loader import load
from gpu_explain.kernels.session import Cancelled, Session
from gpu_explain.scenes.base import ProblemError


def test_the_driver_and_torch_say_the_same(whole_gpu: Session) -> None:
    import torch

    device, known = whole_gpu.device, torch.cuda.get_device_properties(whole_gpu.ordinal)
    assert device.name == known.name
    assert device.compute_capability == (known.major, known.minor)
    assert device.sms_total == known.multi_processor_count
    assert device.warp_size == known.warp_size
    assert device.threads_per_sm == known.max_threads_per_multi_processor
    assert device.l2_bytes == known.L2_cache_size
    assert device.memory_bytes == known.total_memory
    assert 0 < device.timer_step_ns <= 100_000
    assert set(whole_gpu.versions) >= {"gpu_explain", "python", "torch", "triton", "numpy", "cuda_core", "nvrtc"}


@pytest.mark.parametrize("language", ["CUDA", "Triton"])
def test_a_green_context_is_a_smaller_gpu(whole_gpu: Session, language: str) -> None:
    if not whole_gpu.device.sm_granularity:
        pytest.skip("no green contexts here")
    for wanted in (1, 40, 72):
        if wanted >= whole_gpu.device.sms_total:
            continue
        with whole_gpu.on_sms(wanted) as narrow:
            sms = narrow.device.sms
            assert wanted <= sms < wanted + whole_gpu.device.sm_granularity
            trace = blocks.trace_blocks(
                narrow, name="t", title="t", work="wait", language=language, blocks=4 * sms, threads=1024, amount=20_000
            )
            assert len(trace.sms) == sms
    trace = blocks.trace_blocks(
        whole_gpu,
        name="t",
        title="t",
        work="wait",
        language=language,
        blocks=4 * whole_gpu.device.sms,
        threads=1024,
        amount=20_000,
    )
    assert len(trace.sms) == whole_gpu.device.sms_total


def test_a_green_context_costs_waves_like_a_small_gpu(whole_gpu: Session) -> None:
    if not whole_gpu.device.sm_granularity:
        pytest.skip("no green contexts here")
    with whole_gpu.on_sms(40) as narrow:
        capacity = narrow.device.sms * blocks.fit(narrow, work="wait", language="CUDA", threads=1024).residents
        fits, more = blocks.time_blocks(
            narrow, work="wait", language="CUDA", sizes=(capacity, capacity + 1), threads=1024, amount=40_000
        )
    assert more.median_us - fits.median_us == pytest.approx(40_000 / fits.clock_mhz[0], rel=0.1)


def test_more_sms_than_there_are_is_a_sentence(whole_gpu: Session) -> None:
    with pytest.raises(ProblemError, match="between 1 and"), whole_gpu.on_sms(whole_gpu.device.sms + 1):
        pass


def test_a_syntax_error_shows_file_line_and_caret(whole_gpu: Session, tmp_path: Path) -> None:
    broken = tmp_path / "broken.cu"
    broken.write_text('extern "C" __global__ void f(int *a)\n{\n    a[0] = 1 +;\n}\n')
    with pytest.raises(ProblemError) as caught:
        load(whole_gpu, broken, "f")
    assert caught.value.problem.id == "cuda-compile"
    assert "broken.cu, line 3" in caught.value.problem.sentence
    assert "^" in caught.value.problem.detail


def test_memory_is_refused_before_it_is_taken(whole_gpu: Session) -> None:
    import torch

    free, _ = torch.cuda.mem_get_info(whole_gpu.ordinal)
    held = torch.cuda.memory_reserved(whole_gpu.ordinal)
    with pytest.raises(ProblemError) as caught:
        whole_gpu.empty((free // 2,), torch.uint8, "a test")
    assert caught.value.problem.id == "gpu-memory"
    assert torch.cuda.memory_reserved(whole_gpu.ordinal) == held
    taken = whole_gpu.empty((free // 16,), torch.uint8)
    del taken
    whole_gpu.release()
    assert torch.cuda.memory_reserved(whole_gpu.ordinal) < free // 16


def test_cancelling_stops_a_measurement(whole_gpu: Session) -> None:
    said: list[str] = []

    def tell(doing: str, share: float | None) -> None:
        said.append(doing)
        if share is not None and share > 0.3:
            raise Cancelled

    whole_gpu.listen(tell)
    try:
        with pytest.raises(Cancelled):
            blocks.time_blocks(
                whole_gpu, work="wait", language="CUDA", sizes=(1, 2), threads=64, amount=1000, samples=20
            )
    finally:
        whole_gpu.listen(None)
    assert "timing" in said
    # and the GPU is fine afterwards
    blocks.time_blocks(whole_gpu, work="wait", language="CUDA", sizes=(1,), threads=64, amount=1000, samples=3)


def test_device_printf_is_captured(whole_gpu: Session, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    speaking = tmp_path / "speaking.cu"
    speaking.write_text('extern "C" __global__ void speak()\n{\n    printf("thread %d\\n", (int)threadIdx.x);\n}\n')
    kernel = load(whole_gpu, speaking, "speak")
    with whole_gpu.captured() as caught:
        kernel.launch(whole_gpu, 1, 8)
    assert sorted(caught.text.splitlines()) == [f"thread {i}" for i in range(8)]
    assert "thread" not in capfd.readouterr().out


def test_wrong_arguments_are_named(whole_gpu: Session) -> None:
    good = {"work": "wait", "language": "Triton", "threads": 256}
    for wrong, named in (
        ({"work": "sleep"}, "work"),
        ({"language": "OpenCL"}, "language"),
        ({"threads": 250}, "threads"),
        ({"threads": 4096}, "threads"),
        ({"shared_bytes": 1024}, "shared_bytes"),
    ):
        with pytest.raises(ValueError, match=f"^{named}: .*expected"):
            blocks.fit(whole_gpu, **{**good, **wrong})  # type: ignore[arg-type]


SMS = """
from gpu_explain.kernels import blocks
from gpu_explain.kernels.opening import open_session
gpu = open_session(sms=40)
for language in ("CUDA", "Triton"):
    trace = blocks.trace_blocks(gpu, name="t", title="t", work="wait", language=language, blocks=999, threads=1024,
                                amount=20000)
    print(gpu.device.sms, gpu.device.sms_total, len(trace.sms))
gpu.close()
"""


def test_a_whole_session_can_be_narrowed(whole_gpu: Session) -> None:
    if not whole_gpu.device.sm_granularity:
        pytest.skip("no green contexts here")
    done = subprocess.run(
        [sys.executable, "-c", SMS], capture_output=True, text=True, timeout=60, check=True, env=dict(os.environ)
    )
    for line in done.stdout.splitlines():
        sms, total, seen = map(int, line.split())
        assert 40 <= sms < 40 + whole_gpu.device.sm_granularity
        assert total == whole_gpu.device.sms_total
        assert seen == sms
    assert len(done.stdout.splitlines()) == 2
