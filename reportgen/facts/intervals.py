"""Sets of time intervals: union, overlap, gaps, what they cover, what meets them, runs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Instants = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Union:
    """Disjoint intervals in order; touching ones are one.

    Attributes:
        start_ns, end_ns: (m,) int64, start_ns[i] <= end_ns[i] < start_ns[i + 1].
    """

    start_ns: Instants
    end_ns: Instants

    @property
    def length_ns(self) -> int:
        """Return the total length."""
        return int((self.end_ns - self.start_ns).sum())


def union_of(start_ns: Instants, end_ns: Instants) -> Union:
    """Return the union of (n,) closed intervals in any order, end_ns >= start_ns."""
    starts, ends = merge_intervals(start_ns, end_ns)
    return Union(start_ns=starts, end_ns=ends)


def merge_intervals(start_ns: Instants, end_ns: Instants) -> tuple[Instants, Instants]:
    """Return the same as the starts and ends of disjoint intervals in order."""
    if start_ns.size == 0:
        return start_ns, end_ns
    order = np.argsort(start_ns, kind="stable")
    starts, reach = start_ns[order], np.maximum.accumulate(end_ns[order])
    opens = np.concatenate(([True], starts[1:] > reach[:-1]))
    closes = np.append(np.flatnonzero(opens)[1:] - 1, starts.size - 1)
    return starts[opens], reach[closes]


def join(unions: tuple[Union, ...]) -> Union:
    """Return the union of unions."""
    starts = np.concatenate([item.start_ns for item in unions])
    ends = np.concatenate([item.end_ns for item in unions])
    return union_of(starts, ends)


def clip(union: Union, low_ns: int, high_ns: int) -> Union:
    """Return the part of a union inside a window."""
    is_inside = (union.end_ns > low_ns) & (union.start_ns < high_ns)
    return Union(
        start_ns=np.maximum(union.start_ns[is_inside], low_ns),
        end_ns=np.minimum(union.end_ns[is_inside], high_ns),
    )


def gaps_of(union: Union, low_ns: int, high_ns: int) -> Union:
    """Return the part of a window outside a union; gaps have a length above 0."""
    inside = clip(union, low_ns, high_ns)
    starts = np.append(low_ns, inside.end_ns)
    ends = np.append(inside.start_ns, high_ns)
    is_open = ends > starts
    return Union(start_ns=starts[is_open], end_ns=ends[is_open])


def minus(union: Union, other: Union) -> Union:
    """Return the part of a union that another does not cover."""
    if overlap_ns(union, other) == 0:
        return union
    edges = np.unique(np.concatenate([union.start_ns, union.end_ns, other.start_ns, other.end_ns]))
    low, high = edges[:-1], edges[1:]
    is_kept = (covered_each(union, low, high) > 0) & (covered_each(other, low, high) == 0)
    return union_of(low[is_kept], high[is_kept])


def overlap_ns(one: Union, other: Union) -> int:
    """Return the length of the intersection of two unions."""
    return int(covered_each(other, one.start_ns, one.end_ns).sum())


def covered_each(union: Union, low_ns: Instants, high_ns: Instants) -> Instants:
    """Return (n,) ns: how much of each range [low, high] lies in a union."""
    return _covered_until(union, high_ns) - _covered_until(union, low_ns)


def union_length_ns(start_ns: Instants, end_ns: Instants) -> int:
    """Return the total length of the union of intervals."""
    return union_of(start_ns, end_ns).length_ns


def covered_before(start_ns: Instants, end_ns: Instants, at_ns: Instants) -> Instants:
    """Return (m,) ns: how long the union of intervals lasts before each of (m,) instants.

    The difference of two of them is the covered time between both.
    """
    return _covered_until(union_of(start_ns, end_ns), at_ns)


def covered_ns(
    start_ns: Instants, end_ns: Instants, first_ns: Instants | int, last_ns: Instants | int
) -> int:
    """Return how much of disjoint windows, (m,) ends or those of one, some intervals cover."""
    union = union_of(start_ns, end_ns)
    return int(covered_each(union, np.atleast_1d(first_ns), np.atleast_1d(last_ns)).sum())


def _covered_until(union: Union, at_ns: Instants) -> Instants:
    """Return (m,) the length of the part of a union before each of (m,) instants."""
    if union.start_ns.size == 0:
        return np.zeros(at_ns.shape, dtype=np.int64)
    before = np.append(0, np.cumsum(union.end_ns - union.start_ns))
    place = np.searchsorted(union.start_ns, at_ns, side="right")
    beyond = np.maximum(union.end_ns[np.maximum(place - 1, 0)] - at_ns, 0)
    return np.where(place == 0, 0, before[place] - beyond)


def spans_any_moment(
    start_ns: Instants, end_ns: Instants, moments_ns: Instants
) -> NDArray[np.bool_]:
    """Return an (n,) mask of the intervals that hold at least one moment (start <= t <= end)."""
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
    """Runs in order: (n_runs,) positions in the input of the first and last member."""

    first: Instants
    last: Instants

    @property
    def n_runs(self) -> int:
        """Return the number of runs."""
        return int(self.first.size)

    @property
    def n_members(self) -> Instants:
        """Return (n_runs,) how many members each run has."""
        return self.last - self.first + 1


def runs_of(places: Instants, *, max_step: int) -> Runs:
    """Merge sorted places (rows, minutes or instants) that lie at most ``max_step`` apart."""
    breaks = np.flatnonzero(np.diff(places) > max_step)
    ends = slice(0 if places.size else 1, None)
    return Runs(first=np.append(0, breaks + 1)[ends], last=np.append(breaks, places.size - 1)[ends])
