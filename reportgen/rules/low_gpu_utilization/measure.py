"""Measurement of LowGPUUtilization: use of each GPU of a node, minute by minute."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np

from reportgen.arrays import Floats, Instants, Mask
from reportgen.facts import intervals, samples, usage
from reportgen.facts.distributions import Box, box_of, percentiles
from reportgen.facts.trend import above_median
from reportgen.merging import rows_by_code
from reportgen.profile import NodeProfile, SeriesKind, SpanTable
from reportgen.rules.aws.aws_low_gpu_utilization import violations_of
from reportgen.rules.aws.details import Violations
from reportgen.rules.kit import col, derived, patience, percentage, row, window
from reportgen.units import NS_PER_S

LONG_EDGE_RATIO = 0.05
"""A GPU that idles for this share of the recording before its work, or after it, is reported."""
START_NS = 15 * NS_PER_S
END_NS = 30 * NS_PER_S
"""Imports and the first use of a GPU take up to the first in any job, saving and uploading a model
up to the second."""
STEADY_NS = 10 * NS_PER_S
STEADY_PCT = 10.0
"""A sample shows where in a step it fell; over some seconds a GPU shows how much it works. It is
steady if it hardly ever works by more than a tenth more than on average: it is not held up at times
and well used at others, and what it does on average is what it can be given."""
_MOST_RESTS_PCT = (10, 90)
LEAST_RESTS = 3
"""A GPU that rests once or twice has paused and does not swing; long pauses are another finding."""
PHASE_RATIO = 0.5
"""A rest inside this share of the steps is a phase of a step: samples show it if steps are long."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Params:
    """Parameters in AWS's order."""

    threshold_p95: float = percentage(70, "under-used when the 95th percentile is below this")
    threshold_p5: float = percentage(
        usage.IDLE_BELOW_PCT, "fluctuating when the 5th percentile is below this"
    )
    window: int = window(500)
    patience: int = patience()


class Verdict(StrEnum):
    """Faults of a GPU."""

    UNDER_USED = "under-used"
    FLUCTUATING = "fluctuating"
    FINE = "fine"
    NOT_JUDGED = "not judged"


@row
class FaultyMinutes:
    """Starts of the minutes in which a GPU was under-used, or of those in which it fluctuated.

    Only samples in its working range count; ``lowest_pct`` is the lowest of their percentiles,
    infinite without any. A GPU that is rarely idle and steadily low on average is low all the time.
    """

    work_ns: Instants
    lowest_pct: float


@row
class IdleEdge:
    """The time before a GPU first worked, or after it last worked; ``pct`` of its recording."""

    pct: float
    start_ns: int
    end_ns: int
    length_ns: int = derived(lambda edge: edge.end_ns - edge.start_ns)


def _verdict(gpu: GpuUse) -> Verdict:
    """Return the fault of a GPU: the condition that held in more minutes at work."""
    low, fluctuating = gpu.low.work_ns.size, gpu.fluctuating.work_ns.size
    if not gpu.judged_minutes:
        return Verdict.NOT_JUDGED
    if low and low >= fluctuating:
        return Verdict.UNDER_USED
    return Verdict.FLUCTUATING if fluctuating else Verdict.FINE


@row
class GpuUse:
    """Use of one GPU.

    Attributes:
        judged_minutes: those with enough samples.
        work_mean_pct, work_p5_pct, work_p95_pct, idle_ratio: over its working range, in which it
            idles below ``threshold_p5``.
        steady_p95_pct: the 95th percentile of its means over some seconds at work.
        rest_spread_ratio: over which part of the working range four fifths of the rests spread.
        rested_ratio: share of the working range that its rests below ``threshold_p5`` take;
        samples at
            both ends of a rest count as far as they are below its usual use.
        hot_when_idle_pct: share of those idle samples in which a CPU core was busy or waited for
            I/O; 0 without idle samples.
        host_mean_pct: mean use of the node's cores over the working range, 0 without samples.
        in_steps_pct: its mean use at work by the part of the loop that lies in steps; ``None``
            without steps. Above 100 the GPU works outside of steps as well.
        rests_in_steps: whether it rests inside most steps: an exchange, a wait for another worker.
        start_ns, end_ns: of the working range.
        late, ended: its idle start and end, if they are long; the working range is without them.
    """

    node: str = col()
    gpu: str = col()
    verdict: Verdict = derived(_verdict)
    mean_pct: float = col("%", digits=2)
    p5_pct: float = col("%", digits=2)
    p95_pct: float = derived(lambda gpu: gpu.box.p95, "%", digits=2)
    max_pct: float = col("%", digits=2)
    work_mean_pct: float = col("%", digits=2)
    work_p5_pct: float = col("%", digits=2)
    work_p95_pct: float = col("%", digits=2)
    work_idle_pct: float = derived(lambda gpu: 100 * gpu.idle_ratio, "%", digits=2)
    judged_minutes: int = col()
    under_used_minutes: int = derived(lambda gpu: gpu.low.work_ns.size)
    fluctuating_minutes: int = derived(lambda gpu: gpu.fluctuating.work_ns.size)
    n_samples: int = col(name="samples")
    box: Box
    idle_ratio: float
    hot_when_idle_pct: float
    host_mean_pct: float
    steady_p95_pct: float
    rest_spread_ratio: float
    rested_ratio: float
    in_steps_pct: float | None
    rests_in_steps: bool
    start_ns: int
    end_ns: int
    late: IdleEdge | None
    ended: IdleEdge | None
    last_ns: int
    low: FaultyMinutes
    fluctuating: FaultyMinutes


@row
class NodeGpus:
    """One node: how many ticks it has and how each of its GPUs was used."""

    node: str
    n_ticks: int
    gpus: tuple[GpuUse, ...]
    aws: Violations


def measure(part: NodeProfile, params: Params) -> NodeGpus:
    """Measure every GPU of a node; a GPU without a single sample does not exist."""
    by_gpu = usage.samples_by_gpu(part.system, SeriesKind.GPU_UTILIZATION)
    in_steps = _in_steps_ratio(part.spans.steps())
    gpus = [_measure_gpu(part, gpu, own, params, in_steps) for gpu, own in by_gpu]
    aws = violations_of(part, params)
    return NodeGpus(node=part.node, n_ticks=part.system.n_ticks, gpus=tuple(gpus), aws=aws)


def _in_steps_ratio(steps: SpanTable) -> float | None:
    """Return which part of a node's loop lies in steps, the mean over its workers.

    A slow step counts as long as a usual one: what slows it down is another fault.
    """
    if steps.n_spans == 0:
        return None
    length_ns = int(steps.end_ns.max() - steps.start_ns.min())
    usual_ns = steps.duration_ns.copy()
    for _, rows in rows_by_code(steps.worker):
        own_ns = steps.duration_ns[rows]
        usual_ns[rows] = np.where(above_median(own_ns), int(np.median(own_ns)), own_ns)
    unions = [
        intervals.union_of(steps.start_ns[rows], steps.start_ns[rows] + usual_ns[rows])
        for _, rows in rows_by_code(steps.worker)
    ]
    inside_ns = sum(union.length_ns for union in unions) / len(unions)
    return inside_ns / length_ns if length_ns else None


def _measure_gpu(
    part: NodeProfile,
    gpu: str,
    series: usage.Samples,
    params: Params,
    in_steps: float | None,
) -> GpuUse:
    time_ns, values, idle_below = series.time_ns, series.values, params.threshold_p5
    work, late, ended = _work_of(series, samples.training_loop_ns(part.spans), idle_below)
    its = slice(work.first, work.stop)
    working = values[its]
    is_idle = working < idle_below
    hot = usage.is_host_hot(part.system)[series.is_there][its][is_idle]
    host_pct = samples.mean_of_present(usage.cores_mean_pct(part.system)[series.is_there][its])
    every = samples.minutes_of(time_ns)
    is_judged = every.stop > usage.enough_samples(params.patience)
    start_ns, stops = every.start_ns[is_judged], every.stop[is_judged]
    at_work = _at_work(values, stops, work, params.window)
    is_bad = _conditions(at_work, params)
    low, fluctuating = (
        FaultyMinutes(
            work_ns=start_ns[is_bad[kind]],
            lowest_pct=float(at_work[is_bad[kind], kind].min(initial=np.inf)),
        )
        for kind in (0, 1)
    )
    work_p5, work_p95 = percentiles(working, (5, 95)).tolist()
    steady_p95 = _steady_p95(working, part.system.interval_ns)
    is_steady = steady_p95 <= working.mean() + STEADY_PCT and work_p5 >= idle_below
    if np.count_nonzero(np.diff(is_idle, prepend=False) & is_idle) < LEAST_RESTS:
        fluctuating = replace(fluctuating, work_ns=start_ns[:0])
    if is_steady and working.mean() < params.threshold_p95:
        low = replace(low, work_ns=start_ns)
    return GpuUse(
        node=part.node,
        gpu=gpu,
        n_samples=values.size,
        box=box_of(values),
        mean_pct=float(values.mean()),
        p5_pct=float(percentiles(values, (5,))[0]),
        max_pct=float(values.max()),
        work_mean_pct=float(working.mean()),
        work_p5_pct=work_p5,
        work_p95_pct=work_p95,
        idle_ratio=float(is_idle.mean()),
        hot_when_idle_pct=100 * float(hot.mean()) if hot.size else 0.0,
        host_mean_pct=host_pct or 0.0,
        steady_p95_pct=steady_p95,
        rest_spread_ratio=_spread_ratio(time_ns[work.first : work.stop], is_idle),
        rested_ratio=_rested_ratio(working, idle_below),
        in_steps_pct=in_steps and float(working.mean()) / in_steps,
        rests_in_steps=_rests_in_steps(part.spans.steps(), time_ns[its][is_idle]),
        start_ns=int(time_ns[work.first]),
        end_ns=int(time_ns[work.stop - 1]),
        late=late,
        ended=ended,
        last_ns=int(time_ns[-1]),
        judged_minutes=start_ns.size,
        low=low,
        fluctuating=fluctuating,
    )


def _work_of(
    series: usage.Samples, loop_ns: tuple[int, int] | None, idle_below: float
) -> tuple[samples.WorkRange, IdleEdge | None, IdleEdge | None]:
    """Return the working range of a GPU without its long idle edges, and these.

    The time before the first step is the start of the job, not that of a GPU.
    """
    work = samples.work_range(series.time_ns, series.values, idle_below=idle_below, loop_ns=loop_ns)
    begin, last = work.first if loop_ns else 0, series.values.size - 1
    before, _ = samples.idle_edges(series.values[begin:], idle_below=idle_below)
    _, after = samples.idle_edges(series.values, idle_below=idle_below)
    late = _edge(series.time_ns, begin, begin + before, least_ns=START_NS)
    ended = _edge(series.time_ns, last - after, last, least_ns=END_NS)
    first = max(work.first, begin + before) if late else work.first
    stop = min(work.stop, last - after + 1) if ended else work.stop
    is_left = stop > first
    return samples.WorkRange(first=first, stop=stop) if is_left else work, late, ended


def _edge(time_ns: Instants, first: int, last: int, *, least_ns: int) -> IdleEdge | None:
    length_ns, whole_ns = int(time_ns[last] - time_ns[first]), int(time_ns[-1] - time_ns[0])
    if length_ns <= max(least_ns, LONG_EDGE_RATIO * whole_ns):
        return None
    pct = 100 * length_ns / whole_ns
    return IdleEdge(pct=pct, start_ns=int(time_ns[first]), end_ns=int(time_ns[last]))


def _rested_ratio(working: Floats, idle_below: float) -> float:
    """Return which part of (n,) samples the rests take; 1 where nothing else is there."""
    is_idle = working < idle_below
    if is_idle.all():
        return 1.0
    is_near = is_idle.copy()
    is_near[1:] |= is_idle[:-1]
    is_near[:-1] |= is_idle[1:]
    lost = np.clip(1 - working / np.median(working[~is_idle]), 0, 1)
    return float(lost[is_near].sum() / working.size)


def _steady_p95(working: Floats, interval_ns: int | None) -> float:
    n_each = min(max(STEADY_NS // (interval_ns or STEADY_NS), 1), working.size)
    total = np.concatenate(([0.0], np.cumsum(working)))
    return float(percentiles((total[n_each:] - total[:-n_each]) / n_each, (95,))[0])


def _spread_ratio(time_ns: Instants, is_idle: Mask) -> float:
    if not is_idle.any():
        return 0.0
    first_ns, last_ns = np.percentile(time_ns[is_idle], _MOST_RESTS_PCT).tolist()
    return float((last_ns - first_ns) / max(int(time_ns[-1] - time_ns[0]), 1))


def _rests_in_steps(steps: SpanTable, idle_ns: Instants) -> bool:
    """Return whether idle samples lie inside most steps of the node's first worker."""
    for _, rows in rows_by_code(steps.worker):
        order = rows[np.argsort(steps.start_ns[rows], kind="stable")]
        start_ns, end_ns = steps.start_ns[order], steps.end_ns[order]
        at = np.searchsorted(start_ns, idle_ns, side="right") - 1
        at = at[(at >= 0) & (idle_ns < end_ns[at])]
        return bool(np.unique(at).size >= PHASE_RATIO * order.size)
    return False


def _at_work(values: Floats, stops: Instants, work: samples.WorkRange, window: int) -> Floats:
    """Return (m, 2) p95 and p5 of what of each window lies in the working range, else NaN."""
    found = samples.window_percentiles(values, stops, window=window, points_pct=(95, 5))
    first, stop = usage.windows_at_work(stops, work, window=window)
    for at in np.flatnonzero(stop - first < window).tolist():
        inside = values[first[at] : stop[at]]
        found[at] = percentiles(inside, (95, 5)) if inside.size else np.nan
    return found


def _conditions(pairs: Floats, params: Params) -> tuple[Mask, Mask]:
    """Return (m,) which pairs of p95 and p5 are under-used, and (m,) which fluctuate."""
    p95, p5 = np.round(pairs, usage.PERCENT_DIGITS).T
    is_fluctuating = (p95 > params.threshold_p95) & (p5 < params.threshold_p5)
    return p95 < params.threshold_p95, is_fluctuating
