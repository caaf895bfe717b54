"""Cards of causes with their symptoms below them."""

from __future__ import annotations

from dataclasses import replace

from reportgen.report import rank_findings
from reportgen.results import Severity
from reportgen.views.findings import cards_of
from tests.report.test_ranking import finding, result
from tests.views.reports import healthy_report


def test_of_two_causes_with_one_id_the_first_lists_the_symptoms() -> None:
    results = [
        result(
            "StepPeriodicity",
            finding("PERIOD-1", Severity.WARNING, 0.2),
            finding("PERIOD-1", Severity.WARNING, 0.3),
        ),
        result("Low", finding("GPU-2", Severity.WARNING, 0.4, symptom_of=("PERIOD-1",))),
    ]
    report = replace(healthy_report(), findings=rank_findings(results))

    cards = cards_of(report)

    assert [(card.id, card.gain[:2]) for card in cards] == [("PERIOD-1", "30"), ("PERIOD-1", "20")]
    assert [[other.id for other in card.symptoms] for card in cards] == [["GPU-2"], []]
