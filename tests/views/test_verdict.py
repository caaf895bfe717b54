"""The verdict of a job that failed says how it ended."""

from __future__ import annotations

from dataclasses import replace

import pytest

from reportgen.recorded_job import RecordedNode, Recording
from reportgen.report import Figures, JobStatus, Report
from reportgen.results import Status
from reportgen.results.packed_columns import pack
from reportgen.views.verdict import verdict_of
from tests.views import reports

STEPS = pack(
    "steps", {"start_ns": range(213), "duration_ns": range(213)}, of={"phase": "Step:TRAIN"}
)


def ended(*codes: int, status: JobStatus = JobStatus.FAILED) -> Report:
    """Return a report without findings of a job that ended like this."""
    report = reports.report_of((replace(reports.result("StepOutlier", Status.OK), data=(STEPS,)),))
    recording = Recording(nodes=(RecordedNode(node="node-1"),), exit_codes=codes) if codes else None
    return replace(
        report,
        nodes=("node-1",),
        recording=recording,
        figures=Figures(data="framework events", status=status),
        summary=replace(report.summary, host_memory_at_end_pct=96.4, gpu_memory_at_end_pct=81.3),
    )


@pytest.mark.parametrize(
    ("report", "said"),
    [
        (ended(1), "ended with exit code 1 after step 213"),
        (ended(0, 3, 1), "ended with exit code 1, 3 after step 213"),
        (ended(137), "ended with exit code 137 (SIGKILL, often because memory ran out) after step"),
        (ended(139), "ended with exit code 139 (SIGSEGV) after step 213 (the last one recorded)"),
        (ended(), "failed after step 213"),
    ],
)
def test_a_job_that_failed_says_how_it_ended(report: Report, said: str) -> None:
    verdict = verdict_of(report)
    assert verdict.headline.startswith(f"The job {said}")
    assert verdict.headline.endswith("; memory at the end: host 96.4 %, GPU 81.3 %.")
    assert verdict.kind == "warning"


def test_the_end_stands_beside_the_first_finding() -> None:
    busy = replace(ended(1), findings=reports.busy_report().findings)
    verdict = verdict_of(busy)
    assert "exit code" not in verdict.headline
    assert verdict.lead.startswith("The job ended with exit code 1 after step 213; memory")


def test_of_a_part_of_a_job_the_last_step_and_the_memory_are_not_its_end() -> None:
    report = ended(1)
    cut = replace(report, job=replace(report.job, range="steps 1 to 20"))
    assert verdict_of(cut).headline == "The job ended with exit code 1."


@pytest.mark.parametrize(
    "report", [ended(0, status=JobStatus.COMPLETED), ended(status=JobStatus.UNKNOWN)]
)
def test_a_job_that_did_not_fail_says_nothing_of_its_end(report: Report) -> None:
    assert "No problem" in verdict_of(report).headline


@pytest.mark.parametrize(
    ("unused_pct", "between", "status", "says"),
    [
        (25.0, 0.7, Status.SKIPPED, "The GPUs are unused for 25.0 % of the loop, and checks"),
        (24.9, 0.7, Status.SKIPPED, "No problem"),
        (25.0, 0.7, Status.OK, "No problem"),
        (None, 0.25, Status.SKIPPED, "No step runs for 25.0 % of the loop, and checks"),
        (None, 0.249, Status.SKIPPED, "No problem"),
        (None, None, Status.SKIPPED, "No problem"),
    ],
)
def test_a_verdict_is_not_green_while_much_is_lost_and_a_check_of_causes_was_skipped(
    unused_pct: float | None, between: float | None, status: Status, says: str
) -> None:
    metrics = {"unused_in_loop_pct": unused_pct}, {"between_steps_ratio": between}
    report = reports.report_of(
        (
            reports.result("GPUTimeBudget", Status.OK, metrics=metrics[0]),
            reports.result("OverallFrameworkMetrics", Status.OK, metrics=metrics[1]),
            replace(reports.result("StepOutlier", Status.OK), data=(STEPS,)),
            reports.result("Dataloader", status),
        )
    )
    verdict = verdict_of(report)

    assert verdict.headline.startswith(says)
    assert (verdict.kind == "ok") is says.startswith("No problem")


def of_budget(*, has_steps: bool = True, **metrics: float) -> Report:
    """Return a report whose GPUs are unused for 43.1 % of the loop, one cause not looked for."""
    steps = replace(reports.result("StepOutlier", Status.OK), data=(STEPS,) if has_steps else ())
    budget = reports.result(
        "GPUTimeBudget", Status.OK, metrics={"unused_in_loop_pct": 43.1, **metrics}
    )
    return reports.report_of((budget, steps, reports.result("Dataloader", Status.SKIPPED)))


def test_a_loss_names_its_section_and_the_longest_stretch() -> None:
    verdict = verdict_of(of_budget(longest_idle_s=300.0))

    assert verdict.headline.startswith("The GPUs are unused for 43.1 % of the loop")
    assert "“GPU time budget” shows this time: the longest idle stretch takes 5 min" in verdict.lead


def test_without_steps_a_loss_is_not_one_of_the_loop() -> None:
    headline = verdict_of(of_budget(has_steps=False)).headline

    assert "43.1 % of the time from their first to their last work" in headline


@pytest.mark.parametrize(("ratio", "is_told"), [(0.49, True), (0.5, False)])
def test_of_gpus_that_were_mostly_not_measured_no_loss_is_told(ratio: float, is_told: bool) -> None:
    headline = verdict_of(of_budget(not_measured_ratio=ratio)).headline

    assert headline.startswith("The GPUs are unused") is is_told
