"""What LoadBalancing says: which GPUs do what share of the work."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from reportgen.facts.distributions import AWS_N_BINS
from reportgen.results import (
    Counters,
    Details,
    Exhibit,
    Finding,
    JsonValue,
    Reason,
    ReasonCode,
    Role,
    Severity,
    Where,
)
from reportgen.rules.base import Outcome
from reportgen.rules.kit import Message, fault_severity, pct_bins, reason_to_skip, table
from reportgen.rules.load_balancing.measure import GpuLoad, NodeLoad, PairDistance, Params
from reportgen.text import device_label, format_places, join_names, part_of, write
from reportgen.units import NS_PER_MINUTE, seconds

GAP_FROM_PCT = 10.0
"""Pairs whose mean utilization differs by less share the work, whatever their distance."""
MOST_GROUPS = 16
"""More histograms than this cannot be told apart; then only those of the most uneven nodes."""

UNEVEN = Message(
    id="BAL-1",
    title=(
        "Work is shared unevenly on {pair.node}: {pair.gpu} is used {pair.means_pct[0]:pct}, "
        "{pair.other_gpu} {pair.means_pct[1]:pct}"
    ),
    text=(
        "The histograms of {pair.gpu} and {pair.other_gpu} last lay {measured:.2f} apart "
        "(Jensen-Shannon distance, 0 to 0.83; threshold {threshold:g}). Share of the node's work: "
        "{shares}. {affected} of GPUs exceeded the threshold: {places}."
    ),
    advice=(
        "Give every GPU the same work: DistributedDataParallel instead of DataParallel, batches "
        "and shards of equal size, and nothing extra on the first GPU."
    ),
    unit="Jensen-Shannon distance",
    exhibit="work",
    causes=("STRAG-1",),
)
UNEVEN_PROCESSES = replace(
    UNEVEN,
    advice=(
        "Each GPU has a process of its own already: give all of them batches and shards of equal "
        "size, and look at clock, temperature and other load of the one that differs."
    ),
)
OTHER_PATTERN = replace(
    UNEVEN,
    title="GPUs on {pair.node} work differently, but do about equally much",
    advice="Nothing to do unless the GPUs ought to follow the same pattern of load.",
    causes=("GPU-1",),
)
PARTLY_USED = replace(
    OTHER_PATTERN,
    title="Only {n_used} of {n_gpus} GPUs on {pair.node} {n_used:verb work} throughout",
    advice=(
        "Find out why the other GPUs never work or stopped: there is nothing to balance between "
        "these and the ones that work."
    ),
)
IMPORTED = replace(
    UNEVEN,
    title="Work is shared unevenly on {node}: {gpu} and {other}",
    text=(
        "The distance of their histograms is {measured:.2f} (Jensen-Shannon distance, 0 to 0.83; "
        "threshold {threshold:g}). Above the threshold: {places}."
    ),
    severity=Severity.WARNING,
    exhibit="workloads",
    causes=(),
)


def judge(loads: Sequence[NodeLoad], params: Params) -> Outcome:
    """Count (node, minute) with an uneven pair, and the pairs, over all nodes."""
    pairs = [pair for load in loads for pair in load.pairs]
    n_uneven = sum(pair.uneven_ns.size for pair in pairs)
    n_samples = max((gpu.n_samples for load in loads for gpu in load.gpus), default=0)
    largest = max((pair.distance for pair in pairs), default=None)
    return Outcome(
        missing=_reason(loads, n_samples, params),
        counters=Counters(
            rule_triggered=sum(_n_uneven_minutes(load) for load in loads),
            violations=n_uneven,
            datapoints=n_samples,
        ),
        details={load.node: _entry(load) for load in loads if load.gpus},
        findings=[_finding(loads, params.threshold)] if n_uneven else [],
        exhibits=_exhibits(loads, params.threshold),
        metrics={} if largest is None else {"distance_max": round(largest, 6)},
    )


def _reason(loads: Sequence[NodeLoad], n_samples: int, params: Params) -> Reason | None:
    n_gpus = [len(load.gpus) for load in loads]
    if max(n_gpus, default=0) == 1:
        return Reason(
            code=ReasonCode.NO_GPU, text="There is only one GPU per node, nothing to compare."
        )
    return reason_to_skip(
        n_ticks=sum(load.n_ticks for load in loads),
        n_gpus=sum(n_gpus),
        n_samples=n_samples,
        patience=params.patience,
    )


def _n_uneven_minutes(load: NodeLoad) -> int:
    uneven_ns = [pair.uneven_ns for pair in load.pairs]
    return np.unique(np.concatenate(uneven_ns)).size if uneven_ns else 0


def _entry(load: NodeLoad) -> dict[str, JsonValue]:
    """Return AWS's member of a node; ``distances`` only of uneven pairs (docs/rules.md)."""
    entry: dict[str, Any] = {"workloads": {gpu.gpu: gpu.aws_counts.tolist() for gpu in load.gpus}}
    for pair in load.pairs:
        if pair.uneven_distance is not None:
            others = entry.setdefault("distances", {}).setdefault(pair.gpu, {})
            others[pair.other_gpu] = pair.uneven_distance
    return entry


def _finding(loads: Sequence[NodeLoad], threshold: float) -> Finding:
    every = [pair for load in loads for pair in load.pairs]
    uneven = [pair for pair in every if pair.uneven_ns.size]
    worst = max(uneven, key=lambda pair: (pair.is_of_used, pair.gap_pct, pair.uneven_distance))
    load = next(load for load in loads if load.node == worst.node)
    used = [gpu.mean_pct for gpu in load.gpus if gpu.is_used]
    is_gap = worst.is_of_used and worst.gap_pct >= GAP_FROM_PCT
    # What could be won if the busiest GPU only had the mean of the used GPUs' work.
    share = 1 - float(np.mean(used)) / max(used) if max(used, default=0.0) > 0 else 0.0
    message = PARTLY_USED
    if is_gap:
        message = UNEVEN_PROCESSES if load.n_workers >= len(used) else UNEVEN
    elif worst.is_of_used:
        message = OTHER_PATTERN
    end_ns = min(int(worst.uneven_ns[-1]) + NS_PER_MINUTE, load.last_ns)
    shares = [write("{gpu.gpu} {gpu.share_pct:pct}", gpu=gpu) for gpu in load.gpus]
    return message.finding(
        measured=worst.uneven_distance,
        threshold=threshold,
        where=Where(
            node=worst.node,
            device=f"{worst.gpu}, {worst.other_gpu}",
            start_s=seconds(worst.uneven_ns[0]),
            end_s=seconds(end_ns),
        ),
        severity=fault_severity(share) if is_gap else Severity.INFO,
        share=share if is_gap else None,
        pair=worst,
        shares=join_names(shares, most=8),
        affected=part_of(len(uneven), len(every), "pair").capitalize(),
        places=format_places([(pair.node, f"{pair.gpu} – {pair.other_gpu}") for pair in uneven]),
        n_used=len(used),
        n_gpus=len(load.gpus),
    )


def _exhibits(loads: Sequence[NodeLoad], threshold: float) -> Iterator[Exhibit]:
    gpus = [gpu for load in loads for gpu in load.gpus]
    pairs = [pair for load in loads for pair in load.pairs]
    if not gpus:
        return
    yield table(
        "work",
        gpus,
        GpuLoad,
        title="Share of the work of each GPU on its node",
        caption="Mean utilization over the whole job, and its share of the node's sum.",
    )
    pairs.sort(key=lambda pair: -pair.distance)
    if pairs:
        yield table(
            "distances",
            pairs,
            PairDistance,
            title="Distance of the utilization histograms of each pair of GPUs",
            caption=write(
                "Jensen-Shannon distance over the whole job, 0 (equal) to 0.83; uneven above "
                "{threshold:g}.",
                threshold=threshold,
            ),
        )
    nodes = sorted(
        (load for load in loads if load.gpus),
        key=lambda load: -max((pair.distance for pair in load.pairs), default=0.0),
    )
    shown: list[GpuLoad] = []
    for load in nodes:
        if not shown or len(shown) + len(load.gpus) <= MOST_GROUPS:
            shown += load.gpus
    caption = "All samples of the job; the last bin holds 98 to 100 %."
    if len(shown) < len(gpus):
        caption += f" {len(shown)} of {len(gpus)} GPUs, the most uneven nodes."
    yield _histogram(
        [
            (device_label(gpu.node, gpu.gpu, n_nodes=len(loads)), gpu.counts.tolist())
            for gpu in shown
        ],
        caption,
    )


def _histogram(groups: Sequence[tuple[str, Sequence[object]]], caption: str) -> Exhibit:
    title = "Samples by GPU utilization"
    return pct_bins("workloads", groups, title=title, caption=caption, role=Role.GPU)


def from_details(counters: Counters, details: Details, params: Params) -> Outcome:
    """Return finding and histogram from what SageMaker wrote."""
    nodes = {node: entry for node, entry in details.items() if isinstance(entry, dict)}
    groups = [
        (device_label(node, gpu, n_nodes=len(nodes)), counts)
        for node, entry in nodes.items()
        for gpu, counts in _members(entry.get("workloads")).items()
        if isinstance(counts, list) and len(counts) == AWS_N_BINS
    ]
    pairs = [
        (float(distance), node, gpu, other)
        for node, entry in nodes.items()
        for gpu, others in _members(entry.get("distances")).items()
        for other, distance in _members(others).items()
        if isinstance(distance, int | float)
    ]
    caption = "As AWS writes it: samples of 99 and 100 % are missing."
    return Outcome(
        findings=[_imported(pairs, params)] if pairs and counters.rule_triggered else [],
        exhibits=[_histogram(groups[:MOST_GROUPS], caption)] if groups else [],
    )


def _members(entry: JsonValue) -> Mapping[str, JsonValue]:
    return entry if isinstance(entry, dict) else {}


def _imported(pairs: Sequence[tuple[float, str, str, str]], params: Params) -> Finding:
    distance, node, gpu, other = max(pairs)
    return IMPORTED.finding(
        measured=distance,
        threshold=params.threshold,
        where=Where(node=node, device=f"{gpu}, {other}"),
        node=node,
        gpu=gpu,
        other=other,
        places=format_places([(its, f"{one} – {two}") for _, its, one, two in pairs]),
    )
