"""How much of some windows a set of intervals covers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from reportgen.rules.maths.intervals import merge_intervals

Instants = NDArray[np.int64]


def covered_before(start_ns: Instants, end_ns: Instants, at_ns: Instants) -> Instants:
    """Return how long the union of intervals lasts before each instant.

    Args:
        start_ns, end_ns: (n,) int64, any order.
        at_ns: (m,) int64, any order.

    Returns:
        (m,) int64 ns; the difference of two of them is the covered time between both.
    """
    starts, ends = merge_intervals(start_ns, end_ns)
    if starts.size == 0:
        return np.zeros(at_ns.shape, dtype=np.int64)
    before = np.concatenate(([0], np.cumsum(ends - starts)))
    place = np.searchsorted(starts, at_ns, side="right") - 1
    at = np.maximum(place, 0)
    inside = np.clip(at_ns - starts[at], 0, ends[at] - starts[at])
    return np.where(place < 0, 0, before[at] + inside)


def covered_ns(start_ns: Instants, end_ns: Instants, first_ns: Instants, last_ns: Instants) -> int:
    """Return how much of disjoint windows the union of intervals covers.

    Args:
        start_ns, end_ns: (n,) int64, the intervals.
        first_ns, last_ns: (m,) int64, the windows.
    """
    total = covered_before(start_ns, end_ns, last_ns) - covered_before(start_ns, end_ns, first_ns)
    return int(total.sum())
