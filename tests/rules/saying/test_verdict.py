from __future__ import annotations

from dataclasses import dataclass

from reportgen.results import Counters, Finding, RuleId, Severity, Status
from reportgen.rules.base import Presentation
from reportgen.rules.saying.verdict import conclude, reason_to_skip


@dataclass(frozen=True)
class NoParams:
    pass


def status_of(triggers: int, *severities: Severity, is_skipped: bool = False) -> Status:
    findings = tuple(
        Finding(id="X-1", severity=item, title="t", text="t", advice="a") for item in severities
    )
    reason = reason_to_skip(n_ticks=0, n_gpus=1, n_samples=0, patience=1) if is_skipped else None
    return conclude(
        RuleId("X"),
        params=NoParams(),
        reason=reason,
        counters=Counters(rule_triggered=triggers),
        details={},
        metrics={},
        presentation=Presentation(findings=findings),
    ).status


def test_a_status_says_whether_something_was_found() -> None:
    assert status_of(0) is Status.OK
    assert status_of(1) is Status.TRIGGERED
    assert status_of(0, Severity.INFO) is Status.OK
    assert status_of(0, Severity.INFO, Severity.WARNING) is Status.TRIGGERED
    assert status_of(3, is_skipped=True) is Status.SKIPPED
