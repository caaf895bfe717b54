"""Curves with fewer points: minimum, mean and maximum of each bucket of time.

Samples of a regular clock are thinned to buckets of equally many rows (``thin``) and then put on
one time axis with the curves of other nodes (``align``). Events at any instants are gathered in
buckets whose width is a power of two ns (``bucket_by_time``). These buckets lie on multiples of
their width, so those of several workers nest: the finer ones are joined into the coarser ones
without loss of minimum and maximum.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reportgen.arrays import Floats, Integers, Mask
from reportgen.merging import merge, merged

MAX_BUCKETS = 660
"""Three columns (min, mean, max) of 660 buckets stay under 2,000 points a line."""
CELL_STRETCH = 1.1
"""Cells are a tenth wider than the buckets of a curve, so that jitter leaves no cell empty."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ThinCurve:
    """A curve of ``n_points`` rows in buckets of equally many, (n_buckets,) each.

    ``time_ns`` is the first instant of each bucket; values are NaN where it holds no sample.
    """

    time_ns: Integers
    low: Floats
    mean: Floats
    high: Floats
    n_points: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeBuckets:
    """Values by the bucket of their instant; only buckets that hold something, (m,) each.

    Attributes:
        width_ns: a power of two, unless the buckets are cells of ``align``.
        index: ascending; the bucket begins at index * width_ns.
    """

    width_ns: int
    index: Integers = merged(np.concatenate)
    low: Floats = merged(np.concatenate)
    high: Floats = merged(np.concatenate)
    total: Floats = merged(np.concatenate)
    count: Integers = merged(np.concatenate)


@dataclass(frozen=True, slots=True, kw_only=True)
class Aligned:
    """Curves on a common time axis of (n_cells,) starts.

    ``low``, ``mean``, ``high`` are (n_curves, n_cells), NaN where a curve has no value.
    """

    time_ns: Integers
    low: Floats
    mean: Floats
    high: Floats


def even_buckets(n_rows: int, *, most: int) -> int:
    """Return how many buckets of equally many rows a curve is cut into, so that time is even."""
    if n_rows == 0:
        return 1
    rows_each = -(-n_rows // most)
    return -(-n_rows // rows_each)


def thin(time_ns: Integers, values: Floats, *, buckets: int = MAX_BUCKETS) -> ThinCurve:
    """Thin a sorted curve to at most ``buckets`` buckets, keeping minimum and maximum of each.

    Values are NaN where absent.
    """
    n_points = time_ns.shape[0]
    edges = np.unique(np.linspace(0, n_points, min(buckets, n_points) + 1).astype(np.int64))
    first = edges[:-1]
    is_present = ~np.isnan(values)
    found = _reduce(
        first,
        low=np.where(is_present, values, np.inf),
        high=np.where(is_present, values, -np.inf),
        total=np.where(is_present, values, 0.0),
        count=is_present.astype(np.int64),
    )
    is_filled, mean = found["count"] > 0, np.full(first.shape, np.nan)
    return ThinCurve(
        time_ns=time_ns[first],
        low=np.where(is_filled, found["low"], np.nan),
        mean=np.divide(found["total"], found["count"], out=mean, where=is_filled),
        high=np.where(is_filled, found["high"], np.nan),
        n_points=n_points,
    )


def align(curves: Sequence[ThinCurve], *, cells: int) -> Aligned:
    """Put curves, not all of them empty, on a grid of cells of equal time.

    Returns:
        The cells that any curve fills, and the first empty cell of each longer gap, so that a line
        breaks there. A mean is that of the means of the buckets.
    """
    filled = [curve for curve in curves if curve.time_ns.size]
    start_ns = min(int(curve.time_ns[0]) for curve in filled)
    end_ns = max(int(curve.time_ns[-1]) for curve in filled)
    width_ns = max(1, (end_ns - start_ns) // cells + 1, *(_bucket_ns(item) for item in filled))
    lines = [_on_grid(curve, start_ns, width_ns) for curve in curves]
    is_filled = np.zeros((end_ns - start_ns) // width_ns + 1, dtype=bool)
    for line in lines:
        is_filled[line.index] = True
    kept = np.flatnonzero(_kept_cells(is_filled))
    return _side_by_side(lines, kept, time_ns=start_ns + kept * width_ns)


def _on_grid(curve: ThinCurve, start_ns: int, width_ns: int) -> TimeBuckets:
    """Return a thinned curve by cells that are counted from ``start_ns``."""
    rows = np.flatnonzero(~np.isnan(curve.mean))
    cell, mean = (curve.time_ns[rows] - start_ns) // width_ns, curve.mean[rows]
    found = _gather(
        cell,
        width_ns,
        low=curve.low[rows],
        high=curve.high[rows],
        total=mean,
        count=np.ones(rows.shape, dtype=np.int64),
    )
    # Means are added one after another: numpy's pairwise sums differ in the last bit, and a
    # report that is made again would round some of them to another last digit.
    in_order = np.bincount(cell, weights=mean)[found.index]
    return replace(found, total=np.asarray(in_order, dtype=np.float64))


def _bucket_ns(curve: ThinCurve) -> int:
    """Return the width of a cell that holds at least one bucket of this curve."""
    if curve.time_ns.size < 2:
        return 1
    return int(CELL_STRETCH * float(np.median(np.diff(curve.time_ns))))


def _kept_cells(is_filled: Mask) -> Mask:
    """Keep filled cells and the first of at least two empty ones; a single one is jitter."""
    opens_gap = ~is_filled
    opens_gap[1:] &= is_filled[:-1]
    opens_gap[:-1] &= ~is_filled[1:]
    return np.asarray(is_filled | opens_gap)


def bucket_by_time(
    time_ns: Integers, values: Floats, *, least_width_ns: int, buckets: int = MAX_BUCKETS
) -> TimeBuckets:
    """Gather values without NaN, in order of time, into at most ``buckets`` buckets of time.

    No bucket is narrower than ``least_width_ns``; twice the usual distance of two values leaves
    few holes in the curve.
    """
    reach_ns = int(time_ns[-1] - time_ns[0]) if time_ns.size else 0
    width_ns = power_of_two(max(least_width_ns, reach_ns // (buckets - 1) + 1))
    return _gather(
        time_ns // width_ns,
        width_ns if time_ns.size else 1,
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
    index = np.unique(np.concatenate([np.empty(0, np.int64), *(line.index for line in wide)]))
    return _side_by_side(wide, index, time_ns=index * width_ns)


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


_REDUCERS = {"low": np.minimum, "high": np.maximum, "total": np.add, "count": np.add}


def _gather(place: Integers, width_ns: int, **columns: NDArray[Any]) -> TimeBuckets:
    index, first = np.unique(place, return_index=True)
    return TimeBuckets(width_ns=width_ns, index=index, **_reduce(first, **columns))


def _reduce(first: NDArray[np.intp], **columns: NDArray[Any]) -> dict[str, Any]:
    """Reduce rows to groups of neighbours; ``first`` holds the first row of each group."""
    return {name: _REDUCERS[name].reduceat(values, first) for name, values in columns.items()}


def _side_by_side(lines: Sequence[TimeBuckets], index: Integers, *, time_ns: Integers) -> Aligned:
    """Return lines over common buckets; ``index`` is ascending and holds those of each line."""
    low, mean, high = (np.full((len(lines), index.size), np.nan) for _ in range(3))
    for row, line in enumerate(lines):
        place = np.searchsorted(index, line.index)
        low[row, place], high[row, place] = line.low, line.high
        mean[row, place] = line.total / line.count
    return Aligned(time_ns=time_ns, low=low, mean=mean, high=high)
