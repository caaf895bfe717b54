"""How a series develops: its trend, its usual value at each place, and which values are slow."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reportgen.arrays import Floats, Integers, Mask

BASE_PCT = 40.0
LOW_PCT = 10.0
"""The usual value is the 40th percentile, because up to half of the values may be high ones. The
distance of both percentiles is one standard deviation of normal values (1.03)."""
WINDOW = 64
STRIDE = 16
MEDIAN_FACTOR = 2
"""A step of more than twice the median is slow; one of exactly that is normal."""
SLOW_FROM_DEVIATIONS = 4.0
DRIFT_FROM_RATIO = 0.05
"""A cycle is slow when it exceeds the usual one by four deviations, which plain scatter hardly ever
does, and by 5 %, below which the difference is not worth a search."""
AGREEMENT_FROM = 0.7
"""Kendall's tau from which a series clearly rises: of eight points in random order, the fewest that
are judged, less than one in a hundred reaches it (docs/rules.md)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trend:
    """How a series develops.

    Attributes:
        slope, rise: median slope over all pairs of points (Theil-Sen) per step, and over all steps.
        agreement: Kendall's tau in -1 to 1; 1 when every later point is higher.
    """

    slope: float
    rise: float
    agreement: float


def trend_of(values: Floats) -> Trend:
    """Return the trend of (n,) equally spaced values without NaN, n >= 2.

    Its pairs grow with the square of n: cut long series to blocks first.

    Source: P. K. Sen, "Estimates of the regression coefficient based on Kendall's tau", 1968.
    """
    first, second = np.triu_indices(values.size, k=1)
    difference = values[second] - values[first]
    slope = float(np.median(difference / (second - first)))
    return Trend(
        slope=slope, rise=slope * (values.size - 1), agreement=float(np.sign(difference).mean())
    )


def usual_of(values: Floats) -> Floats:
    """Return (n,) the 40th percentile of the neighbours of each value, n >= 1.

    Over windows of ``WINDOW`` values, straight lines between their middles; a series shorter
    than two windows has one usual value.
    """
    if values.size < 2 * WINDOW:
        return np.full(values.shape, np.percentile(values, BASE_PCT))
    windows = np.lib.stride_tricks.sliding_window_view(values, WINDOW)[::STRIDE]
    middles = np.arange(windows.shape[0]) * STRIDE + (WINDOW - 1) / 2
    return np.interp(np.arange(values.size), middles, np.percentile(windows, BASE_PCT, axis=1))


def scatter_of(excess: Floats) -> float:
    """Return how far (n,) values less the usual ones scatter where they are not high, >= 0."""
    usual, low = np.percentile(excess, (BASE_PCT, LOW_PCT))
    return float(usual - low)


def excess_of(values: Floats, *, least_ratio: float = DRIFT_FROM_RATIO) -> tuple[Floats, Mask]:
    """Return by how much (n,) values exceed the usual one at their time, and which are high.

    High ones exceed the usual one by ``SLOW_FROM_DEVIATIONS`` and by ``least_ratio`` of it.
    """
    usual = usual_of(values)
    excess = values - usual
    return excess, excess > np.maximum(
        SLOW_FROM_DEVIATIONS * scatter_of(excess), least_ratio * usual
    )


def above_median(duration: Integers, *, factor: float = MEDIAN_FACTOR) -> Mask:
    """Return an (n,) mask of the durations longer than ``factor`` medians, n >= 1, any unit."""
    return np.asarray(duration > factor * np.median(duration))


def mean_and_deviation_ns(duration_ns: Integers) -> tuple[float, float]:
    """Return mean and population standard deviation of (n,) durations, n >= 1.

    In whole ns, so that equal durations have exactly no deviation, and sorted, so that the order
    of the rows does not show in the last digit.
    """
    values = np.sort(duration_ns).astype(np.float64)
    return float(values.mean()), float(values.std())


def deviation_threshold_ns(duration_ns: Integers, stddev: float) -> float:
    """Return mean + stddev x deviation, as AWS's rule does (docs/rules.md)."""
    mean_ns, deviation_ns = mean_and_deviation_ns(duration_ns)
    return mean_ns + stddev * deviation_ns
