"""How one node used its resources: the measurement of OverallSystemUsage."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from reportgen.facts.activity import training_loop_ns
from reportgen.facts.distributions import Counts, pct_histogram, percentiles
from reportgen.facts.resample import MAX_BUCKETS, ThinCurve, even_buckets, thin
from reportgen.facts.samples import mean_over, present_values, sum_over
from reportgen.profile import SeriesKind, SpanTable, SystemTable
from reportgen.profile.system import Floats
from reportgen.rules.usage.recording import Recording, recording_of

HALF_PCT = 50.0
"""Seed 000 counts samples at zero and below this."""
ALL_CORES = "all cores"


class Quantity(StrEnum):
    """AWS's six resources, in AWS's order and words. Source: rules-spec §10."""

    NETWORK = "Network"
    GPU = "GPU"
    CPU = "CPU"
    HOST_MEMORY = "CPU memory"
    GPU_MEMORY = "GPU memory"
    IO_WAIT = "I/O"


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """One resource of one node: its samples summed up, and its curve over time."""

    quantity: Quantity
    n_samples: int
    largest: float
    p99: float
    p95: float
    p50: float
    smallest: float
    mean: float
    curve: ThinCurve


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleCounts:
    """Samples of a device: histogram, at zero, below 50 %.

    Attributes:
        counts: (50,) of [0, 2) ... [98, 100]; their sum is the number of samples.
    """

    counts: Counts
    n_zero: int
    n_below_half: int

    @property
    def n_samples(self) -> int:
        """Return the number of samples."""
        return int(self.counts.sum())


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceCounts:
    """Utilization samples of one GPU, or of all cores of a node.

    Attributes:
        device: ``gpu0`` or ``all cores``.
        loop: strictly inside the training loop of the node; ``None`` without step events.
    """

    device: str
    is_gpu: bool
    job: SampleCounts
    loop: SampleCounts | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeUsage:
    """Everything OverallSystemUsage keeps of a node.

    Attributes:
        usages: resources with samples, in AWS's order.
        gpu_curves: (GPU, curve) of the utilization of each GPU.
        is_platform_network: no ``Algorithm`` samples exist, so network is SageMaker's own traffic.
        recording: when it was sampled; ``None`` without samples.
    """

    node: str
    n_ticks: int
    n_cpu_samples: int
    usages: tuple[Usage, ...]
    gpu_curves: tuple[tuple[str, ThinCurve], ...]
    devices: tuple[DeviceCounts, ...]
    is_platform_network: bool
    recording: Recording | None

    def usage(self, quantity: Quantity) -> Usage | None:
        """Return one resource, or ``None`` when it was not sampled."""
        return next((item for item in self.usages if item.quantity is quantity), None)


def measure_usage(node: str, system: SystemTable, spans: SpanTable) -> NodeUsage:
    """Measure a node; resources without samples are left out.

    Source: rules-spec §0.4 and oracle §9: CPU and I/O are means over cores, GPU and GPU memory
    means over GPUs, network is receive plus transmit of ``Algorithm``.
    """
    network, is_platform = _network(system)
    totals = {
        Quantity.NETWORK: network,
        Quantity.GPU: mean_over(system.matrix(SeriesKind.GPU_UTILIZATION)),
        Quantity.CPU: mean_over(system.matrix(SeriesKind.CPU_UTILIZATION)),
        Quantity.HOST_MEMORY: mean_over(system.matrix(SeriesKind.HOST_MEMORY)),
        Quantity.GPU_MEMORY: mean_over(system.matrix(SeriesKind.GPU_MEMORY)),
        Quantity.IO_WAIT: mean_over(system.matrix(SeriesKind.IO_WAIT)),
    }
    usages = [_usage(quantity, system, values) for quantity, values in totals.items()]
    gpus = system.matrix(SeriesKind.GPU_UTILIZATION)
    names = system.names(SeriesKind.GPU_UTILIZATION)
    return NodeUsage(
        node=node,
        n_ticks=system.n_ticks,
        n_cpu_samples=int(np.count_nonzero(~np.isnan(totals[Quantity.CPU]))),
        usages=tuple(item for item in usages if item is not None),
        gpu_curves=tuple(
            (name, _curve(system, gpus[:, column])) for column, name in enumerate(names)
        ),
        devices=tuple(_devices(system, spans)),
        is_platform_network=is_platform,
        recording=recording_of(system),
    )


def _network(system: SystemTable) -> tuple[Floats, bool]:
    kinds = (SeriesKind.RECEIVE_ALGORITHM, SeriesKind.TRANSMIT_ALGORITHM)
    own = sum_over(np.hstack([system.matrix(kind) for kind in kinds]))
    if not np.isnan(own).all():
        return own, False
    kinds = (SeriesKind.RECEIVE_PLATFORM, SeriesKind.TRANSMIT_PLATFORM)
    platform = sum_over(np.hstack([system.matrix(kind) for kind in kinds]))
    return platform, not np.isnan(platform).all()


def _usage(quantity: Quantity, system: SystemTable, values: Floats) -> Usage | None:
    present = present_values(values)
    if present.size == 0:
        return None
    p99, p95, p50 = percentiles(present, (99, 95, 50)).tolist()
    return Usage(
        quantity=quantity,
        n_samples=present.size,
        largest=float(present.max()),
        p99=p99,
        p95=p95,
        p50=p50,
        smallest=float(present.min()),
        mean=float(present.mean()),
        curve=_curve(system, values),
    )


def _curve(system: SystemTable, values: Floats) -> ThinCurve:
    buckets = even_buckets(values.size, most=MAX_BUCKETS)
    return thin(system.tick_ns, values, buckets=buckets)


def _devices(system: SystemTable, spans: SpanTable) -> Iterator[DeviceCounts]:
    inside = _inside_loop(system, spans)
    gpus = system.matrix(SeriesKind.GPU_UTILIZATION)
    for column, name in enumerate(system.names(SeriesKind.GPU_UTILIZATION)):
        yield _device(name, gpus[:, [column]], inside, is_gpu=True)
    cores = system.matrix(SeriesKind.CPU_UTILIZATION)
    if cores.size:
        yield _device(ALL_CORES, cores, inside, is_gpu=False)


def _inside_loop(system: SystemTable, spans: SpanTable) -> slice | None:
    """Return the ticks strictly inside the node's training loop, ``None`` without steps."""
    loop_ns = training_loop_ns(spans)
    if loop_ns is None:
        return None
    return slice(
        int(np.searchsorted(system.tick_ns, loop_ns[0], side="right")),
        int(np.searchsorted(system.tick_ns, loop_ns[1], side="left")),
    )


def _device(device: str, matrix: Floats, inside: slice | None, *, is_gpu: bool) -> DeviceCounts:
    return DeviceCounts(
        device=device,
        is_gpu=is_gpu,
        job=_count(matrix),
        loop=None if inside is None else _count(matrix[inside]),
    )


def _count(matrix: Floats) -> SampleCounts:
    return SampleCounts(
        counts=pct_histogram(matrix),
        n_zero=int(np.count_nonzero(matrix == 0)),
        n_below_half=int(np.count_nonzero(matrix < HALF_PCT)),
    )
