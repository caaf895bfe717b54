"""Histograms of percentages, and how far apart two of them are."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from reportgen.profile.system import Floats

N_BINS = 50
BIN_PCT = 2
AWS_N_BINS = 49

Counts = NDArray[np.int64]


def bin_index(values: Floats) -> NDArray[np.int64]:
    """Return the bin of each value: [0, 2), [2, 4) ... [98, 100]; beyond the range the edge bin.

    Args:
        values: (n,) float64 percentages without NaN.
    """
    return np.asarray(np.clip(np.floor(values / BIN_PCT), 0, N_BINS - 1).astype(np.int64))


def pct_histogram(values: Floats) -> Counts:
    """Return (50,) counts of percentages; NaN is left out and no sample is lost.

    Args:
        values: (n,) or (n_ticks, n_series) float64.
    """
    counts = np.zeros(N_BINS, dtype=np.int64)
    for column in np.atleast_2d(values.T):
        counts += np.bincount(bin_index(column[~np.isnan(column)]), minlength=N_BINS)
    return counts


def aws_histogram(values: Floats) -> Counts:
    """Return AWS's (49,) counts: edges 0, 2 ... 98, the last bin closed, above 98 dropped.

    Args:
        values: (n,) float64 without NaN.

    Source: oracle §6.
    """
    counts, _ = np.histogram(values, bins=AWS_N_BINS, range=(0, AWS_N_BINS * BIN_PCT))
    return counts


def jensen_shannon(counts: Counts, other_counts: Counts) -> Floats:
    """Return the Jensen-Shannon distance of histograms, row by row.

    Args:
        counts, other_counts: (..., n_bins) counts, each row with at least one sample.

    Returns:
        (...) float64 in 0-0.8326: sqrt((KL(p, m) + KL(q, m)) / 2), natural logarithm.

    Source: oracle §6; equals ``scipy.spatial.distance.jensenshannon``.
    """
    p = counts / counts.sum(axis=-1, keepdims=True)
    q = other_counts / other_counts.sum(axis=-1, keepdims=True)
    middle = (p + q) / 2
    divergence = _relative_entropy(p, middle) + _relative_entropy(q, middle)
    return np.asarray(np.sqrt(np.maximum(divergence, 0) / 2))


def _relative_entropy(p: Floats, middle: Floats) -> Floats:
    ratio = np.divide(p, middle, out=np.ones_like(p), where=p > 0)
    return np.asarray((p * np.log(ratio)).sum(axis=-1))
