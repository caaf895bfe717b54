"""Measurement of GPUMemoryIncrease for each GPU: jumps of its memory activity, and a trend."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reportgen.arrays import Floats, Integers, Rows
from reportgen.facts.distributions import Box, box_of, percentiles
from reportgen.facts.intervals import Runs, runs_of
from reportgen.facts.samples import minutes_of
from reportgen.facts.trend import Trend, trend_of
from reportgen.facts.usage import LEAST_JUDGED, Samples, enough_samples, samples_by_gpu
from reportgen.profile import NodeProfile, SeriesKind
from reportgen.rules.aws.aws_gpu_memory_increase import Params, increases_of, violations_of
from reportgen.rules.aws.details import Violations
from reportgen.rules.kit import col, derived, lane_of, row
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
TREND_PARTS = 16
"""The time at work is cut into this many equal parts at most, each of ``LEAST_IN_PART`` samples."""


@row
class Jump:
    """Neighbouring violations of one GPU, seen as one event.

    Attributes:
        start_ns, end_ns: first and last violating sample.
        n_violations: how many samples violated.
        increase_pct: the largest increase among them.
        record_pct: highest level before, 0 at the start.
        after_pct: median from there to the end of the work, ``None`` when the job ends too soon.
        gpu_change_pct: change of the median GPU utilization from the work before it to that after
            it, ``None`` when unknown.
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
        trend: of the levels of equal parts of the time at work; ``None`` with too few samples.
        use_trend: the same of GPU utilization, ``None`` where it is unknown.
        start_ns, end_ns: of its samples.
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
        lambda gpu: gpu.trend and gpu.trend.rise / gpu.work_minutes,
        "points/min",
        name="trend_per_min_pct",
        digits=4,
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
    work_minutes: float
    start_ns: int
    end_ns: int
    jumps: tuple[Jump, ...]


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
        use_of_gpu = use[names.index(gpu)] if gpu in names else unknown
        gpus.append(_memory_of(part.node, gpu, samples, use_of_gpu[samples.is_there], params))
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
    values = samples.values
    increases, is_violation = increases_of(values, params)
    rows = np.flatnonzero(is_violation)
    busy = np.flatnonzero(values >= IDLE_LEVEL_PCT)
    at_work = slice(busy[0], busy[-1] + 1) if busy.size else slice(0)
    work_ns = samples.time_ns[at_work]
    runs = runs_of(rows, max_step=params.window - 1)
    jumps = [
        _jump((node, gpu), samples, use, increases, ends, at_work, record_pct, params)
        for ends, record_pct in _worth_a_look(samples, increases, rows, runs, params)
    ]
    return GpuMemory(
        node=node,
        gpu=gpu,
        n_samples=values.size,
        box=box_of(values),
        max_pct=float(values.max()),
        start_ns=int(samples.time_ns[0]),
        end_ns=int(samples.time_ns[-1]),
        trend=_trend(values[at_work]) if values.size > enough_samples(params.patience) else None,
        use_trend=_trend(use[at_work]),
        work_minutes=float(work_ns[-1] - work_ns[0]) / NS_PER_MINUTE if busy.size else 0.0,
        n_violations=rows.size,
        n_jumps=runs.n_runs,
        n_lasting=sum(jump.is_lasting for jump in jumps),
        jumps=tuple(jumps),
    )


def _levels_of(values: Floats, stops: Integers) -> Floats:
    """Return the level of each part of the samples, up to each of some ascending stops."""
    parts = np.split(values, stops[:-1])
    return np.array([percentiles(part, (LEVEL_PCT,))[0] + 0.0 for part in parts])


def _trend(working: Floats) -> Trend | None:
    """Return the trend of the levels of equal parts of the samples at work."""
    known = working[~np.isnan(working)]
    if known.size <= LEAST_JUDGED:
        return None
    stops = np.linspace(0, known.size, min(known.size // LEAST_IN_PART, TREND_PARTS) + 1)[1:]
    return trend_of(_levels_of(known, stops.astype(np.int64)))


def _worth_a_look(
    samples: Samples, increases: Floats, rows: Rows, runs: Runs, params: Params
) -> list[tuple[tuple[int, int], float]]:
    """Return ends and record of the episodes of violating rows that may last, and of the largest.

    They are ``MAX_JUMPS`` at most, in order of time. The record is the highest level of the minutes
    before, and of the part of its own minute before it.
    """
    if not rows.size:
        return []
    values, minutes = samples.values, minutes_of(samples.time_ns)
    start, end = rows[runs.first], rows[runs.last]
    # The two newest samples of the first violation made it, so the load before ends there.
    minute = np.searchsorted(minutes.stop, start - 1, side="right")
    begin = np.append(0, minutes.stop)[minute]
    highest = np.append(0.0, np.maximum.accumulate(_levels_of(values, minutes.stop)))[minute]
    lately = [
        percentiles(values[first:stop], (LEVEL_PCT,))[0] if stop > first else 0.0
        for first, stop in zip(begin.tolist(), (start - 1).tolist(), strict=True)
    ]
    record = np.maximum(highest, lately)
    may_last = values.max() - record > params.increase
    largest = np.maximum.reduceat(increases[rows], runs.first)
    kept = np.sort(np.lexsort((-largest, ~may_last))[:MAX_JUMPS]).tolist()
    return [((int(start[at]), int(end[at])), float(record[at])) for at in kept]


def _jump(
    place: tuple[str, str],
    samples: Samples,
    use: Floats,
    increases: Floats,
    ends: tuple[int, int],
    at_work: slice,
    record_pct: float,
    params: Params,
) -> Jump:
    """Return the episode between two violations; ``at_work`` are the rows of the GPU's work."""
    (start, end), values = ends, samples.values
    before, after = slice(at_work.start, start - 1), slice(end + 1, at_work.stop)
    after_pct = _median(values[after]) if values[after].size >= params.window else np.nan
    change_pct = _median(use[after]) - _median(use[before])
    return Jump(
        node=place[0],
        gpu=place[1],
        start_ns=int(samples.time_ns[start]),
        end_ns=int(samples.time_ns[end]),
        n_violations=int((increases[start : end + 1] > params.increase).sum()),
        increase_pct=float(increases[start : end + 1].max()),
        record_pct=record_pct,
        after_pct=None if np.isnan(after_pct) else after_pct,
        gpu_change_pct=None if np.isnan(change_pct) else change_pct,
        is_lasting=record_pct >= IDLE_LEVEL_PCT
        and after_pct - record_pct > params.increase
        and not change_pct >= LOAD_RISE_PCT,
    )


def _median(values: Floats) -> float:
    """Return the median of the known values, NaN without any."""
    known = values[~np.isnan(values)]
    return float(np.median(known)) if known.size else np.nan
