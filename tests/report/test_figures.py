"""The few numbers of a report by which many jobs are compared."""

from __future__ import annotations

import numpy as np

from reportgen.report import DataKind, Figures, JobStatus, Report, Setup
from reportgen.report.figures import figures_of
from reportgen.rules.step_time import RULE
from tests.comparison.builders import report_of, steps_table
from tests.rules.kernels.builders import rank_trace
from tests.rules.samples import run


def figures(report: Report) -> Figures:
    return figures_of(
        report.results, data=DataKind.EVENTS, setup=Setup(), status=JobStatus.COMPLETED
    )


def test_the_time_per_step_holds_the_waiting_between_steps() -> None:
    waiting = steps_table(np.full(50, 84.0), inside_ms=24.0, wait_ms=60.0)
    evaluation = steps_table(np.full(90, 5.0), phase="Step:ModeKeys.EVAL")

    found = figures(report_of(waiting, evaluation, metrics={"step_p50_s": 0.024}))

    assert (found.step_p50_s, found.step_period_p50_s) == (0.024, 0.084)


def test_the_time_per_step_of_several_workers_is_that_of_the_middle_one() -> None:
    workers = [steps_table(np.full(50, ms), worker=f"w-{ms}") for ms in (80.0, 90.0, 120.0)]

    assert figures(report_of(*workers)).step_period_p50_s == 0.09


def test_steps_of_a_kernel_trace_have_their_period_and_their_time_on_the_gpu() -> None:
    """The host hands over a step of 30 µs each 100 µs."""
    marks = [(n, 100.0 * n, 100.0) for n in range(4)]
    calls = [("c", 100.0 * n, 1.0, {"correlation": n}) for n in range(4)]
    gpu = [("k", 100.0 * n + 5, 30.0, {"correlation": n}) for n in range(4)]
    result = run(RULE, rank_trace(gpu=gpu, calls=calls, steps=marks))

    found = figures_of(
        {result.id: result}, data=DataKind.TRACES, setup=Setup(), status=JobStatus.COMPLETED
    )

    assert (found.step_p50_s, found.step_period_p50_s) == (1e-4, 1e-4)
    assert found.step_gpu_span_p50_s == 3e-5


def test_a_job_without_steps_has_no_time_per_step() -> None:
    assert figures(report_of()).step_period_p50_s is None
