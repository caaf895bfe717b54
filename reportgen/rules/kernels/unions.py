"""Unions of intervals in µs: how long, how much of it lies where, and the gaps between."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reportgen.facts.intervals import merge_intervals

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Union:
    """Disjoint intervals in order; touching ones are one.

    Attributes:
        start_us, end_us: (m,) float64, start_us[i] <= end_us[i] < start_us[i + 1].
    """

    start_us: Floats
    end_us: Floats

    @property
    def length_us(self) -> float:
        """Return the total length."""
        return float((self.end_us - self.start_us).sum())


def union_of(start_us: Floats, end_us: Floats) -> Union:
    """Return the union of (n,) intervals in any order."""
    starts, ends = merge_intervals(start_us, end_us)
    return Union(start_us=starts, end_us=ends)


def join(unions: tuple[Union, ...]) -> Union:
    """Return the union of unions."""
    starts = np.concatenate([item.start_us for item in unions])
    ends = np.concatenate([item.end_us for item in unions])
    return union_of(starts, ends)


def clip(union: Union, low_us: float, high_us: float) -> Union:
    """Return the part of a union inside a window."""
    is_inside = (union.end_us > low_us) & (union.start_us < high_us)
    return Union(
        start_us=np.maximum(union.start_us[is_inside], low_us),
        end_us=np.minimum(union.end_us[is_inside], high_us),
    )


def overlap_us(one: Union, other: Union) -> float:
    """Return the length of the intersection of two unions."""
    return float(covered_us(other, one.start_us, one.end_us).sum())


def covered_us(union: Union, low_us: Floats, high_us: Floats) -> Floats:
    """Return how much of each range [low, high] lies in a union.

    Args:
        union: the union.
        low_us, high_us: (n,) float64, high >= low.

    Returns:
        (n,) float64.
    """
    return _length_until(union, high_us) - _length_until(union, low_us)


def gaps_of(union: Union, low_us: float, high_us: float) -> Union:
    """Return what a window holds beside a union; gaps have a length above 0."""
    inside = clip(union, low_us, high_us)
    starts = np.append(low_us, inside.end_us)
    ends = np.append(inside.start_us, high_us)
    is_open = ends > starts
    return Union(start_us=starts[is_open], end_us=ends[is_open])


def _length_until(union: Union, moment_us: Floats) -> Floats:
    """Return the length of the part of a union before each moment."""
    if union.start_us.size == 0:
        return np.zeros(moment_us.shape)
    before = np.append(0.0, np.cumsum(union.end_us - union.start_us))
    place = np.searchsorted(union.start_us, moment_us, side="right")
    last = np.maximum(place - 1, 0)
    beyond = np.maximum(union.end_us[last] - moment_us, 0.0)
    return np.where(place == 0, 0.0, before[place] - beyond)
