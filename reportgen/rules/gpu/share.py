"""How the GPUs of one node shared the work: the measurement of LoadBalancing."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from reportgen.facts.activity import EDGE_AT_MOST_RATIO, idle_edges
from reportgen.facts.distributions import N_BINS, Counts, aws_histogram, bin_index, jensen_shannon
from reportgen.facts.minutes import minutes_of
from reportgen.profile.system import Floats
from reportgen.rules.base import param
from reportgen.rules.bottlenecks.host_load import GPU_LOW_PCT, used_gpus
from reportgen.rules.declare import GUIDE, patience
from reportgen.units import NS_PER_MINUTE


@dataclass(frozen=True, slots=True, kw_only=True)
class Params:
    """Parameters in AWS's order."""

    threshold: float = param(
        0.2,
        unit="",
        meaning="uneven when the distance of two GPUs' histograms exceeds this (0 to 0.8326)",
        source=GUIDE + "; 0.2 observed in production",
        minimum=0,
        maximum=1,
    )
    patience: int = patience()


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuLoad:
    """Work of one GPU.

    Attributes:
        is_used: whether the job uses it from start to end, or no longer than it uses the others.
        counts: (50,) histogram of its samples, [0, 2) ... [98, 100].
        aws_counts: (49,) as AWS writes it.
    """

    gpu: str
    n_samples: int
    mean_pct: float
    is_used: bool
    counts: Counts
    aws_counts: Counts


@dataclass(frozen=True, slots=True, kw_only=True)
class PairDistance:
    """How far apart the histograms of two GPUs are.

    Attributes:
        distance: over the whole job.
        n_judged_minutes, n_uneven_minutes: minutes after patience, and those above the threshold.
        violating_distance: in the newest uneven minute; 0 without one.
        first_uneven_ns, last_uneven_ns: starts of the first and newest uneven minute; 0 without.
    """

    gpu: str
    other_gpu: str
    distance: float
    n_judged_minutes: int
    n_uneven_minutes: int
    violating_distance: float
    first_uneven_ns: int
    last_uneven_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeLoad:
    """Load of one node: its GPUs in device order and all pairs of them.

    ``n_workers`` counts the processes of the node that recorded steps.
    """

    node: str
    last_ns: int
    n_workers: int
    gpus: tuple[GpuLoad, ...]
    pairs: tuple[PairDistance, ...]
    n_uneven_minutes: int

    @property
    def used(self) -> tuple[GpuLoad, ...]:
        """Return the GPUs that the job uses throughout."""
        return tuple(gpu for gpu in self.gpus if gpu.is_used)

    @property
    def n_uneven_pairs(self) -> int:
        """Return how often any pair was uneven."""
        return sum(pair.n_uneven_minutes for pair in self.pairs)


def measure_load(
    node: str,
    names: tuple[str, ...],
    *,
    tick_ns: NDArray[np.int64],
    matrix: Floats,
    n_workers: int,
    params: Params,
) -> NodeLoad:
    """Measure a node.

    Args:
        names: its GPUs in device order.
        tick_ns: (n_ticks,) int64.
        matrix: (n_ticks, n_gpus) utilization, NaN where absent.
        n_workers: processes of the node that recorded steps.
    """
    is_used = used_gpus(matrix) & _works_throughout(matrix)
    is_sampled = ~np.isnan(matrix)
    kept = [index for index in range(len(names)) if is_sampled[:, index].any()]
    has_any = is_sampled.any(axis=1)
    minutes = minutes_of(tick_ns[has_any])
    histories = [
        _history(
            tick_ns[is_sampled[:, index]], matrix[is_sampled[:, index], index], minutes.start_ns
        )
        for index in kept
    ]
    gpus = tuple(
        _gpu_load(names[index], matrix[is_sampled[:, index], index], is_used=bool(is_used[index]))
        for index in kept
    )
    pairs, is_uneven = [], np.zeros(minutes.start_ns.size, dtype=bool)
    for first, second in combinations(range(len(kept)), 2):
        pair, its_uneven = _pair(
            (gpus[first], gpus[second]),
            (histories[first], histories[second]),
            minutes.start_ns,
            params,
        )
        pairs.append(pair)
        is_uneven |= its_uneven
    return NodeLoad(
        node=node,
        last_ns=int(tick_ns[-1]) if tick_ns.size else 0,
        n_workers=n_workers,
        gpus=gpus,
        pairs=tuple(pairs),
        n_uneven_minutes=int(is_uneven.sum()),
    )


def _works_throughout(matrix: Floats) -> NDArray[np.bool_]:
    """Return (n_gpus,) which GPUs idle no long edge; all where each does."""
    edges = []
    for column in matrix.T:
        values = column[~np.isnan(column)]
        longest = max(idle_edges(values, idle_below=GPU_LOW_PCT))
        edges.append(longest < EDGE_AT_MOST_RATIO * max(values.size, 1))
    throughout = np.array(edges, dtype=bool)
    reach = np.asarray((matrix >= GPU_LOW_PCT).any(axis=0))
    return throughout if (throughout & reach).any() else np.ones_like(throughout)


def _gpu_load(gpu: str, values: Floats, *, is_used: bool) -> GpuLoad:
    return GpuLoad(
        gpu=gpu,
        n_samples=values.size,
        mean_pct=float(values.mean()),
        is_used=is_used,
        counts=np.bincount(bin_index(values), minlength=N_BINS),
        aws_counts=aws_histogram(values),
    )


def _history(time_ns: NDArray[np.int64], values: Floats, minute_ns: NDArray[np.int64]) -> Counts:
    """Return (n_minutes, 50) histograms of all samples up to the end of each minute."""
    minute = np.searchsorted(minute_ns, time_ns // NS_PER_MINUTE * NS_PER_MINUTE)
    flat = np.bincount(minute * N_BINS + bin_index(values), minlength=minute_ns.size * N_BINS)
    return flat.reshape(minute_ns.size, N_BINS).cumsum(axis=0)


def _pair(
    gpus: tuple[GpuLoad, GpuLoad],
    histories: tuple[Counts, Counts],
    minute_ns: NDArray[np.int64],
    params: Params,
) -> tuple[PairDistance, NDArray[np.bool_]]:
    """Judge a pair in every minute in which both GPUs have more than ``patience`` samples."""
    one, other = histories
    n_samples = np.minimum(one.sum(axis=1), other.sum(axis=1))
    is_judged = n_samples > params.patience
    distances = jensen_shannon(one[is_judged], other[is_judged])
    is_uneven = np.zeros(minute_ns.size, dtype=bool)
    is_uneven[is_judged] = distances > params.threshold
    uneven = np.flatnonzero(distances > params.threshold)
    starts = minute_ns[is_judged][uneven]
    pair = PairDistance(
        gpu=gpus[0].gpu,
        other_gpu=gpus[1].gpu,
        distance=float(jensen_shannon(gpus[0].counts, gpus[1].counts)),
        n_judged_minutes=int(is_judged.sum()),
        n_uneven_minutes=uneven.size,
        violating_distance=float(distances[uneven[-1]]) if uneven.size else 0.0,
        first_uneven_ns=int(starts[0]) if uneven.size else 0,
        last_uneven_ns=int(starts[-1]) if uneven.size else 0,
    )
    return pair, is_uneven
