"""Samples of a node: absent ones, ticks, minutes, pauses, and when the job was at work."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reportgen.arrays import Floats, Instants, Integers, Mask
from reportgen.facts.intervals import NOTHING, Union, gaps_of, union_of
from reportgen.profile import SeriesKind, SpanTable, SystemTable
from reportgen.units import NS_PER_MINUTE

Counts = NDArray[np.integer]
LONGEST_TICK_INTERVALS = 1.5
"""Half an interval late is jitter; from here on the next sample is missing."""
NEIGHBOUR_TICKS = 4
"""The interval may be changed while a job runs: these ticks on both sides show it."""
NEARLY_ALL_RATIO = 0.9
"""A recording that is longer is the whole loop: GPUs also work a little before the first step and
behind the last one."""
WHOLE_RATIO = 0.5
"""Steps that take less than half of the time in which a device works are a window of its loop."""
EDGE_AT_MOST_RATIO = 0.25
"""An idle start or end that is longer than a quarter of the job is lost time, not an edge."""
LEAST_PAUSE_NS = 3 * NS_PER_MINUTE
LEAST_PAUSE_INTERVALS = 5
"""Samples that are absent for longer than both are a pause, not jitter. The reader behind
SageMaker's dashboard uses the same limits (docs/formats.md)."""

_WINDOWS_AT_ONCE = 1_000


def present_values(values: Floats) -> Floats:
    """Return the values that are not NaN."""
    return values[~np.isnan(values)]


def mean_of_present(values: Floats) -> float | None:
    """Return the mean of the values that are not NaN, ``None`` without any."""
    known = present_values(values)
    return float(known.mean()) if known.size else None


def totals_of(columns: Iterable[Floats], n_rows: int) -> tuple[Floats, Counts]:
    """Return (n_rows,) the sum of the present values of each row of some columns, and their number.

    One column after the other is read: a day of a large node is too much to be held at once.
    """
    total = np.zeros(n_rows)
    count = np.zeros(n_rows, dtype=np.int32)
    for column in columns:
        is_present = ~np.isnan(column)
        np.add(total, column, out=total, where=is_present)
        count += is_present
    return total, count


def means(total: Floats, count: Counts) -> Floats:
    """Return sums by the numbers of their values, NaN where there are none."""
    mean = np.full(count.shape, np.nan)
    np.divide(total, count, out=mean, where=count > 0)
    return mean


def count_where(
    system: SystemTable, kind: SeriesKind, is_meant: Callable[[Floats], Mask]
) -> Integers:
    """Return (n_ticks,) how many series of a kind are meant at each tick."""
    found = np.zeros(system.n_ticks, dtype=np.int64)
    for column in system.each(kind):
        found += is_meant(column)
    return found


def mean_of(system: SystemTable, *kinds: SeriesKind) -> Floats:
    """Return (n_ticks,) the mean of all series of some kinds, NaN where none was sampled."""
    return means(*totals_of(system.each(*kinds), system.n_ticks))


def sum_of(system: SystemTable, *kinds: SeriesKind) -> Floats:
    """Return (n_ticks,) the sum of all series of some kinds, NaN where none was sampled."""
    total, count = totals_of(system.each(*kinds), system.n_ticks)
    total[count == 0] = np.nan
    return total


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


# Wall-clock minutes: AWS's rules judge once a minute


@dataclass(frozen=True, slots=True, kw_only=True)
class Minutes:
    """The (n_minutes,) UTC minutes with at least one tick: starts, and ticks up to their ends."""

    start_ns: Integers
    stop: Integers


def minutes_of(time_ns: Integers) -> Minutes:
    """Return the minutes of sorted instants; minutes without data do not exist."""
    index = time_ns // NS_PER_MINUTE
    starts, first = np.unique(index, return_index=True)
    stop = np.append(first[1:], time_ns.shape[0]) if starts.size else first
    return Minutes(start_ns=starts * NS_PER_MINUTE, stop=stop.astype(np.int64))


def window_percentiles(
    values: Floats, stops: Integers, *, window: int, points_pct: tuple[float, ...]
) -> Floats:
    """Return (m, n_points) percentiles of the last ``window`` samples before each stop.

    Args:
        values: (n,) float64 without NaN, in order of time.
        stops: (m,) int64, each in 0-n: how many samples there were; of 0 the result is NaN.
        window: how many samples to look back; fewer are used where fewer exist.
        points_pct: which percentiles, 0-100.
    """
    found = np.full((stops.size, len(points_pct)), np.nan)
    full = np.flatnonzero(stops >= window)
    for start in range(0, full.size, _WINDOWS_AT_ONCE):
        some = full[start : start + _WINDOWS_AT_ONCE]
        rows = np.lib.stride_tricks.sliding_window_view(values, window)[stops[some] - window]
        found[some] = np.percentile(rows, points_pct, axis=1).T
    for row in np.flatnonzero((stops < window) & (stops > 0)).tolist():
        found[row] = np.percentile(values[: stops[row]], points_pct)
    return found


# When a job was at work


def training_loop_ns(spans: SpanTable) -> tuple[int, int] | None:
    """Return first start and last end of the steps that train, or ``None`` without steps.

    Validation before or after them is no part of the loop (docs/rules.md, Training loop).
    """
    steps = spans.training_steps()
    if steps.n_spans == 0:
        return None
    return int(steps.start_ns.min()), int(steps.end_ns.max())


def is_window(
    loop_ns: tuple[int, int] | None,
    works_ns: tuple[int, int] | None,
    *,
    below_ratio: float = WHOLE_RATIO,
) -> bool:
    """Return whether the recorded steps are a window of the loop of devices that work far longer.

    Then the time before and behind them is training, too. A window takes less than a share of it.
    """
    if loop_ns is None or works_ns is None:
        return False
    return loop_ns[1] - loop_ns[0] < below_ratio * (works_ns[1] - works_ns[0])


def idle_edges(values: Floats, *, idle_below: float) -> tuple[int, int]:
    """Return how many of (n,) samples a device idles before its first work, and after its last.

    A sample below ``idle_below`` is idle, unless it is half of the largest. A device that never
    works has no edges: (0, 0).
    """
    largest = float(values.max(initial=0.0))
    busy = np.flatnonzero((values > 0) & (values >= min(idle_below, largest / 2)))
    if not busy.size:
        return 0, 0
    return int(busy[0]), int(values.size - 1 - busy[-1])


def least_pause_ns(interval_ns: int | None) -> int:
    """Return the length above which a gap between samples is a pause."""
    return max(LEAST_PAUSE_NS, LEAST_PAUSE_INTERVALS * (interval_ns or 0))


def sampling_pauses(system: SystemTable) -> tuple[Instants, Instants]:
    """Return (n,) start and end of each pause in a node's samples: its last tick and its next."""
    rows = np.flatnonzero(np.diff(system.tick_ns) > least_pause_ns(system.interval_ns))
    return system.tick_ns[rows], system.tick_ns[rows + 1]


def silence_of(system: SystemTable, spans: SpanTable) -> Union:
    """Return the stretches with neither samples nor events of a node.

    A job that was interrupted and resumed, as on spot instances, did nothing in them: they belong
    to no loop. Where only the samples pause, events show that the job went on.
    """
    busy = union_of(spans.start_ns, spans.end_ns)
    pauses = zip(*(edge.tolist() for edge in sampling_pauses(system)), strict=True)
    free = [NOTHING, *(gaps_of(busy, *pause) for pause in pauses)]
    start_ns = np.concatenate([item.start_ns for item in free])
    end_ns = np.concatenate([item.end_ns for item in free])
    is_long = end_ns - start_ns > least_pause_ns(system.interval_ns)
    return union_of(start_ns[is_long], end_ns[is_long])
