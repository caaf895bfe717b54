"""Percentiles and boxes of samples, absent values left out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reportgen.profile.system import Floats

WHISKER_REACH = 1.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Box:
    """A box plot in numbers: quartiles, p95, and Tukey's whiskers held to the data's range."""

    p25: float
    p50: float
    p75: float
    p95: float
    upper: float
    lower: float


def present_values(values: Floats) -> Floats:
    """Return the values that are not NaN."""
    return values[~np.isnan(values)]


def percentiles(values: Floats, points_pct: tuple[float, ...]) -> NDArray[np.float64]:
    """Return percentiles by linear interpolation between order statistics.

    Args:
        values: (n,) float64 without NaN, n >= 1.
        points_pct: which percentiles, 0-100.

    Returns:
        (n_points,) float64.

    Source: numpy's default; AWS's numbers carry its rounding (rules-spec §0.4).
    """
    return np.asarray(np.percentile(values, points_pct))


def box_of(values: Floats) -> Box:
    """Return the box of (n,) values without NaN, n >= 1.

    Source: rules-spec §0.4: upper = min(max, p75 + 1.5 IQR), lower = max(min, p25 - 1.5 IQR).
    """
    p25, p50, p75, p95 = (float(value) for value in percentiles(values, (25, 50, 75, 95)))
    reach = WHISKER_REACH * (p75 - p25)
    return Box(
        p25=p25,
        p50=p50,
        p75=p75,
        p95=p95,
        upper=min(p75 + reach, float(values.max())),
        lower=max(p25 - reach, float(values.min())),
    )
