"""Samples of which some are absent: one value a tick of several series, how long a tick lasts."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from reportgen.profile.system import Floats, Instants, SystemTable

Counts = NDArray[np.int64]

LONGEST_TICK_INTERVALS = 1.5
"""Half an interval late is jitter; from here on the next sample is missing."""
NEIGHBOUR_TICKS = 4
"""The interval may be changed while a job runs: these ticks on both sides show it."""


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


def tick_lengths_ns(system: SystemTable) -> tuple[Instants, int]:
    """Return (n_ticks,) how long each tick stands for, and the time that none stands for.

    A tick lasts until the next one. Before a gap, and at the end, it lasts one interval, that of
    the ticks around it. Both together are the time from the first tick to one interval after the
    last.
    """
    if system.interval_ns is None:
        return np.zeros(system.n_ticks, dtype=np.int64), 0
    until_next = np.diff(system.tick_ns)
    usual_ns = np.full(until_next.shape, system.interval_ns)
    is_gap = until_next > LONGEST_TICK_INTERVALS * usual_ns
    # Only there may the job have been sampled at another interval than most of the time.
    usual_ns[is_gap] = _interval_around_ns(until_next, np.flatnonzero(is_gap), system.interval_ns)
    is_gap &= until_next > LONGEST_TICK_INTERVALS * usual_ns
    lengths = np.where(is_gap, usual_ns, until_next)
    last_ns = usual_ns[-1:] if until_next.size else [system.interval_ns]
    return np.append(lengths, last_ns), int((until_next - lengths).sum())


def _interval_around_ns(until_next: Instants, rows: NDArray[np.intp], interval_ns: int) -> Instants:
    """Return the usual time between ticks around some of them; the job's interval if about that."""
    places = rows[:, np.newaxis] + np.arange(-NEIGHBOUR_TICKS, NEIGHBOUR_TICKS + 1)
    places = np.clip(places, 0, until_next.size - 1)
    around_ns = np.median(until_next[places], axis=1).astype(np.int64)
    is_other = around_ns > LONGEST_TICK_INTERVALS * interval_ns
    return np.asarray(np.where(is_other, around_ns, interval_ns), dtype=np.int64)
