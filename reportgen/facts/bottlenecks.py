"""Ticks in which a GPU idles while cores are busy or wait for I/O: how many, when, and what ran."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from reportgen.arrays import Instants
from reportgen.facts.breakdown import Breakdown, FunctionSums, breakdown_of, function_sums
from reportgen.facts.intervals import overlaps_any, runs_of
from reportgen.facts.samples import Counts, count_where, minutes_of, training_loop_ns
from reportgen.facts.starving import Starving, busy_cores_ratio
from reportgen.facts.usage import BUSY_ABOVE_PCT, hot_cores, low_gpus, low_used_gpus
from reportgen.merging import concat, greatest, merge, merged, sums_by_code
from reportgen.profile import NodeProfile, SeriesKind, SystemTable
from reportgen.profile.memo import fact

NEIGHBOUR_INTERVALS = 2.5
"""Bottlenecks with at most one other tick between them are one stretch: one sample may be late or
miss the load by chance."""
GPU_SAMPLE_PARTS = (
    "CPU bottleneck only",
    "I/O bottleneck only",
    "CPU and I/O bottleneck",
    "a GPU low, neither",
    "no GPU low",
)
"""Disjoint parts of all ticks with a sample of a GPU."""
_no_ticks, _no_parts, _no_minutes = (
    partial(np.zeros, shape, np.int64) for shape in (3, len(GPU_SAMPLE_PARTS), (0, 2))
)


def _added_by_minute(parts: Sequence[Instants]) -> Instants:
    """Return (n, 2) minutes in order, and the sum over all parts of what each of them has."""
    every = np.concatenate([_no_minutes(), *parts])
    minutes, code = np.unique(every[:, 0], return_inverse=True)
    return np.column_stack([minutes, sums_by_code(code, every[:, 1], minutes.size)])


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeBottlenecks:
    """The bottlenecks of one node: (n,) instants, how many GPUs idled, how many cores were hot."""

    node: str
    n_cores: int
    interval_ns: int
    time_ns: Instants
    n_gpus_low: Counts
    n_cores_hot: Counts


@dataclass(frozen=True, slots=True, kw_only=True)
class Bottlenecks:
    """Bottlenecks of one part; ``merge`` adds up those of several, beginning with an empty one.

    Attributes:
        n_low_ticks: ticks with at least one idle GPU.
        n_unsampled_ticks: ticks without any GPU sample.
        lacks_io_wait: whether the I/O wait of the cores of a node was not sampled.
        ticks_by_minute: (n, 2) start of each minute, and how many ticks it has.
        n_in_use: bottlenecks in which a GPU idled that the job uses at other times.
        n_loops: nodes with step events.
        loop_ticks, loop_in_use: (3,) ticks, and bottlenecks in ``n_in_use``, before, in and after
            the training loop of these nodes.
        n_gpu_loop_ticks: ticks in the loop of those of them with GPUs.
        breakdown: framework events that ran at any bottleneck, each once.
        functions, functions_at_work: what ran at any bottleneck, and at any tick with a GPU above
            ``BUSY_ABOVE_PCT``; each event once. Both are empty without a bottleneck.
        gpu_samples: ticks by ``GPU_SAMPLE_PARTS``, if the rule asks.
        starving: of each node, the minutes in which the disk, or the cores, set the pace.
        busy_cores_ratio: largest share of a node's cores that computes while GPUs idle.
    """

    nodes: tuple[NodeBottlenecks, ...] = merged(concat, default=())
    n_gpus: int = merged(sum, default=0)
    n_ticks: int = merged(sum, default=0)
    n_gpu_ticks: int = merged(sum, default=0)
    n_low_ticks: int = merged(sum, default=0)
    n_unsampled_ticks: int = merged(sum, default=0)
    lacks_io_wait: bool = merged(any, default=False)
    ticks_by_minute: Instants = merged(_added_by_minute, default_factory=_no_minutes)
    n_in_use: int = merged(sum, default=0)
    n_loops: int = merged(sum, default=0)
    loop_ticks: Counts = merged(sum, default_factory=_no_ticks)
    loop_in_use: Counts = merged(sum, default_factory=_no_ticks)
    n_gpu_loop_ticks: int = merged(sum, default=0)
    breakdown: Breakdown = merged(merge, default_factory=Breakdown)
    functions: FunctionSums = merged(merge, default_factory=FunctionSums)
    functions_at_work: FunctionSums = merged(merge, default_factory=FunctionSums)
    gpu_samples: Counts = merged(sum, default_factory=_no_parts)
    starving: tuple[Starving, ...] = merged(concat, default=())
    busy_cores_ratio: float | None = merged(greatest, default=None)

    @property
    def n_found(self) -> int:
        """Return the number of bottlenecks."""
        return sum(node.time_ns.size for node in self.nodes)

    @property
    def hot_median_ratio(self) -> float:
        """Return the median share of cores that are hot, of at least one bottleneck."""
        shares = [node.n_cores_hot / max(node.n_cores, 1) for node in self.nodes]
        return float(np.median(np.concatenate(shares)))

    @property
    def in_use_ratio(self) -> float:
        """Return the share of bottlenecks that count in the ticks of nodes with GPUs."""
        return self.n_in_use / self.n_gpu_ticks if self.n_gpu_ticks else 0.0

    @property
    def loop_ratio(self) -> float | None:
        """Return the same share within the training loop, ``None`` where it is unknown."""
        in_loop = self.n_gpu_loop_ticks
        return int(self.loop_in_use[1]) / in_loop if in_loop else None

    @property
    def lost_ratio(self) -> float:
        """Return the share of the time that training could win."""
        return self.in_use_ratio if self.loop_ratio is None else self.loop_ratio


def bottlenecks_of(
    part: NodeProfile, kind: SeriesKind, *, gpu_below: float, hot_above: float
) -> Bottlenecks:
    """Find the ticks of a node with an idle GPU and a hot core, both in the same tick.

    A GPU below ``gpu_below`` idles; a core above ``hot_above`` in its series ``kind`` is hot.
    """
    system, spans = part.system, part.spans
    low, hot = low_gpus(system, below=gpu_below), hot_cores(system, kind, above=hot_above)
    is_found = (low > 0) & (hot > 0)
    is_in_use = is_found & (low_used_gpus(system, below=gpu_below) > 0)
    time_ns = system.tick_ns[is_found]
    minutes = minutes_of(system.tick_ns)
    n_ticks = np.diff(minutes.stop, prepend=0)
    gpus = SeriesKind.GPU_UTILIZATION
    n_gpus, n_cores = len(system.names(gpus)), len(system.names(kind))
    n_sampled = count_where(system, gpus, np.isfinite)
    loop_ns = training_loop_ns(spans)
    loop_ticks = _split(loop_ns, system.tick_ns)
    active = overlaps_any(spans.start_ns, spans.end_ns, time_ns, time_ns)
    return Bottlenecks(
        nodes=(
            NodeBottlenecks(
                node=part.node,
                n_cores=n_cores,
                interval_ns=system.interval_ns or 0,
                time_ns=time_ns,
                n_gpus_low=low[is_found],
                n_cores_hot=hot[is_found],
            ),
        ),
        n_gpus=n_gpus,
        n_ticks=system.n_ticks,
        n_gpu_ticks=system.n_ticks if n_gpus else 0,
        n_low_ticks=int((low > 0).sum()),
        n_unsampled_ticks=int((n_sampled == 0).sum()),
        lacks_io_wait=not system.names(SeriesKind.IO_WAIT),
        ticks_by_minute=np.column_stack([minutes.start_ns, n_ticks]),
        n_in_use=int(is_in_use.sum()),
        n_loops=int(loop_ns is not None),
        loop_ticks=loop_ticks,
        loop_in_use=_split(loop_ns, system.tick_ns[is_in_use]),
        n_gpu_loop_ticks=int(loop_ticks[1]) if n_gpus else 0,
        breakdown=breakdown_of(spans.where(active)),
        functions=function_sums(spans, active),
        functions_at_work=_functions_at_work(part) if time_ns.size else FunctionSums(),
        busy_cores_ratio=busy_cores_ratio(part),
    )


def gpu_samples_of(
    system: SystemTable, *, gpu_below: float, cpu_above: float, io_above: float
) -> Counts:
    """Return (5,) how many ticks with a sample of a GPU are in each of ``GPU_SAMPLE_PARTS``."""
    is_low = low_gpus(system, below=gpu_below) > 0
    is_busy = hot_cores(system, SeriesKind.CPU_UTILIZATION, above=cpu_above) > 0
    is_waiting = hot_cores(system, SeriesKind.IO_WAIT, above=io_above) > 0
    n_sampled = count_where(system, SeriesKind.GPU_UTILIZATION, np.isfinite)
    part = np.select([~is_low, is_busy & is_waiting, is_busy, is_waiting], [4, 2, 0, 1], default=3)
    return np.bincount(part[n_sampled > 0], minlength=len(GPU_SAMPLE_PARTS))


@fact
def _functions_at_work(part: NodeProfile) -> FunctionSums:
    system, spans = part.system, part.spans
    works = count_where(system, SeriesKind.GPU_UTILIZATION, lambda use: use > BUSY_ABOVE_PCT) > 0
    at_ns = system.tick_ns[works]
    return function_sums(spans, overlaps_any(spans.start_ns, spans.end_ns, at_ns, at_ns))


def _split(loop_ns: tuple[int, int] | None, moments: Instants) -> Counts:
    if loop_ns is None:
        return np.zeros(3, dtype=np.int64)
    first = int(np.searchsorted(moments, loop_ns[0], side="left"))
    stop = int(np.searchsorted(moments, loop_ns[1], side="right"))
    return np.array([first, stop - first, moments.size - stop])


@dataclass(frozen=True, slots=True, kw_only=True)
class BottleneckStretch:
    """Neighbouring bottlenecks of one node; the stretch ends one interval after the last."""

    node: str
    start_ns: int
    end_ns: int
    n_ticks: int


def stretches_of(job: Bottlenecks) -> list[BottleneckStretch]:
    """Merge neighbours on each node."""
    found = []
    for node in job.nodes:
        runs = runs_of(node.time_ns, max_step=int(NEIGHBOUR_INTERVALS * node.interval_ns))
        found += [
            BottleneckStretch(
                node=node.node,
                start_ns=int(node.time_ns[first]),
                end_ns=int(node.time_ns[last]) + node.interval_ns,
                n_ticks=last - first + 1,
            )
            for first, last in zip(*runs.tolist(), strict=True)
        ]
    return found
