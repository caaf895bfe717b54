"""Curves with fewer points: minimum, mean and maximum of each bucket of time.

Buckets are a power of two ns wide and lie on multiples of it, so that those of several nodes nest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reportgen.arrays import Floats, Integers
from reportgen.merging import merge, merged

MAX_BUCKETS = 660
"""Three columns (min, mean, max) of 660 buckets stay under 2,000 points a line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeBuckets:
    """Values by the bucket of their instant; only buckets that hold something, (m,) each.

    Attributes:
        width_ns: a power of two.
        index: ascending; the bucket begins at index * width_ns.
        first_ns: the first instant in it.
    """

    width_ns: int
    index: Integers = merged(np.concatenate)
    first_ns: Integers = merged(np.concatenate)
    low: Floats = merged(np.concatenate)
    high: Floats = merged(np.concatenate)
    total: Floats = merged(np.concatenate)
    count: Integers = merged(np.concatenate)

    @property
    def mean(self) -> Floats:
        """Return (m,) the means of the values of each bucket."""
        return self.total / self.count


@dataclass(frozen=True, slots=True, kw_only=True)
class Aligned:
    """Lines on a common time axis of (n_cells,) starts.

    ``low``, ``mean``, ``high`` are (n_lines, n_cells), NaN where a line has no value.
    """

    time_ns: Integers
    low: Floats
    mean: Floats
    high: Floats


def bucket_by_time(
    time_ns: Integers, values: Floats, *, least_width_ns: int = 1, buckets: int = MAX_BUCKETS
) -> TimeBuckets:
    """Gather values, in order of time, into at most ``buckets`` buckets of time; NaN is left out.

    No bucket is narrower than ``least_width_ns``; twice the usual distance of two values leaves
    few holes in the curve.
    """
    is_known = ~np.isnan(values)
    time_ns, values = time_ns[is_known], values[is_known]
    reach_ns = int(time_ns[-1] - time_ns[0]) if time_ns.size else 0
    width_ns = power_of_two(max(least_width_ns, reach_ns // (buckets - 1) + 1))
    return _gather(
        time_ns // width_ns,
        width_ns if time_ns.size else 1,
        first_ns=time_ns,
        low=values,
        high=values,
        total=values,
        count=np.ones(values.shape, dtype=np.int64),
    )


def coarsen(buckets: TimeBuckets, width_ns: int) -> TimeBuckets:
    """Join buckets into wider ones; ``width_ns`` is a power of two, not below theirs."""
    if buckets.index.size == 0 or width_ns == buckets.width_ns:
        return buckets
    columns = {name: getattr(buckets, name) for name in _REDUCERS}
    return _gather(buckets.index * buckets.width_ns // width_ns, width_ns, **columns)


def lay_over(lines: Sequence[TimeBuckets]) -> Aligned:
    """Bring several lines to common instants: all buckets in which some line has a value."""
    width_ns = max((line.width_ns for line in lines), default=1)
    wide = [coarsen(line, width_ns) for line in lines]
    return _side_by_side(wide, _indexes(wide), width_ns)


def align(lines: Sequence[TimeBuckets], *, cells: int) -> Aligned:
    """Bring lines, not all of them empty, to at most ``cells`` common instants, two or more.

    The first of at least two empty buckets is there as well, so that lines break at a gap.
    """
    filled = [line for line in lines if line.index.size]
    first_ns = min(int(line.first_ns[0]) for line in filled)
    last_ns = max(int(line.first_ns[-1]) for line in filled)
    least_ns = (last_ns - first_ns) // (cells - 1) + 1
    width_ns = max(power_of_two(least_ns), *(line.width_ns for line in lines))
    wide = [coarsen(line, width_ns) for line in lines]
    index = _indexes(wide)
    opens_gap = np.flatnonzero(np.diff(index) > 2)
    found = _side_by_side(wide, np.union1d(index, index[opens_gap] + 1), width_ns)
    return replace(found, time_ns=np.maximum(found.time_ns, first_ns))


def _indexes(lines: Sequence[TimeBuckets]) -> Integers:
    return np.unique(np.concatenate([np.empty(0, np.int64), *(line.index for line in lines)]))


def join_lines(lines: Sequence[TimeBuckets]) -> TimeBuckets:
    """Return one line that holds the values of all of them."""
    width_ns = max(line.width_ns for line in lines)
    every = merge([coarsen(line, width_ns) for line in lines])
    order = np.argsort(every.index, kind="stable")
    columns = {name: getattr(every, name)[order] for name in _REDUCERS}
    return _gather(every.index[order], width_ns, **columns)


def power_of_two(least: int) -> int:
    """Return the smallest power of two that is not below ``least``."""
    return int(1 << max(least - 1, 0).bit_length())


_REDUCERS = {
    "first_ns": np.minimum,
    "low": np.minimum,
    "high": np.maximum,
    "total": np.add,
    "count": np.add,
}


def _gather(place: Integers, width_ns: int, **columns: NDArray[Any]) -> TimeBuckets:
    """Reduce rows of the same place, which are neighbours, to one bucket."""
    first = np.flatnonzero(np.diff(place, prepend=place[:1] - 1))
    found = {name: _REDUCERS[name].reduceat(values, first) for name, values in columns.items()}
    return TimeBuckets(width_ns=width_ns, index=place[first], **found)


def _side_by_side(lines: Sequence[TimeBuckets], index: Integers, width_ns: int) -> Aligned:
    """Return lines over common buckets; ``index`` is ascending and holds those of each line."""
    low, mean, high = (np.full((len(lines), index.size), np.nan) for _ in range(3))
    for row, line in enumerate(lines):
        place = np.searchsorted(index, line.index)
        low[row, place], high[row, place] = line.low, line.high
        mean[row, place] = line.mean
    return Aligned(time_ns=index * width_ns, low=low, mean=mean, high=high)
