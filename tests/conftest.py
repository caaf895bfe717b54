"""Jobs and commands that several tests share."""

from __future__ import annotations

from pathlib import Path

import pytest

from sample_data.make import make_job
from sample_data.spec import NAMED_JOBS


@pytest.fixture(scope="session")
def input_bound_job(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample job of ``make report``; treat it as read-only."""
    return make_job(NAMED_JOBS["input_bound"], output=tmp_path_factory.mktemp("jobs"))
