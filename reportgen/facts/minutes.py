"""Wall-clock minutes, and percentiles at the end of each: AWS's rules judge once a minute.

What was observed of these rules is in docs/rules.md.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reportgen.profile.system import Floats
from reportgen.units import NS_PER_MINUTE


@dataclass(frozen=True, slots=True, kw_only=True)
class Minutes:
    """The minutes that hold data.

    Attributes:
        start_ns: (n_minutes,) int64, start of each UTC minute with at least one tick.
        stop: (n_minutes,) int64, number of ticks up to the end of that minute.
    """

    start_ns: NDArray[np.int64]
    stop: NDArray[np.int64]


def minutes_of(time_ns: NDArray[np.int64]) -> Minutes:
    """Return the minutes of sorted instants; minutes without data do not exist."""
    index = time_ns // NS_PER_MINUTE
    starts, first = np.unique(index, return_index=True)
    stop = np.append(first[1:], time_ns.shape[0]) if starts.size else first
    return Minutes(start_ns=starts * NS_PER_MINUTE, stop=stop.astype(np.int64))


def window_percentiles(
    values: Floats, stops: NDArray[np.int64], *, window: int, points_pct: tuple[float, ...]
) -> Floats:
    """Return percentiles of the last ``window`` samples before each stop.

    Args:
        values: (n,) float64 without NaN, in order of time.
        stops: (m,) int64, each in 0-n: how many samples there were.
        window: how many samples to look back; fewer are used where fewer exist.
        points_pct: which percentiles, 0-100.

    Returns:
        (m, n_points) float64, linear interpolation; NaN where a stop is 0.
    """
    found = np.full((stops.size, len(points_pct)), np.nan)
    is_full = stops >= window
    if is_full.any():
        rows = np.lib.stride_tricks.sliding_window_view(values, window)[stops[is_full] - window]
        found[is_full] = np.percentile(rows, points_pct, axis=1).T
    for row in np.flatnonzero(~is_full & (stops > 0)).tolist():
        found[row] = np.percentile(values[: stops[row]], points_pct)
    return found
