"""Evidence of bottlenecks: three slices, when they happened, how wide they were, what ran."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reportgen.facts.intervals import runs_of
from reportgen.results import Counters, Details, Exhibit, ExhibitKind, exhibit
from reportgen.rules.aws.breakdown import exhibits_of_breakdown, exhibits_of_members
from reportgen.rules.bottlenecks.ticks import (
    GPU_WORKS_PCT,
    Bottlenecks,
    Limits,
    NodeBottlenecks,
)
from reportgen.rules.functions import compared_functions
from reportgen.rules.saying.wording import say_times
from reportgen.units import percentages, say_pct, seconds

NEIGHBOUR_INTERVALS = 2.5
"""Bottlenecks with at most one other tick between them are one stretch. Source: ours."""
MAX_SPANS = 1000
DURING = " during bottlenecks"


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """A stretch of neighbouring bottlenecks of one node; ends one interval after the last."""

    node: str
    start_ns: int
    end_ns: int
    n_ticks: int


def intervals_of(nodes: Sequence[NodeBottlenecks], *, stretch: float = 1.0) -> list[Interval]:
    """Merge neighbours on each node; ``stretch`` widens the gap that may lie between them."""
    return [
        interval
        for node in nodes
        for interval in _merge(
            node.node,
            node.time_ns,
            interval_ns=node.interval_ns,
            gap_ns=int(stretch * NEIGHBOUR_INTERVALS * node.interval_ns),
        )
    ]


def _merge(
    node: str, time_ns: NDArray[np.int64], *, interval_ns: int, gap_ns: int
) -> list[Interval]:
    runs = runs_of(time_ns, max_step=gap_ns)
    return [
        Interval(
            node=node,
            start_ns=int(time_ns[first]),
            end_ns=int(time_ns[last]) + interval_ns,
            n_ticks=last - first + 1,
        )
        for first, last in zip(runs.first.tolist(), runs.last.tolist(), strict=True)
    ]


def exhibits_of(job: Bottlenecks, limits: Limits, part: str) -> tuple[Exhibit, ...]:
    """Return all evidence of a job with GPUs; ``part`` names the slice of bottlenecks."""
    n_low = sum(node.n_low_ticks for node in job.nodes)
    n_unsampled = sum(node.n_unsampled_ticks for node in job.nodes)
    found = [_slices(job.counters, n_low=n_low, n_unsampled=n_unsampled, limits=limits, part=part)]
    if any(node.loop for node in job.nodes):
        found.append(_when(job.nodes))
    if job.counters.violations:
        found += [_hot_cores(job.nodes), _intervals(job.nodes)]
    if job.counters.rule_triggered:
        found += exhibits_of_breakdown(job.breakdown, with_others=False, during=DURING)
        found += compared_functions(
            "functions",
            job.functions,
            job.functions_at_work,
            title="Functions during bottlenecks and while a GPU works",
            caption=(
                f"Other columns: ticks with a GPU above {say_pct(GPU_WORKS_PCT)}. Each event "
                "counts once with its full length; largest increase of the share first."
            ),
        )
    return tuple(found)


def exhibits_of_details(
    counters: Counters, details: Details, limits: Limits, part: str
) -> tuple[Exhibit, ...]:
    """Return what AWS's JSON alone can show."""
    low = details.get("low_gpu_utilization")
    n_low = low if isinstance(low, int) else counters.violations
    if not n_low:
        return ()
    slices = _slices(counters, n_low=n_low, n_unsampled=0, limits=limits, part=part)
    return (slices, *exhibits_of_members(details, during=DURING))


def _slices(
    counters: Counters, *, n_low: int, n_unsampled: int, limits: Limits, part: str
) -> Exhibit:
    gpu = say_pct(limits.gpu_pct)
    n_idle = max(n_low - counters.violations, 0)
    parts = {
        f"every GPU at {gpu} or more": max(
            counters.datapoints - n_unsampled - n_idle - counters.violations, 0
        ),
        f"a GPU below {gpu}, no bottleneck": n_idle,
        part: counters.violations,
    }
    if n_unsampled:
        parts["no GPU sample"] = n_unsampled
    return exhibit(
        "slices",
        ExhibitKind.SHARES,
        title="All ticks by what GPU and host did",
        caption="The parts are disjoint and sum to all ticks of all nodes.",
        columns=[
            ("part", "", list(parts)),
            ("ticks", "", list(parts.values())),
            ("pct", "%", percentages(list(parts.values()))),
        ],
    )


def _when(nodes: Sequence[NodeBottlenecks]) -> Exhibit:
    loops = [node.loop for node in nodes if node.loop]
    ticks = [sum(loop.ticks[part] for loop in loops) for part in range(3)]
    bottlenecks = [sum(loop.bottlenecks[part] for loop in loops) for part in range(3)]
    return exhibit(
        "when",
        ExhibitKind.TABLE,
        title="Bottlenecks before, in and after the training loop",
        caption="Nodes with step events; the loop is from the first to the last step of each.",
        columns=[
            ("part", "", ["before the loop", "training loop", "after the loop"]),
            ("ticks", "", ticks),
            ("bottlenecks", "", bottlenecks),
            (
                "pct",
                "%",
                [
                    round(100 * part / whole, 2) if whole else None
                    for part, whole in zip(bottlenecks, ticks, strict=True)
                ],
            ),
        ],
    )


def _hot_cores(nodes: Sequence[NodeBottlenecks]) -> Exhibit:
    hot = np.concatenate([node.n_cores_hot for node in nodes])
    share = np.concatenate([node.n_cores_hot / max(node.n_cores, 1) for node in nodes])
    is_single = hot == 1
    groups = {
        "one core": is_single,
        "up to a quarter of the cores": ~is_single & (share <= 0.25),
        "up to half of the cores": ~is_single & (share > 0.25) & (share <= 0.5),
        "more than half of the cores": ~is_single & (share > 0.5),
    }
    return exhibit(
        "hot_cores",
        ExhibitKind.BARS,
        title="Bottlenecks by the number of hot cores",
        caption="One hot core of many is one busy thread rather than a busy host.",
        columns=[
            ("name", "", list(groups)),
            ("bottlenecks", "", [int(rows.sum()) for rows in groups.values()]),
        ],
    )


def _intervals(nodes: Sequence[NodeBottlenecks]) -> Exhibit:
    stretch = 1.0
    found = every = intervals_of(nodes)
    while len(found) > MAX_SPANS:
        stretch *= 2
        found = intervals_of(nodes, stretch=stretch)
    merged = f" {len(every):,} stretches were merged into {len(found):,}." if stretch > 1 else ""
    return exhibit(
        "intervals",
        ExhibitKind.SPANS,
        title="When bottlenecks happened",
        caption=f"Neighbouring bottlenecks are one stretch; every instant is in the JSON.{merged}",
        columns=[
            ("lane", "", [item.node for item in found]),
            ("name", "", [say_times(item.n_ticks, "bottleneck") for item in found]),
            ("start_s", "s", [seconds(item.start_ns) for item in found]),
            ("end_s", "s", [seconds(item.end_ns) for item in found]),
            ("node", "", [item.node for item in found]),
            ("device", "", [None for _ in found]),
            ("ticks", "", [item.n_ticks for item in found]),
        ],
    )
