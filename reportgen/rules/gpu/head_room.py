"""How much of a node's CPU, GPUs and GPU memory was left: the measurement of BatchSize."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reportgen.facts.activity import WorkRange, work_range
from reportgen.facts.distributions import Box, box_of, percentiles
from reportgen.facts.minutes import minutes_of, window_percentiles
from reportgen.facts.samples import mean_over
from reportgen.profile import SystemTable
from reportgen.profile.system import Floats, SeriesKind
from reportgen.results import JsonValue
from reportgen.rules.declare import patience, percentage, window
from reportgen.rules.saying.violations import LastViolation, box_member
from reportgen.units import NS_PER_MINUTE

CPU = "cpu"
MEMORY_SUFFIX = "_memory"
IDLE_BELOW_PCT = 10.0
"""A GPU below this is idle; decides where its work begins. Source: LowGPUUtilization's p5."""
ACTIVE_RATIO = 0.2
"""A window in which a GPU did anything at all in fewer samples than this tells nothing of its
batch. Source: ours."""
WORK_WINDOW_RATIO = 0.2
"""A window tells nothing when less than a fifth of it lies in the working range. Source: ours."""
PERCENT_DIGITS = 9


@dataclass(frozen=True, slots=True, kw_only=True)
class Params:
    """Parameters in AWS's order."""

    cpu_threshold_p95: float = percentage(70, "the CPU has room when its p95 is below this")
    gpu_threshold_p95: float = percentage(70, "a GPU has room when its p95 is below this")
    gpu_memory_threshold_p95: float = percentage(
        70, "GPU memory has room when its p95 is below this"
    )
    patience: int = patience()
    window: int = window(500)


@dataclass(frozen=True, slots=True, kw_only=True)
class Samples:
    """One series without its gaps: (n,) times and values, sorted by time."""

    time_ns: NDArray[np.int64]
    values: Floats

    def stops(self, end_ns: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return how many samples there are before each instant."""
        return np.searchsorted(self.time_ns, end_ns, side="left")


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource:
    """Use of ``cpu``, ``gpu1`` or ``gpu1_memory`` over the whole job, in percent."""

    name: str
    n_samples: int
    box: Box
    max_pct: float
    last_window_p95_pct: float


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuRoom:
    """Minutes in which a node had room beside one GPU.

    Attributes:
        is_used: whether the job uses it.
        last_ns: time of its newest sample.
        judged_ns, roomy_ns: starts of the minutes judged, and of those with room everywhere.
        n_roomy_at_work: how many of the latter do not owe it to an idle start or end.
        gpu_p95_pct, memory_p95_pct: highest window percentiles in the minutes with room.
        violation: the newest minute with room, without the node's CPU.
        stop_ns: end of that minute; 0 without violation.
    """

    gpu: str
    is_used: bool
    last_ns: int
    judged_ns: NDArray[np.int64]
    roomy_ns: NDArray[np.int64]
    n_roomy_at_work: int
    gpu_p95_pct: float
    memory_p95_pct: float
    violation: LastViolation | None
    stop_ns: int


def samples_of(system: SystemTable, values: Floats) -> Samples:
    """Return a column of a table without its gaps."""
    is_sampled = ~np.isnan(values)
    return Samples(time_ns=system.tick_ns[is_sampled], values=values[is_sampled])


def cpu_samples(system: SystemTable) -> Samples:
    """Return the mean over the cores of a node, tick by tick."""
    return samples_of(system, mean_over(system.matrix(SeriesKind.CPU_UTILIZATION)))


def gpu_columns(system: SystemTable, kind: SeriesKind) -> dict[str, Samples]:
    """Return the samples of each GPU that has any."""
    matrix = system.matrix(kind)
    columns = {
        gpu: samples_of(system, matrix[:, index]) for index, gpu in enumerate(system.names(kind))
    }
    return {gpu: samples for gpu, samples in columns.items() if samples.values.size}


def resource_of(name: str, samples: Samples, window: int) -> Resource:
    """Summarise one resource; it needs at least one sample."""
    return Resource(
        name=name,
        n_samples=samples.values.size,
        box=box_of(samples.values),
        max_pct=float(samples.values.max()),
        last_window_p95_pct=float(percentiles(samples.values[-window:], (95,))[0]),
    )


def measure_room(
    gpu: str,
    *,
    is_used: bool,
    cpu: Samples,
    use: Samples,
    memory: Samples,
    loop_ns: tuple[int, int] | None,
    params: Params,
) -> GpuRoom:
    """Find the minutes in which CPU, GPU and GPU memory all had room.

    Source: oracle §4; more samples than ``patience`` (CPU) and than ``window`` (all three), every
    95th percentile of the last window strictly below its threshold.
    """
    start_ns = minutes_of(use.time_ns).start_ns
    ends = start_ns + NS_PER_MINUTE
    window = params.window
    stops = [samples.stops(ends) for samples in (cpu, use, memory)]
    is_judged = (stops[0] > params.patience) & (np.min(stops, axis=0) > window)
    p95 = [
        window_percentiles(samples.values, stop[is_judged], window=window, points_pct=(95,))[:, 0]
        for samples, stop in zip((cpu, use, memory), stops, strict=True)
    ]
    is_roomy = _all_below(p95, params)
    rows = np.flatnonzero(is_judged)[is_roomy]
    work = work_range(use.time_ns, use.values, idle_below=IDLE_BELOW_PCT, loop_ns=loop_ns)
    at_work = [_is_roomy_at_work((cpu, use, memory), work, int(ends[row]), params) for row in rows]
    last = int(rows[-1]) if rows.size else -1
    return GpuRoom(
        gpu=gpu,
        is_used=is_used,
        last_ns=int(use.time_ns[-1]),
        judged_ns=start_ns[is_judged],
        roomy_ns=start_ns[rows],
        n_roomy_at_work=sum(at_work),
        gpu_p95_pct=float(p95[1][is_roomy].max(initial=0.0)),
        memory_p95_pct=float(p95[2][is_roomy].max(initial=0.0)),
        violation=None
        if not rows.size
        else LastViolation(
            first_ns=int(start_ns[rows[0]]),
            last_ns=int(start_ns[last]),
            members=_members(gpu, use.values[: stops[1][last]], memory.values[: stops[2][last]]),
        ),
        stop_ns=int(ends[last]) if rows.size else 0,
    )


def _members(gpu: str, use: Floats, memory: Floats) -> dict[str, JsonValue]:
    return {gpu: box_member(box_of(use)), gpu + MEMORY_SUFFIX: box_member(box_of(memory))}


def _all_below(p95: list[Floats], params: Params) -> NDArray[np.bool_]:
    limits = (
        params.cpu_threshold_p95,
        params.gpu_threshold_p95,
        params.gpu_memory_threshold_p95,
    )
    below = [
        np.round(values, PERCENT_DIGITS) < limit for values, limit in zip(p95, limits, strict=True)
    ]
    return np.asarray(np.all(below, axis=0))


def _is_roomy_at_work(
    series: tuple[Samples, Samples, Samples], work: WorkRange, end_ns: int, params: Params
) -> bool:
    """Judge again with only those samples of the window that lie in the GPU's working range."""
    _, use, _ = series
    stop = int(np.searchsorted(use.time_ns, end_ns))
    if (use.values[max(stop - params.window, 0) : stop] > 0).mean() < ACTIVE_RATIO:
        return False
    first = max(stop - params.window, work.first)
    if first == stop - params.window and stop <= work.stop:
        return True
    stop = min(stop, work.stop)
    if stop - first < WORK_WINDOW_RATIO * params.window:
        return False
    edges = (use.time_ns[first], use.time_ns[stop - 1] + 1)
    p95 = []
    for samples in series:
        low, high = np.searchsorted(samples.time_ns, edges)
        if high == low:
            return False
        p95.append(percentiles(samples.values[low:high], (95,)))
    return bool(_all_below(p95, params)[0])
