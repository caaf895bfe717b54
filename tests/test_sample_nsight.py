"""The made-up report of Nsight Systems is what its generator makes, and reads as it should."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from sample_data.nsight_report import REPORT, training


def dump_of(path: Path) -> list[str]:
    with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as report:
        return list(report.iterdump())


def test_the_file_is_what_the_generator_makes(tmp_path: Path) -> None:
    assert REPORT.stat().st_size < 500_000
    assert dump_of(REPORT) == dump_of(training().write(tmp_path / "again.sqlite"))
