"""All checks in one table: question, outcome, counters and parameters of each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from reportgen.report import Report
from reportgen.results import RuleId
from reportgen.text import plural
from reportgen.views.cell_output import PageSection, block_of, headed_section
from reportgen.views.outline import ALL_CHECKS_ID, about_of, section_of
from reportgen.views.sections.rule import format_counters, format_params
from reportgen.views.status import MILDEST_FIRST, counts_of_unlooked, rule_state
from reportgen.views.values import ABSENT

_LEAD = (
    "Each check with its findings and SageMaker's counters. The counters of different checks "
    "have different units: compare them between runs of a job, not between checks. A check may "
    "have findings although its counters are 0: findings rest on more than SageMaker's conditions."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleRow:
    """One check in the table; ``rank`` and ``sort_key`` are what two of its columns sort by.

    ``advice`` is that of its findings, the most important first; empty without findings.
    """

    rule_id: str
    title: str
    link: str
    checks: str
    kind: str
    word: str
    rank: int
    reason: str
    findings: str
    triggered: str
    violations: str
    datapoints: str
    sort_key: str
    params: tuple[tuple[str, str], ...]
    advice: str

    @property
    def is_counted(self) -> bool:
        """Return whether the check has any of SageMaker's counters."""
        return any(text != ABSENT for text in (self.triggered, self.violations, self.datapoints))


def rules_summary(report: Report) -> PageSection:
    """Show every check with its status, counters, parameters and advice."""
    rows = rule_rows(report)
    blocks = [block_of("rules_table", rows=rows)] if rows else []
    lead = f"{_said(rows, report)}. {_LEAD}" if rows else ""
    return headed_section(ALL_CHECKS_ID, "All checks", blocks, lead=lead)


def _said(rows: Sequence[RuleRow], report: Report) -> str:
    kinds = Counter(row.kind for row in rows)
    counts = {
        "failed": kinds["failed"],
        "found something": kinds.total() - kinds["failed"] - kinds["ok"] - kinds["skipped"],
        "found nothing wrong": kinds["ok"],
    }
    said = [f"{count} {words}" for words, count in counts.items() if count]
    return ", ".join([*said, *counts_of_unlooked(report)])


def _advice(rule_id: str, report: Report) -> list[str]:
    said = dict.fromkeys(item.finding.advice for item in report.findings if item.rule == rule_id)
    return [text for text in said if text]


def rule_rows(report: Report) -> tuple[RuleRow, ...]:
    """Return one row per check, in the order of the report."""
    rows, found = [], Counter(item.rule for item in report.findings)
    for rule_id, entry in report.rules.items():
        result = report.results.get(RuleId(rule_id))
        about = about_of(rule_id, report)
        counted = format_counters(result) if result else (ABSENT, ABSENT, ABSENT)
        state = rule_state(rule_id, report)
        rows.append(
            RuleRow(
                rule_id=rule_id,
                title=about.title or rule_id,
                link=f"#{section_of(rule_id, report).id}",
                checks=about.checks,
                kind=state.kind,
                word=state.word if state.kind == "skipped" else entry.status.value,
                rank=MILDEST_FIRST.index(state.kind),
                reason=entry.reason.text if entry.reason else "",
                findings=plural(found[rule_id], "finding") if found[rule_id] else "",
                triggered=counted[0],
                violations=counted[1],
                datapoints=counted[2],
                sort_key="" if counted[0] == ABSENT else counted[0].replace(",", ""),
                params=format_params(result.params) if result else (),
                advice=" ".join(_advice(rule_id, report)),
            )
        )
    return tuple(rows)
