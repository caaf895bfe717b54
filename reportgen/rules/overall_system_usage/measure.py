"""Measurement of OverallSystemUsage: use of the resources of one node, and when it was sampled."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain

import numpy as np

from reportgen.arrays import Counts, Floats
from reportgen.facts import samples
from reportgen.facts.distributions import pct_histogram
from reportgen.facts.resample import TimeBuckets, bucket_by_time
from reportgen.facts.usage import cores_mean_pct, while_at_work
from reportgen.profile import NodeProfile, SeriesKind, SystemTable
from reportgen.results import Role
from reportgen.rules.aws.aws_overall_system_usage import STATISTICS, Quantity
from reportgen.rules.base import NoParams
from reportgen.rules.kit import col, derived, merge, merged, row
from reportgen.rules.overall_system_usage.cores import Cores, Crowd, cores_at_work, crowd_of

HALF_PCT = 50.0
"""Samples at zero and samples below half of the utilization are counted."""
CORES = "all cores"
EACH_GPU = "gpus"
_KINDS: Mapping[Quantity, tuple[SeriesKind, ...]] = {
    Quantity.NETWORK: (SeriesKind.RECEIVE_ALGORITHM, SeriesKind.TRANSMIT_ALGORITHM),
    Quantity.GPU: (SeriesKind.GPU_UTILIZATION,),
    Quantity.CPU: (SeriesKind.CPU_UTILIZATION,),
    Quantity.HOST_MEMORY: (SeriesKind.HOST_MEMORY,),
    Quantity.GPU_MEMORY: (SeriesKind.GPU_MEMORY,),
    Quantity.IO_WAIT: (SeriesKind.IO_WAIT,),
}

FLOWS: Mapping[str, Mapping[SeriesKind, str]] = {
    "network": {
        SeriesKind.RECEIVE_ALGORITHM: "received",
        SeriesKind.TRANSMIT_ALGORITHM: "sent",
        SeriesKind.RECEIVE_PLATFORM: "received by the platform",
        SeriesKind.TRANSMIT_PLATFORM: "sent by the platform",
    },
    "disk": {SeriesKind.READ_RATE: "read", SeriesKind.WRITE_RATE: "written"},
    "disk_operations": {SeriesKind.IOPS: "operations"},
}
"""Rates that have a curve for each direction, by the chart that they share."""


@row
class SampleCounts:
    """Samples of devices: at zero, below 50 %, and (50,) counts of [0, 2) ... [98, 100]."""

    counts: Counts = merged(sum)
    n_zero: int = merged(sum)
    n_below_half: int = merged(sum)
    n_samples: int = derived(lambda samples: int(samples.counts.sum()))
    n_active: int = derived(lambda samples: samples.n_samples - samples.n_zero)


def _known(loops: Sequence[SampleCounts | None]) -> SampleCounts | None:
    known = [loop for loop in loops if loop]
    return merge(known) if known else None


@row
class DeviceCounts:
    """Utilization samples of one GPU, of all cores of a node, or of several of these.

    ``loop`` is strictly inside the training loop of the node; ``None`` without step events.
    """

    node: str = col()
    device: str = col()
    samples: int = derived(lambda use: use.job.n_samples)
    at_zero: int = derived(lambda use: use.job.n_zero)
    below_50: int = derived(lambda use: use.job.n_below_half)
    loop_samples: int | None = derived(lambda use: use.loop and use.loop.n_samples)
    loop_at_zero: int | None = derived(lambda use: use.loop and use.loop.n_zero)
    loop_below_50: int | None = derived(lambda use: use.loop and use.loop.n_below_half)
    role: Role
    job: SampleCounts = merged(merge)
    loop: SampleCounts | None = merged(_known)


@row
class Line:
    """One curve: of a GPU, or of a whole node, whose ``device`` is empty; ``mean`` ranks lines."""

    node: str
    device: str
    mean: float
    curve: TimeBuckets


@row
class SampledTime:
    """When a node was sampled: first and last tick, and the pauses longer than ``least_ns``."""

    first_ns: int
    last_ns: int
    least_ns: int
    pauses: tuple[tuple[int, int], ...]


@row
class NodeUsage:
    """Everything OverallSystemUsage keeps of a node.

    Attributes:
        statistics: of each resource ``STATISTICS``, the 5th percentile and the mean.
        waiting_cores: how many wait for I/O on average, from its first to its last work.
        lines: the curves of each resource of the node, of ``EACH_GPU`` and of ``FLOWS``.
        cores, crowd: ``None`` where they are not to be judged, or not known.
    """

    node: str
    n_ticks: int
    n_cpu_samples: int
    statistics: Mapping[Quantity, Mapping[str, float]]
    waiting_cores: float | None
    lines: Mapping[str, tuple[Line, ...]]
    devices: tuple[DeviceCounts, ...]
    recording: SampledTime | None
    cores: Cores | None
    crowd: Crowd | None


def measure(part: NodeProfile, _params: NoParams) -> NodeUsage:
    """Measure a node; resources without samples are left out."""
    system, gpus = part.system, SeriesKind.GPU_UTILIZATION
    statistics = {}
    lines = {EACH_GPU: _lines(part, zip(system.names(gpus), system.each(gpus), strict=True))}
    for quantity, kinds in _KINDS.items():
        if quantity is Quantity.NETWORK:
            values = samples.sum_of(system, *kinds)
        elif quantity is Quantity.CPU:
            values = cores_mean_pct(system)
        else:
            values = samples.mean_of(system, *kinds)
        if not np.isnan(values).all():
            statistics[quantity] = _statistics(values)
            lines[quantity] = _lines(part, [("", values)])
    for name, ways in FLOWS.items():
        columns = ((way, samples.sum_of(system, kind)) for kind, way in ways.items())
        lines[name] = _lines(part, columns)
    return NodeUsage(
        node=part.node,
        n_ticks=system.n_ticks,
        n_cpu_samples=samples.present_values(cores_mean_pct(system)).size,
        statistics=statistics,
        waiting_cores=_waiting_cores(system),
        lines=lines,
        devices=tuple(_devices(part)),
        recording=_recording(system) if system.n_ticks else None,
        cores=cores_at_work(part),
        crowd=crowd_of(part),
    )


def _waiting_cores(system: SystemTable) -> float | None:
    waiting = samples.sum_of(system, SeriesKind.IO_WAIT)[while_at_work(system)]
    mean_pct = samples.mean_of_present(waiting)
    return None if mean_pct is None else mean_pct / 100


def _lines(part: NodeProfile, columns: Iterable[tuple[str, Floats]]) -> tuple[Line, ...]:
    tick_ns, width_ns = part.system.tick_ns, part.system.interval_ns or 1
    return tuple(
        Line(
            node=part.node,
            device=name,
            mean=float(np.nanmean(values)),
            curve=bucket_by_time(tick_ns, values, least_width_ns=width_ns),
        )
        for name, values in columns
        if not np.isnan(values).all()
    )


def _statistics(values: Floats) -> dict[str, float]:
    present = samples.present_values(values)
    points = STATISTICS | {"p5": 5.0}
    levels = np.percentile(present, tuple(points.values())).tolist()
    return dict(zip(points, levels, strict=True)) | {"mean": float(present.mean())}


def _devices(part: NodeProfile) -> Iterator[DeviceCounts]:
    system, loop_ns, inside = part.system, samples.training_loop_ns(part.spans), None
    if loop_ns is not None:
        first = np.searchsorted(system.tick_ns, loop_ns[0], side="right")
        inside = slice(first, np.searchsorted(system.tick_ns, loop_ns[1], side="left"))
    gpus, cores = SeriesKind.GPU_UTILIZATION, SeriesKind.CPU_UTILIZATION
    each = zip(system.names(gpus), system.each(gpus), strict=True)
    devices = [
        ((Role.GPU, name, [column]) for name, column in each),
        [(Role.CPU, CORES, system.each(cores))] if system.n_ticks and system.names(cores) else [],
    ]
    for role, device, columns in chain(*devices):
        counts = [(_count(column), inside and _count(column[inside])) for column in columns]
        yield DeviceCounts(
            node=part.node,
            device=device,
            role=role,
            job=merge([job for job, _ in counts]),
            loop=_known([loop for _, loop in counts]),
        )


def _count(column: Floats) -> SampleCounts:
    return SampleCounts(
        counts=pct_histogram(column),
        n_zero=int(np.count_nonzero(column == 0)),
        n_below_half=int(np.count_nonzero(column < HALF_PCT)),
    )


def _recording(system: SystemTable) -> SampledTime:
    starts, ends = samples.sampling_pauses(system)
    return SampledTime(
        first_ns=int(system.tick_ns[0]),
        last_ns=int(system.tick_ns[-1]),
        least_ns=samples.least_pause_ns(system.interval_ns),
        pauses=tuple(zip(starts.tolist(), ends.tolist(), strict=True)),
    )
