"""Percentiles of the newest samples, as they stood at the end of each minute."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from reportgen.profile.system import Floats


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
