"""StepOutlier: steps that take much longer than the others of their worker and phase."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from reportgen.facts.breakdown import Breakdown
from reportgen.facts.groups import Rows
from reportgen.facts.parts import merge
from reportgen.facts.steps import Loop, loop_of, phase_word
from reportgen.profile import NodeProfile
from reportgen.results import (
    Counters,
    Details,
    JsonValue,
    Place,
    Reason,
    ReasonCode,
    Role,
    RuleId,
    RuleResult,
    Section,
    TimelineTrack,
    Track,
)
from reportgen.rules.aws.breakdown import MemberOrder, breakdown_details
from reportgen.rules.base import About, Need, Presentation, Rule, param
from reportgen.rules.kit import reason_without_steps
from reportgen.rules.saying.verdict import conclude
from reportgen.rules.saying.wording import say_times
from reportgen.rules.steps import words
from reportgen.rules.steps.series import StepSeries, preferred, series_of
from reportgen.rules.steps.throughput import main_series, throughput_metrics
from reportgen.units import NS_PER_MINUTE, say_count

ID = RuleId("StepOutlier")
MODES = ("TRAIN", "EVAL", "PREDICT", "GLOBAL")
STDDEV_DIGITS = 2
"""AWS rounds ``stddev`` in its JSON; the exhibits have all digits. Source: oracle §11."""

ABOUT = About(
    checks="Whether some steps take much longer than the usual step of their worker and phase.",
    reading=(
        "A step is an outlier when it is longer than the mean plus a few standard deviations of "
        "all steps of its worker and phase; the rule triggers when there are more of them than "
        "allowed. A second table lists steps of more than twice the median."
    ),
    advice=(
        "See what happens at those steps: callbacks, checkpoints, logging, validation, a slow "
        "read; run it less often or in a thread of its own."
    ),
    section=Section(id="step-durations", title="Step durations", order=140),
    has_counters=True,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Params:
    """Parameters in AWS's order, then ours."""

    stddev: float = param(
        3,
        unit="standard deviations",
        meaning="a step longer than the mean plus so many deviations is an outlier",
        source="AWS developer guide; observed, rules-spec §0.5",
        minimum=0,
    )
    mode: str | None = param(
        None,
        unit="",
        meaning="only steps of this phase; None for all, each judged apart",
        source="AWS developer guide; observed, rules-spec §0.5",
        choices=(*MODES, *(f"ModeKeys.{mode}" for mode in MODES)),
        may_be_none=True,
    )
    n_outliers: int = param(
        10,
        unit="steps",
        meaning="triggers with more outliers than this",
        source="AWS developer guide; observed, rules-spec §0.5",
        minimum=0,
        is_whole=True,
    )
    min_steps: int = param(
        100,
        unit="steps",
        meaning="a worker's phase is judged once it has more steps than this",
        source="oracle §7; a constant of AWS's rule",
        minimum=1,
        is_whole=True,
        is_printed=False,
    )
    batch_size: int | None = param(
        None,
        unit="samples",
        meaning="samples of one step of one worker, from which samples per second follow",
        source="ours; features 001-02",
        minimum=1,
        is_whole=True,
        may_be_none=True,
        is_printed=False,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """One node: its loop, its step series, and the minutes in which one of their steps ended."""

    loop: Loop
    series: tuple[StepSeries, ...]
    minute_ns: Rows


def measure(part: NodeProfile, params: Params) -> Measurement:
    """Measure every worker and phase of a node."""
    series = tuple(
        series_of(
            part.spans,
            mode=params.mode,
            stddev=params.stddev,
            min_steps=params.min_steps,
            n_outliers=params.n_outliers,
        )
    )
    ends_ns = part.spans.steps().end_ns
    return Measurement(
        loop=loop_of(part.spans),
        series=series,
        minute_ns=np.unique(ends_ns // NS_PER_MINUTE) * NS_PER_MINUTE,
    )


def judge(measurements: Sequence[Measurement], params: Params) -> RuleResult:
    """Count triggers of all workers and phases and say what the slow steps have in common."""
    loop = merge([Loop(), *(item.loop for item in measurements)])
    series = tuple(item for node in measurements for item in node.series)
    minutes = [node.minute_ns for node in measurements]
    minute_ns = np.unique(np.concatenate(minutes)) if minutes else np.empty(0, dtype=np.int64)
    counters = Counters(
        rule_triggered=sum(_triggers(item, minute_ns, params.n_outliers) for item in series),
        violations=sum(item.outliers.step.size for item in _many(series, params)),
        datapoints=loop.n_steps,
    )
    details: Details = {"step_details": _step_details(series)}
    if counters.rule_triggered:
        during = merge([Breakdown(), *(item.during_outliers for item in series)])
        details |= breakdown_details(during, with_others=False, order=MemberOrder.OVERALL)
    result = conclude(
        ID,
        params=params,
        reason=_reason(loop, series, params),
        counters=counters,
        details=details,
        metrics=_metrics(series, params.batch_size),
        presentation=present(counters, details, params, words.Context(loop=loop, series=series)),
    )
    return replace(result, rule_parameters=describe_params(params))


def present(
    counters: Counters, details: Details, params: Params, context: words.Context | None
) -> Presentation:
    """Say which steps are slow; ``context`` holds the series of all workers and phases."""
    limits = words.Limits(stddev=params.stddev, n_outliers=params.n_outliers)
    if context is None:
        return words.present_details(details, limits)
    return words.present_series(counters, context, limits, batch_size=params.batch_size)


def describe_params(params: Params) -> str:
    """Return ``RuleParameters``; AWS prints ``stddev`` twice, first under another name."""
    return (
        f"threshold:{params.stddev}\nmode:{params.mode}\n"
        f"n_outliers:{params.n_outliers}\nstddev:{params.stddev}"
    )


def _many(series: Sequence[StepSeries], params: Params) -> list[StepSeries]:
    return [item for item in series if item.outliers.step.size > params.n_outliers]


def _triggers(series: StepSeries, minute_ns: Rows, n_outliers: int) -> int:
    """Return in how many minutes with new steps of the job a series has too many outliers.

    A series that got nothing new in a minute is judged with what it had. Source: oracle §11.
    """
    if series.judgement is None:
        return 0
    latest = np.searchsorted(series.judgement.minute_ns, minute_ns, side="right") - 1
    counts = series.judgement.minute_outliers[latest[latest >= 0]]
    return int(np.count_nonzero(counts > n_outliers))


def _step_details(series: Sequence[StepSeries]) -> dict[str, JsonValue]:
    by_worker: dict[str, list[StepSeries]] = {}
    for item in series:
        if item.judgement is not None:
            by_worker.setdefault(item.worker, []).append(item)
    return {worker: _entry(preferred(its)) for worker, its in by_worker.items()}


def _entry(series: StepSeries) -> dict[str, JsonValue]:
    judgement, stats = series.judgement, series.stats
    assert judgement is not None
    return {
        "step_stats": {
            "mean": stats.mean_s,
            "max": stats.max_s,
            "p99": stats.p99_s,
            "p95": stats.p95_s,
            "p50": stats.p50_s,
            "min": stats.min_s,
        },
        "number_of_outliers": int(series.outliers.step.size),
        "phase": series.phase,
        "stddev": round(judgement.stddev_s, STDDEV_DIGITS),
        "probs": judgement.bin_count.tolist(),
        "binedges": judgement.bin_edge_s.tolist(),
        "step_numbers": [str(step) for step in series.outliers.step.tolist()],
    }


def _reason(loop: Loop, series: Sequence[StepSeries], params: Params) -> Reason | None:
    missing = reason_without_steps(loop)
    if missing is not None or any(item.judgement for item in series):
        return missing
    if not series:
        return Reason(
            code=ReasonCode.NO_STEPS,
            text=f"Of {say_times(loop.n_steps, 'step')} none is of mode {params.mode}.",
        )
    longest = max(series, key=lambda item: item.n_steps)
    return Reason(
        code=ReasonCode.TOO_FEW_SAMPLES,
        text=(
            f"Too few steps to judge: {say_count(longest.n_steps)} "
            f"{phase_word(longest.phase)} steps of {longest.worker} at most, more than "
            f"{say_count(params.min_steps)} are needed."
        ),
    )


def _metrics(series: Sequence[StepSeries], batch_size: int | None) -> dict[str, float | int | None]:
    if not series:
        return {}
    main = main_series(series)
    return {
        "steps": sum(item.n_steps for item in main),
        "step_p50_s": float(np.median([item.stats.p50_s for item in main])),
        "step_p99_max_s": max(item.stats.p99_s for item in main),
        "outlier_steps": sum(int(item.outliers.step.size) for item in series),
        "steps_above_twice_median": sum(item.n_above_median for item in series),
        **throughput_metrics(series, batch_size),
    }


_SLOW_STEPS = TimelineTrack(kind=Track.LANE, title="Slow steps", role=Role.WARNING)

RULE = Rule(
    id=ID,
    title="Step durations",
    about=ABOUT,
    needs=(Need.FRAMEWORK,),
    params=Params,
    measure=measure,
    judge=judge,
    present=present,
    describe_params=describe_params,
    param_aliases={"threshold": "stddev"},
    folded=("intervals", "median_outliers", "step_series"),
    places={
        "step_series": Place(
            timeline=TimelineTrack(kind=Track.PANEL, title="Step duration", order=20)
        ),
        "step_numbers": Place(timeline=TimelineTrack(kind=Track.STEPS, is_only_here=True)),
        "intervals": Place(timeline=_SLOW_STEPS),
        "outliers": Place(timeline=_SLOW_STEPS, retells="StepPeriodicity/intervals"),
        "median_outliers": Place(timeline=_SLOW_STEPS),
    },
)
