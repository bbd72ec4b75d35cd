"""Fixtures of more than one module."""

from __future__ import annotations

import pytest

from tests.unit.fakes import Fakes, build


@pytest.fixture(scope="session")
def fakes(tmp_path_factory: pytest.TempPathFactory) -> Fakes:
    """Fake NVIDIA libraries."""
    return build(tmp_path_factory.mktemp("fakes"))
