"""Lanes: what the job was doing when, and what checks found when, one line each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from reportgen.report import Report
from reportgen.results import Exhibit, ExhibitKind, RuleId
from reportgen.views.charts.arrays import numbers
from reportgen.views.meaning import PLAIN, hue_of
from reportgen.views.outline import title_of
from reportgen.views.shapes import has_shape
from reportgen.views.values import say, shorten

MOST_SPANS = 400
"""Of a lane the longest are drawn; the exhibit has all."""
MOST_LANES = 10
_LONGEST_WORDS = 120
_STEPS = RuleId("StepOutlier")
PHASES, TRAINING_LOOP = "Phases", "training loop"
STEP_NUMBERS = "step_numbers"
_KNOWN: Mapping[str, tuple[str, str]] = {
    "GPUTimeBudget": ("Idle GPUs", "idle"),
    "StepOutlier": ("Slow steps", "warning"),
    "GPUMemoryIncrease": ("Jumps of GPU memory", "gpu-memory"),
}
"""What the intervals of a rule are, where its title does not tell, and their colour."""
_SLOW_STEPS = ("outliers", "median_outliers")


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """From when to when (seconds of the job's clock), and what it says in words."""

    start_s: float
    end_s: float
    words: str
    hue: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Lane:
    """One line of intervals; ``n_spans`` of them there are, the longest are kept."""

    name: str
    n_spans: int
    spans: tuple[Span, ...]


def lanes_of(report: Report) -> tuple[Lane, ...]:
    """Return the phases, the steps, then what each rule detected."""
    found = [lane for lane in (_phases(report), _steps(report), *_detected(report)) if lane.spans]
    return tuple(found[:MOST_LANES])


def seconds_of(text: str | None) -> float | None:
    """Return an instant of the summary as seconds of the job's clock."""
    return datetime.fromisoformat(text).timestamp() if text else None


def _phases(report: Report) -> Lane:
    summary = report.summary
    edges = [
        seconds_of(text)
        for text in (
            summary.start_time,
            summary.training_loop_start,
            summary.training_loop_end,
            summary.end_time,
        )
    ]
    names = (("initialization", "start"), (TRAINING_LOOP, "gpu"), ("finalization", "other"))
    spans = [
        Span(start_s=start, end_s=end, words=name, hue=hue)
        for (name, hue), start, end in zip(names, edges[:-1], edges[1:], strict=True)
        if start is not None and end is not None and end > start
    ]
    return Lane(name=PHASES, n_spans=len(spans), spans=tuple(spans))


def step_starts(report: Report) -> list[tuple[float, int]]:
    """Return when which step began, in order of time; steps without a number are left out."""
    result = report.results.get(_STEPS)
    found = result.exhibit(STEP_NUMBERS) if result else None
    if found is None or not has_shape(found):
        return []
    pairs = zip(*(numbers(column.values) for column in found.columns[:2]), strict=True)
    return sorted(
        (time_s, int(step))
        for time_s, step in pairs
        if time_s is not None and step is not None and step >= 0
    )


def _steps(report: Report) -> Lane:
    spans = [
        Span(start_s=time_s, end_s=time_s, words=f"step {step:,}", hue="step")
        for time_s, step in step_starts(report)
    ]
    return Lane(name="Steps", n_spans=len(spans), spans=tuple(spans))


def _detected(report: Report) -> Iterator[Lane]:
    for rule_id, result in report.results.items():
        exhibits = [
            item
            for item in result.exhibits
            if item.kind is ExhibitKind.SPANS and item.n_rows and has_shape(item)
        ]
        for item in exhibits:
            name, hue = _KNOWN.get(rule_id, ("", ""))
            if not name:
                says_when = item.title.startswith("When ") or not item.title.strip()
                name = title_of(rule_id, report) if says_when else item.title
            yield _lane(name, item, hue=hue or hue_of(name) or hue_of(item.title) or PLAIN)
        if rule_id == _STEPS and not exhibits:
            slow = next((found for name in _SLOW_STEPS if (found := result.exhibit(name))), None)
            if slow is not None and slow.n_rows:
                yield _slow_steps(slow)


def _lane(name: str, exhibit: Exhibit, *, hue: str) -> Lane:
    columns = {column.name: column.values for column in exhibit.columns}
    rows = zip(
        columns["lane"],
        columns["name"],
        numbers(columns["start_s"]),
        numbers(columns["end_s"]),
        strict=True,
    )
    return _kept(
        name,
        [
            Span(start_s=start, end_s=max(start, end), words=_words(f"{lane}: {said}"), hue=hue)
            for lane, said, start, end in rows
            if start is not None and end is not None
        ],
    )


def _slow_steps(exhibit: Exhibit) -> Lane:
    columns = {column.name: column.values for column in exhibit.columns}
    if not {"worker", "step", "start_s", "duration_s"} <= set(columns):
        return Lane(name="Slow steps", n_spans=0, spans=())
    rows = zip(
        columns["worker"],
        columns["step"],
        numbers(columns["start_s"]),
        numbers(columns["duration_s"]),
        strict=True,
    )
    return _kept(
        "Slow steps",
        [
            Span(
                start_s=start,
                end_s=start + duration,
                words=_words(f"{worker}: step {step}, {say(duration, 's')}"),
                hue="warning",
            )
            for worker, step, start, duration in rows
            if start is not None and duration is not None
        ],
    )


def _kept(name: str, spans: Sequence[Span]) -> Lane:
    longest = sorted(spans, key=lambda span: span.start_s - span.end_s)[:MOST_SPANS]
    return Lane(
        name=shorten(name, most=40).text,
        n_spans=len(spans),
        spans=tuple(sorted(longest, key=lambda span: (span.start_s, span.end_s))),
    )


def _words(text: str) -> str:
    return shorten(text, most=_LONGEST_WORDS).text
