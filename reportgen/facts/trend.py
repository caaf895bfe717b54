"""How a series develops: whether it rises over its whole length, and its usual value at each place.

The first is a robust slope with the agreement in rank; the second follows a drift and leaves out
what is high, so that the scatter around it can be measured.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reportgen.profile.system import Floats

MAX_POINTS = 400
"""Pairs grow with the square; longer series are cut to medians of equal blocks first."""
USUAL_PCT = 40.0
LOW_PCT = 10.0
"""The usual value is the 40th percentile, because up to half of the values may be high ones. The
distance of both percentiles is one standard deviation of normal values (1.03)."""
WINDOW = 64
STRIDE = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Trend:
    """How a series develops.

    Attributes:
        slope: median slope over all pairs of points (Theil-Sen), per step.
        rise: slope times the number of steps.
        agreement: Kendall's tau in -1 to 1; 1 when every later point is higher.
    """

    slope: float
    rise: float
    agreement: float


def trend_of(values: Floats) -> Trend:
    """Return the trend of (n,) equally spaced values without NaN, n >= 2.

    Source: P. K. Sen, "Estimates of the regression coefficient based on Kendall's tau", 1968.
    """
    n_steps = values.size - 1
    blocks = np.array_split(values, min(values.size, MAX_POINTS))
    points = np.array([float(np.median(block)) for block in blocks])
    first, second = np.triu_indices(points.size, k=1)
    difference = points[second] - points[first]
    steps = (second - first) * (n_steps / (points.size - 1))
    slope = float(np.median(difference / steps))
    return Trend(slope=slope, rise=slope * n_steps, agreement=float(np.sign(difference).mean()))


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
