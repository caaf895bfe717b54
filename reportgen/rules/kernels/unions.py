"""Unions of intervals in ns: how long, how much of it lies where, and the gaps between."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reportgen.facts.intervals import merge_intervals

Times = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Union:
    """Disjoint intervals in order; touching ones are one.

    Attributes:
        start_ns, end_ns: (m,) int64, start_ns[i] <= end_ns[i] < start_ns[i + 1].
    """

    start_ns: Times
    end_ns: Times

    @property
    def length_ns(self) -> int:
        """Return the total length."""
        return int((self.end_ns - self.start_ns).sum())


def union_of(start_ns: Times, end_ns: Times) -> Union:
    """Return the union of (n,) intervals in any order."""
    starts, ends = merge_intervals(start_ns, end_ns)
    return Union(start_ns=starts, end_ns=ends)


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


def overlap_ns(one: Union, other: Union) -> int:
    """Return the length of the intersection of two unions."""
    return int(covered_ns(other, one.start_ns, one.end_ns).sum())


def covered_ns(union: Union, low_ns: Times, high_ns: Times) -> Times:
    """Return how much of each range [low, high] lies in a union.

    Args:
        union: the union.
        low_ns, high_ns: (n,) int64, high >= low.

    Returns:
        (n,) int64.
    """
    return _length_until(union, high_ns) - _length_until(union, low_ns)


def gaps_of(union: Union, low_ns: int, high_ns: int) -> Union:
    """Return what a window holds beside a union; gaps have a length above 0."""
    inside = clip(union, low_ns, high_ns)
    starts = np.append(low_ns, inside.end_ns)
    ends = np.append(inside.start_ns, high_ns)
    is_open = ends > starts
    return Union(start_ns=starts[is_open], end_ns=ends[is_open])


def _length_until(union: Union, moment_ns: Times) -> Times:
    """Return the length of the part of a union before each moment."""
    if union.start_ns.size == 0:
        return np.zeros_like(moment_ns)
    before = np.append(0, np.cumsum(union.end_ns - union.start_ns))
    place = np.searchsorted(union.start_ns, moment_ns, side="right")
    last = np.maximum(place - 1, 0)
    beyond = np.maximum(union.end_ns[last] - moment_ns, 0)
    return np.where(place == 0, 0, before[place] - beyond)
