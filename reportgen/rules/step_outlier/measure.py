"""What StepOutlier measures: the steps of each worker and phase, and which of them are slow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reportgen.facts.breakdown import Breakdown, breakdown_of
from reportgen.facts.distributions import Tally, tally_values
from reportgen.facts.inside import FunctionSums, function_sums
from reportgen.facts.intervals import overlaps_any
from reportgen.facts.resample import TimeBuckets, bucket_by_time
from reportgen.facts.slow import above_median, mean_and_deviation_ns, outliers_by_minute
from reportgen.facts.steps import Loop, PhaseSteps, loop_of, phase_word, steps_of
from reportgen.facts.trend import trend_of
from reportgen.profile import NO_STEP, NodeProfile, SpanTable
from reportgen.profile.spans import empty_spans
from reportgen.profile.system import device_order
from reportgen.results import PackedTable
from reportgen.results.packed import pack
from reportgen.rules.base import param
from reportgen.rules.kit import AWS_DEFAULTS, col, concat, derived, merge, merged, row
from reportgen.units import NS_PER_MINUTE, NS_PER_S

MODES = ("TRAIN", "EVAL", "PREDICT", "GLOBAL")
AWS_BINS = 100
MOST_MEDIAN_OUTLIERS = 2_000
MOST_MARKS = 400
"""More step numbers than this have no room on a time axis."""
N_BLOCKS = 12
"""Blocks of equally many steps whose medians are compared; the first is warm-up and left out."""
GROWTH_FROM_RATIO = 0.2
"""Steps at the end take longer than at the start by at least so much: less is everyday drift."""
AGREEMENT_FROM = 0.7
"""Kendall's tau of the medians from which they clearly rise."""
_AT_AN_END = 3
"""Blocks at the start, and at the end, whose medians stand for it."""

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True)
class Params:
    """Parameters in AWS's order, then ours."""

    stddev: float = param(
        3,
        unit="standard deviations",
        meaning="a step longer than the mean plus so many deviations is an outlier",
        source=AWS_DEFAULTS,
        minimum=0,
    )
    mode: str | None = param(
        None,
        unit="",
        meaning="only steps of this phase; None for all, each judged apart",
        source=AWS_DEFAULTS,
        choices=(*MODES, *(f"ModeKeys.{mode}" for mode in MODES)),
        may_be_none=True,
    )
    n_outliers: int = param(
        10,
        unit="steps",
        meaning="triggers with more outliers than this",
        source=AWS_DEFAULTS,
        minimum=0,
        is_whole=True,
    )
    min_steps: int = param(
        100,
        unit="steps",
        meaning="a worker's phase is judged once it has more steps than this",
        source="a constant of AWS's rule (docs/rules.md)",
        minimum=1,
        is_whole=True,
        is_printed=False,
    )
    batch_size: int | None = param(
        None,
        unit="samples",
        meaning="samples of one step of one worker, from which samples per second follow",
        source="no framework records it",
        minimum=1,
        is_whole=True,
        may_be_none=True,
        is_printed=False,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """What AWS's rule knows of a series.

    Attributes:
        bin_count, bin_edge_s: histogram of the steps that are no outliers.
        minute_ns, minute_outliers: (m,) int64: when the series was judged, and how many
            outliers there were by then.
    """

    bin_count: Integers
    bin_edge_s: Floats
    minute_ns: Integers
    minute_outliers: Integers


@dataclass(frozen=True, slots=True, kw_only=True)
class Slowdown:
    """Steps of one worker and phase that grow slower over the job.

    Attributes:
        first_ns, last_ns: usual duration at the start and at the end.
        extra_ratio: share of all time in these steps above the usual duration at the start.
        begin_ns, end_ns: from the first compared step to the last.
    """

    first_ns: float
    last_ns: float
    extra_ratio: float
    begin_ns: int
    end_ns: int

    @property
    def growth_ratio(self) -> float:
        """Return by how much steps at the end take longer."""
        return self.last_ns / self.first_ns - 1


@row
class StepSeries:
    """All steps of one worker and phase; percentiles by linear interpolation, outliers included.

    Attributes:
        phase, word: ``Step:ModeKeys.TRAIN``, ``TRAIN``.
        stddev_s, threshold_s: population deviation, and above what a step is an outlier; ``None``
            like ``judgement`` when there are too few steps to judge.
        above_twice_median: how many steps are longer than that; ``slowest`` of them, by duration.
        start_ns, reach_ns: start of the first; from there to the end of the last.
        slowdown: how they grow slower, ``None`` where they do not.
        outliers: steps above the threshold, ascending by number; empty without a judgement.
        normal: durations of the steps that are no outliers.
        buckets: durations in seconds over time.
        marks: every so many steps in order of time, at most MOST_MARKS of them.
        during_outliers: what the worker did during its outliers, each event once.
        functions, other_functions: what overlaps its outliers, and its other steps; empty like
            ``during_outliers`` with few outliers.
    """

    worker: str = col()
    phase: str
    word: str = col(name="phase")
    n_steps: int = col(name="count")
    steps_per_s: float | None = derived(lambda item: item.per_second(1, digits=4), "/s")
    mean_s: float = col("s")
    max_s: float = col("s")
    p99_s: float = col("s")
    p95_s: float = col("s")
    p50_s: float = col("s")
    min_s: float = col("s")
    stddev_s: float | None = col("s")
    threshold_s: float | None = col("s")
    found: int | None = derived(
        lambda item: item.outliers.n_steps if item.judgement else None, name="outliers"
    )
    above_twice_median: int = col()
    start_ns: int
    reach_ns: int
    judgement: Judgement | None
    slowdown: Slowdown | None
    outliers: PhaseSteps
    slowest: PhaseSteps
    normal: Tally
    buckets: TimeBuckets
    marks: PhaseSteps
    during_outliers: Breakdown
    functions: FunctionSums
    other_functions: FunctionSums

    def per_second(self, amount: int, *, digits: int) -> float | None:
        """Return ``amount`` of each step by the second, the time between steps included."""
        if self.reach_ns <= 0:
            return None
        return round(self.n_steps * amount * NS_PER_S / self.reach_ns, digits)


def _minutes(parts: Sequence[Integers]) -> Integers:
    return np.unique(np.concatenate(parts))


@row
class NodeSteps:
    """One node, or all of them merged.

    Attributes:
        loop: the training loop.
        series: by worker, then by phase.
        minute_ns: starts of the minutes in which a step ended.
        data: all steps of each worker and phase, whatever the mode.
    """

    loop: Loop = merged(merge, default_factory=Loop)
    series: tuple[StepSeries, ...] = merged(concat, default=())
    minute_ns: Integers = merged(_minutes, default_factory=lambda: np.empty(0, dtype=np.int64))
    data: tuple[PackedTable, ...] = merged(concat, default=())


def measure(part: NodeProfile, params: Params) -> NodeSteps:
    """Measure every worker and phase of a node."""
    spans, found = part.spans, steps_of(part.spans)
    minutes = [np.unique(steps.end_ns // NS_PER_MINUTE) for steps in found]
    return NodeSteps(
        loop=loop_of(spans),
        series=tuple(
            _series(spans, steps, params)
            for steps in found
            if params.mode is None or phase_word(steps.phase) == phase_word(params.mode)
        ),
        minute_ns=_minutes([*minutes, np.empty(0, dtype=np.int64)]) * NS_PER_MINUTE,
        data=tuple(
            _all_steps(steps)
            for steps in sorted(found, key=lambda one: (device_order(one.worker), one.phase))
        ),
    )


def _all_steps(steps: PhaseSteps) -> PackedTable:
    columns = {"start_ns": steps.start_ns, "duration_ns": steps.duration_ns}
    if (steps.step != NO_STEP).all():
        columns["step"] = steps.step
    return pack("steps", columns, of={"worker": steps.worker, "phase": steps.phase})


def _series(spans: SpanTable, steps: PhaseSteps, params: Params) -> StepSeries:
    duration_ns = steps.duration_ns
    duration_s = np.sort(duration_ns) / NS_PER_S
    p99, p95, p50 = (float(value) for value in np.percentile(duration_s, (99, 95, 50)))
    minute_ns, minute_outliers = outliers_by_minute(
        steps.end_ns, duration_ns, stddev=params.stddev, min_steps=params.min_steps
    )
    is_judged = minute_ns.size > 0
    mean_ns, deviation_ns = mean_and_deviation_ns(duration_ns)
    threshold_ns = mean_ns + params.stddev * deviation_ns
    is_outlier = (duration_ns > threshold_ns) & is_judged
    outliers, normal = steps.where(is_outlier), steps.where(~is_outlier)
    is_many = outliers.n_steps > params.n_outliers
    worker = spans.workers.index(steps.worker)
    own = spans.where(spans.worker == worker) if is_many else empty_spans()
    in_outliers, in_others = (
        overlaps_any(own.start_ns, own.end_ns, some.start_ns, some.end_ns)
        for some in (outliers, normal)
    )
    bin_count, bin_edge_s = np.histogram(normal.duration_ns / NS_PER_S, bins=AWS_BINS)
    judgement = Judgement(
        bin_count=bin_count.astype(np.int64),
        bin_edge_s=bin_edge_s,
        minute_ns=minute_ns,
        minute_outliers=minute_outliers,
    )
    long = steps.where(above_median(duration_ns))
    longest = np.lexsort((long.step, long.start_ns, -long.duration_ns))[:MOST_MEDIAN_OUTLIERS]
    return StepSeries(
        worker=steps.worker,
        phase=steps.phase,
        word=phase_word(steps.phase),
        n_steps=steps.n_steps,
        mean_s=float(duration_s.mean()),
        max_s=float(duration_s.max()),
        p99_s=p99,
        p95_s=p95,
        p50_s=p50,
        min_s=float(duration_s.min()),
        stddev_s=float(np.sort(duration_ns).astype(np.float64).std()) / NS_PER_S
        if is_judged
        else None,
        threshold_s=threshold_ns / NS_PER_S if is_judged else None,
        above_twice_median=long.n_steps,
        start_ns=int(steps.start_ns[0]),
        reach_ns=int(steps.end_ns.max() - steps.start_ns[0]),
        judgement=judgement if is_judged else None,
        slowdown=slowdown_of(steps, min_steps=params.min_steps),
        outliers=outliers.where(
            np.lexsort((outliers.duration_ns, outliers.start_ns, outliers.step))
        ),
        slowest=long.where(longest),
        normal=tally_values(normal.duration_ns),
        buckets=_over_time(steps),
        marks=_marks(steps),
        during_outliers=breakdown_of(own.where(in_outliers)),
        functions=function_sums(own, in_outliers),
        other_functions=function_sums(own, in_others),
    )


def _marks(steps: PhaseSteps) -> PhaseSteps:
    """Return every so many steps in order of time, the first and the last of them always."""
    ordered = steps.where(np.lexsort((steps.step, steps.start_ns)))
    stride = -(-ordered.n_steps // (MOST_MARKS - 1))
    last = ordered.n_steps - 1
    return ordered.where(np.unique(np.append(np.arange(0, last + 1, stride), last)))


def _over_time(steps: PhaseSteps) -> TimeBuckets:
    usual_ns = int(np.median(np.diff(steps.start_ns))) if steps.n_steps > 1 else 1
    return bucket_by_time(
        steps.start_ns, steps.duration_ns / NS_PER_S, least_width_ns=2 * max(usual_ns, 1)
    )


def slowdown_of(steps: PhaseSteps, *, min_steps: int) -> Slowdown | None:
    """Return how steps grow slower, ``None`` where they do not or there are too few.

    Args:
        steps: of one worker and phase.
        min_steps: more steps than this are needed.
    """
    if steps.n_steps <= max(min_steps, N_BLOCKS):
        return None
    blocks = [steps.where(rows) for rows in np.array_split(np.arange(steps.n_steps), N_BLOCKS)[1:]]
    usual = np.array([float(np.median(block.duration_ns)) for block in blocks])
    first, last = float(np.median(usual[:_AT_AN_END])), float(np.median(usual[-_AT_AN_END:]))
    if first <= 0 or last < (1 + GROWTH_FROM_RATIO) * first:
        return None
    if trend_of(usual).agreement < AGREEMENT_FROM:
        return None
    sizes = np.array([block.n_steps for block in blocks])
    extra_ns = float((np.maximum(usual - first, 0) * sizes).sum())
    return Slowdown(
        first_ns=first,
        last_ns=last,
        extra_ratio=extra_ns / float(steps.duration_ns.sum()),
        begin_ns=int(blocks[0].start_ns.min()),
        end_ns=int(blocks[-1].end_ns.max()),
    )
