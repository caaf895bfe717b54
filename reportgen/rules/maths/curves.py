"""Put the thinned curves of several nodes on one time axis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reportgen.profile.system import Floats
from reportgen.rules.maths.thinning import ThinCurve

CELL_STRETCH = 1.1
"""Cells a tenth wider than a curve's buckets: jitter leaves no cell empty. Source: ours."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Aligned:
    """Curves on a common axis.

    Attributes:
        time_ns: (n_cells,) int64, start of each cell that any curve fills, and of the first
            empty cell of each longer gap, so that a line breaks there.
        low, mean, high: (n_curves, n_cells) float64, NaN where a curve has nothing.
    """

    time_ns: NDArray[np.int64]
    low: Floats
    mean: Floats
    high: Floats


def even_buckets(n_rows: int, *, most: int) -> int:
    """Return how many buckets of equally many rows a curve is cut into, so that time is even."""
    if n_rows == 0:
        return 1
    rows_each = -(-n_rows // most)
    return -(-n_rows // rows_each)


def align(curves: Sequence[ThinCurve], *, cells: int) -> Aligned:
    """Put curves on a grid of cells of equal time, keeping minimum and maximum.

    Args:
        curves: thinned curves, not all of them empty.
        cells: the most cells to make where there is no gap.
    """
    filled = [curve for curve in curves if curve.time_ns.size]
    start_ns = min(int(curve.time_ns[0]) for curve in filled)
    end_ns = max(int(curve.time_ns[-1]) for curve in filled)
    width_ns = max(1, (end_ns - start_ns) // cells + 1, *(_bucket_ns(item) for item in filled))
    n_cells = (end_ns - start_ns) // width_ns + 1
    shape = (len(curves), n_cells)
    low, high = np.full(shape, np.inf), np.full(shape, -np.inf)
    total, count = np.zeros(shape), np.zeros(shape, dtype=np.int64)
    for row, curve in enumerate(curves):
        has_value = ~np.isnan(curve.mean)
        cell = (curve.time_ns[has_value] - start_ns) // width_ns
        np.minimum.at(low[row], cell, curve.low[has_value])
        np.maximum.at(high[row], cell, curve.high[has_value])
        np.add.at(total[row], cell, curve.mean[has_value])
        np.add.at(count[row], cell, 1)
    mean = np.divide(total, count, out=np.full(shape, np.nan), where=count > 0)
    low, high = np.where(count > 0, low, np.nan), np.where(count > 0, high, np.nan)
    kept = _kept_cells(count.sum(axis=0) > 0)
    time_ns = start_ns + np.flatnonzero(kept) * width_ns
    return Aligned(time_ns=time_ns, low=low[:, kept], mean=mean[:, kept], high=high[:, kept])


def _bucket_ns(curve: ThinCurve) -> int:
    """Return the width of a cell that holds at least one bucket of this curve."""
    if curve.time_ns.size < 2:
        return 1
    return int(CELL_STRETCH * float(np.median(np.diff(curve.time_ns))))


def _kept_cells(is_filled: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Keep filled cells and the first of at least two empty ones; a single one is jitter."""
    opens_gap = ~is_filled
    opens_gap[1:] &= is_filled[:-1]
    opens_gap[:-1] &= ~is_filled[1:]
    return np.asarray(is_filled | opens_gap)
