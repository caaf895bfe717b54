"""Sets of time intervals: union, total length, which of them meet which moments."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Instants = NDArray[np.int64]
Times = TypeVar("Times", NDArray[np.int64], NDArray[np.float64])


def merge_intervals(start: Times, end: Times) -> tuple[Times, Times]:
    """Return the union of closed intervals as disjoint intervals in order.

    Args:
        start, end: (n,) in one unit, int64 ns or float64 µs, end >= start, any order.

    Returns:
        Two (m,) arrays, m <= n; touching intervals are one.
    """
    if start.size == 0:
        return start, end
    order = np.argsort(start, kind="stable")
    starts, reach = start[order], np.maximum.accumulate(end[order])
    opens = np.concatenate(([True], starts[1:] > reach[:-1]))
    closes = np.append(np.flatnonzero(opens)[1:] - 1, starts.size - 1)
    return starts[opens], reach[closes]


def union_length_ns(start_ns: Instants, end_ns: Instants) -> int:
    """Return the total length of the union of intervals."""
    starts, ends = merge_intervals(start_ns, end_ns)
    return int((ends - starts).sum())


def spans_any_moment(
    start_ns: Instants, end_ns: Instants, moments_ns: Instants
) -> NDArray[np.bool_]:
    """Return an (n,) mask of the intervals that hold at least one moment (start <= t <= end).

    Args:
        start_ns, end_ns: (n,) int64.
        moments_ns: (m,) int64, any order.
    """
    moments = np.sort(moments_ns)
    first = np.searchsorted(moments, start_ns, side="left")
    after = np.searchsorted(moments, end_ns, side="right")
    return np.asarray(after > first)


def overlaps_any(
    start_ns: Instants, end_ns: Instants, other_start_ns: Instants, other_end_ns: Instants
) -> NDArray[np.bool_]:
    """Return an (n,) mask of the intervals that meet one of the others (closed on both sides)."""
    starts, ends = merge_intervals(other_start_ns, other_end_ns)
    if starts.size == 0:
        return np.zeros(start_ns.shape, dtype=bool)
    nearest = np.searchsorted(starts, end_ns, side="right") - 1
    return np.asarray((nearest >= 0) & (ends[np.maximum(nearest, 0)] >= start_ns))
