"""Measurement of StepOutlier: the steps of each worker and phase, and which of them are slow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from reportgen.arrays import Integers
from reportgen.facts import trend, usage
from reportgen.facts.breakdown import Breakdown, FunctionSums, breakdown_of, function_sums
from reportgen.facts.intervals import NOTHING, Union, covered_each, join, overlaps_any, union_of
from reportgen.facts.loader import NodeWaits, long_waits_of, waits_of
from reportgen.facts.resample import TimeBuckets, bucket_by_time
from reportgen.facts.samples import mean_of_present, minutes_of, sum_of
from reportgen.facts.slow_steps import SlowSteps, each_of, slow_steps_of
from reportgen.facts.slow_times import SlowTimes, slow_times_of
from reportgen.facts.step_times import Slowdown, StepTimes, slowdown_of, step_times_of
from reportgen.facts.steps import Loop, PhaseSteps, loop_of, phase_word, steps_of
from reportgen.profile import NO_STEP, NodeProfile, SeriesKind, SpanTable, SystemTable
from reportgen.profile.spans import empty_spans
from reportgen.profile.system import device_order
from reportgen.results import PackedTable
from reportgen.results.packed_columns import pack
from reportgen.rules.aws.aws_step_outlier import STATISTICS, CountedSteps, counted_series
from reportgen.rules.base import param
from reportgen.rules.kit import AWS_DEFAULTS, col, concat, count, derived, merge, merged, row
from reportgen.rules.step_outlier.use import UseInSteps, use_in_steps
from reportgen.units import NS_PER_S

MODES = ("TRAIN", "EVAL", "PREDICT", "GLOBAL")
MOST_MEDIAN_OUTLIERS = 2_000
MOST_STEP_MARKS = 400
"""More step numbers than this have no room on a time axis."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Params:
    """Parameters in AWS's order, then ours."""

    stddev: float = param(
        3,
        unit="standard deviations",
        meaning="a step longer than the mean plus this many deviations is an outlier",
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
    n_outliers: int = count(10, "triggers with more outliers than this", unit="steps", minimum=0)
    min_steps: int = count(
        100,
        "a worker's phase is judged once it has more steps than this",
        unit="steps",
        source="a constant of AWS's rule (docs/rules.md)",
        is_printed=False,
    )
    batch_size: int | None = count(
        None,
        "samples in one step of one worker; used to compute samples per second",
        source="no framework records it",
        is_printed=False,
    )


@row
class SlowStep:
    """A step that is slow; ``phase`` in a word."""

    worker: str = col()
    phase: str = col()
    step: int = col()
    start_ns: int = col("s", name="start_s", per=NS_PER_S)
    duration_ns: int = col("s", name="duration_s", per=NS_PER_S)
    factor_of_median: float | None = col(digits=2)

    @property
    def end_ns(self) -> int:
        """Return when it ended."""
        return self.start_ns + self.duration_ns


@row
class StepSeries:
    """All steps of one worker and phase; percentiles by linear interpolation, outliers included.

    Attributes:
        stddev_s, threshold_s: population deviation, and above what a step is an outlier; ``None``
            like ``aws``, what AWS's rule keeps of the series, with too few steps to judge.
        slow_extra_ns: what steps take above those around them that take half as long again, waits
            for batches left out; ``slow`` are these steps, ``loop_ns`` is the loop of the worker.
        crowding: from the first third of the steps to the last, processor time of the job for a
            step, the latter by the former, and how many cores other programs gained, by those of
            the job; ``None`` where they were not sampled in both.
        above_twice_median: how many steps are longer than that; ``slowest`` of them, by duration.
        start_ns, reach_ns: start of the first step; from there to the end of the last.
        outliers: steps above the threshold, ascending by number; ``normal`` of the others.
        marks: steps at even distances in order of time, and those that begin after other work, at
            most MOST_STEP_MARKS; ``next_ns`` is until when steps follow each other behind each.
        during_outliers, functions, other_functions: work of the worker during its outliers, and
            functions that overlap its outliers and its other steps; empty with few outliers.
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
        lambda item: len(item.outliers) if item.aws else None, name="outliers"
    )
    above_twice_median: int = col()
    slow_steps: int = derived(lambda item: item.slow.n_steps)
    slow_extra_ns: float = col("s", name="slow_extra_s", per=NS_PER_S)
    start_ns: int
    reach_ns: int
    aws: CountedSteps | None
    loop_ns: int
    slow: PhaseSteps
    random: tuple[SlowTimes, ...]
    slowdown: Slowdown | None
    crowding: tuple[float, float] | None
    outliers: tuple[SlowStep, ...]
    slowest: tuple[SlowStep, ...]
    normal: Integers
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


@row
class NodeSteps:
    """One node, or all of them merged: its series by worker, then by phase.

    ``minute_ns`` holds the minutes in which a step ended, ``data`` all steps, whatever the mode;
    ``crowded`` is when other programs had cores that the job lacked.
    """

    loop: Loop = merged(merge, default_factory=Loop)
    series: tuple[StepSeries, ...] = merged(concat, default=())
    minute_ns: Integers = merged(
        lambda parts: np.unique(np.concatenate(parts)),
        default_factory=lambda: np.empty(0, dtype=np.int64),
    )
    use: UseInSteps = merged(merge, default_factory=UseInSteps)
    data: tuple[PackedTable, ...] = merged(concat, default=())
    waits: tuple[NodeWaits, ...] = merged(concat, default=())
    crowded: Union = merged(join, default=NOTHING)


def measure(part: NodeProfile, params: Params) -> NodeSteps:
    """Measure every worker and phase of a node."""
    spans, found = part.spans, steps_of(part.spans)
    wanted = None if params.mode is None else phase_word(params.mode)
    chosen = [one for one in step_times_of(spans) if wanted in (None, phase_word(one.steps.phase))]
    series = tuple(_series(part, times, params) for times in chosen)
    in_order = sorted(found, key=lambda one: (device_order(one.worker), one.phase))
    return NodeSteps(
        loop=loop_of(spans),
        series=series,
        minute_ns=minutes_of(np.sort(spans.steps().end_ns)).start_ns,
        use=_use(part, series, [times.steps for times in chosen]),
        data=tuple(_all_steps(steps, waits_of(spans)) for steps in in_order),
        waits=(long_waits_of(part),),
        crowded=_crowded(part.system),
    )


def _crowding(system: SystemTable, steps: PhaseSteps) -> tuple[float, float] | None:
    job_cores, other_cores = sum_of(system, SeriesKind.JOB_CORES), usage.other_cores(system)
    thirds = np.array_split(np.arange(steps.n_steps), 3)
    if not all(rows.size for rows in thirds):
        return None

    def of_third(rows: Integers) -> tuple[float, float, float]:
        """Return the cores of the job and of others, and how long a step takes."""
        first_ns, last_ns = int(steps.start_ns[rows[0]]), int(steps.next_ns[rows[-1]])
        is_inside = (system.tick_ns > first_ns) & (system.tick_ns <= last_ns)
        own, others = (mean_of_present(of[is_inside]) or 0.0 for of in (job_cores, other_cores))
        return own, others, (last_ns - first_ns) / rows.size

    (own, others, step_ns), (last_own, last_others, last_step_ns) = map(of_third, thirds[::2])
    if min(own, last_own) <= 0:
        return None
    return last_own * last_step_ns / (own * step_ns), (last_others - others) / own


def _crowded(system: SystemTable) -> Union:
    end_ns = system.tick_ns[usage.crowded_by_others(system)]
    return union_of(end_ns - (system.interval_ns or 0), end_ns)


def _use(
    part: NodeProfile, series: Sequence[StepSeries], steps: Sequence[PhaseSteps]
) -> UseInSteps:
    training = part.spans.training_steps()
    words = {training.phases[code] for code in np.unique(training.phase).tolist()}
    pairs = list(zip(series, steps, strict=True))
    pairs = [pair for pair in pairs if pair[0].phase in words] or pairs
    slow = [step for item, _ in pairs for step in item.outliers or item.slowest]
    edges_ns = [(step.start_ns, step.end_ns) for step in slow]
    starts_ns, ends_ns = (
        np.concatenate([np.empty(0, np.int64), *columns])
        for columns in (
            [phase.start_ns for _, phase in pairs],
            [phase.end_ns for _, phase in pairs],
        )
    )
    return use_in_steps(part.system, edges_ns, (starts_ns, ends_ns))


def _all_steps(steps: PhaseSteps, waits: SpanTable) -> PackedTable:
    """Return all steps of a worker and phase, and how its loop waited for data.

    PyTorch's loop waits between steps, the one of Keras inside them.
    """
    of_worker = waits.where(waits.worker == waits.workers.index(steps.worker))
    waiting = union_of(of_worker.start_ns, of_worker.end_ns)
    columns = {
        "start_ns": steps.start_ns,
        "duration_ns": steps.duration_ns,
        "cycle_ns": steps.cycle_ns,
        "input_wait_ns": covered_each(waiting, steps.end_ns, steps.next_ns),
        "inside_wait_ns": covered_each(waiting, steps.start_ns, steps.end_ns),
    }
    if (steps.step != NO_STEP).all():
        columns["step"] = steps.step
    return pack("steps", columns, of={"worker": steps.worker, "phase": steps.phase})


def _series(part: NodeProfile, times: StepTimes, params: Params) -> StepSeries:
    spans = part.spans
    steps, duration_ns = times.steps, times.steps.duration_ns
    slow = slow_steps_of(times)
    extra_ns, is_slow = slow.step.excess_ns, slow.step.is_slow
    duration_s = np.sort(duration_ns) / NS_PER_S
    points_s = np.percentile(duration_s, (99, 95, 50))
    figures_s = (duration_s.mean(), duration_s.max(), *points_s, duration_s.min())
    stats_s = dict(zip(STATISTICS, map(float, figures_s), strict=True))
    is_judged = steps.n_steps > params.min_steps
    mean_ns, deviation_ns = trend.mean_and_deviation_ns(duration_ns)
    threshold_ns = mean_ns + params.stddev * deviation_ns
    is_outlier = (duration_ns > threshold_ns) & is_judged
    outliers, normal = steps.where(is_outlier), steps.where(~is_outlier)
    outliers = outliers.where(np.lexsort((outliers.duration_ns, outliers.start_ns, outliers.step)))
    is_many = outliers.n_steps > params.n_outliers
    usual_ns = int(np.median(np.diff(steps.start_ns))) if steps.n_steps > 1 else 1
    worker = spans.workers.index(steps.worker)
    of_worker = spans.where(spans.worker == worker) if is_many else empty_spans()
    in_outliers, in_others = (
        overlaps_any(of_worker.start_ns, of_worker.end_ns, some.start_ns, some.end_ns)
        for some in (outliers, normal)
    )
    long = steps.where(trend.above_median(duration_ns))
    longest = np.lexsort((long.step, long.start_ns, -long.duration_ns))[:MOST_MEDIAN_OUTLIERS]
    return StepSeries(
        worker=steps.worker,
        phase=steps.phase,
        word=phase_word(steps.phase),
        n_steps=steps.n_steps,
        **{f"{name}_s": value for name, value in stats_s.items()},
        stddev_s=deviation_ns / NS_PER_S if is_judged else None,
        threshold_s=threshold_ns / NS_PER_S if is_judged else None,
        above_twice_median=long.n_steps,
        start_ns=int(steps.start_ns[0]),
        reach_ns=int(steps.end_ns.max() - steps.start_ns[0]),
        aws=counted_series(
            steps, is_outlier, stats_s, stddev=params.stddev, min_steps=params.min_steps
        ),
        slow_extra_ns=float(extra_ns[is_slow].sum()),
        loop_ns=steps.loop_ns,
        slow=steps.where(is_slow),
        random=tuple(_random(part, slow)),
        slowdown=slowdown_of(times),
        crowding=_crowding(part.system, steps),
        outliers=listed(outliers, stats_s["p50"]),
        slowest=listed(long.where(longest), stats_s["p50"]),
        normal=normal.duration_ns,
        buckets=bucket_by_time(
            steps.start_ns, duration_ns / NS_PER_S, least_width_ns=2 * max(usual_ns, 1)
        ),
        marks=_marks(steps),
        during_outliers=breakdown_of(of_worker.where(in_outliers)),
        functions=function_sums(of_worker, in_outliers),
        other_functions=function_sums(of_worker, in_others),
    )


def _random(part: NodeProfile, slow: SlowSteps) -> Iterator[SlowTimes]:
    """Yield the slow steps of a phase that come at random, and the slow times between them."""
    for is_between, item in ((False, slow.step), (True, slow.between)):
        if item.is_random.any():
            events, length_ns = each_of(item.excess_ns, item.is_random), item.length_ns
            yield slow_times_of(
                part, slow, events, ~item.is_slow, is_between=is_between, length_ns=length_ns
            )


def listed(steps: PhaseSteps, p50_s: float) -> tuple[SlowStep, ...]:
    """Return steps one by one, compared with the median of their series."""
    columns = (steps.step, steps.start_ns, steps.duration_ns)
    return tuple(
        SlowStep(
            worker=steps.worker,
            phase=phase_word(steps.phase),
            step=step,
            start_ns=start_ns,
            duration_ns=duration_ns,
            factor_of_median=duration_ns / NS_PER_S / p50_s if p50_s else None,
        )
        for step, start_ns, duration_ns in zip(*(item.tolist() for item in columns), strict=True)
    )


def _marks(steps: PhaseSteps) -> PhaseSteps:
    """Return steps at even distances in order of time, with the first and the last.

    The steps that begin after other work of the worker are among them, unless they are too many.
    """
    ordered = steps.where(np.lexsort((steps.step, steps.start_ns)))
    begins = np.flatnonzero(np.append(True, ordered.next_ns[:-1] < ordered.start_ns[1:]))
    kept = begins if 2 * begins.size <= MOST_STEP_MARKS else begins[:1]
    stride = -(-ordered.n_steps // (MOST_STEP_MARKS - kept.size))
    last = ordered.n_steps - 1
    rows = np.unique(np.concatenate([np.arange(0, last, stride), kept, [last]]))
    behind = np.append(begins, last + 1)[np.searchsorted(begins, rows, side="right")]
    until = np.minimum(behind, np.append(rows[1:], last + 1)) - 1
    return replace(ordered.where(rows), next_ns=ordered.next_ns[until])
