"""One value a tick out of several series: a node's CPU, its GPUs, its network."""

from __future__ import annotations

import numpy as np

from reportgen.profile.system import Floats


def mean_over(matrix: Floats) -> Floats:
    """Return the mean of the present values of each row.

    Args:
        matrix: (n_ticks, n_series) float64, NaN where absent.

    Returns:
        (n_ticks,) float64, NaN where a row holds no value.
    """
    is_present = ~np.isnan(matrix)
    counts = np.count_nonzero(is_present, axis=1)
    total = np.where(is_present, matrix, 0.0).sum(axis=1)
    mean = np.full(counts.shape, np.nan)
    np.divide(total, counts, out=mean, where=counts > 0)
    return mean


def sum_over(matrix: Floats) -> Floats:
    """Return the sum of the present values of each row, NaN where a row holds none."""
    is_present = ~np.isnan(matrix)
    total = np.where(is_present, matrix, 0.0).sum(axis=1)
    return np.where(is_present.any(axis=1), total, np.nan)
