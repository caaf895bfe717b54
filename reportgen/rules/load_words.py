"""What LoadBalancing says: which GPUs do what share of the work."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from reportgen.results import (
    Counters,
    Details,
    Exhibit,
    ExhibitKind,
    Finding,
    JsonValue,
    Severity,
    Where,
    exhibit,
)
from reportgen.rules.base import Presentation
from reportgen.rules.gpu_share import GpuLoad, NodeLoad, PairDistance
from reportgen.rules.maths.histograms import AWS_N_BINS, BIN_PCT, N_BINS
from reportgen.rules.verdict import estimate_of, fault_severity
from reportgen.rules.wording import label, say_of, say_some
from reportgen.units import NS_PER_MINUTE, say_pct, seconds

FINDING = "BAL-1"
GAP_FROM_PCT = 10.0
"""Pairs whose mean utilization differs by less share the work, whatever the distance. Ours."""
MAX_GROUPS = 16
"""More histograms than this cannot be told apart; then only the most uneven nodes'. Ours."""
ADVICE = (
    "Give every GPU the same work: DistributedDataParallel instead of DataParallel, batches and "
    "shards of equal size, and nothing extra on the first GPU."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class UnevenPair:
    """A pair above the threshold and the node it lives on."""

    load: NodeLoad
    pair: PairDistance

    @property
    def means_pct(self) -> tuple[float, float]:
        """Return the mean utilization of both."""
        by_name = {gpu.gpu: gpu.mean_pct for gpu in self.load.gpus}
        return by_name[self.pair.gpu], by_name[self.pair.other_gpu]

    @property
    def gap_pct(self) -> float:
        """Return how far the means lie apart."""
        one, other = self.means_pct
        return abs(one - other)


def present_loads(counters: Counters, loads: Sequence[NodeLoad], threshold: float) -> Presentation:
    """Return the finding and exhibits from measurements."""
    if not any(load.gpus for load in loads):
        return Presentation()
    findings = (_finding(loads, threshold),) if counters.rule_triggered else ()
    exhibits = [_work(loads)]
    if any(load.pairs for load in loads):
        exhibits.append(_distances(loads, threshold))
    return Presentation(findings=findings, exhibits=(*exhibits, _histogram(loads)))


def _finding(loads: Sequence[NodeLoad], threshold: float) -> Finding:
    uneven = [
        UnevenPair(load=load, pair=pair)
        for load in loads
        for pair in load.pairs
        if pair.n_uneven_minutes
    ]
    worst = max(uneven, key=lambda item: (item.gap_pct, item.pair.violating_distance))
    load, pair = worst.load, worst.pair
    one, other = worst.means_pct
    busiest = max(gpu.mean_pct for gpu in load.gpus)
    recoverable = (
        1 - float(np.mean([gpu.mean_pct for gpu in load.gpus])) / busiest if busiest else 0.0
    )
    is_gap = worst.gap_pct >= GAP_FROM_PCT
    names = [f"{item.pair.gpu} and {item.pair.other_gpu} on {item.load.node}" for item in uneven]
    affected = say_of(len(uneven), sum(len(item.pairs) for item in loads), "pair")
    shares = say_some(
        [
            f"{gpu.gpu} {say_pct(share)}"
            for gpu, share in zip(load.gpus, _shares_pct(load.gpus), strict=True)
        ],
        most=8,
    )
    return Finding(
        id=FINDING,
        severity=fault_severity(recoverable) if is_gap else Severity.INFO,
        title=(
            f"Work is shared unevenly on {load.node}: {pair.gpu} is used {say_pct(one)}, "
            f"{pair.other_gpu} {say_pct(other)}"
            if is_gap
            else f"GPUs on {load.node} work differently, but do about equally much"
        ),
        text=(
            f"The histograms of {pair.gpu} and {pair.other_gpu} last lay "
            f"{pair.violating_distance:.2f} apart (threshold {threshold:g}). Share of the node's "
            f"work: {shares}. {affected.capitalize()} of GPUs exceeded the "
            f"threshold: {say_some(names)}."
        ),
        advice=ADVICE
        if is_gap
        else "Nothing to do unless the GPUs ought to follow the same pattern of load.",
        where=Where(
            node=load.node,
            device=f"{pair.gpu}, {pair.other_gpu}",
            start_s=seconds(pair.first_uneven_ns),
            end_s=seconds(min(pair.last_uneven_ns + NS_PER_MINUTE, load.last_ns)),
        ),
        measured=round(pair.violating_distance, 4),
        threshold=float(threshold),
        unit="",
        estimate=estimate_of(recoverable) if is_gap else None,
        exhibit="work",
    )


def _shares_pct(gpus: Sequence[GpuLoad]) -> list[float]:
    total = sum(gpu.mean_pct for gpu in gpus)
    return [100 * gpu.mean_pct / total if total else 0.0 for gpu in gpus]


def _work(loads: Sequence[NodeLoad]) -> Exhibit:
    rows = [
        (load.node, gpu, share)
        for load in loads
        for gpu, share in zip(load.gpus, _shares_pct(load.gpus), strict=True)
    ]
    return exhibit(
        "work",
        ExhibitKind.TABLE,
        title="Share of the work of each GPU on its node",
        caption="Mean utilization over the whole job, and its share of the node's sum.",
        columns=[
            ("node", "", [node for node, _, _ in rows]),
            ("gpu", "", [gpu.gpu for _, gpu, _ in rows]),
            ("mean_pct", "%", [round(gpu.mean_pct, 2) for _, gpu, _ in rows]),
            ("share_pct", "%", [round(share, 2) for *_, share in rows]),
            ("samples", "", [gpu.n_samples for _, gpu, _ in rows]),
        ],
    )


def _distances(loads: Sequence[NodeLoad], threshold: float) -> Exhibit:
    rows = [UnevenPair(load=load, pair=pair) for load in loads for pair in load.pairs]
    rows.sort(key=lambda item: -item.pair.distance)
    return exhibit(
        "distances",
        ExhibitKind.TABLE,
        title="Distance of the utilization histograms of each pair of GPUs",
        caption=(
            f"Jensen-Shannon distance over the whole job, 0 (equal) to 0.83; uneven above "
            f"{threshold:g}."
        ),
        columns=[
            ("node", "", [item.load.node for item in rows]),
            ("gpu", "", [item.pair.gpu for item in rows]),
            ("other_gpu", "", [item.pair.other_gpu for item in rows]),
            ("distance", "", [round(item.pair.distance, 6) for item in rows]),
            (
                "last_uneven_distance",
                "",
                [
                    round(item.pair.violating_distance, 6) if item.pair.n_uneven_minutes else None
                    for item in rows
                ],
            ),
            ("mean_gap_pct", "points", [round(item.gap_pct, 2) for item in rows]),
            ("uneven_minutes", "", [item.pair.n_uneven_minutes for item in rows]),
            ("judged_minutes", "", [item.pair.n_judged_minutes for item in rows]),
        ],
    )


def _histogram(loads: Sequence[NodeLoad]) -> Exhibit:
    nodes = sorted(
        (load for load in loads if load.gpus),
        key=lambda load: -max((pair.distance for pair in load.pairs), default=0.0),
    )
    shown: list[tuple[NodeLoad, GpuLoad]] = []
    for load in nodes:
        if not shown or len(shown) + len(load.gpus) <= MAX_GROUPS:
            shown += [(load, gpu) for gpu in load.gpus]
    n_gpus = sum(len(load.gpus) for load in loads)
    rest = f" {len(shown)} of {n_gpus} GPUs, the most uneven nodes." if len(shown) < n_gpus else ""
    return _bins(
        [
            (label(load.node, gpu.gpu, n_nodes=len(loads)), gpu.counts.tolist())
            for load, gpu in shown
        ],
        caption=f"All samples of the job; the last bin holds 98 to 100 %.{rest}",
        n_bins=N_BINS,
    )


def _bins(groups: Sequence[tuple[str, Sequence[object]]], *, caption: str, n_bins: int) -> Exhibit:
    starts = list(range(0, n_bins * BIN_PCT, BIN_PCT))
    return exhibit(
        "workloads",
        ExhibitKind.HISTOGRAM,
        title="Samples by GPU utilization",
        caption=caption,
        columns=[
            ("bin_start", "%", starts),
            ("bin_end", "%", [start + BIN_PCT for start in starts]),
            *((name, "", counts) for name, counts in groups),
        ],
    )


def present_details(counters: Counters, details: Details, threshold: float) -> Presentation:
    """Return finding and histogram from AWS's JSON alone."""
    nodes = {node: entry for node, entry in details.items() if isinstance(entry, dict)}
    groups = [
        (label(node, gpu, n_nodes=len(nodes)), counts)
        for node, entry in nodes.items()
        for gpu, counts in _members(entry, "workloads").items()
        if isinstance(counts, list) and len(counts) == AWS_N_BINS
    ]
    pairs = [
        (float(distance), node, gpu, other)
        for node, entry in nodes.items()
        for gpu, others in _members(entry, "distances").items()
        if isinstance(others, dict)
        for other, distance in others.items()
        if isinstance(distance, int | float)
    ]
    findings = (_imported(pairs, threshold),) if pairs and counters.rule_triggered else ()
    caption = "As AWS writes it: samples of 99 and 100 % are missing."
    exhibits = (_bins(groups[:MAX_GROUPS], caption=caption, n_bins=AWS_N_BINS),) if groups else ()
    return Presentation(findings=findings, exhibits=exhibits)


def _members(entry: Mapping[str, JsonValue], name: str) -> Mapping[str, JsonValue]:
    members = entry.get(name)
    return members if isinstance(members, dict) else {}


def _imported(pairs: Sequence[tuple[float, str, str, str]], threshold: float) -> Finding:
    distance, node, gpu, other = max(pairs)
    names = [f"{one} and {two} on {its}" for _, its, one, two in pairs]
    return Finding(
        id=FINDING,
        severity=Severity.WARNING,
        title=f"Work is shared unevenly on {node}: {gpu} and {other}",
        text=(
            f"The distance of their histograms is {distance:.2f} (threshold {threshold:g}). "
            f"Above the threshold: {say_some(names)}."
        ),
        advice=ADVICE,
        where=Where(node=node, device=f"{gpu}, {other}"),
        measured=round(distance, 4),
        threshold=float(threshold),
        unit="",
        exhibit="workloads",
    )
