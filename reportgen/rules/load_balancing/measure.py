"""What LoadBalancing measures: the work of each GPU of a node, and the distance of each pair."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from reportgen.facts.activity import EDGE_AT_MOST_RATIO, idle_edges
from reportgen.facts.distributions import (
    N_BINS,
    Counts,
    aws_histogram,
    bin_index,
    jensen_shannon,
    pct_histogram,
)
from reportgen.facts.gpu_use import IDLE_BELOW_PCT, Samples, samples_by_gpu, used_gpus
from reportgen.facts.minutes import minutes_of
from reportgen.facts.samples import present_values
from reportgen.profile import NodeProfile, SeriesKind
from reportgen.profile.system import Floats, Instants
from reportgen.rules.base import param
from reportgen.rules.kit import AWS_DEFAULTS, col, derived, patience, row
from reportgen.units import NS_PER_MINUTE


@dataclass(frozen=True, slots=True, kw_only=True)
class Params:
    """Parameters in AWS's order."""

    threshold: float = param(
        0.2,
        unit="",
        meaning="uneven when the distance of two GPUs' histograms exceeds this (0 to 0.8326)",
        source=AWS_DEFAULTS,
        minimum=0,
        maximum=1,
    )
    patience: int = patience()


@row
class GpuLoad:
    """Work of one GPU.

    Attributes:
        share_pct: its share of the sum of the means of its node's GPUs.
        is_used: whether the job uses it from start to end, or no longer than it uses the others.
        counts: (50,) histogram of its samples, [0, 2) ... [98, 100].
        aws_counts: (49,) as AWS writes it.
    """

    node: str = col()
    gpu: str = col()
    mean_pct: float = col("%", digits=2)
    share_pct: float = col("%", digits=2)
    n_samples: int = col(name="samples")
    is_used: bool
    counts: Counts
    aws_counts: Counts


@row
class PairDistance:
    """How far apart the histograms of two GPUs of a node are.

    Attributes:
        distance: over the whole job.
        uneven_distance: in the newest minute in which it exceeded the threshold, if it ever did.
        judged_minutes: those in which both GPUs had more than ``patience`` samples.
        uneven_ns: starts of those of them in which the distance exceeded the threshold.
        means_pct: mean utilization of both.
        is_of_used: whether the job uses both throughout.
    """

    node: str = col()
    gpu: str = col()
    other_gpu: str = col()
    distance: float = col(digits=6)
    uneven_distance: float | None = col(name="last_uneven_distance", digits=6)
    mean_gap_pct: float = derived(lambda pair: pair.gap_pct, "points", digits=2)
    uneven_minutes: int = derived(lambda pair: pair.uneven_ns.size)
    judged_minutes: int = col()
    uneven_ns: Instants
    means_pct: tuple[float, float]
    is_of_used: bool

    @property
    def gap_pct(self) -> float:
        """Return how far the means lie apart."""
        return abs(self.means_pct[0] - self.means_pct[1])


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeLoad:
    """Load of one node: its GPUs in device order and all pairs of them.

    ``n_workers`` counts the processes of the node that recorded steps.
    """

    node: str
    n_ticks: int
    last_ns: int
    n_workers: int
    gpus: tuple[GpuLoad, ...]
    pairs: tuple[PairDistance, ...]


def measure(part: NodeProfile, params: Params) -> NodeLoad:
    """Measure a node; GPUs without samples do not exist."""
    system, kind = part.system, SeriesKind.GPU_UTILIZATION
    matrix = system.matrix(kind)
    is_used = used_gpus(matrix) & _works_throughout(matrix)
    samples = samples_by_gpu(system, kind)
    gpus = _loads(part.node, samples, dict(zip(system.names(kind), is_used.tolist(), strict=True)))
    minute_ns = minutes_of(system.tick_ns[~np.isnan(matrix).all(axis=1)]).start_ns
    histories = [_history(own, minute_ns) for own in samples.values()]
    return NodeLoad(
        node=part.node,
        n_ticks=system.n_ticks,
        last_ns=int(system.tick_ns[-1]) if system.n_ticks else 0,
        n_workers=np.unique(part.spans.steps().worker).size,
        gpus=gpus,
        pairs=tuple(
            _pair(one, other, minute_ns, params)
            for one, other in combinations(zip(gpus, histories, strict=True), 2)
        ),
    )


def _works_throughout(matrix: Floats) -> NDArray[np.bool_]:
    """Return (n_gpus,) which GPUs idle no long edge; all where each does."""
    columns = [present_values(column) for column in matrix.T]
    throughout = np.array(
        [
            max(idle_edges(values, idle_below=IDLE_BELOW_PCT))
            < EDGE_AT_MOST_RATIO * max(values.size, 1)
            for values in columns
        ],
        dtype=bool,
    )
    reach = np.asarray((matrix >= IDLE_BELOW_PCT).any(axis=0))
    return throughout if (throughout & reach).any() else np.ones_like(throughout)


def _loads(
    node: str, samples: Mapping[str, Samples], is_used: Mapping[str, bool]
) -> tuple[GpuLoad, ...]:
    means = {gpu: float(own.values.mean()) for gpu, own in samples.items()}
    total = sum(means.values())
    return tuple(
        GpuLoad(
            node=node,
            gpu=gpu,
            n_samples=own.values.size,
            mean_pct=means[gpu],
            share_pct=100 * means[gpu] / total if total else 0.0,
            is_used=is_used[gpu],
            counts=pct_histogram(own.values),
            aws_counts=aws_histogram(own.values),
        )
        for gpu, own in samples.items()
    )


def _history(samples: Samples, minute_ns: Instants) -> Counts:
    """Return (n_minutes, 50) histograms of all samples up to the end of each minute."""
    minute = np.searchsorted(minute_ns, samples.time_ns // NS_PER_MINUTE * NS_PER_MINUTE)
    place = minute * N_BINS + bin_index(samples.values)
    flat = np.bincount(place, minlength=minute_ns.size * N_BINS)
    return flat.reshape(minute_ns.size, N_BINS).cumsum(axis=0)


def _pair(
    one: tuple[GpuLoad, Counts], other: tuple[GpuLoad, Counts], minute_ns: Instants, params: Params
) -> PairDistance:
    """Compare two GPUs, each with the histories of its samples."""
    gpus, histories = (one[0], other[0]), (one[1], other[1])
    n_samples = np.minimum(*(history.sum(axis=1) for history in histories))
    is_judged = n_samples > params.patience
    distances = jensen_shannon(*(history[is_judged] for history in histories))
    is_uneven = distances > params.threshold
    return PairDistance(
        node=gpus[0].node,
        gpu=gpus[0].gpu,
        other_gpu=gpus[1].gpu,
        distance=float(jensen_shannon(gpus[0].counts, gpus[1].counts)),
        uneven_distance=float(distances[is_uneven][-1]) if is_uneven.any() else None,
        judged_minutes=int(is_judged.sum()),
        uneven_ns=minute_ns[is_judged][is_uneven],
        means_pct=(gpus[0].mean_pct, gpus[1].mean_pct),
        is_of_used=gpus[0].is_used and gpus[1].is_used,
    )
