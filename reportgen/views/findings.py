"""A finding as a card: severity, title, evidence, place and time, advice and possible gain."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from reportgen.report import Report
from reportgen.results import Cause, ExhibitKind, Finding, RuleId, Severity, Where
from reportgen.text import format_pct, join_names
from reportgen.views.charts.arrays import numbers
from reportgen.views.exhibits import anchor_of
from reportgen.views.outline import is_drawn, link_of, section_with
from reportgen.views.timeline.lanes import Spot, spot_of
from reportgen.views.values import Shown, format_interval, format_value, prose, shorten

_WORDS = {Severity.CRITICAL: "Critical", Severity.WARNING: "Warning", Severity.INFO: "Info"}
LONGEST_TITLE = 240
LEAST_WRITTEN_GAIN = 1.005
"""A smaller one is written as 1.00×."""
_MOST_COUNTED = 199
"""An exhibit of more spans may have left some out, perhaps the first."""
_SAME_S = 2e-6
_LONG = {"io": "I/O", "cpu": "CPU", "gpu": "GPU"}
_SHORT = re.compile(rf"\b({'|'.join(_LONG)})\b")
_COUNTS = re.compile(r"[\d.,]+|s\b")


@dataclass(frozen=True, slots=True, kw_only=True)
class Related:
    """A finding that explains the one of the card, or that the one of the card explains."""

    title: str
    id: str
    link: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """A finding ready to be printed; empty texts are left out. ``anchor`` leads to it.

    ``causes`` and ``symptoms`` are the findings that explain it, and those that it explains.
    """

    id: str
    rule_id: str
    anchor: str
    severity: str
    word: str
    title: str
    text: str
    advice: str
    measured: str
    threshold: str
    places: tuple[Shown, ...]
    when: str
    gain: str
    gain_note: str
    part: str
    link: str
    link_text: str
    cause: str = ""
    causes: tuple[Related, ...] = ()
    symptoms: tuple[Related, ...] = ()
    evidence: tuple[str, ...] = ()
    objections: tuple[str, ...] = ()
    possible_causes: str = ""
    spot: Spot | None = None

    @property
    def place(self) -> str:
        """Return node and device in one line, long names shortened."""
        return " · ".join(shown.text for shown in self.places)


def apart(cards: Sequence[Card]) -> list[Card]:
    """Leave an anchor to the first of several findings with the same one."""
    seen: set[str] = set()
    kept = []
    for card in cards:
        kept.append(replace(card, anchor="") if card.anchor in seen else card)
        seen.add(card.anchor)
    return kept


def cards_of(report: Report) -> list[Card]:
    """Return one card for each cause, the most important first, with its symptoms below it.

    If several causes have one id, their symptoms stand below the first, the most important one.
    """
    listed = [(item, card_of(item.rule, item.finding, report)) for item in report.findings]
    present = {item.finding.id for item in report.findings}
    cards = [card for item, card in listed if present.isdisjoint(item.finding.symptom_of)]
    below: dict[str, list[Related]] = {card.id: [] for card in cards}
    for item, card in listed:
        for cause_id in below.keys() & item.finding.symptom_of:
            below[cause_id].append(Related(title=card.title, id=card.id, link=f"#{card.anchor}"))
    return [replace(card, symptoms=tuple(below.pop(card.id, ()))) for card in cards]


def card_of(rule_id: str, finding: Finding, report: Report) -> Card:
    """Return the card of a finding."""
    where = finding.where
    gain, gain_note = _gain(finding)
    return Card(
        id=finding.id,
        rule_id=rule_id,
        anchor=_anchor(rule_id, finding),
        severity=finding.severity.value,
        word=_WORDS[finding.severity],
        title=prose(shorten(finding.title, most=LONGEST_TITLE).text),
        text=prose(finding.text),
        advice=prose(finding.advice),
        measured=""
        if finding.measured is None
        else prose(format_value(finding.measured, finding.unit)),
        threshold=_format_threshold(finding),
        places=tuple(shorten(part) for part in (where.node, where.device) if part),
        when=prose(_when(rule_id, where, report)),
        gain=gain,
        gain_note=gain_note,
        part=_part(finding),
        link=link_of(rule_id, finding, report),
        link_text=section_with(rule_id, finding, report).title,
        cause=_words(finding.cause),
        causes=tuple(_causes(finding, report)),
        evidence=tuple(prose(item.text) for item in finding.evidence if not item.is_against),
        objections=tuple(prose(item.text) for item in finding.evidence if item.is_against),
        possible_causes=join_names([_words(cause) for cause in finding.possible_causes]),
        spot=None if report.timeline_data is None else spot_of(where, report.timeline_data),
    )


def _anchor(rule_id: str, finding: Finding) -> str:
    return anchor_of(rule_id, f"finding-{finding.id}")


def _causes(finding: Finding, report: Report) -> Iterator[Related]:
    """Yield the findings that explain one; of several with one id the first is linked."""
    found = {item.finding.id: item for item in reversed(report.findings)}
    for item in (found[cause_id] for cause_id in finding.symptom_of if cause_id in found):
        link = f"#{_anchor(item.rule, item.finding)}"
        yield Related(title=prose(item.finding.title), id=item.finding.id, link=link)


def _when(rule_id: str, where: Where, report: Report) -> str:
    """Write when it was; where it is the longest of several intervals, also their number."""
    is_unix = report.job.clock == "unix"
    is_fine = 0 < (where.end_s or 0.0) - (where.start_s or 0.0) < 1
    said = format_interval(where.start_s, where.end_s, is_unix=is_unix)
    starts_s, n_rows = _alike(rule_id, where, report)
    if len(starts_s) < 2:
        return said
    first = format_interval(min(starts_s), None, is_unix=is_unix, is_fine=is_fine)
    counted = f"{len(starts_s)} intervals, the first {first}; " if n_rows <= _MOST_COUNTED else ""
    return f"{counted}the longest {said}"


def _alike(rule_id: str, where: Where, report: Report) -> tuple[list[float], int]:
    """Return the starts of all spans like the one of a finding, if it is the longest of them."""
    result = report.results.get(RuleId(rule_id))
    begin_s, end_s = where.start_s or 0.0, where.end_s or 0.0
    for item in result.exhibits if result else ():
        if item.kind is not ExhibitKind.SPANS or not is_drawn(item):
            continue
        values = {column.name: column.values for column in item.columns}
        times_s = (numbers(values["start_s"]), numbers(values["end_s"]))
        spans = [
            (f"{lane} {_COUNTS.sub('', str(name))}", first or 0.0, last or 0.0)
            for lane, name, first, last in zip(
                values["lane"], values["name"], *times_s, strict=True
            )
        ]
        same_kinds = {
            kind
            for kind, first, last in spans
            if max(abs(first - begin_s), abs(last - end_s)) < _SAME_S
        }
        alike = [(first, last) for kind, first, last in spans if kind in same_kinds]
        if alike and max(last - first for first, last in alike) <= end_s - begin_s + _SAME_S:
            return [first for first, _ in alike], len(spans)
    return [], 0


def _format_threshold(finding: Finding) -> str:
    """Write the threshold; a unit of several words follows only the measured value."""
    if finding.threshold is None:
        return ""
    unit, _, words = finding.unit.partition(" ")
    if finding.measured is not None and words:
        unit = unit if unit == "%" else ""
    return prose(format_value(finding.threshold, unit))


def _gain(finding: Finding) -> tuple[str, str]:
    estimate = finding.estimate
    if estimate is None or estimate.share_ratio <= 0 or finding.symptom_of:
        return "", ""  # the gain of a symptom is part of that of its cause
    share = format_pct(100 * estimate.share_ratio)
    if (estimate.speedup_at_most or 1.0) < LEAST_WRITTEN_GAIN:
        return f"{share} of the time", ""
    return f"up to {estimate.speedup_at_most:.2f}× faster", f"saves at most {share} of the time"


def _part(finding: Finding) -> str:
    """Return the share that larger causes leave for it, where that is less than its bound."""
    share, part = finding.estimate, finding.attributed_ratio
    if share is None or part is None or part >= share.share_ratio:
        return ""
    return f"{format_pct(100 * part)} of the time; the rest belongs to larger causes"


def _words(cause: str) -> str:
    """Return a word for a cause as people write it; nothing for a mere observation."""
    return (
        ""
        if cause == Cause.OBSERVATION
        else _SHORT.sub(lambda found: _LONG[found[0]], cause.replace("_", " "))
    )
