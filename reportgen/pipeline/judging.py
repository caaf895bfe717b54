"""From the measurements of all parts to the report of what the rules say."""

from __future__ import annotations

from dataclasses import replace

from reportgen.pipeline.compose import compose_report
from reportgen.pipeline.measuring import MeasuringTask, Outcome
from reportgen.pipeline.options import Options, Watcher
from reportgen.pipeline.timing import timed
from reportgen.report import Report
from reportgen.rules.runner import judge_each


def judge(work: MeasuringTask, outcome: Outcome, options: Options, watcher: Watcher) -> Report:
    """Return the report of what the rules say, without its timeline."""
    measured, missing = outcome
    with timed(watcher, "rules") as step:
        measurements = [part.measurements for part in measured]
        judged = list(judge_each(measurements, work.rules, work.params))
        report = compose_report(
            replace(work.job, notes=(*work.job.notes, *missing)),
            measured,
            [each.result for each in judged],
            contents={each.result.id: each.content for each in judged},
            range_text=work.range_text,
            is_watched=options.source is not None,
            described=options.described,
        )
        step.text = f"judged {len(judged)} rules with {len(report.findings)} findings"
    return report
