"""Measurement of PythonFunctions: profiles by stage, and those that cover other work than training.

The time between the end of a wait for a batch and the next forward pass is no training: copies,
metrics, printing. A Python profile that covers it says which functions ran (docs/rules.md, Work
that does not train).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from reportgen.arrays import Instants
from reportgen.facts import python_profiles as python
from reportgen.facts.loader import waits_of
from reportgen.facts.python_profiles import ProfileSum
from reportgen.merging import concat, merged, rows_by_code
from reportgen.profile import NodeProfile, PythonTable, SpanTable
from reportgen.rules.kit import col, derived, percentage, row
from reportgen.units import NS_PER_S, NS_PER_US

STAGE = "from the batch to the forward pass"
LEAST_COVER = 0.9
"""A profile covers a time when it covers at least this share of it: the clock of a profile and that
of the events are read one after the other, by the same hook."""
_FORWARD = ("Forward", "ForwardPass")


@dataclass(frozen=True, slots=True, kw_only=True)
class Params:
    """Parameters of ours; AWS has no such rule."""

    min_share_pct: float = percentage(
        10,
        "a function that logs, saves or computes metrics is reported if it takes at least this "
        "share",
        unit="% of the profiled time",
        source="as for the wait of the data loader: less is hardly felt",
    )


@row
class ForwardGaps:
    """One worker's times from a batch to the forward pass.

    ``profiles`` are the shortest that cover ``n_covered`` of them, merged; one for each profiler.
    """

    worker: str = col()
    n_gaps: int = col(name="gaps")
    gap_ns: int = col("s", name="gap_s", per=NS_PER_S)
    n_covered: int = col(name="profiled_gaps")
    covered_ns: int = col("s", name="profiled_s", per=NS_PER_S)
    remark: str = derived(
        lambda item: "" if item.n_covered else "no Python profile for this window"
    )
    profiles: tuple[ProfileSum, ...]


@row
class NodeProfiles:
    """One node or all: its profiles, merged by stage, and the times before its forward passes."""

    stages: tuple[ProfileSum, ...] = merged(lambda parts: python.sums_in_order(concat(parts)))
    gaps: tuple[ForwardGaps, ...] = merged(concat)


def measure(part: NodeProfile, _params: Params) -> NodeProfiles:
    """Merge the profiles of one node."""
    table = part.python
    if not table.profiles:
        return NodeProfiles(stages=(), gaps=())
    return NodeProfiles(
        stages=python.sums_by_stage(table),
        gaps=tuple(_gaps_of_workers(part.spans, table)),
    )


def _gaps_of_workers(spans: SpanTable, table: PythonTable) -> Iterator[ForwardGaps]:
    waits, forward = waits_of(spans), spans.where(spans.in_phases(_FORWARD))
    begins = forward if forward.n_spans else spans.steps()
    for worker, rows in rows_by_code(waits.worker):
        start_ns, end_ns = _gaps(
            waits.where(rows), np.sort(begins.start_ns[begins.worker == worker])
        )
        if start_ns.size:
            yield _covered(spans.workers[worker], start_ns, end_ns, table)


def _gaps(waits: SpanTable, begin_ns: Instants) -> tuple[Instants, Instants]:
    """Return starts and ends of the times after the last wait before each forward pass."""
    end_ns, start_ns = np.sort(waits.end_ns), np.sort(waits.start_ns)
    after = np.searchsorted(end_ns, begin_ns, side="right") - 1
    begun = np.searchsorted(start_ns, begin_ns, side="left") - 1
    is_first = np.diff(after, prepend=-2) != 0
    chosen = (after >= 0) & (after == begun) & is_first
    return end_ns[after[chosen]], begin_ns[chosen]


def _covered(worker: str, start_ns: Instants, end_ns: Instants, table: PythonTable) -> ForwardGaps:
    cover = np.full(start_ns.shape, -1, dtype=np.int64)
    common_ns = np.zeros(start_ns.shape, dtype=np.int64)
    for from_ns, to_ns, place in _longest_first(worker, table):
        near = slice(np.searchsorted(end_ns, from_ns), np.searchsorted(start_ns, to_ns, "right"))
        begin_ns, until_ns = start_ns[near], end_ns[near]
        both_ns = np.minimum(until_ns, to_ns) - np.maximum(begin_ns, from_ns)
        is_covered = both_ns >= LEAST_COVER * (until_ns - begin_ns)
        cover[near] = np.where(is_covered, place, cover[near])
        common_ns[near] = np.where(is_covered, both_ns, common_ns[near])
    places = np.unique(cover[cover >= 0])
    profiler = np.array([table.profiles[place].profiler for place in places.tolist()], dtype=object)
    groups = [places[profiler == name] for name in sorted(set(profiler))]
    return ForwardGaps(
        worker=worker,
        n_gaps=int(start_ns.size),
        gap_ns=int((end_ns - start_ns).sum()),
        n_covered=int((cover >= 0).sum()),
        covered_ns=int(common_ns.sum()),
        profiles=python.sums_in_order(python.sum_of(table, group, STAGE) for group in groups),
    )


def _longest_first(worker: str, table: PythonTable) -> list[tuple[int, int, int]]:
    limits = [
        (
            profile.interval.start.time_us * NS_PER_US,
            (profile.interval.end.time_us + 1) * NS_PER_US,
            place,
        )
        for place, profile in enumerate(table.profiles)
        if profile.worker == worker
    ]
    return sorted(limits, key=lambda item: (item[0] - item[1], item))
