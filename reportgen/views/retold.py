"""Findings of two rules that tell the same: one story on the first screen, both in their sections.

A rule declares that an exhibit may retell the intervals of another rule's: slow steps counted one
by one are those that another rule finds in a rhythm. Where that is so a reader has one problem and
not two.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from reportgen.report import Report
from reportgen.results import Exhibit, RuleId
from reportgen.views.charts.arrays import numbers
from reportgen.views.findings import Also, Card
from reportgen.views.outline import exhibits_of

SAME_FROM_RATIO = 0.9
"""So many of the intervals begin together: the rest is chance, or cut off at the job's end."""
_APART_S = 0.001
"""Both rules take the same instants, one of them as whole microseconds."""
_WHO = ("worker", "lane")


def one_story(cards: Sequence[Card], report: Report) -> list[Card]:
    """Return the cards without those that another rule's card tells as well.

    That card then names it and leads to it. Of several cards of a rule the first is meant: cards
    come most important first.
    """
    kept = list(cards)
    for rule_id, item in exhibits_of(report):
        other_id, _, exhibit_id = item.place.retells.partition("/")
        result = report.results.get(RuleId(other_id))
        other = result.exhibit(exhibit_id) if result else None
        retold = next((card for card in kept if card.rule_id == rule_id), None)
        told = next((card for card in kept if card.rule_id == other_id), None)
        if other is None or retold is None or told is None or not are_same(item, other):
            continue
        also = Also(title=retold.title, id=retold.id, link=f"#{retold.anchor}")
        kept = [
            replace(card, also=(*card.also, also)) if card is told else card
            for card in kept
            if card is not retold
        ]
    return kept


def are_same(exhibit: Exhibit, other: Exhibit) -> bool:
    """Return whether nearly all intervals of an exhibit begin with one of another's."""
    told, found = _starts(other), _starts(exhibit)
    n_same = sum(
        any(abs(start_s - other_s) <= _APART_S for other_s in told.get(who, ()))
        for who, starts in found.items()
        for start_s in starts
    )
    n_found = sum(map(len, found.values()))
    return n_found > 0 and n_same >= SAME_FROM_RATIO * n_found


def _starts(exhibit: Exhibit) -> dict[str, list[float]]:
    columns = {column.name: column.values for column in exhibit.columns}
    who = next((name for name in _WHO if name in columns), None)
    starts: dict[str, list[float]] = {}
    if who is None or "start_s" not in columns:
        return starts
    for name, start_s in zip(columns[who], numbers(columns["start_s"]), strict=True):
        if start_s is not None:
            starts.setdefault(str(name), []).append(start_s)
    return starts
