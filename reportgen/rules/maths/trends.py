"""Whether a series rises over its whole length: robust slope and agreement in rank."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reportgen.profile.system import Floats

MAX_POINTS = 400
"""Pairs grow with the square; longer series are cut to medians of equal blocks first."""


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
