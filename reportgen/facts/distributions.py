"""How values are distributed: percentiles and boxes, histograms, and how far apart two of them are.

Histograms of percentages have fixed bins; those of durations end in round numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from reportgen.arrays import Counts, Floats, Integers
from reportgen.units import round_factors

WHISKER_REACH = 1.5
N_BINS = 50
BIN_PCT = 2
PCT_EDGES = range(0, N_BINS * BIN_PCT + 1, BIN_PCT)
"""The edges of histograms of percentages."""
AWS_N_BINS = 49
FINEST = 10_000
"""Bins of durations are no narrower than this part of the largest value: equal values, whose ends
are rounded, share a bin of visible width."""
DRAWN_BINS = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Box:
    """A box plot in numbers: quartiles, p95, and Tukey's whiskers held to the data's range."""

    p25: float
    p50: float
    p75: float
    p95: float
    upper: float
    lower: float


def box_of(values: Floats) -> Box:
    """Return the box of (n,) values without NaN, n >= 1.

    As in AWS's results, upper = min(max, p75 + 1.5 IQR) and lower = max(min, p25 - 1.5 IQR). Its
    numbers carry the rounding of numpy's percentiles (docs/rules.md, Percentiles).
    """
    p25, p50, p75, p95 = np.percentile(values, (25, 50, 75, 95)).tolist()
    reach = WHISKER_REACH * (p75 - p25)
    return Box(
        p25=p25,
        p50=p50,
        p75=p75,
        p95=p95,
        upper=min(p75 + reach, float(values.max())),
        lower=max(p25 - reach, float(values.min())),
    )


def bin_index(values: Floats) -> Integers:
    """Return the bin of each percentage, without NaN: [0, 2) ... [98, 100], else the edge bin."""
    return np.asarray(np.clip(np.floor(values / BIN_PCT), 0, N_BINS - 1).astype(np.int64))


def pct_histogram(values: Floats) -> Counts:
    """Return (50,) counts of (n,) or (n_ticks, n_series) percentages; NaN is left out."""
    counts = np.zeros(N_BINS, dtype=np.int64)
    for column in np.atleast_2d(values.T):
        counts += np.bincount(bin_index(column[~np.isnan(column)]), minlength=N_BINS)
    return counts


def aws_histogram(values: Floats) -> Counts:
    """Return the (49,) counts of (n,) percentages without NaN that AWS writes (docs/rules.md).

    The edges are 0, 2 ... 98; the last bin is closed, values above 98 are dropped.
    """
    return np.histogram(values, bins=AWS_N_BINS, range=(0, AWS_N_BINS * BIN_PCT))[0]


def jensen_shannon(counts: Counts, other_counts: Counts) -> Floats:
    """Return the Jensen-Shannon distance of histograms, (..., n_bins) counts each, row by row.

    Returns:
        (...) float64 in 0-0.8326: sqrt((KL(p, m) + KL(q, m)) / 2), natural logarithm; equals
        ``scipy.spatial.distance.jensenshannon``.
    """
    p = counts / counts.sum(axis=-1, keepdims=True)
    q = other_counts / other_counts.sum(axis=-1, keepdims=True)
    middle = (p + q) / 2
    divergence = _relative_entropy(p, middle) + _relative_entropy(q, middle)
    return np.asarray(np.sqrt(np.maximum(divergence, 0) / 2))


def _relative_entropy(p: Floats, middle: Floats) -> Floats:
    ratio = np.divide(p, middle, out=np.ones_like(p), where=p > 0)
    return np.asarray((p * np.log(ratio)).sum(axis=-1))


def bin_together(groups: Sequence[Integers]) -> tuple[Integers, Integers]:
    """Return the histograms of groups of values >= 0 over the same bins of round width.

    Returns:
        (n_bins + 1,) edges, none without values, and (n_groups, n_bins) counts.
    """
    every = np.concatenate(groups)
    if not every.size:
        return np.empty(0, dtype=np.int64), np.zeros((len(groups), 0), dtype=np.int64)
    least, most = int(every.min()), int(every.max())
    width_ns = 10 ** len(str(most // FINEST - 1)) if most // FINEST > 1 else 1
    width_ns *= next(
        n for n in round_factors() if most // (n * width_ns) - least // (n * width_ns) < DRAWN_BINS
    )
    first, last = least // width_ns, most // width_ns
    counts = [np.bincount(one // width_ns - first, minlength=last - first + 1) for one in groups]
    edge_ns = np.arange(first, last + 2, dtype=np.int64) * width_ns
    return edge_ns, np.array(counts)
