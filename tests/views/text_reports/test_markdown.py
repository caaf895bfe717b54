"""The summary in Markdown: whole, short, and not to be fooled by names."""

from __future__ import annotations

import dataclasses
import re

from reportgen.report import Report
from reportgen.results import Severity
from reportgen.views.text_reports import MOST_FINDINGS, markdown_summary
from tests.views import reports
from tests.views.test_time_bar import budget_report


def test_the_summary_begins_with_the_verdict_and_holds_every_finding() -> None:
    report = reports.busy_report()
    text = markdown_summary(report)

    assert text.splitlines()[1].startswith("# Profiling report: ")
    assert report.findings[0].finding.title in text.splitlines()[3]
    for item in report.findings:
        assert f"({item.finding.id})" in text
        assert item.finding.advice in text
    assert report.report_id in text


def test_faults_are_numbered_by_rank_and_readings_stand_apart() -> None:
    report = reports.busy_report()
    text = markdown_summary(report)
    numbered = re.findall(r"^\d+\. \*\*\w+: .*\((\S+)\)$", text, re.MULTILINE)

    faults = [
        item.finding.id for item in report.findings if item.finding.severity is not Severity.INFO
    ]
    assert numbered == faults
    assert text.index("## Findings") < text.index("## Worth knowing")


def test_checks_that_could_not_look_are_listed_with_their_reason() -> None:
    report = reports.busy_report()
    reasons = {
        entry.reason.text
        for entry in report.rules.values()
        if entry.reason and entry.status.value == "skipped"
    }
    assert reasons
    text = markdown_summary(report)
    assert "## Not checked" in text
    for reason in reasons:
        assert reason in text


def test_names_cannot_become_markup_or_break_a_table() -> None:
    name = "| a\n# b <script>alert(1)</script> **c** [d](http://x) `e` _f_ \u202e &amp;"
    title = markdown_summary(_renamed(reports.busy_report(), name)).splitlines()[1]

    assert title == (
        "# Profiling report: \\| a # b &lt;script&gt;alert(1)&lt;/script&gt; \\*\\*c\\*\\* "
        "\\[d\\](http://x) \\`e\\` \\_f\\_ \ufffd &amp;amp;"
    )


def test_parts_of_the_gpu_time_have_their_names_of_the_page() -> None:
    text = markdown_summary(budget_report({"busy_high": 900.0, "cpu_input": 100.0}))

    rows = [line.split(" | ")[0] for line in text.splitlines() if line.startswith("| ")]
    assert rows[-3:] == ["| part", "| busy", "| waits for CPU or input"]


def test_a_summary_of_many_findings_says_how_many_more_there_are() -> None:
    report = reports.busy_report()
    fault = next(item for item in report.findings if item.finding.severity is not Severity.INFO)
    text = markdown_summary(dataclasses.replace(report, findings=(fault,) * (MOST_FINDINGS + 7)))

    assert text.count(f"({fault.finding.id})") == MOST_FINDINGS
    assert "7 more are in `profiler-report/report.json`." in text


def test_a_report_without_findings_or_results_still_says_so() -> None:
    text = markdown_summary(dataclasses.replace(reports.busy_report(), findings=(), results={}))

    assert "No problem found" in text
    assert "## Findings" not in text
    assert "## Where the GPU time went" not in text


def _renamed(report: Report, name: str) -> Report:
    return dataclasses.replace(report, job=dataclasses.replace(report.job, name=name))
