"""What speaks for a cause, and what against it."""

from __future__ import annotations

from reportgen.diagnosis import diagnose
from reportgen.diagnosis.evidence import HYPOTHESES
from reportgen.results import Cause, Evidence, RuleId, RuleResult, Severity, Status
from reportgen.rules.registry import BUILTIN_RULES
from tests.report.test_ranking import finding, result

FEW = finding("DL-1", Severity.WARNING, 0.5, cause=Cause.TOO_FEW_LOADERS)


def measured(rule_id: str, **metrics: float) -> RuleResult:
    return RuleResult(id=RuleId(rule_id), status=Status.OK, metrics=metrics)


def evidence_of(*others: RuleResult) -> tuple[Evidence, ...]:
    first, *_ = diagnose([result("DL", FEW), *others])
    return first.findings[0].evidence


def test_a_sign_that_is_expected_speaks_for_the_cause_and_its_absence_against() -> None:
    (present,) = evidence_of(measured("Dataloader", waited_ratio=0.3))
    (absent,) = evidence_of(measured("Dataloader", waited_ratio=0.01))

    assert present == Evidence(text="Training waits for data 30.0 % of its time.")
    assert absent.is_against


def test_a_sign_that_is_excluded_speaks_against_the_cause_and_its_absence_for_it() -> None:
    (present,) = evidence_of(measured("CPUBottleneck", busy_cores_ratio=0.95))
    (absent,) = evidence_of(measured("CPUBottleneck", busy_cores_ratio=0.25))

    assert present.is_against
    assert absent == Evidence(
        text="While GPUs leave time unused, only 25.0 % of the cores are busy."
    )


def test_a_rule_that_did_not_look_is_silent_and_so_is_the_one_of_the_finding() -> None:
    assert evidence_of(RuleResult(id=RuleId("Dataloader"), status=Status.SKIPPED)) == ()
    (own,) = diagnose(
        [
            RuleResult(
                id=RuleId("Dataloader"),
                status=Status.TRIGGERED,
                findings=(FEW,),
                metrics={"waited_ratio": 0.5},
            )
        ]
    )
    assert own.findings[0].evidence == ()


def test_every_sign_reads_a_rule_that_exists() -> None:
    rules = {rule.id for rule in BUILTIN_RULES}
    for expects, excludes in HYPOTHESES.values():
        for sign in (*expects, *excludes):
            assert sign.rule in rules
            assert sign.metric.endswith(("_ratio", "_pct"))
