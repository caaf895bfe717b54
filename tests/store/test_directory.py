"""A report directory on disk."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from reportgen.errors import LocationError, OutputError
from reportgen.results import RuleId
from reportgen.store import load, save
from tests.report.test_codec import small_report
from tests.results.test_codec import full_result


def test_what_is_saved_is_loaded(tmp_path: Path) -> None:
    rule_id = RuleId("StepOutlier")
    report = replace(small_report(), results={rule_id: replace(full_result(), id=rule_id)})

    files = save(report, tmp_path / "profiler-report")

    assert [path.name for path in files] == ["StepOutlier.json", "report.json"]
    assert load(tmp_path / "profiler-report") == report


def test_the_folder_that_holds_a_report_will_do(tmp_path: Path) -> None:
    save(small_report(), tmp_path / "profiler-report")

    assert load(tmp_path) == load(str(tmp_path / "profiler-report"))


def test_a_result_that_was_deleted_is_missing_and_the_rest_is_loaded(tmp_path: Path) -> None:
    save(small_report(), tmp_path)

    assert load(tmp_path).results == {}


def test_a_folder_without_a_report_is_named(tmp_path: Path) -> None:
    with pytest.raises(LocationError, match=r"report\.json"):
        load(tmp_path)


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(OutputError, match="--output"):
        save(small_report(), tmp_path / "file" / "below")
