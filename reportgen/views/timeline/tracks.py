"""Content of the timeline: panels of curves, lanes of phases and of detections."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from statistics import fmean

from reportgen.report import Report
from reportgen.results import Exhibit, ExhibitKind, RuleId, RuleResult, TimelineTrack, Track
from reportgen.views.charts import band
from reportgen.views.charts.arrays import numbers
from reportgen.views.charts.layout import ChartContext, UnitScale
from reportgen.views.color_roles import PLAIN, hue_of
from reportgen.views.exhibits import anchor_of
from reportgen.views.outline import exhibits_of, is_drawn, title_of
from reportgen.views.values import format_value, shorten


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelinePanel:
    """One exhibit's curves.

    ``anchor`` is where links to the exhibit lead, empty where its section shows it too; ``reach``
    are lowest, mean and highest value, in the unit of ``scale``.
    """

    title: str
    anchor: str
    rule_id: RuleId
    exhibit: Exhibit
    found: band.BandInfo
    scale: UnitScale
    reach: tuple[float, float, float]


def panels_of(report: Report, *, is_unix: bool) -> tuple[TimelinePanel, ...]:
    """Return the panels of which the report has curves, from top to bottom."""
    panels = []
    for rule_id, item, track in tracks_of(report, Track.PANEL):
        found = band.info(item, ChartContext(rule_id=rule_id, is_unix=is_unix))
        reach = _reach([line for line in found.bands if line.panel == 0])
        if reach is None:
            continue
        panels.append(
            TimelinePanel(
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
        and _can_be(item, kind)
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
        and (track.kind is Track.STEPS or (has_timeline and _can_be(item, track.kind)))
    }


def _can_be(item: Exhibit, kind: Track) -> bool:
    return is_drawn(item) and (kind is not Track.PANEL or item.kind is ExhibitKind.BAND)


def _reach(lines: Sequence[band.Band]) -> tuple[float, float, float] | None:
    lows, means, highs = (
        [value for curve in curves for value in curve if value is not None]
        for curves in zip(*((line.low, line.mean, line.high) for line in lines), strict=True)
    )
    return (min(lows), fmean(means), max(highs)) if lows and means and highs else None


MOST_SPANS = 400
"""The longest spans of a lane are drawn; the exhibit has all."""
MOST_LANES = 10
_LONGEST_WORDS = 120
PHASES, TRAINING_LOOP = "Phases", "training loop"


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """From when to when (seconds of the job's clock), and what it says in words."""

    start_s: float
    end_s: float
    words: str
    hue: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryLane:
    """One line of intervals; ``n_spans`` of them there are, the longest are kept."""

    name: str
    n_spans: int
    spans: tuple[Span, ...]


def lanes_of(report: Report) -> tuple[SummaryLane, ...]:
    """Return the phases, the steps, then what each rule detected."""
    found = [lane for lane in (_phases(report), _steps(report), *_detected(report)) if lane.spans]
    return tuple(found[:MOST_LANES])


def seconds_of(text: str | None) -> float | None:
    """Return an instant of the summary as seconds of the job's clock; ``None`` if it is none."""
    try:
        return datetime.fromisoformat(text).timestamp() if text else None
    except (ValueError, OverflowError):
        return None


def _phases(report: Report) -> SummaryLane:
    summary = report.summary
    loop = (summary.training_loop_start, summary.training_loop_end)
    edges = [seconds_of(text) for text in (summary.start_time, *loop, summary.end_time)]
    names = (("initialization", "start"), (TRAINING_LOOP, "gpu"), ("finalization", "other"))
    spans = [
        Span(start_s=start, end_s=end, words=name, hue=hue)
        for (name, hue), start, end in zip(names, edges[:-1], edges[1:], strict=True)
        if start is not None and end is not None and end > start
    ]
    return SummaryLane(name=PHASES, n_spans=len(spans), spans=tuple(spans))


@dataclass(frozen=True, slots=True, kw_only=True)
class StepMark:
    """When a step began, in seconds of the job's clock, and until when steps follow it."""

    start_s: float
    step: int
    end_s: float


def step_marks(report: Report) -> list[StepMark]:
    """Return some steps in order of time; those without a number are left out.

    In reports that do not say until when steps follow a mark they do so until the next one.
    """
    found = next((item for _, item, _ in tracks_of(report, Track.STEPS)), None)
    if found is None:
        return []
    starts, steps, *ends = (numbers(column.values) for column in found.columns)
    pairs = zip(starts, steps, ends[0] if ends else [*starts[1:], None], strict=True)
    marks = [
        StepMark(start_s=start_s, step=int(step), end_s=start_s if end_s is None else end_s)
        for start_s, step, end_s in pairs
        if start_s is not None and step is not None and step >= 0
    ]
    return sorted(marks, key=lambda mark: (mark.start_s, mark.step))


def _steps(report: Report) -> SummaryLane:
    spans = [
        Span(start_s=mark.start_s, end_s=mark.start_s, words=f"step {mark.step:,}", hue="step")
        for mark in step_marks(report)
    ]
    return SummaryLane(name="Steps", n_spans=len(spans), spans=tuple(spans))


def _detected(report: Report) -> Iterator[SummaryLane]:
    """Yield a lane for all spans; of exhibits that are the same lane of a rule, the first."""
    for rule_id, result in report.results.items():
        seen: set[str] = set()
        drawn = list(filter(is_drawn, result.exhibits))
        drawn.sort(key=lambda item: item.place.timeline.order if item.place.timeline else 0)
        for item in drawn:
            track = item.place.timeline
            is_lane = track is not None and track.kind is Track.LANE
            if not is_lane and item.kind is not ExhibitKind.SPANS:
                continue
            says_when = item.title.startswith("When ") or not item.title.strip()
            name = title_of(rule_id, report) if says_when else item.title
            if track is not None and is_lane:
                name = track.title or name
                if name in seen:
                    continue
                seen.add(name)
            role = (track.role if track is not None else None) or item.role
            yield _lane(name, item, hue=role or hue_of(name) or hue_of(item.title) or PLAIN)


def _lane(name: str, exhibit: Exhibit, *, hue: str) -> SummaryLane:
    spans = [
        Span(
            start_s=start,
            end_s=max(start, end),
            words=shorten(said, most=_LONGEST_WORDS).text,
            hue=hue,
        )
        for said, start, end in _intervals_of(exhibit)
        if start is not None and end is not None
    ]
    longest = sorted(spans, key=lambda span: span.start_s - span.end_s)[:MOST_SPANS]
    return SummaryLane(
        name=shorten(name, most=40).text,
        n_spans=len(spans),
        spans=tuple(sorted(longest, key=lambda span: (span.start_s, span.end_s))),
    )


def _intervals_of(exhibit: Exhibit) -> Iterator[tuple[str, float | None, float | None]]:
    columns = {column.name: column.values for column in exhibit.columns}
    if exhibit.kind is ExhibitKind.SPANS:
        names, ends = (columns["lane"], columns["name"]), numbers(columns["end_s"])
        rows = zip(*names, numbers(columns["start_s"]), ends, strict=True)
        yield from ((f"{lane}: {name}", start, end) for lane, name, start, end in rows)
    elif {"worker", "step", "start_s", "duration_s"} <= set(columns):
        starts, lengths = numbers(columns["start_s"]), numbers(columns["duration_s"])
        steps = zip(columns["worker"], columns["step"], starts, lengths, strict=True)
        for worker, step, start, length in steps:
            end = None if start is None or length is None else start + length
            yield f"{worker}: step {step}, {format_value(length, 's')}", start, end
