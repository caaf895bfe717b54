"""Sets of time intervals: their union, how much it covers, what meets them, runs of neighbours."""

from __future__ import annotations

from dataclasses import dataclass
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


def covered_ns(
    start_ns: Instants, end_ns: Instants, first_ns: Instants | int, last_ns: Instants | int
) -> int:
    """Return how much of disjoint windows the union of intervals covers.

    Args:
        start_ns, end_ns: (n,) int64, the intervals, any order.
        first_ns, last_ns: the windows: (m,) int64, or the two ends of one.
    """
    until_first = covered_before(start_ns, end_ns, np.atleast_1d(first_ns))
    until_last = covered_before(start_ns, end_ns, np.atleast_1d(last_ns))
    return int((until_last - until_first).sum())


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Runs:
    """Runs in order.

    Attributes:
        first, last: (n_runs,) int64 positions in the input of the first and last member.
    """

    first: NDArray[np.int64]
    last: NDArray[np.int64]

    @property
    def n_runs(self) -> int:
        """Return the number of runs."""
        return int(self.first.size)

    @property
    def n_members(self) -> NDArray[np.int64]:
        """Return (n_runs,) how many members each run has."""
        return self.last - self.first + 1


def runs_of(places: NDArray[np.int64], *, max_step: int) -> Runs:
    """Merge places that lie at most ``max_step`` apart.

    Args:
        places: (n,) int64, sorted: row numbers, minutes or instants.
        max_step: neighbours have a difference of at most this.
    """
    if places.size == 0:
        return Runs(first=np.empty(0, dtype=np.int64), last=np.empty(0, dtype=np.int64))
    breaks = np.flatnonzero(np.diff(places) > max_step)
    return Runs(
        first=np.concatenate(([0], breaks + 1)).astype(np.int64),
        last=np.append(breaks, places.size - 1).astype(np.int64),
    )
