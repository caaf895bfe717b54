"""What BatchSize measures: how much of a node's CPU, GPUs and GPU memory was left."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reportgen.facts.activity import WorkRange, training_loop_ns, work_range
from reportgen.facts.distributions import Box, box_of, percentiles
from reportgen.facts.gpu_use import (
    IDLE_BELOW_PCT,
    PERCENT_DIGITS,
    Samples,
    low_used_gpus,
    samples_by_gpu,
    samples_of,
    used_gpus,
    windows_at_work,
)
from reportgen.facts.host_load import cores_mean_pct, is_host_hot
from reportgen.facts.minutes import minutes_of, window_percentiles
from reportgen.profile import NodeProfile, SeriesKind
from reportgen.profile.system import Floats, Instants
from reportgen.rules.kit import col, derived, patience, percentage, row, window
from reportgen.rules.saying.violations import LastViolation, box_member
from reportgen.units import NS_PER_MINUTE

CPU = "cpu"
MEMORY_SUFFIX = "_memory"
ACTIVE_RATIO = 0.2
"""A window in which a GPU did nothing at all in more than four of five samples says nothing about
its batch."""

Series = tuple[Samples, Samples, Samples]
"""The mean of the cores, one GPU, and its memory."""


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

    @property
    def limits_pct(self) -> tuple[float, float, float]:
        """Return the thresholds of CPU, GPU and GPU memory."""
        return self.cpu_threshold_p95, self.gpu_threshold_p95, self.gpu_memory_threshold_p95


@row
class Resource:
    """Use of ``cpu``, ``gpu1`` or ``gpu1_memory`` over the whole job."""

    node: str = col()
    name: str = col(name="resource")
    last_window_p95_pct: float = col("%", digits=2)
    threshold_pct: float = col("%")
    p50_pct: float = derived(lambda resource: resource.box.p50, "%", digits=2)
    p95_pct: float = derived(lambda resource: resource.box.p95, "%", digits=2)
    max_pct: float = col("%", digits=2)
    n_samples: int = col(name="samples")
    box: Box


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuRoom:
    """Minutes in which a node had room beside one GPU.

    Attributes:
        is_used: whether the job uses it.
        last_ns: time of its newest sample.
        judged_minutes: how many there are.
        roomy_ns: starts of those of them with room everywhere.
        n_roomy_at_work: how many of the latter do not owe it to an idle start or end.
        gpu_p95_pct, memory_p95_pct: highest window percentiles in the minutes with room.
    """

    gpu: str
    is_used: bool
    last_ns: int
    judged_minutes: int
    roomy_ns: Instants
    n_roomy_at_work: int
    gpu_p95_pct: float
    memory_p95_pct: float


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeRoom:
    """One node.

    Attributes:
        n_ticks, n_cpu_samples: sampling instants, and those with a CPU sample.
        n_gpus: GPUs with samples of utilization.
        gpus: those with samples of memory as well.
        resources: ``cpu``, then each GPU and its memory.
        violations: the newest violation of each GPU, the node's CPU included.
        host_bound_ratio: share of ticks with an idle GPU and a busy or waiting core.
    """

    node: str
    n_ticks: int
    n_cpu_samples: int
    n_gpus: int
    gpus: tuple[GpuRoom, ...]
    resources: tuple[Resource, ...]
    violations: tuple[LastViolation, ...]
    host_bound_ratio: float


def measure(part: NodeProfile, params: Params) -> NodeRoom:
    """Measure a node; GPUs without samples of utilization or memory are not judged."""
    system, kind = part.system, SeriesKind.GPU_UTILIZATION
    cpu = samples_of(system, cores_mean_pct(system))
    uses, memories = (samples_by_gpu(system, each) for each in (kind, SeriesKind.GPU_MEMORY))
    series = {
        gpu: (cpu, use, memories[gpu])
        for gpu, use in uses.items()
        if gpu in memories and cpu.values.size
    }
    is_used = dict(zip(system.names(kind), used_gpus(system.matrix(kind)).tolist(), strict=True))
    loop_ns = training_loop_ns(part.spans)
    gpus = [_room(gpu, its, loop_ns, params, is_used=is_used[gpu]) for gpu, its in series.items()]
    is_bottleneck = (low_used_gpus(system) > 0) & is_host_hot(system)
    return NodeRoom(
        node=part.node,
        n_ticks=system.n_ticks,
        n_cpu_samples=cpu.values.size,
        n_gpus=len(uses),
        gpus=tuple(gpus),
        resources=tuple(_resources(part.node, cpu, series, params)),
        violations=tuple(_violations(gpus, cpu, series)),
        host_bound_ratio=float(is_bottleneck.mean()) if system.n_ticks else 0.0,
    )


def _resources(
    node: str, cpu: Samples, series: Mapping[str, Series], params: Params
) -> Iterator[Resource]:
    named = [(CPU, cpu, 0)] if cpu.values.size else []
    for gpu, (_, use, memory) in series.items():
        named += [(gpu, use, 1), (gpu + MEMORY_SUFFIX, memory, 2)]
    for name, samples, place in named:
        values = samples.values
        yield Resource(
            node=node,
            name=name,
            last_window_p95_pct=float(percentiles(values[-params.window :], (95,))[0]),
            threshold_pct=float(params.limits_pct[place]),
            max_pct=float(values.max()),
            n_samples=values.size,
            box=box_of(values),
        )


def _room(
    gpu: str,
    series: Series,
    loop_ns: tuple[int, int] | None,
    params: Params,
    *,
    is_used: bool,
) -> GpuRoom:
    """Find the minutes in which CPU, GPU and GPU memory all had room.

    A minute is judged after more samples than ``patience`` (CPU) and than ``window`` (all three);
    there is room when every 95th percentile of the last window is below its threshold.
    """
    use_ns, use_pct = series[1].time_ns, series[1].values
    work = work_range(use_ns, use_pct, idle_below=IDLE_BELOW_PCT, loop_ns=loop_ns)
    start_ns = minutes_of(use_ns).start_ns
    stops = np.array([samples.before(start_ns + NS_PER_MINUTE) for samples in series])
    is_judged = (stops[0] > params.patience) & (stops.min(axis=0) > params.window)
    stops = stops[:, is_judged]
    p95 = [
        window_percentiles(samples.values, stop, window=params.window, points_pct=(95,))[:, 0]
        for samples, stop in zip(series, stops, strict=True)
    ]
    is_roomy = _all_below(p95, params)
    return GpuRoom(
        gpu=gpu,
        is_used=is_used,
        last_ns=int(use_ns[-1]),
        judged_minutes=int(is_judged.sum()),
        roomy_ns=start_ns[is_judged][is_roomy],
        n_roomy_at_work=_n_roomy_at_work(series, stops[1][is_roomy], work, params),
        gpu_p95_pct=float(p95[1][is_roomy].max(initial=0.0)),
        memory_p95_pct=float(p95[2][is_roomy].max(initial=0.0)),
    )


def _all_below(p95: Sequence[Floats], params: Params) -> NDArray[np.bool_]:
    limits = np.array(params.limits_pct)[:, None]
    return np.asarray((np.round(p95, PERCENT_DIGITS) < limits).all(axis=0))


def _n_roomy_at_work(series: Series, stops: Instants, work: WorkRange, params: Params) -> int:
    """Judge again with only those samples of each window that lie in the GPU's working range."""
    use, n_roomy = series[1], 0
    bounds = zip(stops.tolist(), *windows_at_work(stops, work, window=params.window), strict=True)
    for end, first, stop in bounds:
        is_active = (use.values[end - params.window : end] > 0).mean() >= ACTIVE_RATIO
        if is_active and stop - first == params.window:
            n_roomy += 1
        elif is_active and stop > first:
            edges = np.array([use.time_ns[first], use.time_ns[stop - 1] + 1])
            inside = [samples.values[slice(*samples.before(edges))] for samples in series]
            if all(values.size for values in inside):
                p95 = [percentiles(values, (95,)) for values in inside]
                n_roomy += int(_all_below(p95, params)[0])
    return n_roomy


def _violations(
    gpus: Sequence[GpuRoom], cpu: Samples, series: Mapping[str, Series]
) -> Iterator[LastViolation]:
    """Yield what SageMaker keeps of each GPU's newest minute with room: boxes up to its end."""
    roomy = [gpu for gpu in gpus if gpu.roomy_ns.size]
    ends = [int(gpu.roomy_ns[-1]) + NS_PER_MINUTE for gpu in roomy]
    for gpu, end_ns in zip(roomy, ends, strict=True):
        _, use, memory = series[gpu.gpu]
        histories = {
            CPU: (cpu, max(ends)),
            gpu.gpu: (use, end_ns),
            gpu.gpu + MEMORY_SUFFIX: (memory, end_ns),
        }
        yield LastViolation(
            first_ns=int(gpu.roomy_ns[0]),
            last_ns=int(gpu.roomy_ns[-1]),
            members={
                name: box_member(box_of(samples.values[samples.time_ns < until_ns]))
                for name, (samples, until_ns) in histories.items()
            },
        )
