"""Which finding a reader should see first."""

from __future__ import annotations

from collections.abc import Sequence

from reportgen.report.model import RankedFinding
from reportgen.results import RuleResult, Severity

SYMPTOM_RULES = frozenset({"LowGPUUtilization", "OverallSystemUsage"})
"""Their findings say that a resource idles, those of the others why: causes come first."""

_SEVERITY_RANK = {severity: rank for rank, severity in enumerate(Severity)}


def rank_findings(results: Sequence[RuleResult]) -> tuple[RankedFinding, ...]:
    """Return the findings of all rules, most important first.

    Order: severity; causes before symptoms; recoverable share of the time (largest first; none
    counts as 0); the order of the rules and of their findings. Counters of different rules are
    never compared: their units differ (rules-spec §13).
    """
    ranked = [
        RankedFinding(rule=result.id, finding=finding)
        for result in results
        for finding in result.findings
    ]
    return tuple(sorted(ranked, key=_importance))


def _importance(ranked: RankedFinding) -> tuple[int, bool, float]:
    estimate = ranked.finding.estimate
    share_ratio = estimate.share_ratio if estimate else 0.0
    return (
        _SEVERITY_RANK[ranked.finding.severity],
        ranked.rule in SYMPTOM_RULES,
        -share_ratio,
    )
