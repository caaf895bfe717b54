"""Which finding comes first."""

from __future__ import annotations

from reportgen.report import rank_findings
from reportgen.results import Cause, Estimate, Finding, RuleId, RuleResult, Severity, Status


def finding(
    finding_id: str,
    severity: Severity,
    share_ratio: float | None = None,
    *,
    cause: str = Cause.OBSERVATION,
    symptom_of: tuple[str, ...] = (),
) -> Finding:
    estimate = (
        None if share_ratio is None else Estimate(share_ratio=share_ratio, speedup_at_most=None)
    )
    return Finding(
        id=finding_id,
        severity=severity,
        title="t",
        text="t",
        advice="a",
        estimate=estimate,
        cause=cause,
        symptom_of=symptom_of,
    )


def result(rule_id: str, *findings: Finding) -> RuleResult:
    return RuleResult(id=RuleId(rule_id), status=Status.TRIGGERED, findings=findings)


def test_severity_comes_before_share_and_share_before_order() -> None:
    ranked = rank_findings(
        [
            result("A", finding("I-1", Severity.INFO, 0.9), finding("W-1", Severity.WARNING)),
            result("B", finding("W-2", Severity.WARNING, 0.2), finding("C-1", Severity.CRITICAL)),
            result("C", finding("W-3", Severity.WARNING, 0.4), finding("W-4", Severity.WARNING)),
        ]
    )

    assert [item.finding.id for item in ranked] == ["C-1", "W-3", "W-2", "W-1", "W-4", "I-1"]
    assert ranked[0].rule == "B"


def test_a_small_cause_comes_before_a_bad_symptom_and_readings_come_last() -> None:
    ranked = rank_findings(
        [
            result("A", finding("SYS-1", Severity.INFO)),
            result("B", finding("GPU-2", Severity.CRITICAL, 0.5, symptom_of=("PAUSE-1",))),
            result("C", finding("DL-1", Severity.WARNING, 0.2)),
            result("D", finding("PAUSE-1", Severity.CRITICAL, 0.3)),
        ]
    )

    assert [item.finding.id for item in ranked] == ["PAUSE-1", "DL-1", "GPU-2", "SYS-1"]
