"""Thresholds that a notebook's ``parameters`` cell sets: a job is judged by them again."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path

from reportgen.errors import ConfigError
from reportgen.pipeline.from_results import differ
from reportgen.pipeline.make import make_report
from reportgen.pipeline.options import Nobody, Options
from reportgen.report import Report


def judge_again(report: Report, thresholds: Mapping[str, object], *, job: str = "") -> Report:
    """Return the report of a job by other thresholds; nothing is saved.

    Args:
        report: a saved one; its other parameters stay.
        thresholds: parameters of rules as ``--set`` takes them,
            ``{"LowGPUUtilization.threshold_p95": 60}``. The report itself is returned where it was
            made with them.
        job: the job's folder or address, which is read again.

    Raises:
        ConfigError: no such parameter; or no job where one is needed, or the report is of a range.
        LocationError: there is no job.
    """
    if not differ(report, thresholds):
        return report
    if not job or report.job.range is not None:
        lacking = "is of a range of the job" if job else "does not hold the job's data"
        raise ConfigError(
            f"The saved report {lacking}, so it cannot be judged by {', '.join(thresholds)}.",
            hint="Set job_path to the job, or run: make-profiler-report JOB --notebook NOTEBOOK.",
        )
    known = {
        f"{rule}.{name}": value
        for rule, result in report.results.items()
        for name, value in result.params.items()
    }
    with tempfile.TemporaryDirectory(prefix="reportgen-") as folder:
        options = Options(
            path=job,
            output=Path(folder),
            name=report.job.name,
            settings={**known, **thresholds},
            rules=tuple(report.results),
            formats=frozenset(),
        )
        return make_report(options, Nobody()).report
