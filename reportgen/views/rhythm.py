"""Slow steps that two rules tell of: one story on the first screen, both in their sections.

``StepOutlier`` counts slow steps as SageMaker does, ``StepPeriodicity`` finds the rhythm of slow
steps and what ran in them. Where the counted steps are those of the rhythm, a reader has one
problem and not two.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from reportgen.report import Report
from reportgen.results import Exhibit, RuleId
from reportgen.views.charts.arrays import numbers
from reportgen.views.exhibits import anchor_of
from reportgen.views.findings import Also, Card
from reportgen.views.shapes import has_shape

COUNTED, RHYTHM = RuleId("StepOutlier"), RuleId("StepPeriodicity")
SAME_FROM_RATIO = 0.9
"""So many of the counted steps lie in the rhythm. Source: ours."""
_APART_S = 0.001
"""Both rules take the same instants, one of them as whole microseconds."""


def one_story(cards: Sequence[Card], report: Report) -> list[Card]:
    """Return the cards without that of the counted steps, if a rhythm tells the same.

    The card of the rhythm then names it and leads to it. Of several rhythms the first is meant:
    cards come most important first.
    """
    counted = next((card for card in cards if _is_of(card, COUNTED)), None)
    told = next((card for card in cards if _is_of(card, RHYTHM)), None)
    if counted is None or told is None or not are_same(report):
        return list(cards)
    also = Also(title=counted.title, id=counted.id, link=f"#{counted.anchor}")
    kept = [card for card in cards if card is not counted]
    return [replace(card, also=(also,)) if card is told else card for card in kept]


def are_same(report: Report) -> bool:
    """Return whether the outliers are the steps that are slow in a rhythm."""
    outliers, spans = _exhibit(report, COUNTED, "outliers"), _exhibit(report, RHYTHM, "intervals")
    if outliers is None or spans is None or not has_shape(spans):
        return False
    rhythm = _starts(spans, "lane")
    counted = _starts(outliers, "worker")
    n_same = sum(
        any(abs(start_s - other_s) <= _APART_S for other_s in rhythm.get(worker, ()))
        for worker, starts in counted.items()
        for start_s in starts
    )
    n_counted = sum(len(starts) for starts in counted.values())
    return n_counted > 0 and n_same >= SAME_FROM_RATIO * n_counted


def _is_of(card: Card, rule_id: RuleId) -> bool:
    return card.anchor.startswith(anchor_of(rule_id, "finding-"))


def _exhibit(report: Report, rule_id: RuleId, exhibit_id: str) -> Exhibit | None:
    result = report.results.get(rule_id)
    return result.exhibit(exhibit_id) if result else None


def _starts(exhibit: Exhibit, of_whom: str) -> dict[str, list[float]]:
    """Return when steps began, in seconds, by worker."""
    columns = {column.name: column.values for column in exhibit.columns}
    starts: dict[str, list[float]] = {}
    if not {of_whom, "start_s"} <= columns.keys():
        return starts
    for worker, start_s in zip(columns[of_whom], numbers(columns["start_s"]), strict=True):
        if start_s is not None:
            starts.setdefault(str(worker), []).append(start_s)
    return starts
