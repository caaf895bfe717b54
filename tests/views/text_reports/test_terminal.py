"""The lines for a terminal: the verdict first, few, each on one line."""

from __future__ import annotations

import dataclasses

from reportgen.results import Severity, Status
from reportgen.views.text_reports import MOST_TERMINAL_FINDINGS, terminal_lines
from tests.views import reports


def test_the_first_line_is_the_verdict_and_the_second_what_to_try() -> None:
    report = reports.busy_report()
    top = report.findings[0].finding
    lines = terminal_lines(report)

    assert top.title in lines[0].text
    assert report.job.name in lines[0].text
    assert lines[0].kind == top.severity.value
    assert lines[1].text == f"  Try: {top.advice}"


def test_at_most_the_first_findings_are_told_and_never_readings() -> None:
    report = reports.busy_report()
    kept = [line for line in terminal_lines(report) if line.kind]

    n_faults = sum(item.finding.severity is not Severity.INFO for item in report.findings)
    assert len(kept) == min(n_faults, MOST_TERMINAL_FINDINGS)
    assert Severity.INFO.value not in {line.kind for line in kept}


def test_without_faults_what_could_win_most_is_told_with_what_to_try() -> None:
    won = reports.finding("X-1", Severity.INFO, "Most time is FP32", share=0.5)
    result = reports.result("KernelPrecision", Status.OK, findings=(won,))
    lines = terminal_lines(reports.report_of((result,)))

    assert lines[0].text.endswith("Most time is FP32")
    assert lines[1].text == f"  Try: {won.advice}"
    assert "2.00×" in lines[2].text


def test_a_hostile_name_cannot_steer_the_terminal() -> None:
    report = reports.busy_report()
    job = dataclasses.replace(report.job, name="a\x1b[31m\nb\u202ec")
    text = "\n".join(line.text for line in terminal_lines(dataclasses.replace(report, job=job)))

    assert "\x1b" not in text
    assert "\u202e" not in text
    assert text.splitlines()[0].startswith("■ a")
    assert all("\n" not in line.text for line in terminal_lines(report))
