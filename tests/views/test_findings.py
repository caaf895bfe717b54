"""Cards of causes with their symptoms below them."""

from __future__ import annotations

from dataclasses import replace

import pytest

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


@pytest.mark.parametrize(
    ("unit", "measured", "threshold"),
    [
        ("%", "0.0 %", "70.0 %"),
        ("% (lowest 95th percentile)", "0.0 % (lowest 95th percentile)", "70.0 %"),
        ("standard deviations", "0 standard deviations", "70"),
    ],
)
def test_what_was_measured_stands_beside_its_threshold(
    unit: str, measured: str, threshold: str
) -> None:
    found = replace(
        finding("GPU-1", Severity.WARNING, 0.3), measured=0.0, threshold=70.0, unit=unit
    )
    report = replace(healthy_report(), findings=rank_findings([result("Low", found)]))
    (card,) = cards_of(report)

    said = (card.measured, card.threshold)
    assert tuple(text.replace("\xa0", " ") for text in said) == (measured, threshold)
