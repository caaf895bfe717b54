"""Measurement of GPUMemoryIncrease for each GPU: jumps of its memory activity, and a trend."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reportgen.arrays import Floats, Integers
from reportgen.facts.distributions import Box, box_of, percentiles
from reportgen.facts.intervals import runs_of
from reportgen.facts.samples import present_values
from reportgen.facts.trend import Trend, trend_of
from reportgen.facts.usage import LEAST_JUDGED, Samples, enough_samples, samples_by_gpu
from reportgen.profile import NodeProfile, SeriesKind
from reportgen.rules.aws.aws_gpu_memory_increase import Params, increases_of, violations_of
from reportgen.rules.aws.details import Violations
from reportgen.rules.kit import col, derived, row
from reportgen.units import NS_PER_MINUTE

LEVEL_PCT = 95.0
"""The level of a part of the time is its 95th percentile: what the load reaches, whatever it does
between."""
LEAST_IN_PART = 5
"""A level of fewer samples is that of one of them."""
IDLE_LEVEL_PCT = 1.0
"""Below this a GPU has not begun to work: the first rise is its start."""
LOAD_RISE_PCT = 10.0
"""A jump that comes with this much more GPU utilization is more load, no leak."""
TREND_PARTS = 16
"""The time at work is cut into this many equal parts at most, each of ``LEAST_IN_PART`` samples."""
LEAST_BESIDE = 3
"""Parts before a jump, and after it: the first one may hold the start of the load."""


@row
class Jump:
    """A rise to a new height, at which the memory activity stays.

    Attributes:
        before_pct: the highest level of the parts before it.
        after_pct: the median from there to the end of the work.
        start_ns, end_ns: of the time after it.
    """

    before_pct: float
    after_pct: float
    start_ns: int
    end_ns: int


@row
class GpuMemory:
    """Memory activity of one GPU.

    Attributes:
        n_violations: samples at which it rose by more than the threshold.
        n_jumps: runs of such samples.
        trend: of the levels of equal parts of the time at work; ``None`` with too few samples.
        use_trend: the same of GPU utilization, ``None`` where it is unknown.
        start_ns, end_ns: of its samples.
        jump: the steepest rise, if it lasts and is no more load; ``None`` without one.
    """

    node: str = col()
    gpu: str = col()
    p50_pct: float = derived(lambda gpu: gpu.box.p50, "%", digits=2)
    p95_pct: float = derived(lambda gpu: gpu.box.p95, "%", digits=2)
    max_pct: float = col("%", digits=2)
    n_violations: int = col(name="triggers")
    n_jumps: int = col(name="episodes")
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
    jump_from_pct: float | None = derived(
        lambda gpu: gpu.jump and gpu.jump.before_pct, "%", digits=2
    )
    jump_to_pct: float | None = derived(lambda gpu: gpu.jump and gpu.jump.after_pct, "%", digits=2)
    n_samples: int = col(name="samples")
    box: Box
    trend: Trend | None
    use_trend: Trend | None
    work_minutes: float
    start_ns: int
    end_ns: int
    jump: Jump | None


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
    work_ns, use_at_work = samples.time_ns[at_work], use[at_work]
    levels, _ = _levels_of(values[at_work])
    jump = _jump(samples, at_work, np.where(is_violation, increases, 0), use) if rows.size else None
    if jump and jump.after_pct - jump.before_pct <= params.increase:
        jump = None
    is_enough = values.size > enough_samples(params.patience) and levels.size > 0
    use_levels, _ = _levels_of(use_at_work[~np.isnan(use_at_work)])
    return GpuMemory(
        node=node,
        gpu=gpu,
        n_samples=values.size,
        box=box_of(values),
        max_pct=float(values.max()),
        start_ns=int(samples.time_ns[0]),
        end_ns=int(samples.time_ns[-1]),
        trend=trend_of(levels) if is_enough else None,
        use_trend=trend_of(use_levels) if use_levels.size else None,
        work_minutes=float(work_ns[-1] - work_ns[0]) / NS_PER_MINUTE if busy.size else 0.0,
        n_violations=rows.size,
        n_jumps=runs_of(rows, max_step=params.window - 1).n_runs,
        jump=jump,
    )


def _levels_of(values: Floats) -> tuple[Floats, Integers]:
    """Return the levels of equal parts of some samples, and where each part ends.

    Both are empty where the samples are too few for a trend.
    """
    if values.size <= LEAST_JUDGED:
        return np.empty(0), np.empty(0, dtype=np.int64)
    n_parts = min(values.size // LEAST_IN_PART, TREND_PARTS)
    stops = np.linspace(0, values.size, n_parts + 1)[1:].astype(np.int64)
    parts = np.split(values, stops[:-1])
    return np.array([percentiles(part, (LEVEL_PCT,))[0] + 0.0 for part in parts]), stops


def _jump(samples: Samples, at_work: slice, increases: Floats, use: Floats) -> Jump | None:
    """Return the steepest rise at work, ``None`` where the load explains it or little is beside it.

    ``increases`` and ``use`` are those at all samples; increases that do not count are 0.
    """
    values, time_ns = samples.values[at_work], samples.time_ns[at_work]
    levels, stops = _levels_of(values)
    steepest = int(np.argmax(increases[at_work]))
    n_before = int(np.searchsorted(stops, steepest, side="right"))
    if not LEAST_BESIDE <= n_before <= levels.size - LEAST_BESIDE:
        return None
    before_pct = float(levels[:n_before].max())
    if before_pct < IDLE_LEVEL_PCT or _rise(use[at_work], steepest) >= LOAD_RISE_PCT:
        return None
    return Jump(
        before_pct=before_pct,
        after_pct=float(np.median(values[steepest:])),
        start_ns=int(time_ns[steepest]),
        end_ns=int(time_ns[-1]),
    )


def _rise(use: Floats, at: int) -> float:
    """Return by how much the median use is higher from a sample on than before; NaN if unknown."""
    before, after = present_values(use[:at]), present_values(use[at:])
    return float(np.median(after) - np.median(before)) if before.size and after.size else np.nan
