"""Jumps of one GPU's memory activity, neighbours merged, and whether they last."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reportgen.facts.distributions import percentiles
from reportgen.facts.intervals import runs_of
from reportgen.facts.minutes import Minutes, minutes_of, window_percentiles
from reportgen.profile.system import Floats
from reportgen.rules.declare import patience, percentage, window
from reportgen.units import NS_PER_MINUTE

LEVEL_PCT = 95.0
"""A minute's level is its 95th percentile: what the load reaches, whatever it does between."""
MAX_EPISODES = 200
"""A fluctuating load has thousands; counts tell of all, the list of those that matter. Ours."""
IDLE_LEVEL_PCT = 1.0
"""Below this a GPU has not begun to work: the first rise is its start. Source: ours."""
LOAD_RISE_PCT = 10.0
"""A jump that comes with this much more GPU utilization is more load, no leak. Source: ours."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Params:
    """Parameters in AWS's order."""

    increase: float = percentage(5, "a jump is an increase by more than this many points")
    patience: int = patience()
    window: int = window(10, minimum=2)


@dataclass(frozen=True, slots=True, kw_only=True)
class Episode:
    """Neighbouring violations of one GPU, seen as one event.

    Attributes:
        start_ns, end_ns: first and last violating sample.
        n_violations: how many samples violated.
        largest_increase_pct: the largest increase among them.
        level_before_pct: 95th percentile of the minute before.
        record_before_pct: highest level of any minute before.
        level_after_pct: median of the minute after, ``None`` when the job ends too soon.
        use_change_pct: change of the median GPU utilization, ``None`` when unknown.
        is_lasting: it reached a new height and stayed there, and it was neither the start of the
            work nor a rise of the load.
    """

    start_ns: int
    end_ns: int
    n_violations: int
    largest_increase_pct: float
    level_before_pct: float
    record_before_pct: float
    level_after_pct: float | None
    use_change_pct: float | None
    is_lasting: bool


def episodes_of(
    time_ns: NDArray[np.int64],
    values: Floats,
    use: Floats,
    increases: Floats,
    rows: NDArray[np.int64],
    params: Params,
) -> tuple[int, int, tuple[Episode, ...]]:
    """Return how many episodes there are, how many of them last, and those worth keeping."""
    if rows.size == 0:
        return 0, 0, ()
    runs = runs_of(rows, max_step=params.window - 1)
    start, end = rows[runs.first], rows[runs.last]
    span = _samples_per_minute(time_ns, params.window)
    # The two newest samples of the first violation made it, so the load before ends there.
    before = window_percentiles(values, start - 1, window=span, points_pct=(LEVEL_PCT,))[:, 0]
    after, change = _after(values, end, span, params.window), _use_change(use, start, end, span)
    record = np.maximum(_records(time_ns, values, start), before)
    is_lasting = (
        (record >= IDLE_LEVEL_PCT)
        & (np.nan_to_num(after, nan=-np.inf) - record > params.increase)
        & ~(change >= LOAD_RISE_PCT)
    )
    largest = np.maximum.reduceat(increases[rows], runs.first)
    kept = np.sort(np.lexsort((-largest, ~is_lasting))[:MAX_EPISODES])
    episodes = tuple(
        Episode(
            start_ns=int(time_ns[start[row]]),
            end_ns=int(time_ns[end[row]]),
            n_violations=int(runs.n_members[row]),
            largest_increase_pct=float(largest[row]),
            level_before_pct=float(before[row]),
            record_before_pct=float(record[row]),
            level_after_pct=_known(after[row]),
            use_change_pct=_known(change[row]),
            is_lasting=bool(is_lasting[row]),
        )
        for row in kept.tolist()
    )
    return runs.n_runs, int(is_lasting.sum()), episodes


def _known(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


def _after(values: Floats, end: NDArray[np.int64], span: int, window: int) -> Floats:
    """Return the median of the minute after each row, NaN when less than a window is left."""
    stop = np.minimum(end + 1 + span, values.size)
    found = np.full(end.size, np.nan)
    is_full = stop - end > span
    found[is_full] = window_percentiles(values, stop[is_full], window=span, points_pct=(50,))[:, 0]
    for row in np.flatnonzero(~is_full & (stop - end - 1 >= window)).tolist():
        found[row] = np.median(values[end[row] + 1 :])
    return found


def _use_change(use: Floats, start: NDArray[np.int64], end: NDArray[np.int64], span: int) -> Floats:
    """Return how the median GPU utilization changed from the minute before to the one after."""
    padded = np.concatenate((np.full(span, np.nan), use, np.full(span, np.nan)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, span)
    earlier, later = windows[start - 1], windows[end + 1 + span]
    change = np.full(start.size, np.nan)
    is_known = ~(np.isnan(earlier).all(axis=1) | np.isnan(later).all(axis=1))
    medians = [np.nanmedian(part[is_known], axis=1) for part in (earlier, later)]
    change[is_known] = medians[1] - medians[0]
    return change


def _records(time_ns: NDArray[np.int64], values: Floats, start: NDArray[np.int64]) -> Floats:
    """Return the highest level of all whole minutes before each row, 0 in the first minute."""
    minutes = minutes_of(time_ns)
    highest = np.concatenate(([0.0], np.maximum.accumulate(levels_of(values, minutes))))
    minute = np.searchsorted(minutes.start_ns, time_ns[start], side="right") - 1
    return np.asarray(highest[minute])


def levels_of(values: Floats, minutes: Minutes) -> Floats:
    """Return the level of each minute."""
    first = np.concatenate(([0], minutes.stop[:-1]))
    return np.array(
        [
            percentiles(values[low:high], (LEVEL_PCT,))[0] + 0.0
            for low, high in zip(first.tolist(), minutes.stop.tolist(), strict=True)
        ]
    )


def _samples_per_minute(time_ns: NDArray[np.int64], window: int) -> int:
    step_ns = float(np.median(np.diff(time_ns)))
    return max(window, round(NS_PER_MINUTE / step_ns))
