"""The report in one sentence: the fault, how bad it is, and checks that did not look."""

from __future__ import annotations

import signal
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, replace

from reportgen.diagnosis import LEFT_FROM_RATIO, NAMED_BY
from reportgen.report import JobStatus, RankedFinding, Report
from reportgen.report.steps import training_tables
from reportgen.report.summary import DataKind, data_kind
from reportgen.results import Cause, Finding, RuleId, Severity, Status
from reportgen.text import format_duration, format_pct, plural
from reportgen.views.findings import LEAST_WRITTEN_GAIN, LONGEST_TITLE
from reportgen.views.recording import MARK_STEPS
from reportgen.views.status import counts_of_unlooked, is_applicable
from reportgen.views.time_bar import limit_of
from reportgen.views.values import format_names, prose, shorten

LONGEST_ADVICE = 400
LEAST_GAIN = 1.1
"""A reading that could win less than this factor is not what a verdict is about."""
_KILLED_BY = 128
"""A shell adds this to the number of the signal that ended a command."""
_FAULTS = (Severity.CRITICAL, Severity.WARNING)
_UNLOOKED = (Status.SKIPPED, Status.FAILED)
_PCT_OF_RATIO = 100
_LOST = (
    (
        "GPUTimeBudget",
        "unused_in_loop_pct",
        "The GPUs are unused for {} of the {}",
        "GPU time budget",
    ),
    (
        "OverallFrameworkMetrics",
        "between_steps_ratio",
        "No step runs for {} of the {}",
        "Framework",
    ),
)
"""What a loop may lose, and the section that measures it; of the first that does."""
_WITHOUT_STEPS = "time from their first to their last work"
_MOST_UNMEASURED_RATIO = 0.5
"""From this part of the GPUs' time on that was not measured, the rest says nothing of a job."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportVerdict:
    """``kind`` picks shape and colour; ``headline`` is one sentence, ``lead`` one or two more.

    ``action`` is what to try first: empty where nothing is wrong.
    """

    kind: str
    headline: str
    lead: str
    action: str = ""


def verdict_of(report: Report) -> ReportVerdict:
    """Return the verdict: the top finding if something is wrong or can be won, else who looked."""
    named, crash = named_finding(report), crash_of(report)
    if named is None:
        found = _without_faults(report)
        return replace(found, kind="warning", headline=crash) if crash else found
    top = named.finding
    lead = [_among(top, report), _what_it_wins(top, report)]
    lead = [*(lead if top.severity in _FAULTS else reversed(lead)), _unlooked(report)]
    lead = [crash, *lead]
    return ReportVerdict(
        kind=top.severity.value,
        headline=_sentence(top.title),
        lead=" ".join(filter(None, lead)),
        action=prose(shorten(top.advice.strip(), most=LONGEST_ADVICE).text),
    )


def named_finding(report: Report) -> RankedFinding | None:
    """Return the finding of the verdict: the top fault, else the reading that could win most.

    What was not recorded comes first. A busy GPU that computes in a slow number format is no fault,
    but a reader must hear of it.
    """
    for item in report.findings:
        finding = item.finding
        is_lack = finding.cause == Cause.NOT_RECORDED
        if is_lack or finding.severity in _FAULTS or _gain(finding) >= LEAST_GAIN:
            return item
    return None


def crash_of(report: Report) -> str:
    """Say how a job that failed ended: exit code, last step, memory; empty for any other job."""
    codes = {code for code in (report.recording.exit_codes if report.recording else ()) if code}
    status = report.figures.status if report.figures else JobStatus.UNKNOWN
    if not codes and status is not JobStatus.FAILED:
        return ""
    named = format_names([_code(code) for code in sorted(codes)], most=3)
    said = f"The job ended with exit code {named}" if codes else "The job failed"
    if report.job.range:
        return f"{said}."
    tables = training_tables(report.results.values())
    if tables:
        last = " (the last one recorded)" if max(codes, default=0) > _KILLED_BY else ""
        said = f"{said} after step {tables[0].n_measured:,}{last}"
    summary = report.summary
    memory = (("host", summary.host_memory_at_end_pct), ("GPU", summary.gpu_memory_at_end_pct))
    used = [f"{name} {format_pct(pct)}" for name, pct in memory if pct is not None]
    fullest = " on the fullest node" if used and len(report.nodes) > 1 else ""
    return f"{said}; memory at the end: {', '.join(used) or 'not recorded'}{fullest}."


def _code(code: int) -> str:
    """Return an exit code with the signal that it stands for, as shells count."""
    if code == _KILLED_BY + signal.SIGKILL:
        return f"{code} (SIGKILL, often because memory ran out)"
    with suppress(ValueError):
        return f"{code} ({signal.Signals(code - _KILLED_BY).name})"
    return str(code)


def _gain(finding: Finding) -> float:
    estimate = finding.estimate
    return estimate.speedup_at_most or 1.0 if estimate else 1.0


def _what_it_wins(finding: Finding, report: Report) -> str:
    """Say by how much it could be faster: a trace alone may be of inference."""
    gain = _gain(finding)
    are_traced = {name.startswith("rank ") for name in report.nodes}
    what = "the run" if are_traced == {True} else "training"
    if gain < LEAST_WRITTEN_GAIN:
        return ""
    cause = "Removing the cause" if finding.severity in _FAULTS else "A change here"
    return f"{cause} could make {what} at most {gain:.2f}× faster."


def _without_faults(report: Report) -> ReportVerdict:
    counts = Counter(entry.status for entry in report.rules.values())
    looked = counts[Status.OK] + counts[Status.TRIGGERED]
    unlooked = sum(
        entry.status in {Status.SKIPPED, Status.FAILED} and is_applicable(rule_id, report)
        for rule_id, entry in report.rules.items()
    )
    if looked == 0:
        return ReportVerdict(
            kind="skipped",
            headline="Nothing could be judged.",
            lead="No check had the data that it needs: “Not checked” says what was not recorded.",
        )
    lost, shown_by = _lost_unseen(report)
    if lost:
        return ReportVerdict(
            kind="skipped",
            headline=f"{lost}, and checks that could say why lacked data.",
            lead=f"{plural(looked, 'check')} found nothing wrong. {shown_by} "
            f"{_unlooked(report)}".strip(),
        )
    is_told = unlooked <= looked
    limit = limit_of(report)
    limit = f"What limits it now: {limit} " if limit else ""
    lead = f"{plural(looked, 'check')} found nothing wrong. {limit}{_unlooked(report)}"
    recording = report.recording
    if recording is not None and not (recording.step_sources or recording.monitored_by):
        lead = f"{MARK_STEPS} {lead}"
    return ReportVerdict(
        kind="ok" if is_told else "skipped",
        headline="No problem found."
        if is_told
        else "No problem found, but most checks lacked data.",
        lead=lead.strip(),
    )


def _lost_unseen(report: Report) -> tuple[str, str]:
    """Say how much of the loop is lost if that is much and a check of its causes did not look.

    Returns:
        The loss, and where the page shows it; empty texts for no such loss.
    """
    unlooked = {
        rule_id for rule_id, entry in report.rules.items() if entry.status in _UNLOOKED
    } & set(NAMED_BY.values())
    for rule_id, metric, text, section in _LOST:
        result = report.results.get(RuleId(rule_id))
        metrics = result.metrics if result else {}
        lost = metrics.get(metric)
        if lost is not None:
            lost_pct = lost * (_PCT_OF_RATIO if metric.endswith("_ratio") else 1)
            is_much = unlooked and lost_pct >= _PCT_OF_RATIO * LEFT_FROM_RATIO
            unmeasured = metrics.get("not_measured_ratio") or 0
            if not is_much or unmeasured >= _MOST_UNMEASURED_RATIO:
                return "", ""
            shown_by = f"“{section}” shows this time"
            if longest_s := metrics.get("longest_idle_s"):
                shown_by += f": the longest idle stretch takes {format_duration(longest_s)}"
            is_loop = data_kind(report.results) is DataKind.EVENTS
            whole = "loop" if is_loop else _WITHOUT_STEPS
            return text.format(format_pct(lost_pct), whole), f"{shown_by}."
    return "", ""


def _among(top: Finding, report: Report) -> str:
    """Count the findings, and those that the top one explains."""
    n_findings = len(report.findings)
    if n_findings == 1:
        return "It is the only finding."
    counts = Counter(item.finding.severity for item in report.findings)
    plurals = {Severity.WARNING: "warnings"}
    counted = ", ".join(
        plural(counts[one], one.value, plurals.get(one, one.value))
        for one in Severity
        if counts[one]
    )
    n_effects = sum(top.id in item.finding.symptom_of for item in report.findings)
    effects = plural(n_effects, "is probably an effect of it", "are probably effects of it")
    said = f"The most important of {n_findings} findings ({counted})"
    return f"{said}; {effects}." if n_effects else f"{said}."


def _unlooked(report: Report) -> str:
    n_failed = sum(entry.status is Status.FAILED for entry in report.rules.values())
    texts = [f"{plural(n_failed, 'check')} failed."] if n_failed else []
    unlooked = counts_of_unlooked(report)
    return " ".join([*texts, f"Not checked: {', '.join(unlooked)}." if unlooked else ""]).strip()


def _sentence(title: str) -> str:
    text = prose(shorten(title.strip(), most=LONGEST_TITLE).text)
    if text.partition(" ")[0].isalpha():  # no name of a worker or an operator
        text = text[:1].upper() + text[1:]
    return text if text.endswith((".", "!", "?")) else f"{text}."
