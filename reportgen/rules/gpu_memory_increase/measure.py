"""Measurement of GPUMemoryIncrease for each GPU: jumps of its memory activity, and a trend."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from reportgen.arrays import Floats, Instants, Rows
from reportgen.facts.distributions import Box, box_of, percentiles
from reportgen.facts.intervals import runs_of
from reportgen.facts.samples import Minutes, minutes_of, window_percentiles
from reportgen.facts.trend import Trend, trend_of
from reportgen.facts.usage import LEAST_JUDGED, Samples, enough_samples, samples_by_gpu
from reportgen.profile import NodeProfile, SeriesKind
from reportgen.rules.aws.aws_gpu_memory_increase import increases_of, violations_of
from reportgen.rules.aws.details import Violations
from reportgen.rules.kit import col, derived, lane_of, patience, percentage, row, window
from reportgen.units import NS_PER_MINUTE, NS_PER_S

LEVEL_PCT = 95.0
"""A minute's level is its 95th percentile: the level that the load reaches, whatever it does
between."""
MAX_JUMPS = 200
"""A fluctuating load has thousands of jumps; all are counted, those that matter are kept."""
LEAST_IN_PART = 5
"""A level of fewer samples is that of one of them."""
IDLE_LEVEL_PCT = 1.0
"""Below this a GPU has not begun to work: the first rise is its start."""
LOAD_RISE_PCT = 10.0
"""A jump that comes with this much more GPU utilization is more load, no leak."""
TREND_MINUTES = 8
TREND_PARTS = 16
"""Fewer minutes at work than the first show no trend: that a few points rise one after the other is
easily chance. A shorter time at work is cut into this many equal parts at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Params:
    """Parameters in AWS's order."""

    increase: float = percentage(5, "a jump is an increase by more than this many points")
    patience: int = patience()
    window: int = window(10, minimum=2)


@row
class Jump:
    """Neighbouring violations of one GPU, seen as one event.

    Attributes:
        start_ns, end_ns: first and last violating sample.
        n_violations: how many samples violated.
        increase_pct: the largest increase among them.
        before_pct: 95th percentile of the minute before.
        record_pct: highest level of any minute before.
        after_pct: median of the minute after, ``None`` when the job ends too soon.
        gpu_change_pct: change of the median GPU utilization, ``None`` when unknown.
        is_lasting: it reached a new height and stayed there, and it was neither the start of the
            work nor a rise of the load.
    """

    lane: str = derived(lambda jump: lane_of(jump.node, jump.gpu))
    name: str = derived(
        lambda jump: f"{'lasting ' * jump.is_lasting}jump by {jump.increase_pct:.1f} points"
    )
    node: str = col()
    gpu: str = col()
    start_ns: int = col("s", name="start_s", per=NS_PER_S)
    end_ns: int = col("s", name="end_s", per=NS_PER_S)
    n_violations: int = col(name="triggers")
    increase_pct: float = col("points", digits=2)
    before_pct: float = col("%", digits=2)
    record_pct: float = col("%", digits=2)
    after_pct: float | None = col("%", digits=2)
    gpu_change_pct: float | None = col("points", digits=2)
    is_lasting: bool = col()


@row
class GpuMemory:
    """Memory activity of one GPU.

    Attributes:
        n_violations: samples at which it rose by more than the threshold.
        n_jumps, n_lasting: all jumps, and those that last.
        trend: of the levels at work, per minute; ``None`` with too few minutes.
        use_trend: the same of GPU utilization, ``None`` where it is unknown.
        minute_ns, level_pct: start and level of each minute with samples.
        jumps: at most ``MAX_JUMPS``: lasting ones first, then the largest; in order of time.
    """

    node: str = col()
    gpu: str = col()
    p50_pct: float = derived(lambda gpu: gpu.box.p50, "%", digits=2)
    p95_pct: float = derived(lambda gpu: gpu.box.p95, "%", digits=2)
    max_pct: float = col("%", digits=2)
    n_violations: int = col(name="triggers")
    n_jumps: int = col(name="episodes")
    n_lasting: int = col(name="lasting_episodes")
    slope: float | None = derived(
        lambda gpu: gpu.trend and gpu.trend.slope, "points/min", name="trend_per_min_pct", digits=4
    )
    rise: float | None = derived(
        lambda gpu: gpu.trend and gpu.trend.rise, "points", name="trend_rise_pct", digits=2
    )
    agreement: float | None = derived(
        lambda gpu: gpu.trend and gpu.trend.agreement, name="trend_tau", digits=2
    )
    n_samples: int = col(name="samples")
    box: Box
    trend: Trend | None
    use_trend: Trend | None
    minute_ns: Instants
    level_pct: Floats
    jumps: tuple[Jump, ...]

    @property
    def reach_ns(self) -> tuple[int, int]:
        """Return start and end of its minutes."""
        return int(self.minute_ns[0]), int(self.minute_ns[-1]) + NS_PER_MINUTE


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeMemory:
    """One node: how many ticks it has and how the memory activity of its GPUs developed."""

    node: str
    n_ticks: int
    n_gpus: int
    gpus: tuple[GpuMemory, ...]
    aws: Violations


def measure(part: NodeProfile, params: Params) -> NodeMemory:
    """Measure every GPU of a node that has samples of memory activity."""
    system, kind = part.system, SeriesKind.GPU_UTILIZATION
    names, use = system.names(kind), system.columns_of(kind)
    unknown = np.full(system.n_ticks, np.nan)
    gpus = []
    for gpu, samples in samples_by_gpu(system, SeriesKind.GPU_MEMORY):
        its_use = use[names.index(gpu)] if gpu in names else unknown
        gpus.append(_memory_of(part.node, gpu, samples, its_use[samples.is_there], params))
    n_gpus = len({*names, *(gpu.gpu for gpu in gpus)})
    return NodeMemory(
        node=part.node,
        n_ticks=system.n_ticks,
        n_gpus=n_gpus,
        gpus=tuple(gpus),
        aws=violations_of(part.node, samples_by_gpu(system, SeriesKind.GPU_MEMORY), params),
    )


def _memory_of(node: str, gpu: str, samples: Samples, use: Floats, params: Params) -> GpuMemory:
    """Measure one GPU; ``use`` is its utilization at the samples, NaN where absent."""
    values, minutes = samples.values, minutes_of(samples.time_ns)
    level = _levels_of(values, minutes)
    increases, is_violation = increases_of(values, params)
    rows, is_known = np.flatnonzero(is_violation), ~np.isnan(use)
    n_jumps, n_lasting, jumps = _jumps_of((node, gpu), samples, use, increases, rows, params)
    is_enough = values.size > enough_samples(params.patience)
    return GpuMemory(
        node=node,
        gpu=gpu,
        n_samples=values.size,
        box=box_of(values),
        max_pct=float(values.max()),
        minute_ns=minutes.start_ns,
        level_pct=level,
        trend=_trend(values, samples.time_ns) if is_enough else None,
        use_trend=_trend(use[is_known], samples.time_ns[is_known]),
        n_violations=rows.size,
        n_jumps=n_jumps,
        n_lasting=n_lasting,
        jumps=jumps,
    )


def _levels_of(values: Floats, minutes: Minutes) -> Floats:
    first = np.concatenate(([0], minutes.stop))[:-1]
    return np.array(
        [
            percentiles(values[low:high], (LEVEL_PCT,))[0] + 0.0
            for low, high in zip(first.tolist(), minutes.stop.tolist(), strict=True)
        ]
    )


def _trend(values: Floats, time_ns: Instants) -> Trend | None:
    """Return the trend of the levels at work, with a slope per minute; of parts of a short time."""
    minutes = minutes_of(time_ns)
    level = _levels_of(values, minutes)
    at_work = np.flatnonzero(level >= IDLE_LEVEL_PCT)
    if at_work.size == 0:
        return None
    # The first and the last minute of the work may hold little of it.
    n_each = np.diff(minutes.stop, prepend=0)
    first, last = at_work[0], at_work[-1]
    is_cut = 2 * n_each[[first, last]] < np.median(n_each)
    working = level[first + is_cut[0] : last + 1 - is_cut[1]]
    if working.size >= TREND_MINUTES:
        return trend_of(working)
    busy = np.flatnonzero(values >= IDLE_LEVEL_PCT)
    inside = slice(busy[0], busy[-1] + 1)
    length_ns = int(time_ns[busy[-1]] - time_ns[busy[0]])
    if values[inside].size <= LEAST_JUDGED or not length_ns:
        return None
    parts = np.array_split(values[inside], min(values[inside].size // LEAST_IN_PART, TREND_PARTS))
    found = trend_of(np.array([percentiles(part, (LEVEL_PCT,))[0] for part in parts]))
    return replace(found, slope=found.rise * NS_PER_MINUTE / length_ns)


def _jumps_of(
    place: tuple[str, str],
    samples: Samples,
    use: Floats,
    increases: Floats,
    rows: Rows,
    params: Params,
) -> tuple[int, int, tuple[Jump, ...]]:
    """Return how many jumps the violating ``rows`` are, how many last, and those worth keeping."""
    if rows.size == 0:
        return 0, 0, ()
    values, time_ns = samples.values, samples.time_ns
    runs = runs_of(rows, max_step=params.window - 1)
    start, end = rows[runs.first], rows[runs.last]
    span = max(params.window, round(NS_PER_MINUTE / float(np.median(np.diff(time_ns)))))
    # The two newest samples of the first violation made it, so the load before ends there.
    before = window_percentiles(values, start - 1, window=span, points_pct=(LEVEL_PCT,))[:, 0]
    after, change = _after(values, end, span, params.window), _use_change(use, start, end, span)
    record = np.maximum(_records(samples, start), before)
    is_lasting = (
        (record >= IDLE_LEVEL_PCT)
        & (_until_the_end(values, end) - record > params.increase)
        & (np.nan_to_num(after, nan=-np.inf) - record > params.increase)
        & ~(change >= LOAD_RISE_PCT)
    )
    largest = np.maximum.reduceat(increases[rows], runs.first)
    kept = np.sort(np.lexsort((-largest, ~is_lasting))[:MAX_JUMPS])
    jumps = tuple(
        Jump(
            node=place[0],
            gpu=place[1],
            start_ns=int(time_ns[start[index]]),
            end_ns=int(time_ns[end[index]]),
            n_violations=int(runs.n_members[index]),
            increase_pct=float(largest[index]),
            before_pct=float(before[index]),
            record_pct=float(record[index]),
            after_pct=_known(after[index]),
            gpu_change_pct=_known(change[index]),
            is_lasting=bool(is_lasting[index]),
        )
        for index in kept.tolist()
    )
    return runs.n_runs, int(is_lasting.sum()), jumps


def _known(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


def _after(values: Floats, end: Rows, span: int, window: int) -> Floats:
    """Return the median of the minute after each row, NaN when less than a window is left."""
    stop = np.minimum(end + 1 + span, values.size)
    found = np.full(end.size, np.nan)
    is_full = stop - end > span
    found[is_full] = window_percentiles(values, stop[is_full], window=span, points_pct=(50,))[:, 0]
    for index in np.flatnonzero(~is_full & (stop - end - 1 >= window)).tolist():
        found[index] = np.median(values[end[index] + 1 :])
    return found


def _until_the_end(values: Floats, end: Rows) -> Floats:
    """Return the median of the samples behind each row until the GPU last works."""
    stop = int(np.flatnonzero(values >= IDLE_LEVEL_PCT)[-1:].sum()) + 1
    return np.array([float(np.median(values[row : max(stop, row + 1)])) for row in end.tolist()])


def _use_change(use: Floats, start: Rows, end: Rows, span: int) -> Floats:
    """Return how the median GPU utilization changed from the minute before to the one after."""
    padded = np.concatenate((np.full(span, np.nan), use, np.full(span, np.nan)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, span)
    earlier, later = windows[start - 1], windows[end + 1 + span]
    change = np.full(start.size, np.nan)
    is_known = ~(np.isnan(earlier).all(axis=1) | np.isnan(later).all(axis=1))
    medians = [np.nanmedian(part[is_known], axis=1) for part in (earlier, later)]
    change[is_known] = medians[1] - medians[0]
    return change


def _records(samples: Samples, start: Rows) -> Floats:
    """Return the highest level of all whole minutes before each row, 0 in the first minute."""
    minutes = minutes_of(samples.time_ns)
    levels = _levels_of(samples.values, minutes)
    highest = np.concatenate(([0.0], np.maximum.accumulate(levels)))
    minute = np.searchsorted(minutes.start_ns, samples.time_ns[start], side="right") - 1
    return np.asarray(highest[minute])
