"""What BatchSize measures: how much of a node's CPU, GPUs and GPU memory was left."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reportgen.facts.activity import training_loop_ns, work_range
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
from reportgen.rules.aws.details import MEMORY_SUFFIX, LastViolation, box_member
from reportgen.rules.kit import col, derived, patience, percentage, row, window
from reportgen.units import NS_PER_MINUTE

CPU = "cpu"
ACTIVE_RATIO = 0.2
"""A window in which a GPU did nothing at all in more than four of five samples says nothing about
its batch."""


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


@row
class GpuRoom:
    """Minutes in which a node had room beside one GPU.

    Attributes:
        is_used: whether the job uses the GPU.
        last_ns: time of its newest sample.
        judged_minutes: how many there are.
        roomy_ns: starts of those of them with room everywhere.
        n_roomy_at_work: how many of the latter do not owe it to an idle start or end.
        gpu_p95_pct, memory_p95_pct: highest window percentiles in the minutes with room.
        cpu_p95_pct: of the node in the last window.
        host_bound_pct: share of the node's ticks with an idle GPU and a busy or waiting core.
    """

    node: str
    gpu: str
    is_used: bool
    last_ns: int
    judged_minutes: int
    roomy_ns: Instants
    n_roomy_at_work: int
    gpu_p95_pct: float
    memory_p95_pct: float
    cpu_p95_pct: float
    host_bound_pct: float


@row
class NodeRoom:
    """One node.

    Attributes:
        n_gpus: GPUs with samples of utilization; ``gpus`` have samples of memory as well.
        resources: ``cpu``, then each GPU and its memory.
        violations: the newest violation of each GPU, the node's CPU included.
    """

    node: str
    n_ticks: int
    n_gpus: int
    gpus: tuple[GpuRoom, ...]
    resources: tuple[Resource, ...]
    violations: tuple[LastViolation, ...]


Series = tuple[Samples, Samples, Samples]
"""The mean of the cores, one GPU, and its memory."""


def measure(part: NodeProfile, params: Params) -> NodeRoom:
    """Measure a node; GPUs without samples of utilization or memory are not judged."""
    system, kind = part.system, SeriesKind.GPU_UTILIZATION
    cpu = samples_of(system, cores_mean_pct(system))
    uses, memories = (samples_by_gpu(system, each) for each in (kind, SeriesKind.GPU_MEMORY))
    both = [gpu for gpu in uses if gpu in memories and cpu.values.size]
    series = {gpu: (cpu, uses[gpu], memories[gpu]) for gpu in both}
    is_used = dict(zip(system.names(kind), used_gpus(system.matrix(kind)).tolist(), strict=True))
    gpus = [_room(part, gpu, its, params, is_used=is_used[gpu]) for gpu, its in series.items()]
    resources = [_resource(part, CPU, cpu, 0, params)] if cpu.values.size else []
    for gpu in both:
        resources.append(_resource(part, gpu, uses[gpu], 1, params))
        resources.append(_resource(part, gpu + MEMORY_SUFFIX, memories[gpu], 2, params))
    return NodeRoom(
        node=part.node,
        n_ticks=system.n_ticks,
        n_gpus=len(uses),
        gpus=tuple(gpus),
        resources=tuple(resources),
        violations=tuple(_violations(gpus, series)),
    )


def _resource(
    part: NodeProfile, name: str, samples: Samples, place: int, params: Params
) -> Resource:
    values = samples.values
    return Resource(
        node=part.node,
        name=name,
        last_window_p95_pct=_p95(values[-params.window :]),
        threshold_pct=float(params.limits_pct[place]),
        max_pct=float(values.max()),
        n_samples=values.size,
        box=box_of(values),
    )


def _p95(values: Floats) -> float:
    return float(percentiles(values, (95,))[0])


def _room(part: NodeProfile, gpu: str, series: Series, params: Params, *, is_used: bool) -> GpuRoom:
    """Find the minutes in which CPU, GPU and GPU memory all had room.

    A minute is judged after more samples than ``patience`` (CPU) and than ``window`` (all three);
    there is room when every 95th percentile of the last window is below its threshold.
    """
    use = series[1]
    start_ns = minutes_of(use.time_ns).start_ns
    stops = np.array([samples.before(start_ns + NS_PER_MINUTE) for samples in series])
    is_judged = (stops[0] > params.patience) & (stops.min(axis=0) > params.window)
    stops = stops[:, is_judged]
    p95 = [
        window_percentiles(samples.values, stop, window=params.window, points_pct=(95,))[:, 0]
        for samples, stop in zip(series, stops, strict=True)
    ]
    is_roomy = _all_below(p95, params)
    is_host_bound = (low_used_gpus(part.system) > 0) & is_host_hot(part.system)
    return GpuRoom(
        node=part.node,
        gpu=gpu,
        is_used=is_used,
        last_ns=int(use.time_ns[-1]),
        judged_minutes=int(is_judged.sum()),
        roomy_ns=start_ns[is_judged][is_roomy],
        n_roomy_at_work=_n_roomy_at_work(part, series, stops[1][is_roomy], params),
        gpu_p95_pct=float(p95[1][is_roomy].max(initial=0.0)),
        memory_p95_pct=float(p95[2][is_roomy].max(initial=0.0)),
        cpu_p95_pct=_p95(series[0].values[-params.window :]),
        host_bound_pct=100 * float(is_host_bound.mean()),
    )


def _all_below(p95: Sequence[Floats], params: Params) -> NDArray[np.bool_]:
    limits = np.array(params.limits_pct)[:, None]
    return np.asarray((np.round(p95, PERCENT_DIGITS) < limits).all(axis=0))


def _n_roomy_at_work(part: NodeProfile, series: Series, stops: Instants, params: Params) -> int:
    """Judge again with only those samples of each window that lie in the GPU's working range."""
    use, size = series[1], params.window
    loop_ns = training_loop_ns(part.spans)
    work = work_range(use.time_ns, use.values, idle_below=IDLE_BELOW_PCT, loop_ns=loop_ns)
    bounds = zip(stops.tolist(), *windows_at_work(stops, work, window=size), strict=True)
    n_roomy = 0
    for end, first, stop in bounds:
        is_active = (use.values[end - size : end] > 0).mean() >= ACTIVE_RATIO
        if is_active and stop - first == size:
            n_roomy += 1
        elif is_active and stop > first:
            edges = np.array([use.time_ns[first], use.time_ns[stop - 1] + 1])
            inside = [samples.values[slice(*samples.before(edges))] for samples in series]
            if all(values.size for values in inside):
                n_roomy += int(_all_below([percentiles(its, (95,)) for its in inside], params)[0])
    return n_roomy


def _violations(gpus: Sequence[GpuRoom], series: Mapping[str, Series]) -> Iterator[LastViolation]:
    """Yield what SageMaker keeps of each GPU's newest minute with room: boxes up to its end."""
    roomy = [gpu for gpu in gpus if gpu.roomy_ns.size]
    last_ns = max((int(gpu.roomy_ns[-1]) for gpu in roomy), default=0)
    for gpu in roomy:
        names = (CPU, gpu.gpu, gpu.gpu + MEMORY_SUFFIX)
        lasts_ns = (last_ns, int(gpu.roomy_ns[-1]), int(gpu.roomy_ns[-1]))
        members = {
            name: box_member(box_of(its.values[its.time_ns < until_ns + NS_PER_MINUTE]))
            for name, its, until_ns in zip(names, series[gpu.gpu], lasts_ns, strict=True)
        }
        yield LastViolation(
            first_ns=int(gpu.roomy_ns[0]), last_ns=int(gpu.roomy_ns[-1]), members=members
        )
