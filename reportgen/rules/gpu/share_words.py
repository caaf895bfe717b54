"""What LoadBalancing says: which GPUs do what share of the work."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import log, sqrt

import numpy as np

from reportgen.facts.distributions import AWS_N_BINS
from reportgen.results import (
    Counters,
    Details,
    Finding,
    JsonValue,
    Severity,
    Where,
)
from reportgen.rules.base import Presentation
from reportgen.rules.gpu.share import NodeLoad
from reportgen.rules.gpu.share_exhibits import (
    MAX_GROUPS,
    UnevenPair,
    bins_exhibit,
    distance_table,
    load_histogram,
    shares_pct,
    work_table,
)
from reportgen.rules.saying.verdict import estimate_of, fault_severity
from reportgen.rules.saying.wording import label, say_of, say_places, say_some
from reportgen.units import NS_PER_MINUTE, say_pct, seconds

FINDING = "BAL-1"
GAP_FROM_PCT = 10.0
"""Pairs whose mean utilization differs by less share the work, whatever the distance. Ours."""
DISTANCE = "Jensen-Shannon distance"
LARGEST_DISTANCE = sqrt(log(2))
"""Of histograms that share no bin, by natural logarithms."""
ADVICE = (
    "Give every GPU the same work: DistributedDataParallel instead of DataParallel, batches and "
    "shards of equal size, and nothing extra on the first GPU."
)
ADVICE_OWN_PROCESSES = (
    "Each GPU has a process of its own already: give all of them batches and shards of equal size, "
    "and look at clock, temperature and other load of the one that differs."
)
ADVICE_UNUSED = (
    "Find out why the other GPUs never work or stopped: there is nothing to balance between these "
    "and the ones that work."
)
NO_ADVICE = "Nothing to do unless the GPUs ought to follow the same pattern of load."


def present_loads(counters: Counters, loads: Sequence[NodeLoad], threshold: float) -> Presentation:
    """Return the finding and exhibits from measurements."""
    if not any(load.gpus for load in loads):
        return Presentation()
    findings = (_finding(loads, threshold),) if counters.rule_triggered else ()
    exhibits = [work_table(loads)]
    if any(load.pairs for load in loads):
        exhibits.append(distance_table(loads, threshold))
    return Presentation(findings=findings, exhibits=(*exhibits, load_histogram(loads)))


def _finding(loads: Sequence[NodeLoad], threshold: float) -> Finding:
    uneven = [
        UnevenPair(load=load, pair=pair)
        for load in loads
        for pair in load.pairs
        if pair.n_uneven_minutes
    ]
    worst = max(
        uneven, key=lambda item: (item.is_of_used, item.gap_pct, item.pair.violating_distance)
    )
    load, pair = worst.load, worst.pair
    is_gap = worst.is_of_used and worst.gap_pct >= GAP_FROM_PCT
    recoverable = _recoverable_ratio(load)
    return Finding(
        id=FINDING,
        severity=fault_severity(recoverable) if is_gap else Severity.INFO,
        title=_title(worst, is_gap=is_gap),
        text=_text(worst, uneven, loads, threshold),
        advice=_advice(worst, is_gap=is_gap),
        where=Where(
            node=load.node,
            device=f"{pair.gpu}, {pair.other_gpu}",
            start_s=seconds(pair.first_uneven_ns),
            end_s=seconds(min(pair.last_uneven_ns + NS_PER_MINUTE, load.last_ns)),
        ),
        measured=round(pair.violating_distance, 4),
        threshold=float(threshold),
        unit=DISTANCE,
        estimate=estimate_of(recoverable) if is_gap else None,
        exhibit="work",
        causes=("STRAG-1",) if is_gap else ("GPU-1",),
    )


def _advice(worst: UnevenPair, *, is_gap: bool) -> str:
    if not worst.is_of_used:
        return ADVICE_UNUSED
    if not is_gap:
        return NO_ADVICE
    has_own_processes = worst.load.n_workers >= len(worst.load.used)
    return ADVICE_OWN_PROCESSES if has_own_processes else ADVICE


def _recoverable_ratio(load: NodeLoad) -> float:
    """Return what could be won if the busiest GPU only had the mean of the used GPUs' work."""
    means = [gpu.mean_pct for gpu in load.used]
    return 1 - float(np.mean(means)) / max(means) if max(means, default=0.0) > 0 else 0.0


def _title(worst: UnevenPair, *, is_gap: bool) -> str:
    if not worst.is_of_used:
        n_used, n_gpus = len(worst.load.used), len(worst.load.gpus)
        verb = "works" if n_used == 1 else "work"
        return f"Only {n_used} of {n_gpus} GPUs on {worst.load.node} {verb} throughout"
    if not is_gap:
        return f"GPUs on {worst.load.node} work differently, but do about equally much"
    one, other = worst.means_pct
    return (
        f"Work is shared unevenly on {worst.load.node}: {worst.pair.gpu} is used {say_pct(one)}, "
        f"{worst.pair.other_gpu} {say_pct(other)}"
    )


def _text(
    worst: UnevenPair, uneven: Sequence[UnevenPair], loads: Sequence[NodeLoad], threshold: float
) -> str:
    pair, gpus = worst.pair, worst.load.gpus
    parts = [
        f"{gpu.gpu} {say_pct(share)}" for gpu, share in zip(gpus, shares_pct(gpus), strict=True)
    ]
    affected = say_of(len(uneven), sum(len(load.pairs) for load in loads), "pair")
    pairs = [(item.load.node, f"{item.pair.gpu} – {item.pair.other_gpu}") for item in uneven]
    return (
        f"The histograms of {pair.gpu} and {pair.other_gpu} last lay "
        f"{pair.violating_distance:.2f} apart ({_scale(threshold)}). Share of the node's work: "
        f"{say_some(parts, most=8)}. {affected.capitalize()} of GPUs exceeded the threshold: "
        f"{say_places(pairs)}."
    )


def _scale(threshold: float) -> str:
    return f"{DISTANCE}, 0 to {LARGEST_DISTANCE:.2f}; threshold {threshold:g}"


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
    exhibits = (
        (bins_exhibit(groups[:MAX_GROUPS], caption=caption, n_bins=AWS_N_BINS),) if groups else ()
    )
    return Presentation(findings=findings, exhibits=exhibits)


def _members(entry: Mapping[str, JsonValue], name: str) -> Mapping[str, JsonValue]:
    members = entry.get(name)
    return members if isinstance(members, dict) else {}


def _imported(pairs: Sequence[tuple[float, str, str, str]], threshold: float) -> Finding:
    distance, node, gpu, other = max(pairs)
    places = [(its, f"{one} – {two}") for _, its, one, two in pairs]
    return Finding(
        id=FINDING,
        severity=Severity.WARNING,
        title=f"Work is shared unevenly on {node}: {gpu} and {other}",
        text=(
            f"The distance of their histograms is {distance:.2f} ({_scale(threshold)}). "
            f"Above the threshold: {say_places(places)}."
        ),
        advice=ADVICE,
        where=Where(node=node, device=f"{gpu}, {other}"),
        measured=round(distance, 4),
        threshold=float(threshold),
        unit=DISTANCE,
        exhibit="workloads",
    )
