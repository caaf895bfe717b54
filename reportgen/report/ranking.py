"""Which finding a reader should see first."""

from __future__ import annotations

from collections.abc import Sequence

from reportgen.report.causes import causes_of, severity_rank, share_of
from reportgen.report.model import RankedFinding
from reportgen.results import RuleResult


def rank_findings(results: Sequence[RuleResult]) -> tuple[RankedFinding, ...]:
    """Return the findings of all rules, most important first.

    Order: severity; what has fewer causes among the findings; recoverable share of the time
    (largest first; none counts as 0); the order of the rules and of their findings.
    Counters of different rules are never compared: their units differ (docs/rules.md, Counters).
    """
    ranked = [
        RankedFinding(rule=result.id, finding=finding)
        for result in results
        for finding in result.findings
    ]
    told = [item.finding for item in ranked]

    def importance(item: RankedFinding) -> tuple[int, int, float]:
        n_causes = len(causes_of(item.finding, told))
        return severity_rank(item.finding), n_causes, -share_of(item.finding)

    return tuple(sorted(ranked, key=importance))
