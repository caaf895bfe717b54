"""Long stretches of which nothing is known: profiling was paused, or the job was interrupted."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from reportgen.profile import SpanTable, SystemTable
from reportgen.rules.maths.intervals import merge_intervals
from reportgen.units import NS_PER_MINUTE

LEAST_PAUSE_NS = 3 * NS_PER_MINUTE
LEAST_PAUSE_INTERVALS = 5
"""Samples that are absent for longer than both are a pause, no jitter. Source: the reader behind
SageMaker's dashboard, formats.md §2.2."""

Instants = NDArray[np.int64]


def least_pause_ns(interval_ns: int | None) -> int:
    """Return from which length on absent samples are a pause."""
    return max(LEAST_PAUSE_NS, LEAST_PAUSE_INTERVALS * (interval_ns or 0))


def sampling_pauses(system: SystemTable) -> tuple[Instants, Instants]:
    """Return (n,) start and end of each pause in a node's samples: its last tick and its next."""
    rows = np.flatnonzero(np.diff(system.tick_ns) > least_pause_ns(system.interval_ns))
    return system.tick_ns[rows], system.tick_ns[rows + 1]


def unrecorded_ns(system: SystemTable, spans: SpanTable) -> tuple[Instants, Instants]:
    """Return (n,) start and end of the stretches with neither samples nor events of a node.

    A job that was interrupted and resumed, as on spot instances, did nothing in them: they belong
    to no loop. Where only the samples pause, events show that the job went on.
    """
    pauses = sampling_pauses(system)
    if not pauses[0].size:
        return pauses
    starts: list[int] = []
    ends: list[int] = []
    least_ns = least_pause_ns(system.interval_ns)
    busy_start, busy_end = merge_intervals(spans.start_ns, spans.end_ns)
    first = np.searchsorted(busy_end, pauses[0], side="right")
    stop = np.searchsorted(busy_start, pauses[1], side="left")
    for first_ns, last_ns, low, high in zip(*pauses, first, stop, strict=True):
        free_start = np.append(first_ns, np.maximum(busy_end[low:high], first_ns))
        free_end = np.append(np.minimum(busy_start[low:high], last_ns), last_ns)
        is_long = free_end - free_start > least_ns
        starts += free_start[is_long].tolist()
        ends += free_end[is_long].tolist()
    return np.array(starts, dtype=np.int64), np.array(ends, dtype=np.int64)


def overlap_ns(start_ns: Instants, end_ns: Instants, *, first_ns: int, last_ns: int) -> int:
    """Return how long disjoint stretches overlap one range."""
    both = np.minimum(end_ns, last_ns) - np.maximum(start_ns, first_ns)
    return int(np.maximum(both, 0).sum())
