"""Which finding a reader should see first."""

from __future__ import annotations

from collections.abc import Sequence

from reportgen.diagnosis import severity_rank, share_of
from reportgen.report.model import RankedFinding
from reportgen.results import Cause, ReasonCode, RuleResult, Severity


def rank_findings(results: Sequence[RuleResult]) -> tuple[RankedFinding, ...]:
    """Return the findings of all rules, most important first.

    Order: missing data before what is made of the rest; faults before readings; causes before
    symptoms, as mending a cause is what helps; severity; recoverable share of the time (largest
    first; none counts as 0); for results that SageMaker computed the share of the datapoints; the
    order of the rules and of their findings.
    Counters of different rules are never compared: their units differ (docs/rules.md, Counters).
    """
    ranked = [
        RankedFinding(rule=result.id, finding=finding)
        for result in results
        for finding in result.findings
    ]

    imported = {
        result.id
        for result in results
        if result.reason and result.reason.code is ReasonCode.IMPORTED
    }

    def importance(item: RankedFinding) -> tuple[bool, bool, bool, int, float, float]:
        finding = item.finding
        is_info = finding.severity is Severity.INFO
        seen_pct = finding.measured or 0.0 if item.rule in imported else 0.0
        is_data = finding.cause == Cause.NOT_RECORDED
        return (
            not is_data,
            is_info,
            bool(finding.symptom_of),
            severity_rank(finding),
            -share_of(finding),
            -seen_pct,
        )

    return tuple(sorted(ranked, key=importance))
