"""How a job was recorded, in words, and what to do where no step was seen."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from reportgen.record.injected.reportgen_injected.steps import SOURCE_NAMES
from reportgen.recorded_job import RecordedGpu, RecordedNode, Recording
from reportgen.results import ReasonCode, Status
from reportgen.views.recording import NO_STEPS_HINT, recording_table
from reportgen.views.sections.by_id import section
from reportgen.views.status import hint_of
from reportgen.views.verdict import verdict_of
from tests.views import reports

GPU = RecordedGpu(index=0, name="Fake GPU", is_used=True)
NODE = RecordedNode(
    node="node-1",
    n_cores=16,
    quota_cores=3.5,
    memory_limit_bytes=8_000_000_000,
    gpus=(GPU, replace(GPU, index=1), replace(GPU, index=2, is_used=False)),
    interval_s=0.5,
    core_pct=0.31,
    memory_bytes=30_000_000,
)


def row(node: RecordedNode) -> dict[str, object]:
    table = recording_table(Recording(nodes=(node,)))
    return {column.name: column.values[0] for column in table.columns}


def test_a_node_s_row_says_what_the_job_may_use_and_what_recording_cost() -> None:
    assert row(NODE) == {
        "node": "node-1",
        "sampled_every": "500 ms",
        "cores_allowed": "16, as much as 3.5 at a time",
        "memory_limit": "8 GB",
        "gpus_of_the_job": "2 × Fake GPU",
        "cost_of_the_recorder": "0.31 % of a core, 30 MB",
    }


def test_what_is_not_known_is_a_dash() -> None:
    assert row(RecordedNode(node="node-1")) == {
        "node": "node-1",
        "sampled_every": "–",
        "cores_allowed": "–",
        "memory_limit": "none",
        "gpus_of_the_job": "none",
        "cost_of_the_recorder": "–",
    }


def test_the_source_of_the_steps_is_named() -> None:
    recording = Recording(
        nodes=(NODE,), step_sources=("optimizer",), frameworks={"torch": "2.4", "lightning": "2.5"}
    )

    assert recording_table(recording).caption == (
        "Steps come from PyTorch's optimizers, with torch 2.4 and lightning 2.5."
    )


def test_each_source_of_steps_has_words() -> None:
    for source in SOURCE_NAMES[1:]:
        caption = recording_table(Recording(nodes=(NODE,), step_sources=(source,))).caption
        assert re.fullmatch(r"Steps come from [A-Za-z'., ()]+\.", caption)
        assert f"the {source}." not in caption


def test_a_recording_without_steps_says_where_they_come_from() -> None:
    assert recording_table(Recording(nodes=(NODE,))).caption == NO_STEPS_HINT


@pytest.mark.parametrize(
    "code", [ReasonCode.NO_EVENTS, ReasonCode.NO_FRAMEWORK_METRICS, ReasonCode.NO_STEPS]
)
def test_the_hint_of_a_check_without_events_is_about_recordings(code: ReasonCode) -> None:
    report = reports.report_of((reports.skipped("StepOutlier", code, "Because."),))

    assert "FrameworkProfile" in hint_of("StepOutlier", report)
    recorded = replace(report, recording=Recording(nodes=(NODE,)))
    assert hint_of("StepOutlier", recorded) == NO_STEPS_HINT


def test_operators_that_were_not_recorded_are_got_by_a_trace() -> None:
    report = reports.report_of((reports.result("OverallFrameworkMetrics", Status.OK),))
    recorded = replace(report, recording=Recording(nodes=(NODE,)))
    of_sagemaker, ours = (str(section(of, "operators")) for of in (report, recorded))

    assert ("DetailedProfilingConfig" in of_sagemaker, "--trace" in of_sagemaker) == (True, False)
    assert ("DetailedProfilingConfig" in ours, "--trace" in ours) == (False, True)


@pytest.mark.parametrize(("sources", "is_said"), [((), True), (("explicit",), False)])
def test_the_verdict_on_a_recording_without_steps_says_how_to_mark_them(sources, is_said) -> None:
    results = (
        reports.result("OverallSystemUsage", Status.OK),
        reports.skipped("StepOutlier", ReasonCode.NO_EVENTS, "No events."),
    )
    recording = Recording(nodes=(NODE,), step_sources=sources)
    verdict = verdict_of(replace(reports.report_of(results), recording=recording))

    assert ("reportgen.steps(loader)" in verdict.lead) is is_said
