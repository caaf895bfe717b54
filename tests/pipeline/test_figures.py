"""The few numbers of a report by which many jobs are compared."""

from __future__ import annotations

import numpy as np

from reportgen.pipeline.figures import figures_of
from reportgen.report import Figures, JobStatus, Report, Setup
from tests.comparison.builders import report_of, steps_table


def figures(report: Report) -> Figures:
    return figures_of([*report.results.values()], setup=Setup(), status=JobStatus.COMPLETED)


def test_the_time_per_step_holds_the_waiting_between_steps() -> None:
    waiting = steps_table(np.full(50, 84.0), inside_ms=24.0, wait_ms=60.0)
    evaluation = steps_table(np.full(90, 5.0), phase="Step:ModeKeys.EVAL")

    found = figures(report_of(waiting, evaluation, metrics={"step_p50_s": 0.024}))

    assert (found.step_p50_s, found.step_period_p50_s) == (0.024, 0.084)


def test_the_time_per_step_of_several_workers_is_that_of_the_middle_one() -> None:
    workers = [steps_table(np.full(50, ms), worker=f"w-{ms}") for ms in (80.0, 90.0, 120.0)]

    assert figures(report_of(*workers)).step_period_p50_s == 0.09


def test_a_job_without_steps_has_no_time_per_step() -> None:
    assert figures(report_of()).step_period_p50_s is None
