"""How a series develops: whether it rises over its whole length, and its usual value at each place.

The first is a robust slope with the agreement in rank; the second follows a drift and leaves out
what is high, so that the scatter around it can be measured.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reportgen.profile.system import Floats

MAX_POINTS = 400
"""Pairs grow with the square; longer series are cut to medians of equal blocks first."""
USUAL_PCT = 40.0
LOW_PCT = 10.0
"""The usual value is the 40th percentile, because up to half of the values may be high ones. The
distance of both percentiles is one standard deviation of normal values (1.03)."""
WINDOW = 64
STRIDE = 16
N_BLOCKS = 12
"""Blocks of equally many steps whose medians are compared; the first is warm-up and left out."""
GROWTH_FROM_RATIO = 0.2
"""Steps at the end take longer than at the start by at least so much: less is everyday drift."""
AGREEMENT_FROM = 0.7
"""Kendall's tau of the medians from which they clearly rise."""
_AT_AN_END = 3
"""Blocks at the start, and at the end, whose medians stand for it."""


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Slowdown:
    """Steps of one worker and phase that grow slower over the job.

    Attributes:
        first_ns, last_ns: usual duration at the start and at the end.
        extra_ratio: share of all time in these steps above the usual duration at the start.
        begin_ns, end_ns: from the first compared step to the last.
    """

    first_ns: float
    last_ns: float
    extra_ratio: float
    begin_ns: int
    end_ns: int

    @property
    def growth_ratio(self) -> float:
        """Return by how much steps at the end take longer."""
        return self.last_ns / self.first_ns - 1


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


def slowdown_of(
    start_ns: NDArray[np.int64], duration_ns: NDArray[np.int64], *, min_steps: int
) -> Slowdown | None:
    """Return how steps grow slower, ``None`` where they do not or there are too few.

    Args:
        start_ns, duration_ns: (n,) int64 of one worker and phase, in order of time.
        min_steps: more steps than this are needed.
    """
    if start_ns.size <= max(min_steps, N_BLOCKS):
        return None
    starts, durations = (np.array_split(its, N_BLOCKS)[1:] for its in (start_ns, duration_ns))
    usual = np.array([float(np.median(block)) for block in durations])
    first, last = float(np.median(usual[:_AT_AN_END])), float(np.median(usual[-_AT_AN_END:]))
    if first <= 0 or last < (1 + GROWTH_FROM_RATIO) * first:
        return None
    if trend_of(usual).agreement < AGREEMENT_FROM:
        return None
    sizes = np.array([block.size for block in durations])
    extra_ns = float((np.maximum(usual - first, 0) * sizes).sum())
    return Slowdown(
        first_ns=first,
        last_ns=last,
        extra_ratio=extra_ns / float(duration_ns.sum()),
        begin_ns=int(starts[0][0]),
        end_ns=int((starts[-1] + durations[-1]).max()),
    )
