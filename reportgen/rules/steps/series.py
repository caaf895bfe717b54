"""The steps of one worker and phase: statistics, outliers, and what is needed to draw them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reportgen.facts.breakdown import Breakdown, breakdown_of
from reportgen.facts.distributions import Tally, tally_values
from reportgen.facts.groups import rows_by_code
from reportgen.facts.inside import FunctionSums, function_sums
from reportgen.facts.intervals import overlaps_any
from reportgen.facts.resample import TimeBuckets, bucket_by_time
from reportgen.facts.slow import MEDIAN_FACTOR, deviation_threshold_ns, outliers_by_minute
from reportgen.facts.steps import PREFERRED_PHASES, phase_word
from reportgen.profile import SpanTable
from reportgen.profile.spans import empty_spans
from reportgen.rules.steps.slowdown import Slowdown, slowdown_of
from reportgen.units import NS_PER_S

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

AWS_BINS = 100
MOST_MEDIAN_OUTLIERS = 2_000
MOST_MARKS = 400
"""Steps whose numbers a time axis can be marked with. Source: ours."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepStats:
    """Durations in seconds; percentiles by linear interpolation, outliers included."""

    mean_s: float
    max_s: float
    p99_s: float
    p95_s: float
    p50_s: float
    min_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """What the last judgement of a series says.

    Attributes:
        threshold_s: a step above it is an outlier.
        stddev_s: population standard deviation.
        bin_count: (100,) int64 histogram of the other steps.
        bin_edge_s: (101,) float64.
        minute_ns, minute_outliers: (m,) int64: when the series was judged, and how many
            outliers there were by then.
    """

    threshold_s: float
    stddev_s: float
    bin_count: Integers
    bin_edge_s: Floats
    minute_ns: Integers
    minute_outliers: Integers


@dataclass(frozen=True, slots=True, kw_only=True)
class SlowSteps:
    """Some steps, (n,) int64 each, in order of their numbers or of their durations."""

    step: Integers
    start_ns: Integers
    duration_ns: Integers


@dataclass(frozen=True, slots=True, kw_only=True)
class StepSeries:
    """All steps of one worker and phase.

    Attributes:
        worker, phase: ``algo-1-27``, ``Step:ModeKeys.TRAIN``.
        n_steps: how many.
        reach_ns: from the start of the first to the end of the last.
        stats: of all of them.
        judgement: ``None`` when there are too few steps.
        slowdown: how they grow slower, ``None`` where they do not.
        outliers: steps above the threshold, ascending by number; empty without a judgement.
        above_median: the longest of the steps above twice the median, longest first.
        n_above_median: how many there are.
        normal: durations of the steps that are no outliers.
        buckets: durations in seconds over time.
        marks: every so many steps in order of time, at most MOST_MARKS of them.
        during_outliers: what the worker did during its outliers, each event once.
        functions, other_functions: what overlaps its outliers, and its other steps; empty like
            ``during_outliers`` with few outliers.
    """

    worker: str
    phase: str
    n_steps: int
    reach_ns: int
    stats: StepStats
    judgement: Judgement | None
    slowdown: Slowdown | None
    outliers: SlowSteps
    above_median: SlowSteps
    n_above_median: int
    normal: Tally
    buckets: TimeBuckets
    marks: SlowSteps
    during_outliers: Breakdown
    functions: FunctionSums
    other_functions: FunctionSums


def preferred(series: list[StepSeries]) -> StepSeries:
    """Return the series AWS's one entry per worker is about: TRAIN, GLOBAL, or most steps."""
    for word in PREFERRED_PHASES:
        for item in series:
            if phase_word(item.phase) == word:
                return item
    return max(series, key=lambda item: (item.n_steps, item.phase))


def series_of(
    spans: SpanTable, *, mode: str | None, stddev: float, min_steps: int, n_outliers: int
) -> Iterator[StepSeries]:
    """Yield the step series of one node, by worker, then by phase.

    Args:
        spans: all events of the node.
        mode: only steps of this phase (``TRAIN``), ``None`` for all.
        stddev: factor of the standard deviation.
        min_steps: a series is judged once it has more than so many steps.
        n_outliers: a series with more outliers has its slow steps broken down.
    """
    steps = spans.steps()
    codes = steps.worker.astype(np.int64) * max(len(steps.phases), 1) + steps.phase
    for _, rows in rows_by_code(codes):
        its = steps.where(rows)
        worker, phase = its.workers[its.worker[0]], its.phases[its.phase[0]]
        if mode is not None and phase_word(phase) != phase_word(mode):
            continue
        judgement = _judge(its, stddev=stddev, min_steps=min_steps)
        is_outlier = _outlier_mask(its, stddev if judgement else None)
        outliers = _by_number(its.where(is_outlier))
        is_many = outliers.step.size > n_outliers
        slow, n_slow = _above_median(its)
        own = spans.where(spans.worker == its.worker[0]) if is_many else empty_spans()
        in_outliers = _during(own, its.where(is_outlier))
        in_others = _during(own, its.where(~is_outlier))
        yield StepSeries(
            worker=worker,
            phase=phase,
            n_steps=its.n_spans,
            reach_ns=int(its.end_ns.max() - its.start_ns.min()),
            stats=_stats(its.duration_ns),
            judgement=judgement,
            slowdown=slowdown_of(its.start_ns, its.duration_ns, min_steps=min_steps),
            outliers=outliers,
            above_median=slow,
            n_above_median=n_slow,
            normal=tally_values(its.duration_ns[~is_outlier]),
            buckets=_over_time(its),
            marks=_marks(its),
            during_outliers=breakdown_of(own.where(in_outliers)),
            functions=function_sums(own, in_outliers),
            other_functions=function_sums(own, in_others),
        )


def _stats(duration_ns: Integers) -> StepStats:
    duration_s = np.sort(duration_ns) / NS_PER_S
    p99, p95, p50 = (float(value) for value in np.percentile(duration_s, (99, 95, 50)))
    return StepStats(
        mean_s=float(duration_s.mean()),
        max_s=float(duration_s.max()),
        p99_s=p99,
        p95_s=p95,
        p50_s=p50,
        min_s=float(duration_s.min()),
    )


def _judge(steps: SpanTable, *, stddev: float, min_steps: int) -> Judgement | None:
    minute_ns, minute_outliers = outliers_by_minute(
        steps.end_ns, steps.duration_ns, stddev=stddev, min_steps=min_steps
    )
    if minute_ns.size == 0:
        return None
    normal_s = steps.duration_ns[~_outlier_mask(steps, stddev)] / NS_PER_S
    bin_count, bin_edge_s = np.histogram(normal_s, bins=AWS_BINS)
    return Judgement(
        threshold_s=deviation_threshold_ns(steps.duration_ns, stddev) / NS_PER_S,
        stddev_s=float(np.sort(steps.duration_ns).astype(np.float64).std()) / NS_PER_S,
        bin_count=bin_count.astype(np.int64),
        bin_edge_s=bin_edge_s,
        minute_ns=minute_ns,
        minute_outliers=minute_outliers,
    )


def _outlier_mask(steps: SpanTable, stddev: float | None) -> NDArray[np.bool_]:
    duration_ns = steps.duration_ns
    if stddev is None:
        return np.zeros(duration_ns.shape, dtype=bool)
    return np.asarray(duration_ns > deviation_threshold_ns(duration_ns, stddev))


def _by_number(steps: SpanTable) -> SlowSteps:
    order = np.lexsort((steps.duration_ns, steps.start_ns, steps.step))
    return SlowSteps(
        step=steps.step[order],
        start_ns=steps.start_ns[order],
        duration_ns=steps.duration_ns[order],
    )


def _above_median(steps: SpanTable) -> tuple[SlowSteps, int]:
    duration_ns = steps.duration_ns
    rows = np.flatnonzero(duration_ns > MEDIAN_FACTOR * np.median(duration_ns))
    order = np.lexsort((steps.step[rows], steps.start_ns[rows], -duration_ns[rows]))
    longest = rows[order][:MOST_MEDIAN_OUTLIERS]
    slow = SlowSteps(
        step=steps.step[longest],
        start_ns=steps.start_ns[longest],
        duration_ns=duration_ns[longest],
    )
    return slow, int(rows.size)


def _marks(steps: SpanTable) -> SlowSteps:
    """Return every so many steps in order of time, the first and the last of them always."""
    order = np.lexsort((steps.step, steps.start_ns))
    stride = -(-order.size // (MOST_MARKS - 1))
    kept = np.unique(np.append(order[::stride], order[-1:]))
    kept = kept[np.lexsort((steps.step[kept], steps.start_ns[kept]))]
    return SlowSteps(
        step=steps.step[kept],
        start_ns=steps.start_ns[kept],
        duration_ns=steps.duration_ns[kept],
    )


def _over_time(steps: SpanTable) -> TimeBuckets:
    order = np.lexsort((steps.duration_ns, steps.start_ns))
    start_ns = steps.start_ns[order]
    usual_ns = int(np.median(np.diff(start_ns))) if start_ns.size > 1 else 1
    return bucket_by_time(
        start_ns, steps.duration_ns[order] / NS_PER_S, least_width_ns=2 * max(usual_ns, 1)
    )


def _during(spans: SpanTable, steps: SpanTable) -> NDArray[np.bool_]:
    """Return which events overlap one of the steps."""
    return overlaps_any(spans.start_ns, spans.end_ns, steps.start_ns, steps.end_ns)
