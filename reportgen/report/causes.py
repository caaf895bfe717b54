"""Which finding names the cause of another one: it comes first, and it alone says what to do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from reportgen.results import Finding, RuleResult, Severity

EXPLAINS_RATIO = 0.5
"""A cause accounts for at least half of what its effect may cost; with less,
removing it would leave most of the effect."""

_SEVERITY_RANK = {severity: rank for rank, severity in enumerate(Severity)}


def severity_rank(finding: Finding) -> int:
    """Return 0 for the worst severity."""
    return _SEVERITY_RANK[finding.severity]


def share_of(finding: Finding) -> float:
    """Return the share of the time that a finding may cost; 0 where none is estimated."""
    return finding.estimate.share_ratio if finding.estimate else 0.0


def causes_of(finding: Finding, told: Sequence[Finding]) -> list[Finding]:
    """Return the findings that name the cause of another one.

    A cause is a fault, at least as severe as its effect, and accounts for half of its cost.
    """
    return [other for other in told if _explains(other, finding)]


def with_one_adviser(results: Sequence[RuleResult]) -> tuple[RuleResult, ...]:
    """Return the results; findings whose cause is told point to its advice, and give none."""
    told = [finding for result in results for finding in result.findings]
    return tuple(
        replace(result, findings=tuple(_pointing(finding, told) for finding in result.findings))
        for result in results
    )


def _explains(cause: Finding, effect: Finding) -> bool:
    return (
        cause.id in effect.causes
        and cause.severity is not Severity.INFO
        and severity_rank(cause) <= severity_rank(effect)
        and (cause.estimate is None or share_of(cause) >= EXPLAINS_RATIO * share_of(effect))
    )


def _pointing(finding: Finding, told: Sequence[Finding]) -> Finding:
    """Point to the first cause: that of the cause, and so on; causes that go round give none."""
    cause, seen = _main_cause(finding, told), [finding]
    while cause is not None and cause not in seen:
        seen.append(cause)
        cause = _main_cause(cause, told)
    if len(seen) == 1 or cause is not None:
        return finding
    advice = f"Do first what {seen[-1].id} advises, then see what is left of this."
    return replace(finding, advice=advice)


def _main_cause(finding: Finding, told: Sequence[Finding]) -> Finding | None:
    return min(
        causes_of(finding, told),
        key=lambda item: (len(causes_of(item, told)), severity_rank(item), -share_of(item)),
        default=None,
    )
