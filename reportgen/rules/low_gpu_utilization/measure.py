"""Measurement of LowGPUUtilization: use of each GPU of a node in its working range."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum

import numpy as np

from reportgen.arrays import Floats
from reportgen.facts import samples, usage
from reportgen.facts.between_steps import drives_several_gpus
from reportgen.facts.contrast import Contrast, contrast_of
from reportgen.facts.intervals import Union, union_of
from reportgen.profile import NodeProfile, SeriesKind, SystemTable
from reportgen.rules.aws.aws_low_gpu_utilization import Params, violations_of
from reportgen.rules.aws.details import Violations
from reportgen.rules.kit import col, derived, row
from reportgen.units import NS_PER_S

LONG_END_RATIO = 0.05
"""A GPU that idles for this share of the recording after its work is reported."""
END_NS = 30 * NS_PER_S
"""Saving and uploading a model takes up to this in any job."""
USUAL_FROM_PCT, RESTING_FROM_PCT = 90.0, 80.0
"""A GPU whose usual use reaches this, or that rests between its bursts of work, shows how much it
is used when it does not wait. Of one whose does not, all below 100 % may be waiting."""
LEAST_RESTS = 3
"""A GPU that rests once or twice has paused and does not swing; long pauses are another finding."""


class UseVerdict(StrEnum):
    """Faults of a GPU."""

    UNDER_USED = "under-used"
    FLUCTUATING = "fluctuating"
    FINE = "fine"
    NOT_JUDGED = "not judged"


@row
class IdleEnd:
    """The time after a GPU last worked; ``pct`` of its recording."""

    pct: float
    start_ns: int
    end_ns: int
    length_ns: int = derived(lambda end: end.end_ns - end.start_ns)

    def is_long(self, *, until_ns: int) -> bool:
        """Return whether the part of it that lies before an instant is long."""
        part_ns = until_ns - self.start_ns
        whole_ns = 100 * self.length_ns / self.pct
        return part_ns > max(END_NS, LONG_END_RATIO * whole_ns)


@row
class GpuUtilization:
    """Use of one GPU.

    Attributes:
        work_mean_pct, work_p5_pct, work_p95_pct, idle_ratio: over its working range, in which it
            idles below ``threshold_p5``, or ``UNTOUCHED_PCT`` where it ``is_light``: it never
            reaches that threshold and yet works while others do.
        rested_ratio: share of the working range that its rests below ``threshold_p5`` take;
            samples at both ends of a rest count as far as they are below its usual use.
        short_ratio: how much is missing to its usual use from its first to its last work there.
        hot_when_idle_pct: share of those idle samples in which a CPU core was busy or waited for
            I/O; 0 without idle samples.
        reached_pct: the utilization that more than a few samples reach (``usage.reached_pct``).
        start_ns, end_ns: of the working range.
        first_work_ns, last_work_ns: its first and last sample of work.
        ended: its idle end, if it is long; the working range is without it.
    """

    node: str = col()
    gpu: str = col()
    verdict: UseVerdict = col()
    mean_pct: float = col("%", digits=2)
    p5_pct: float = col("%", digits=2)
    p95_pct: float = col("%", digits=2)
    max_pct: float = col("%", digits=2)
    reached_pct: float
    work_mean_pct: float = col("%", digits=2)
    work_p5_pct: float = col("%", digits=2)
    work_p95_pct: float = col("%", digits=2)
    work_idle_pct: float = derived(lambda gpu: 100 * gpu.idle_ratio, "%", digits=2)
    n_samples: int = col(name="samples")
    idle_ratio: float
    rested_ratio: float
    short_ratio: float
    hot_when_idle_pct: float
    start_ns: int
    end_ns: int
    first_work_ns: int
    last_work_ns: int
    ended: IdleEnd | None
    is_light: bool


@row
class NodeGpus:
    """One node: how many ticks it has, whether it has steps, how each of its GPUs was used.

    ``has_steps``: whether the recorded steps cover most of the time in which its GPUs work.
    ``n_enough``: samples that must be exceeded. ``has_one_process``: whether one process drives
    several of them, so that none waits for another one in a collective. ``meanwhile``: of the GPU
    that rests for longest between its bursts of work, what was different while it idled.
    """

    node: str
    n_ticks: int
    n_enough: int
    has_steps: bool
    has_one_process: bool
    gpus: tuple[GpuUtilization, ...]
    aws: Violations
    meanwhile: Contrast | None


def measure(part: NodeProfile, params: Params) -> NodeGpus:
    """Measure every GPU of a node; a GPU without a single sample does not exist."""
    system, kind = part.system, SeriesKind.GPU_UTILIZATION
    are_light = usage.lightly_used(system.columns_of(kind), above=params.threshold_p5).tolist()
    is_light = dict(zip(system.names(kind), are_light, strict=True))
    gpus = tuple(
        _measure_gpu(part, gpu, series, params, is_light=is_light[gpu])
        for gpu, series in usage.samples_by_gpu(system, kind)
    )
    return NodeGpus(
        node=part.node,
        n_ticks=part.system.n_ticks,
        n_enough=usage.enough_samples(params.patience, part.system.tick_ns),
        has_steps=_has_steps(part, gpus),
        has_one_process=drives_several_gpus(part),
        gpus=gpus,
        aws=violations_of(part, params),
        meanwhile=_meanwhile(part, gpus, params),
    )


def _has_steps(part: NodeProfile, gpus: Sequence[GpuUtilization]) -> bool:
    loop_ns = samples.training_loop_ns(part.spans)
    if loop_ns is None or not gpus:
        return False
    begins_ns, ends_ns = (gpu.first_work_ns for gpu in gpus), (gpu.last_work_ns for gpu in gpus)
    return not samples.is_window(loop_ns, (min(begins_ns), max(ends_ns)))


def most_swinging(gpus: Iterable[GpuUtilization]) -> GpuUtilization | None:
    """Return the GPU whose rests between its bursts of work take most of its time."""
    swings = (gpu for gpu in gpus if gpu.verdict is UseVerdict.FLUCTUATING)
    return max(swings, key=lambda gpu: gpu.rested_ratio, default=None)


def _meanwhile(
    part: NodeProfile, gpus: Sequence[GpuUtilization], params: Params
) -> Contrast | None:
    worst, kind = most_swinging(gpus), SeriesKind.GPU_UTILIZATION
    if worst is None:
        return None
    series = dict(usage.samples_by_gpu(part.system, kind))[worst.gpu]
    is_rest = (series.time_ns >= worst.start_ns) & (series.time_ns <= worst.end_ns)
    rest_ns = series.time_ns[is_rest & (series.values < params.threshold_p5)]
    work = Union(start_ns=np.array([worst.start_ns]), end_ns=np.array([worst.end_ns]))
    return contrast_of(part, union_of(rest_ns, rest_ns), work)


def _measure_gpu(
    part: NodeProfile, gpu: str, series: usage.Samples, params: Params, *, is_light: bool
) -> GpuUtilization:
    time_ns, values = series.time_ns, series.values
    idle_below = usage.UNTOUCHED_PCT if is_light else params.threshold_p5
    work, ended = _work_of(series, samples.training_loop_ns(part.spans), idle_below)
    n_before, n_after = samples.idle_edges(values, idle_below=idle_below)
    working = values[work]
    # Waiting for the first batch of all belongs to the start.
    n_early, n_late = samples.idle_edges(working, idle_below=idle_below)
    is_idle = working < idle_below
    hot = usage.is_host_hot(part.system)[series.is_there][work][is_idle]
    verdict = _verdict(part.system, values, working, params)
    swings = verdict is UseVerdict.FLUCTUATING
    p5, p95 = np.percentile(values, (5, 95)).tolist()
    work_p5, work_p95 = np.percentile(working, (5, 95)).tolist()
    return GpuUtilization(
        node=part.node,
        gpu=gpu,
        verdict=verdict,
        n_samples=values.size,
        mean_pct=float(values.mean()),
        p5_pct=p5,
        p95_pct=p95,
        max_pct=float(values.max()),
        reached_pct=usage.reached_pct(values),
        work_mean_pct=float(working.mean()),
        work_p5_pct=work_p5,
        work_p95_pct=work_p95,
        idle_ratio=float(is_idle.mean()),
        rested_ratio=_rested_ratio(working, idle_below),
        short_ratio=_short_ratio(working[n_early : working.size - n_late], swings=swings),
        hot_when_idle_pct=100 * float(hot.mean()) if hot.size else 0.0,
        start_ns=int(time_ns[work][0]),
        end_ns=int(time_ns[work][-1]),
        first_work_ns=int(time_ns[n_before]),
        last_work_ns=int(time_ns[-1 - n_after]),
        ended=ended,
        is_light=is_light,
    )


def _verdict(system: SystemTable, values: Floats, working: Floats, params: Params) -> UseVerdict:
    """Return the fault of a GPU by its (n,) samples and by those in its working range, if enough.

    A single sample depends on where in a step it fell: one that is never idle is judged by its
    mean, whatever it reaches at times.
    """
    is_enough = values.size > usage.enough_samples(params.patience, system.tick_ns)
    if not is_enough or working.size < usage.LEAST_LONG:
        return UseVerdict.NOT_JUDGED
    p95, p5 = np.round(np.percentile(working, (95, 5)), usage.PERCENT_DIGITS)
    is_idle = working < params.threshold_p5
    n_rests = np.count_nonzero(np.diff(is_idle, prepend=False) & is_idle)
    if p95 < params.threshold_p95:
        return UseVerdict.UNDER_USED
    if p5 >= params.threshold_p5:
        return UseVerdict.UNDER_USED if working.mean() < params.threshold_p95 else UseVerdict.FINE
    return UseVerdict.FLUCTUATING if n_rests >= LEAST_RESTS else UseVerdict.FINE


def _work_of(
    series: usage.Samples, loop_ns: tuple[int, int] | None, idle_below: float
) -> tuple[slice, IdleEnd | None]:
    """Return the rows in which a GPU was meant to work, and its idle end if that is long.

    They are those of the training loop, else those from its first to its last work; without any
    all of them. A few recorded steps, with too few samples to judge or far less than the GPU works,
    are no loop. A long idle end is never among them. The start of the job another rule tells.
    """
    time_ns, size = series.time_ns, series.values.size
    first, n_after = samples.idle_edges(series.values, idle_below=idle_below)
    last, ended = size - 1 - n_after, None
    stop, length_ns, whole_ns = last + 1, int(time_ns[-1] - time_ns[last]), int(np.ptp(time_ns))
    if length_ns:
        pct = 100 * length_ns / whole_ns
        ended = IdleEnd(pct=pct, start_ns=int(time_ns[last]), end_ns=int(time_ns[-1]))
    if ended and not ended.is_long(until_ns=ended.end_ns):
        ended = None
    if loop_ns is not None:
        begin, end = np.searchsorted(time_ns, [loop_ns[0], loop_ns[1] + 1]).tolist()
        is_loop = end - begin > max(usage.LEAST_LONG, samples.WHOLE_RATIO * (stop - first))
        if is_loop and not (ended and last < begin):  # what stopped before them did not train there
            first, stop = begin, min(end, last + 1) if ended else end
    return slice(first, stop) if stop > first else slice(0, size), ended


def _short_ratio(working: Floats, *, swings: bool) -> float:
    """Return how much is missing in (n,) samples to the usual use, or to all if that is low.

    What is usual is seen in the best quarter of the time: steps may grow longer, or the work less.
    """
    mean_pct = float(working.mean())
    usual_pct = float(np.percentile(working, usage.USUAL_PERCENTILE))
    if working.size > 4 * usage.LEAST_LONG:
        usual_pct = float(usage.usual_by_quarter(working).max())
    if usual_pct >= (RESTING_FROM_PCT if swings else USUAL_FROM_PCT):
        return 1 - mean_pct / usual_pct
    unused_ratio = 1 - mean_pct / 100
    return unused_ratio if swings or unused_ratio >= usage.STEADY_FROM_RATIO else 0.0


def _rested_ratio(working: Floats, idle_below: float) -> float:
    """Return which part of (n,) samples the rests take; 1 where nothing else is there."""
    is_idle = working < idle_below
    if not is_idle.any():
        return 0.0
    if is_idle.all():
        return 1.0
    is_near = is_idle.copy()
    is_near[1:] |= is_idle[:-1]
    is_near[:-1] |= is_idle[1:]
    lost = np.clip(1 - working / np.median(working[~is_idle]), 0, 1)
    return float(lost[is_near].sum() / working.size)
