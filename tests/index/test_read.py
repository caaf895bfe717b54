"""Many reports: found, read once, in order of their waste."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from zipfile import ZipFile

import pytest

from reportgen import store
from reportgen.errors import LocationError
from reportgen.index.read import group_of, read_index
from reportgen.plain_files import read_entry
from reportgen.report import Figures, JobStatus, JobSummary, Report, Setup
from reportgen.results import Severity
from tests.comparison.builders import finding, report_of


def wasteful(name: str, hours: float | None, usd: float | None = None) -> Report:
    return replace(
        report_of(
            name=name,
            findings={"A": [finding("A-1", severity=Severity.INFO), finding("A-2", share=0.3125)]},
            setup=Setup(n_gpus=4),
        ),
        summary=JobSummary(start_time="2026-03-01T10:00:00.000000Z", job_duration_in_seconds=60.0),
        figures=Figures(
            data="framework events",
            status=JobStatus.COMPLETED,
            step_period_p50_s=0.25,
            step_gpu_span_p50_s=0.125,
            steps_per_s=4.0,
            samples_per_s=128.0,
            gpu_busy_ratio=0.5,
            mfu_ratio=0.375,
            wasted_gpu_hours=hours,
            wasted_usd=usd,
        ),
    )


def save(folder: Path, report: Report) -> Path:
    (folder / "profiler-report").parent.mkdir(parents=True, exist_ok=True)
    store.save(report, folder / "profiler-report")
    return folder / "profiler-report" / "report.json"


def test_jobs_stand_in_order_of_their_waste_and_sums_are_theirs(tmp_path: Path) -> None:
    save(tmp_path / "a", wasteful("small", 1.5, 3.0))
    save(tmp_path / "deep" / "er", wasteful("large", 40.25))
    save(tmp_path / "c", wasteful("unknown", None))

    index = read_index([str(tmp_path)])

    assert [row.job for row in index.jobs] == ["large", "small", "unknown"]
    assert index.wasted_gpu_hours == 41.75
    assert index.wasted_usd == 3.0
    first = index.jobs[0]
    assert (first.status, first.n_gpus) == ("Completed", 4)
    assert (first.steps_per_s, first.samples_per_s) == (4.0, 128.0)
    assert (first.n_findings, first.top_finding) == (1, "title of A-2")
    assert (first.top_saves_pct, first.step_period_p50_s) == (31.25, 0.25)
    assert (first.step_gpu_span_p50_s, first.mfu_pct) == (0.125, 37.5)
    assert first.page == ""


def test_a_page_beside_the_results_is_linked(tmp_path: Path) -> None:
    save(tmp_path / "a", wasteful("job", 1.0))
    page = tmp_path / "a" / "profiler-report.html"
    page.write_text("page")

    assert read_index([str(tmp_path)]).jobs[0].page == str(page)


def test_what_cannot_be_read_is_a_row_with_the_reason(tmp_path: Path) -> None:
    save(tmp_path / "a", wasteful("job", 1.0))
    save(tmp_path / "bad", wasteful("job", 1.0)).write_text('{"format": 99}')

    index = read_index([str(tmp_path)])

    assert [row.status for row in index.jobs] == ["Completed", "Unreadable"]
    assert index.jobs[1].job == "bad"
    assert "99" in index.jobs[1].problem
    assert index.n_unreadable == 1


def test_folders_of_raw_data_are_not_searched(tmp_path: Path) -> None:
    save(tmp_path / "job" / "system", wasteful("hidden", 1.0))

    with pytest.raises(LocationError, match="No report was found"):
        read_index([str(tmp_path)])


def test_a_place_that_does_not_exist_is_named(tmp_path: Path) -> None:
    with pytest.raises(LocationError, match="nowhere"):
        read_index([str(tmp_path / "nowhere")])


@pytest.mark.parametrize(
    ("name", "group"),
    [
        ("resnet-2026-03-01-12-00-00-123", "resnet"),
        ("resnet50", "resnet50"),
        ("bert_7", "bert"),
        ("gpt.0a1b2c3d4e", "gpt"),
        ("2026-03-01", "2026"),
    ],
)
def test_a_group_is_the_name_without_what_counts_its_runs(name: str, group: str) -> None:
    assert group_of(name) == group


def test_a_report_that_vanishes_while_it_is_read_is_a_row_with_the_reason(tmp_path, monkeypatch):
    save(tmp_path / "a", wasteful("one", 1.0))
    save(tmp_path / "b", wasteful("two", 2.0))

    def removed_first(file: Path) -> bytes:
        if file.parent.parent.name == "b":
            file.unlink()
        return read_entry(file)

    monkeypatch.setattr("reportgen.index.read.read_entry", removed_first)

    index = read_index([str(tmp_path)])

    assert [(row.job, row.status) for row in index.jobs] == [
        ("one", "Completed"),
        ("b", "Unreadable"),
    ]
    assert "No such file" in index.jobs[1].problem


def test_a_report_of_format_1_has_a_row_without_figures(tmp_path: Path) -> None:
    with ZipFile(Path(__file__).parents[1] / "store" / "format1.zip") as saved:
        saved.extractall(tmp_path)

    rows = read_index([str(tmp_path)]).jobs

    assert len(rows) == 2
    assert {row.status for row in rows} == {"Unknown"}
    assert all(row.top_finding and row.wasted_gpu_hours is None for row in rows)


def test_jobs_without_known_waste_stand_by_what_their_first_finding_may_save(tmp_path: Path):
    for name, share in (("a", 0.1), ("b", 0.4), ("c", 0.2)):
        save(tmp_path / name, report_of(name=name, findings={"A": [finding("A-2", share=share)]}))

    assert [row.job for row in read_index([str(tmp_path)]).jobs] == ["b", "c", "a"]
