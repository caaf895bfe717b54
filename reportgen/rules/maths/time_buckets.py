"""Curves of events over time that can be laid over each other.

Buckets have a width that is a power of two ns and lie on multiples of it, so those of several
workers nest: the finer ones join into the coarser ones without loss of minimum and maximum.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reportgen.rules.maths.thinning import MAX_BUCKETS

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeBuckets:
    """Values by the bucket of their instant; only buckets that hold something.

    Attributes:
        width_ns: a power of two.
        index: (m,) int64 ascending; the bucket begins at index * width_ns.
        low, high, total: (m,) float64.
        count: (m,) int64, > 0.
    """

    width_ns: int
    index: Integers
    low: Floats
    high: Floats
    total: Floats
    count: Integers


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """One line over common instants: (n,) float64 each, NaN where it has no value."""

    low: Floats
    mean: Floats
    high: Floats


def bucket_by_time(
    time_ns: Integers, values: Floats, *, least_width_ns: int, buckets: int = MAX_BUCKETS
) -> TimeBuckets:
    """Gather values into at most ``buckets`` buckets of time.

    Args:
        time_ns: (n,) int64, ascending.
        values: (n,) float64 without NaN.
        least_width_ns: no bucket is narrower; twice the usual distance of two values leaves
            few holes in the curve.
        buckets: the most buckets to make.
    """
    if time_ns.size == 0:
        return TimeBuckets(
            width_ns=1, index=time_ns, low=values, high=values, total=values, count=time_ns
        )
    reach_ns = int(time_ns[-1] - time_ns[0])
    width_ns = power_of_two(max(least_width_ns, reach_ns // (buckets - 1) + 1))
    index, first, count = np.unique(time_ns // width_ns, return_index=True, return_counts=True)
    return TimeBuckets(
        width_ns=width_ns,
        index=index,
        low=np.minimum.reduceat(values, first),
        high=np.maximum.reduceat(values, first),
        total=np.add.reduceat(values, first),
        count=count.astype(np.int64),
    )


def coarsen(buckets: TimeBuckets, width_ns: int) -> TimeBuckets:
    """Join buckets into wider ones; ``width_ns`` is a power of two, not below their own."""
    if buckets.index.size == 0 or width_ns == buckets.width_ns:
        return buckets
    index, first = np.unique(buckets.index * buckets.width_ns // width_ns, return_index=True)
    return TimeBuckets(
        width_ns=width_ns,
        index=index,
        low=np.minimum.reduceat(buckets.low, first),
        high=np.maximum.reduceat(buckets.high, first),
        total=np.add.reduceat(buckets.total, first),
        count=np.add.reduceat(buckets.count, first),
    )


def lay_over(lines: Sequence[TimeBuckets]) -> tuple[Integers, list[Curve]]:
    """Bring several lines to common instants.

    Returns:
        (n,) int64 starts of all buckets in which some line has a value, ns UTC, and one curve
        per line.
    """
    width_ns = max((line.width_ns for line in lines), default=1)
    wide = [coarsen(line, width_ns) for line in lines]
    parts = [line.index for line in wide]
    index = np.unique(np.concatenate(parts)) if parts else np.empty(0, dtype=np.int64)
    return index * width_ns, [_curve(line, index) for line in wide]


def join_lines(lines: Sequence[TimeBuckets]) -> TimeBuckets:
    """Return one line that holds the values of all of them."""
    width_ns = max(line.width_ns for line in lines)
    wide = [coarsen(line, width_ns) for line in lines]
    every = np.concatenate([line.index for line in wide])
    order = np.argsort(every, kind="stable")
    index, first = np.unique(every[order], return_index=True)
    low, high, total, count = (
        np.concatenate([getattr(line, name) for line in wide])[order]
        for name in ("low", "high", "total", "count")
    )
    return TimeBuckets(
        width_ns=width_ns,
        index=index,
        low=np.minimum.reduceat(low, first),
        high=np.maximum.reduceat(high, first),
        total=np.add.reduceat(total, first),
        count=np.add.reduceat(count, first),
    )


def power_of_two(least: int) -> int:
    """Return the smallest power of two that is not below ``least``."""
    return int(1 << max(least - 1, 0).bit_length())


def _curve(line: TimeBuckets, index: Integers) -> Curve:
    place = np.searchsorted(index, line.index)
    low, mean, high = (np.full(index.shape, np.nan) for _ in range(3))
    low[place], high[place] = line.low, line.high
    mean[place] = line.total / line.count
    return Curve(low=low, mean=mean, high=high)
