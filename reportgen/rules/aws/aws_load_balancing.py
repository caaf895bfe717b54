"""SageMaker's LoadBalancing: what it counts and writes, from the same samples as our rule."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from reportgen.arrays import Counts, Instants
from reportgen.facts.distributions import N_BINS, aws_histogram, bin_index, jensen_shannon
from reportgen.facts.samples import count_where, minutes_of
from reportgen.facts.usage import Samples, samples_by_gpu
from reportgen.profile import NodeProfile, SeriesKind
from reportgen.results import Counters, Details
from reportgen.rules.aws.details import Counted
from reportgen.rules.base import param
from reportgen.rules.kit import AWS_DEFAULTS, patience
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


@dataclass(frozen=True, slots=True, kw_only=True)
class NodePairs:
    """The workloads of the GPUs of a node, and the minutes in which a pair of them is uneven.

    ``uneven_ns`` are the starts of these minutes by pair, ``distance`` the newest distance of it.
    """

    node: str
    n_samples: int
    workloads: Mapping[str, Counts]
    uneven_ns: Mapping[tuple[str, str], Instants]
    distance: Mapping[tuple[str, str], float]


def pairs_of(part: NodeProfile, params: Params) -> NodePairs:
    """Compare all samples of each pair of GPUs up to the end of each minute."""
    system, kind = part.system, SeriesKind.GPU_UTILIZATION
    is_sampled = count_where(system, kind, np.isfinite) > 0
    minute_ns = minutes_of(system.tick_ns[is_sampled]).start_ns
    histories, workloads, n_samples = {}, {}, 0
    for gpu, samples in samples_by_gpu(system, kind):
        histories[gpu] = _history(samples, minute_ns)
        workloads[gpu] = aws_histogram(samples.values)
        n_samples = max(n_samples, samples.values.size)
    uneven_ns, distance = {}, {}
    for pair in combinations(histories, 2):
        one, other = (histories[gpu] for gpu in pair)
        is_judged = np.minimum(one.sum(axis=1), other.sum(axis=1)) > params.patience
        distances = jensen_shannon(one[is_judged], other[is_judged])
        is_uneven = distances > params.threshold
        if is_uneven.any():
            uneven_ns[pair] = minute_ns[is_judged][is_uneven]
            distance[pair] = float(distances[is_uneven][-1])
    return NodePairs(
        node=part.node,
        n_samples=n_samples,
        workloads=workloads,
        uneven_ns=uneven_ns,
        distance=distance,
    )


def _history(samples: Samples, minute_ns: Instants) -> Counts:
    """Return (n_minutes, 50) histograms of all samples up to the end of each minute."""
    minute = np.searchsorted(minute_ns, samples.time_ns // NS_PER_MINUTE * NS_PER_MINUTE)
    place = minute * N_BINS + bin_index(samples.values)
    flat = np.bincount(place, minlength=minute_ns.size * N_BINS)
    return flat.reshape(minute_ns.size, N_BINS).cumsum(axis=0)


def counted_pairs(nodes: Sequence[NodePairs]) -> Counted:
    """Return AWS's counters and details: (node, minute) with an uneven pair, and the pairs."""
    minutes = {
        (node.node, start_ns)
        for node in nodes
        for starts_ns in node.uneven_ns.values()
        for start_ns in starts_ns.tolist()
    }
    details: Details = {node.node: _entry(node) for node in nodes if node.workloads}
    return {
        "counters": Counters(
            rule_triggered=len(minutes),
            violations=sum(minutes.size for node in nodes for minutes in node.uneven_ns.values()),
            datapoints=max((node.n_samples for node in nodes), default=0),
        ),
        "details": details,
    }


def _entry(node: NodePairs) -> dict[str, Any]:
    """Return AWS's member of a node; ``distances`` only of uneven pairs (docs/rules.md)."""
    entry: dict[str, Any] = {
        "workloads": {gpu: counts.tolist() for gpu, counts in node.workloads.items()}
    }
    for (gpu, other), distance in node.distance.items():
        entry.setdefault("distances", {}).setdefault(gpu, {})[other] = distance
    return entry
