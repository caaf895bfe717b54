"""The summary of results that SageMaker computed."""

from __future__ import annotations

from typing import Any

import pytest

from reportgen.intake import AwsFolder
from reportgen.pipeline.from_results import import_results
from reportgen.results import AwsResult, Counters, RuleId

START_S, START_US = 1_783_071_000.25, 1_783_071_000_250_000


def summary_of(details: dict[str, Any]) -> Any:
    result = AwsResult(raw=b"", counters=Counters(), details=details, rule_parameters="")
    folder = AwsFolder(
        name="job", source="job", results={RuleId("MaxInitializationTime"): result}, notes=()
    )
    return import_results(folder).summary


def test_times_of_job_and_loop_become_the_summary() -> None:
    steps = {"first": START_US + 10_000_000, "last": START_US + 40_000_000}
    summary = summary_of({"step_num": steps, "job_start": START_S, "job_end": START_S + 50})
    assert summary.job_duration_in_seconds == 50.0
    assert summary.start_time == "2026-07-03T09:30:00.250000Z"
    assert summary.initialization_in_seconds == 10.0
    assert summary.training_loop_duration_in_seconds == 30.0
    assert summary.finalization_in_seconds == 10.0


@pytest.mark.parametrize(
    ("start", "end"),
    [(None, START_S), (START_S, START_S - 1), (START_S, 1e300), ("?", START_S), (True, START_S)],
)
def test_times_that_cannot_be_are_unknown(start: object, end: object) -> None:
    summary = summary_of({"step_num": {}, "job_start": start, "job_end": end})
    assert summary.job_duration_in_seconds is None


def test_a_loop_that_ends_before_it_begins_is_unknown() -> None:
    steps = {"first": START_US + 40_000_000, "last": START_US}
    summary = summary_of({"step_num": steps, "job_start": START_S, "job_end": START_S + 50})
    assert summary.job_duration_in_seconds == 50.0
    assert summary.training_loop_duration_in_seconds is None
