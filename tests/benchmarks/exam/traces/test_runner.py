from __future__ import annotations

import pytest

from benchmarks.exam.traces import run
from benchmarks.exam.traces.faults import Kind


@pytest.mark.slow
def test_a_planted_loader_is_named_in_a_report(tmp_path) -> None:
    rows = run(3, 4, only=(Kind.LOADER,), keep=tmp_path)
    assert {row.kind for row in rows} == {"loader"}
    assert any(row.is_named for row in rows)
    assert list(tmp_path.glob("3-*/*.json"))
