"""From counters and findings to a result: enough data first, then the status."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reportgen.results import (
    Counters,
    Details,
    Estimate,
    Reason,
    ReasonCode,
    RuleId,
    RuleResult,
    Severity,
    Status,
)
from reportgen.rules.base import Presentation, param_values, parameter_text
from reportgen.rules.saying.wording import say_times
from reportgen.units import say_count, speedup_at_most

CRITICAL_FROM_RATIO = 0.5
"""A fault that may cost half of the time is critical. Source: ours."""


def reason_to_skip(
    *, n_ticks: int, n_gpus: int | None, n_samples: int, patience: int
) -> Reason | None:
    """Return why a rule cannot look, or ``None`` when it can.

    Args:
        n_ticks: sampling instants of all nodes.
        n_gpus: GPUs of all nodes; ``None`` for a rule that needs none.
        n_samples: samples of the node that has most.
        patience: how many samples must be exceeded.

    Source: rules-spec §0.3, patience is strict.
    """
    if n_ticks == 0:
        return Reason(code=ReasonCode.TOO_FEW_SAMPLES, text="There are no system metrics.")
    if n_gpus == 0:
        return Reason(code=ReasonCode.NO_GPU, text="The job has no GPU.")
    if n_samples <= patience:
        return Reason(
            code=ReasonCode.TOO_FEW_SAMPLES, text=say_too_short(n_samples, patience=patience)
        )
    return None


def say_too_short(n_samples: int, *, patience: int) -> str:
    """Say that more samples than ``patience`` are needed, and how many there are."""
    seen = say_times(n_samples, "sample")
    return f"Too short to judge: {seen}, more than {say_count(patience)} are needed."


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


def fault_severity(recoverable_ratio: float | None) -> Severity:
    """Return how much a fault matters by the share of the time it may cost."""
    if recoverable_ratio is not None and recoverable_ratio >= CRITICAL_FROM_RATIO:
        return Severity.CRITICAL
    return Severity.WARNING


def estimate_of(recoverable_ratio: float | None) -> Estimate | None:
    """Return the estimate of a recoverable share, ``None`` when there is nothing to win."""
    if recoverable_ratio is None or recoverable_ratio <= 0:
        return None
    share = round(min(recoverable_ratio, 1.0), 6)
    return Estimate(share_ratio=share, speedup_at_most=speedup_at_most(share))
