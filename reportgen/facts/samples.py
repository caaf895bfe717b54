"""Samples of which some are absent: the present ones, and one value a tick of several series."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from reportgen.profile.system import Floats

Counts = NDArray[np.int64]


def present_values(values: Floats) -> Floats:
    """Return the values that are not NaN."""
    return values[~np.isnan(values)]


def totals_over(matrix: Floats) -> tuple[Floats, Counts]:
    """Return the sum of the present values of each row, and how many they are.

    Args:
        matrix: (n_ticks, n_series) float64, NaN where absent. One column after another is read:
            a day of a large node is too much to be held twice.
    """
    total = np.zeros(matrix.shape[0])
    count = np.zeros(matrix.shape[0], dtype=np.int64)
    for column in matrix.T:
        is_present = ~np.isnan(column)
        np.add(total, column, out=total, where=is_present)
        count += is_present
    return total, count


def mean_over(matrix: Floats) -> Floats:
    """Return the mean of the present values of each row, NaN where a row holds none.

    Args:
        matrix: as in ``totals_over``.
    """
    return means(*totals_over(matrix))


def means(total: Floats, count: Counts) -> Floats:
    """Return sums by the numbers of their values, NaN where there are none."""
    mean = np.full(count.shape, np.nan)
    np.divide(total, count, out=mean, where=count > 0)
    return mean


def sum_over(matrix: Floats) -> Floats:
    """Return the sum of the present values of each row, NaN where a row holds none."""
    total, count = totals_over(matrix)
    return np.where(count > 0, total, np.nan)
