"""Cards of causes with their symptoms below them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from reportgen.report import rank_findings
from reportgen.results import ExhibitKind, Severity, Where, exhibit
from reportgen.views.findings import card_of, cards_of
from reportgen.views.fragments import render
from tests.report.test_ranking import finding, result
from tests.views.reports import healthy_report


def _when_of(*spans: tuple[str, str, float, float]) -> str:
    lanes, names, starts_s, ends_s = zip(*spans, strict=True)
    columns = [("lane", "", lanes), ("name", "", names), ("start_s", "s", starts_s)]
    shown = exhibit("e", ExhibitKind.SPANS, title="E", columns=[*columns, ("end_s", "s", ends_s)])
    where = Where(node="rank 0", device="gpu0", start_s=1_783_071_030.0, end_s=1_783_071_039.0)
    found = replace(finding("IDLE-1", Severity.WARNING, 0.3), where=where)
    own = replace(result("IdleTime", found), exhibits=(shown,))
    report = replace(healthy_report(), findings=rank_findings([own]), results={own.id: own})
    (card,) = cards_of(report)
    return card.when.replace("\xa0", " ")


def test_the_longest_of_several_intervals_is_said_with_their_number_and_the_first() -> None:
    longest = ("gpu0", "9 waits", 1_783_071_030.0, 1_783_071_039.0)
    first = ("gpu0", "1 wait", 1_783_071_021.5, 1_783_071_023.0)
    others = [(*first[:2], first[2] + at, first[3] + at) for at in range(20, 320)]
    alone = "2026-07-03 09:30:30.0 – 09:30:39.0 UTC (9 s)"

    assert _when_of(longest) == alone
    assert _when_of(longest, ("gpu1", *first[1:]), ("gpu0", "a copy", *first[2:])) == alone
    assert _when_of(first, longest) == (
        f"2 intervals, the first 2026-07-03 09:30:21.5 UTC; the longest {alone}"
    )
    assert _when_of(longest, *others) == f"the longest {alone}"
    longer = (*first[:2], longest[2] + 20, longest[3] + 30)
    assert _when_of(longest, longer) == alone


def test_what_comes_first_is_linked_from_its_effect() -> None:
    effect = replace(
        finding("GPU-2", Severity.WARNING, 0.4, symptom_of=("PERIOD-1", "GONE-1")),
        advice="Do first what PERIOD-1 advises: this is probably an effect of it.",
    )
    results = [
        result("StepPeriodicity", finding("PERIOD-1", Severity.WARNING, 0.2)),
        result("Low", effect),
    ]
    card = card_of("Low", effect, replace(healthy_report(), findings=rank_findings(results)))
    html = render("rule_findings", links=(), cards=[card], more_cards=())

    link = '<a href="#StepPeriodicity--finding-PERIOD-1">PERIOD-1</a>'
    assert f'Do first what <span class="rg-unbroken">{link}</span> advises' in html
    assert "GONE-1" not in html


@pytest.mark.parametrize(
    ("unit", "measured", "threshold"),
    [
        ("%", "0.0 %", "70.0 %"),
        ("% (lowest 95th percentile)", "0.0 % (lowest 95th percentile)", "70.0 %"),
        ("standard deviations", "0 standard deviations", "70"),
    ],
)
def test_what_was_measured_stands_beside_its_threshold(unit, measured, threshold) -> None:
    found = replace(
        finding("GPU-1", Severity.WARNING, 0.3), measured=0.0, threshold=70.0, unit=unit
    )
    (card,) = cards_of(replace(healthy_report(), findings=rank_findings([result("Low", found)])))

    said = (card.measured, card.threshold)
    assert tuple(text.replace("\xa0", " ") for text in said) == (measured, threshold)
