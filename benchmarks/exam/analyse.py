"""Run the analyses on a generated job: no notebook and no page."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from reportgen.intake import discover
from reportgen.pipeline.compose import compose_report
from reportgen.pipeline.work import work_on
from reportgen.report import Report
from reportgen.results import Finding, RuleId, Severity, Status
from reportgen.rules.registry import all_rules
from reportgen.rules.runner import judge_all, rules_for
from reportgen.rules.settings import resolve_params


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """One finding of a report, as far as it is marked."""

    rule: str
    id: str
    cause: str
    severity: str
    title: str
    advice: str
    share_ratio: float | None
    node: str | None
    device: str | None
    start_s: float | None
    end_s: float | None
    possible_causes: tuple[str, ...] = ()

    @property
    def is_loud(self) -> bool:
        """Return whether it is a warning or worse."""
        return self.severity != Severity.INFO


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a report says of a job: its findings in their order, and the rules that broke."""

    findings: tuple[Told, ...]
    failed_rules: tuple[str, ...]


Moved = Mapping[str, Mapping[str, float]]
"""Parameters of rules that are changed: their values by rule and name."""


def analyse(folder: Path, *, moved: Moved | None = None) -> Answer:
    """Return what the report of a folder would say."""
    return answer_of(report_of(folder, moved=moved))


def report_of(folder: Path, *, only: Collection[str] = (), moved: Moved | None = None) -> Report:
    """Return the report of a folder, without a page; of all rules or ``only`` of some."""
    rules = tuple(rule for rule in all_rules() if not only or rule.id in only)
    job = discover(str(folder), name=None)
    chosen = rules_for(job, rules)
    params = resolve_params(rules, {})
    for rule, values in (moved or {}).items():
        params[RuleId(rule)] = replace(params[RuleId(rule)], **values)
    measured = [work_on(part, rules=chosen, params=params) for part in job.parts]
    results = judge_all([part.measurements for part in measured], chosen, params)
    return compose_report(job, measured, results)


def answer_of(report: Report) -> Answer:
    """Return what is marked of a report."""
    return Answer(
        findings=tuple(_told(str(item.rule), item.finding) for item in report.findings),
        failed_rules=tuple(
            str(rule) for rule, entry in report.rules.items() if entry.status is Status.FAILED
        ),
    )


def _told(rule: str, finding: Finding) -> Told:
    return Told(
        rule=rule,
        id=finding.id,
        cause=str(finding.cause),
        severity=finding.severity.value,
        title=finding.title,
        advice=finding.advice,
        share_ratio=finding.estimate.share_ratio if finding.estimate else None,
        node=finding.where.node,
        device=finding.where.device,
        start_s=finding.where.start_s,
        end_s=finding.where.end_s,
        possible_causes=tuple(str(cause) for cause in finding.possible_causes),
    )
