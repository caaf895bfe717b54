"""Panels: the curves of the job, one above the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from reportgen.report import Report
from reportgen.results import Exhibit, ExhibitKind, RuleId, RuleResult, TimelineTrack, Track
from reportgen.views.charts import band
from reportgen.views.charts.layout import ChartContext, UnitScale
from reportgen.views.exhibits import anchor_of
from reportgen.views.outline import exhibits_of, is_drawn


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """One exhibit's curves.

    Attributes:
        anchor: where links to the exhibit lead; empty where its section shows it too.
        found: its curves, all of the first unit.
        reach: lowest, mean and highest value, in the unit of ``scale``.
    """

    title: str
    anchor: str
    rule_id: RuleId
    exhibit: Exhibit
    found: band.BandInfo
    scale: UnitScale
    reach: tuple[float, float, float]


def panels_of(report: Report, *, is_unix: bool) -> tuple[Panel, ...]:
    """Return the panels of which the report has curves, from top to bottom."""
    panels = []
    for rule_id, item, track in tracks_of(report, Track.PANEL):
        found = band.info(item, ChartContext(rule_id=rule_id, is_unix=is_unix))
        reach = _reach([line for line in found.bands if line.panel == 0])
        if reach is None:
            continue
        panels.append(
            Panel(
                title=track.title or item.title,
                anchor=anchor_of(rule_id, item.id) if track.is_only_here else "",
                rule_id=rule_id,
                exhibit=item,
                found=found,
                scale=found.panels[0],
                reach=reach,
            )
        )
    return tuple(panels)


def tracks_of(report: Report, kind: Track) -> list[tuple[RuleId, Exhibit, TimelineTrack]]:
    """Return the exhibits that are declared as one part of the timeline, in their order."""
    found = [
        (rule_id, item, item.place.timeline)
        for rule_id, item in exhibits_of(report)
        if item.place.timeline is not None
        and item.place.timeline.kind is kind
        and (is_drawn(item) if kind is not Track.PANEL else _is_curve(item))
    ]
    return sorted(found, key=lambda one: one[2].order)


def drawn_ids(result: RuleResult, report: Report) -> set[str]:
    """Return the exhibits of a result that the timeline shows, and no section."""
    has_timeline = bool(tracks_of(report, Track.PANEL))
    return {
        item.id
        for item in result.exhibits
        if (track := item.place.timeline) is not None
        and track.is_only_here
        and (track.kind is Track.STEPS or (has_timeline and _stands_there(item, track)))
    }


def _stands_there(item: Exhibit, track: TimelineTrack) -> bool:
    return _is_curve(item) if track.kind is Track.PANEL else is_drawn(item)


def _is_curve(item: Exhibit) -> bool:
    return item.kind is ExhibitKind.BAND and is_drawn(item)


def _reach(lines: Sequence[band.Band]) -> tuple[float, float, float] | None:
    lows = [value for line in lines for value in line.low if value is not None]
    means = [value for line in lines for value in line.mean if value is not None]
    highs = [value for line in lines for value in line.high if value is not None]
    return (min(lows), fmean(means), max(highs)) if lows and means and highs else None
