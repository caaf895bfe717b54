from __future__ import annotations

from dataclasses import dataclass

import pytest

from reportgen.results import Counters, Finding, ReasonCode, RuleId, Severity, Status
from reportgen.rules.base import Presentation
from reportgen.rules.saying.verdict import conclude, estimate_of, fault_severity, reason_to_skip


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


def test_the_first_thing_that_is_missing_is_named() -> None:
    nothing = reason_to_skip(n_ticks=0, n_gpus=0, n_samples=0, patience=1000)
    no_gpu = reason_to_skip(n_ticks=5, n_gpus=0, n_samples=0, patience=1000)
    short = reason_to_skip(n_ticks=5, n_gpus=1, n_samples=812, patience=1000)

    assert nothing is not None
    assert (nothing.code, nothing.text) == (
        ReasonCode.TOO_FEW_SAMPLES,
        "There are no system metrics.",
    )
    assert no_gpu is not None
    assert no_gpu.code is ReasonCode.NO_GPU
    assert short is not None
    assert short.text == "Too short to judge: 812 samples, more than 1,000 are needed."


@pytest.mark.parametrize(("n_samples", "is_skipped"), [(1000, True), (1001, False)])
def test_patience_must_be_exceeded(n_samples: int, is_skipped: bool) -> None:
    reason = reason_to_skip(n_ticks=9, n_gpus=None, n_samples=n_samples, patience=1000)

    assert (reason is not None) is is_skipped


def test_a_status_says_whether_something_was_found() -> None:
    assert status_of(0) is Status.OK
    assert status_of(1) is Status.TRIGGERED
    assert status_of(0, Severity.INFO) is Status.OK
    assert status_of(0, Severity.INFO, Severity.WARNING) is Status.TRIGGERED
    assert status_of(3, is_skipped=True) is Status.SKIPPED


@pytest.mark.parametrize(
    ("share", "severity"),
    [(None, Severity.WARNING), (0.4999, Severity.WARNING), (0.5, Severity.CRITICAL)],
)
def test_half_of_the_time_is_critical(share: float | None, severity: Severity) -> None:
    assert fault_severity(share) is severity


def test_an_estimate_is_a_share_and_what_it_could_win() -> None:
    half = estimate_of(0.5)
    everything = estimate_of(1.0)

    assert half is not None
    assert (half.share_ratio, half.speedup_at_most) == (0.5, 2.0)
    assert everything is not None
    assert everything.speedup_at_most is None
    assert estimate_of(0.0) is estimate_of(None) is None
