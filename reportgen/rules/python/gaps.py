"""From the batch to the forward pass: how long that takes, and which profiles cover it.

The time between the end of a wait for a batch and the next forward pass is no training: copies,
metrics, printing. A Python profile that covers it says which functions ran (features 003-16).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reportgen.facts.groups import rows_by_code
from reportgen.facts.loader import waits_of
from reportgen.profile import PythonTable, SpanTable
from reportgen.rules.python.sums import ProfileSum, join_sums, sum_of
from reportgen.units import NS_PER_US

STAGE = "from the batch to the forward pass"
LEAST_COVER = 0.9
"""A profile covers a time when it covers so much of it: the clock of a profile and that of the
events are read one after the other, by the same hook. Source: ours."""
_FORWARD = ("Forward", "ForwardPass")

Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Gaps:
    """One worker's times from a batch to the forward pass.

    Attributes:
        n_gaps, gap_ns: how many, and how long together.
        n_covered: those that a Python profile covers; ``covered_ns``: what it covers of them.
        profiles: the shortest profiles that cover them, merged; one for each profiler.
    """

    worker: str
    n_gaps: int
    gap_ns: int
    n_covered: int
    covered_ns: int
    profiles: tuple[ProfileSum, ...]


def gaps_of(spans: SpanTable, table: PythonTable) -> tuple[Gaps, ...]:
    """Return the gaps of each worker of a node; none without waits or forward passes."""
    waits = waits_of(spans)
    forward = spans.where(spans.in_phases(_FORWARD))
    begins = forward if forward.n_spans else spans.steps()
    found = []
    for worker, its in rows_by_code(waits.worker):
        own = waits.where(its)
        start_ns, end_ns = _gaps(own, np.sort(begins.start_ns[begins.worker == worker]))
        if start_ns.size:
            found.append(_covered(spans.workers[worker], start_ns, end_ns, table))
    return tuple(found)


def _gaps(waits: SpanTable, begin_ns: Integers) -> tuple[Integers, Integers]:
    """Return starts and ends of the times after the last wait before each forward pass."""
    end_ns, start_ns = np.sort(waits.end_ns), np.sort(waits.start_ns)
    after = np.searchsorted(end_ns, begin_ns, side="right") - 1
    begun = np.searchsorted(start_ns, begin_ns, side="left") - 1
    own = (after >= 0) & (after == begun)
    first = np.ones(begin_ns.shape, dtype=bool)
    first[1:] = after[1:] != after[:-1]
    chosen = own & first
    return end_ns[after[chosen]], begin_ns[chosen]


def _covered(worker: str, start_ns: Integers, end_ns: Integers, table: PythonTable) -> Gaps:
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
    sums = [sum_of(table, places[profiler == name], stage=STAGE) for name in sorted(set(profiler))]
    return Gaps(
        worker=worker,
        n_gaps=int(start_ns.size),
        gap_ns=int((end_ns - start_ns).sum()),
        n_covered=int((cover >= 0).sum()),
        covered_ns=int(common_ns.sum()),
        profiles=join_sums(sums),
    )


def _longest_first(worker: str, table: PythonTable) -> list[tuple[int, int, int]]:
    """Return start, end and place of a worker's profiles, the shortest at the end."""
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
