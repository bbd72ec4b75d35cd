"""A traced block's stamps bracket its work: that is an order of machine instructions, read in the machine code."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.compile.sass import ARCHITECTURES, machine_code

pytest.importorskip("cuda.bindings.nvrtc", reason="cuda-bindings is not installed", exc_type=ImportError)


@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize("kernel", ["traced_wait_blocks", "traced_compute_blocks"])
def test_the_end_is_stamped_after_all_warps_have_met(kernel: str, arch: str, tmp_path: Path) -> None:
    code = machine_code("blocks.cu", arch, tmp_path)[kernel]
    stamps = [i for i, one in enumerate(code) if "GLOBALTIMER" in one]
    barriers = [i for i, one in enumerate(code) if one.partition(" ")[0].startswith(("BAR", "@")) and "BAR.SYNC" in one]
    assert len(stamps) >= 2
    assert any(stamps[0] < barrier < stamps[-1] for barrier in barriers), "else the end is one warp's"
    assert not any(barrier < stamps[0] for barrier in barriers)
