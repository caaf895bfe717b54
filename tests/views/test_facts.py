"""The facts of the first screen name the parts of a job by what they are."""

from __future__ import annotations

from dataclasses import replace

import pytest

from reportgen.report import Extent, Figures, JobStatus, summarize
from reportgen.views.facts import facts_of, summary_rows
from tests.comparison.builders import report_of, steps_table
from tests.report.test_codec import small_report

LAST_NS = 1_783_071_000_000_000_000
EXTENT = Extent(
    first_ns=LAST_NS - 9_000_000_000,
    last_ns=LAST_NS,
    first_step_ns=LAST_NS - 5_000_000_000,
    last_step_ns=LAST_NS - 4_000_000_000,
)


@pytest.mark.parametrize(
    ("nodes", "name"),
    [
        (("algo-1", "algo-2"), "Nodes"),
        (("rank 0", "rank 1"), "Ranks"),
        (("algo-1", "rank 0"), "Nodes and ranks"),
    ],
)
def test_nodes_and_ranks_are_called_what_they_are(nodes: tuple[str, ...], name: str) -> None:
    report = replace(small_report(), nodes=nodes)
    assert name in [fact.name for fact in facts_of(report)]
    assert summary_rows(report)[-1].name == name


@pytest.mark.parametrize(("interval_ms", "text"), [(500, "500 ms"), (60_000, "1 min 00 s")])
def test_long_sampling_intervals_are_said_in_minutes(interval_ms: int, text: str) -> None:
    report = replace(small_report(), sampling_interval_ms=interval_ms)
    assert text in [fact.text for fact in facts_of(report)]


@pytest.mark.parametrize(("over_ns", "is_told"), [(-1_000_000_000, False), (2_000_000_000, True)])
def test_a_negative_finalization_is_zero_with_a_remark(over_ns: int, is_told: bool) -> None:
    extent = replace(EXTENT, last_step_ns=LAST_NS + over_ns)
    rows = summary_rows(replace(small_report(), summary=summarize(extent)))
    (row,) = (row for row in rows if row.name == "Finalization")

    assert row.text == ("0 s" if is_told else "1 s")
    assert ("not negative: the loop ends after the last sample" in row.note) == is_told


@pytest.mark.parametrize(("first", "is_told"), [(0, False), (2_030, True)])
def test_what_lies_before_a_window_of_recorded_steps_is_said_to_hold_steps(first, is_told) -> None:
    report = replace(report_of(steps_table([100.0] * 10, first=first)), summary=summarize(EXTENT))
    (row,) = (row for row in summary_rows(report) if row.name == "Initialization")

    assert ("until step 2,030, recorded first" in row.note) is is_told


def test_a_job_without_an_end_marker_is_said_to_run_still() -> None:
    report = small_report()
    until = replace(report.job, running_until="2026-07-03T09:40:00Z")
    (state,) = [fact for fact in facts_of(replace(report, job=until)) if fact.name == "State"]
    assert state.text == "no end marker, data until 2026-07-03 09:40:00 UTC"
    assert "ended without notice" in state.note
    assert "State" not in [fact.name for fact in facts_of(report)]


def test_a_job_that_is_watched_runs_and_one_that_ended_does_not() -> None:
    report = small_report()
    until = replace(report.job, running_until="2026-07-03T09:40:00Z")
    watched, failed = (
        replace(report, job=until, figures=Figures(data="system metrics", status=status))
        for status in (JobStatus.IN_PROGRESS, JobStatus.FAILED)
    )
    assert [fact.note for fact in facts_of(watched) if fact.name == "State"] == [""]
    assert "State" not in [fact.name for fact in facts_of(failed)]
