"""Which finding a reader should see first."""

from __future__ import annotations

from collections.abc import Sequence

from reportgen.diagnosis import severity_rank, share_of
from reportgen.report.model import RankedFinding
from reportgen.results import RuleResult


def rank_findings(results: Sequence[RuleResult]) -> tuple[RankedFinding, ...]:
    """Return the findings of all rules, most important first.

    Order: severity; causes before the symptoms that they explain; recoverable share of the time
    (largest first; none counts as 0); the order of the rules and of their findings.
    Counters of different rules are never compared: their units differ (docs/rules.md, Counters).
    """
    ranked = [
        RankedFinding(rule=result.id, finding=finding)
        for result in results
        for finding in result.findings
    ]

    def importance(item: RankedFinding) -> tuple[int, bool, float]:
        finding = item.finding
        return severity_rank(finding), bool(finding.symptom_of), -share_of(finding)

    return tuple(sorted(ranked, key=importance))
