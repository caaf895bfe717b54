"""What is usual at each place of a series that drifts, and how far values scatter around it."""

from __future__ import annotations

import numpy as np

from reportgen.profile.system import Floats

USUAL_PCT = 40.0
LOW_PCT = 10.0
"""The usual value is the 40th percentile, for up to half of the values may be high ones. The
distance of both percentiles is one standard deviation of normal values (1.03). Source: ours."""
WINDOW = 64
STRIDE = 16


def usual_of(values: Floats) -> Floats:
    """Return (n,) the 40th percentile of the neighbours of each value, n >= 1.

    Over windows of ``WINDOW`` values, straight lines between their middles; a series shorter
    than two windows has one usual value.
    """
    if values.size < 2 * WINDOW:
        return np.full(values.shape, np.percentile(values, USUAL_PCT))
    windows = np.lib.stride_tricks.sliding_window_view(values, WINDOW)[::STRIDE]
    middles = np.arange(windows.shape[0]) * STRIDE + (WINDOW - 1) / 2
    return np.interp(np.arange(values.size), middles, np.percentile(windows, USUAL_PCT, axis=1))


def scatter_of(excess: Floats) -> float:
    """Return how far values that are not high scatter below the usual one, >= 0.

    Args:
        excess: (n,) values less the usual ones, n >= 1.
    """
    usual, low = np.percentile(excess, (USUAL_PCT, LOW_PCT))
    return float(usual - low)
