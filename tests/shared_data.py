"""Where the shared test data lie, and the mark for tests that need them."""

from __future__ import annotations

from pathlib import Path

import pytest

SHARED_DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
ORACLE_JOBS = tuple(
    sorted(path.name for path in (SHARED_DATA / "oracle").glob("*") if path.is_dir())
)

needs_shared_data = pytest.mark.skipif(
    not SHARED_DATA.is_dir(), reason="the shared test data are not on this machine"
)
