"""Which finding names the cause of another one, and which of them says what to do."""

from __future__ import annotations

import pytest

from reportgen.report import with_one_adviser
from reportgen.results import Finding, Severity
from tests.report.test_ranking import finding, result


def advice_of(*findings: Finding) -> dict[str, str]:
    """Return the advice of each finding of a report."""
    results = with_one_adviser([result(item.id, item) for item in findings])
    return {item.id: item.advice for one in results for item in one.findings}


def effect(severity: Severity = Severity.WARNING, share_ratio: float | None = 0.6) -> Finding:
    return finding("GPU-2", severity, share_ratio, causes=("DL-1", "CPU-1"))


def test_a_finding_whose_cause_is_told_points_to_its_advice() -> None:
    advice = advice_of(effect(), finding("DL-1", Severity.WARNING, 0.5))

    assert advice["GPU-2"] == "Do first what DL-1 advises, then see what is left of this."
    assert advice["DL-1"] == "a"


@pytest.mark.parametrize(
    "cause",
    [
        finding("DL-1", Severity.INFO, 0.5),
        finding("DL-1", Severity.WARNING, 0.29),
        finding("DL-9", Severity.WARNING, 0.5),
    ],
    ids=["only a reading", "less than half of the cost", "not named"],
)
def test_what_does_not_explain_a_finding_leaves_its_advice(cause: Finding) -> None:
    assert advice_of(effect(), cause)["GPU-2"] == "a"


def test_a_milder_finding_is_no_cause() -> None:
    advice = advice_of(effect(Severity.CRITICAL), finding("DL-1", Severity.WARNING, 0.5))

    assert advice["GPU-2"] == "a"


def test_half_of_the_cost_is_enough() -> None:
    assert advice_of(effect(), finding("DL-1", Severity.WARNING, 0.3))["GPU-2"] != "a"


def test_of_several_causes_the_one_without_a_cause_advises() -> None:
    middle = finding("CPU-1", Severity.WARNING, 0.7, causes=("DL-1",))
    advice = advice_of(effect(), middle, finding("DL-1", Severity.WARNING, 0.5))

    assert "what DL-1 advises" in advice["GPU-2"]
    assert "what DL-1 advises" in advice["CPU-1"]


def test_a_cause_of_a_cause_advises_both() -> None:
    middle = finding("CPU-1", Severity.WARNING, 0.7, causes=("DL-7",))
    advice = advice_of(effect(), middle, finding("DL-7", Severity.WARNING, 0.5))

    assert "what DL-7 advises" in advice["GPU-2"]


def test_findings_that_name_each_other_keep_their_advice() -> None:
    one = finding("A-1", Severity.WARNING, 0.5, causes=("B-1",))
    other = finding("B-1", Severity.WARNING, 0.5, causes=("A-1",))

    assert advice_of(one, other) == {"A-1": "a", "B-1": "a"}
