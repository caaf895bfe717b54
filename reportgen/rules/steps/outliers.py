"""Outliers of a series of durations, judged minute by minute as AWS's rule does."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from reportgen.facts.minutes import minutes_of

Integers = NDArray[np.int64]


def outlier_threshold_ns(duration_ns: Integers, stddev: float) -> float:
    """Return mean + stddev x population standard deviation of (n,) durations, n >= 1.

    As AWS's rule does (docs/rules.md). In whole ns, so that equal durations have exactly no
    deviation, and sorted, so that the order of the rows does not show in the last digit.
    """
    values = np.sort(duration_ns).astype(np.float64)
    return float(values.mean() + stddev * values.std())


def outliers_by_minute(
    end_ns: Integers, duration_ns: Integers, *, stddev: float, min_steps: int
) -> tuple[Integers, Integers]:
    """Judge a growing series after each minute that brought something new.

    Args:
        end_ns: (n,) int64; an event belongs to the minute in which it ends.
        duration_ns: (n,) int64.
        stddev: factor of the standard deviation.
        min_steps: a series is judged once it has more than so many events.

    Returns:
        (m,) int64 starts of the minutes in which the series was judged, and (m,) int64 how many
        events so far were above the threshold of that minute.
    """
    order = np.lexsort((duration_ns, end_ns))
    duration = duration_ns[order]
    minutes = minutes_of(end_ns[order])
    is_judged = minutes.stop > min_steps
    stops = minutes.stop[is_judged]
    if stops.size == 0:
        return stops, stops
    thresholds = _thresholds_ns(duration, stops, stddev)
    thresholds[-1] = outlier_threshold_ns(duration, stddev)
    high = np.flatnonzero(duration > thresholds.min())
    counts = [
        int(np.count_nonzero(duration[high[: np.searchsorted(high, stop)]] > threshold))
        for stop, threshold in zip(stops, thresholds, strict=True)
    ]
    return minutes.start_ns[is_judged], np.array(counts, dtype=np.int64)


def _thresholds_ns(duration: Integers, stops: Integers, stddev: float) -> NDArray[np.float64]:
    """Return the threshold over the first ``stop`` durations for each stop, in one pass."""
    centre = int(np.median(duration))
    shifted = duration - centre
    mean = np.cumsum(shifted)[stops - 1] / stops
    mean_square = np.cumsum(np.square(shifted.astype(np.float64)))[stops - 1] / stops
    variance = np.maximum(mean_square - np.square(mean), 0.0)
    return np.asarray(centre + mean + stddev * np.sqrt(variance))
