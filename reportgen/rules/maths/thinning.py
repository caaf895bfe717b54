"""Thin a curve without losing its extremes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reportgen.profile.system import Floats

MAX_BUCKETS = 660
"""Three columns (min, mean, max) of 660 buckets stay under 2,000 points a line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ThinCurve:
    """A curve in buckets of equally many rows.

    Attributes:
        time_ns: (n_buckets,) int64, first instant of each bucket.
        low, mean, high: (n_buckets,) float64, NaN where a bucket holds no sample.
        n_points: how many rows there were.
    """

    time_ns: NDArray[np.int64]
    low: Floats
    mean: Floats
    high: Floats
    n_points: int


def thin(time_ns: NDArray[np.int64], values: Floats, *, buckets: int = MAX_BUCKETS) -> ThinCurve:
    """Thin a curve to at most ``buckets`` buckets, keeping minimum and maximum of each.

    Args:
        time_ns: (n,) int64, sorted.
        values: (n,) float64, NaN where absent.
        buckets: the most buckets to make.
    """
    n_points = time_ns.shape[0]
    edges = np.unique(np.linspace(0, n_points, min(buckets, n_points) + 1).astype(np.int64))
    first = edges[:-1]
    is_present = ~np.isnan(values)
    counts = np.add.reduceat(is_present, first, dtype=np.int64) if first.size else first
    filled = counts > 0
    low = _reduce(np.minimum, np.where(is_present, values, np.inf), first, filled)
    high = _reduce(np.maximum, np.where(is_present, values, -np.inf), first, filled)
    total = _reduce(np.add, np.where(is_present, values, 0.0), first, filled)
    mean = np.divide(total, counts, out=np.full(first.shape, np.nan), where=filled)
    return ThinCurve(time_ns=time_ns[first], low=low, mean=mean, high=high, n_points=n_points)


def _reduce(
    ufunc: np.ufunc, values: Floats, first: NDArray[np.int64], filled: NDArray[np.bool_]
) -> Floats:
    if not first.size:
        return np.empty(0)
    return np.where(filled, ufunc.reduceat(values, first), np.nan)
