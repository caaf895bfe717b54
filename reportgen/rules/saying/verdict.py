"""From counters and findings to a result: enough data first, then the status."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reportgen.results import (
    Counters,
    Details,
    Reason,
    RuleId,
    RuleResult,
    Severity,
    Status,
)
from reportgen.rules.base import Presentation, param_values, parameter_text
from reportgen.rules.kit import estimate_of, fault_severity, reason_to_skip, too_short

say_too_short = too_short

__all__ = ["conclude", "estimate_of", "fault_severity", "reason_to_skip", "say_too_short"]


def conclude(
    rule_id: RuleId,
    *,
    params: Any,
    reason: Reason | None,
    counters: Counters,
    details: Details,
    metrics: Mapping[str, float | int | None],
    presentation: Presentation,
) -> RuleResult:
    """Return the result of a rule; ``reason`` says why it did not look.

    ``triggered`` is a result with AWS triggers or with a finding that is more than a reading.
    """
    found = counters.rule_triggered > 0 or any(
        finding.severity is not Severity.INFO for finding in presentation.findings
    )
    status = Status.SKIPPED if reason else Status.TRIGGERED if found else Status.OK
    return RuleResult(
        id=rule_id,
        status=status,
        reason=reason,
        counters=counters,
        details=details,
        rule_parameters=parameter_text(params),
        params=param_values(params),
        metrics=metrics,
        findings=presentation.findings,
        exhibits=presentation.exhibits,
    )
