"""A GPU for the tests of this folder, or the reason why they are skipped."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from gpu_explain.kernels.opening import open_session
from gpu_explain.kernels.session import Session
from gpu_explain.scenes.base import ProblemError


@pytest.fixture(scope="session")
def whole_gpu() -> Iterator[Session]:
    if os.environ.get("TRITON_INTERPRET") == "1":
        pytest.skip("TRITON_INTERPRET=1: kernels would not run on the GPU")
    try:
        session = open_session()
    except ProblemError as error:
        pytest.skip(str(error))
    yield session
    session.close()


@pytest.fixture(params=["all SMs", "40 SMs"])
def gpu(whole_gpu: Session, request: pytest.FixtureRequest) -> Iterator[Session]:
    """The GPU, and a green context of it as a second device on which everything must hold."""
    if request.param == "all SMs":
        yield whole_gpu
    else:
        if not whole_gpu.device.sm_granularity or whole_gpu.device.sms_total <= 40:
            pytest.skip("no green context of 40 SMs here")
        with whole_gpu.on_sms(40) as narrow:
            yield narrow
    whole_gpu.release()
