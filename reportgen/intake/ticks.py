"""Samples to ticks: which samples were taken at the same instant of a node.

Samples of one instant carry stamps that differ. The stamps of one group of series (GPUs, else
memory) are the anchors; every other sample belongs to the nearest anchor, at short intervals rather
to the one before it (``early_us``). Samples that fit nowhere, or find their place taken, open
separate ticks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reportgen.arrays import join, select
from reportgen.profile import Series

_SAME_US = 5_000
"""Anchors within min(5 ms, interval / 10) are one instant. Source: docs/rules.md, Ticks."""
_LATEST_US = 85_000
"""Samples of SageMaker come up to 80 ms late, also where the interval is 100 ms."""

_AHEAD_RATIO = 0.95
"""Of a writer that takes other metrics first, so many stamps lie at or just before an anchor. Few
do where samples are late: they scatter over the interval."""

_SCATTERED_RATIO = 0.05
"""Of so many anchors the time just before is not empty. Samples that are only late leave it empty;
of those that scatter evenly over 100 ms, one of seven lies there. Chosen between the two."""

ALLOWED_INTERVALS_MS = (100, 200, 500, 1_000, 5_000, 60_000)
"""Sampling intervals SageMaker knows. Source: docs/formats.md, Sampling intervals."""

_DEFAULT_INTERVAL_US = 500_000
_GPU_DIMENSIONS = ("GPUUtilization", "GPUMemoryUtilization")


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """Samples in long form, in any order: UTC microseconds, index of the series, finite value."""

    time_us: NDArray[np.int64]
    code: NDArray[np.int32]
    value: NDArray[np.float64]

    @property
    def n_rows(self) -> int:
        """Return the number of samples."""
        return int(self.time_us.shape[0])

    def where(self, rows: NDArray[np.bool_] | NDArray[np.int64]) -> Rows:
        """Return the selected samples."""
        return select(self, rows)


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """Ticks of a stretch of time.

    ``values`` is (n_ticks, n_series), column-major, NaN where nothing was sampled; ``n_duplicates``
    samples were left out because series and stamp were there already.
    """

    tick_us: NDArray[np.int64]
    values: NDArray[np.float64]
    n_duplicates: int = 0

    def column(self, code: int) -> NDArray[np.float64]:
        """Return (n_ticks,) values of a series, NaN where it was not known yet."""
        n_ticks, n_known = self.values.shape
        return self.values[:, code] if code < n_known else np.full(n_ticks, np.nan)


def no_rows() -> Rows:
    """Return no samples."""
    return Rows(
        time_us=np.empty(0, dtype=np.int64),
        code=np.empty(0, dtype=np.int32),
        value=np.empty(0, dtype=np.float64),
    )


def join_rows(parts: Sequence[Rows]) -> Rows:
    """Return all samples of several parts."""
    return join(parts) if parts else no_rows()


def lay_out(rows: Rows, series: Sequence[Series]) -> Grid:
    """Place samples on ticks in order of time; the order of the samples does not matter.

    The stamp of a tick is its anchor's.

    Edge cases: no samples give no ticks; of samples with equal series and stamp the smallest
    value stays; a series that is sampled twice within one tick gives two ticks.
    """
    if rows.n_rows == 0:
        return Grid(tick_us=np.empty(0, dtype=np.int64), values=_blank(0, len(series)))
    n_series = len(series)
    is_anchor = _anchor_codes(rows, series)
    interval_us = _interval_us(rows, is_anchor)
    anchors = _apart(_distinct(rows.time_us[is_anchor[rows.code]]), interval_us)
    early_us = reach_us(rows.time_us, anchors, interval_us)
    tick, is_near = _nearest_tick(rows.time_us, anchors, interval_us, early_us)
    values = _blank(len(anchors), n_series)
    if is_near.all() and _fill(values, tick, rows):
        return Grid(tick_us=anchors, values=values)
    return _lay_out_carefully(rows, series, interval_us, early_us)


def early_us(interval_us: int | None) -> int:
    """Return how far a sample may lie before its anchor: usually half of the interval.

    Where that is short, one that is only late would belong to the next anchor.
    """
    interval_us = interval_us or _DEFAULT_INTERVAL_US
    return min(interval_us // 2, interval_us - _LATEST_US)


def reach_us(time_us: NDArray[np.int64], anchors: NDArray[np.int64], interval_us: int) -> int:
    """Return how far samples of some time lie before their anchors at most.

    That is ``early_us``, unless samples scatter around their anchors: then as many lie just before
    an anchor as that scatter needs. Or a writer takes other metrics before the anchors: nearly
    every anchor has samples up to half an interval before it, hardly any lie elsewhere, and no
    sample precedes the first anchor by more, or none follows the last one.
    """
    usual_us, half_us, same_us = early_us(interval_us), interval_us // 2, _same_us(interval_us)
    if usual_us == half_us:
        return usual_us
    stamps = _distinct(time_us)
    stamps = stamps[stamps <= anchors[-1]]
    following = np.searchsorted(anchors, stamps)
    ahead_us = anchors[following] - stamps
    is_just_before = (ahead_us > 0) & (ahead_us <= usual_us)
    if _distinct(following[is_just_before]).size >= _SCATTERED_RATIO * anchors.size:
        return half_us
    is_first_early = usual_us < anchors[0] - time_us.min() <= half_us
    if not is_first_early and time_us.max() > anchors[-1] + same_us:
        return usual_us
    is_behind = (following > 0) & (stamps <= anchors[np.maximum(following - 1, 0)] + same_us)
    is_ahead = ~is_behind & (ahead_us <= half_us)
    n_early = _distinct(following[is_ahead & (ahead_us > 0)]).size
    is_usual = n_early < _AHEAD_RATIO * anchors.size or (is_ahead | is_behind).mean() < _AHEAD_RATIO
    return usual_us if is_usual else half_us


def snapped_interval_us(stamps_us: NDArray[np.int64]) -> int | None:
    """Return the sampling interval behind sorted stamps of one series, in microseconds.

    It is the allowed one nearest (in ratio) to the median difference; ``None`` below two stamps.
    """
    if stamps_us.shape[0] < 2:
        return None
    median_us = max(float(np.median(np.diff(stamps_us))), 1.0)
    allowed_us = np.array(ALLOWED_INTERVALS_MS) * 1000
    return int(allowed_us[np.argmin(np.abs(np.log(allowed_us / median_us)))])


def _lay_out_carefully(
    rows: Rows, series: Sequence[Series], interval_us: int, early_us: int
) -> Grid:
    """Place samples in rounds; each round places all samples of its anchor group.

    Only the first round merges anchors, so a later one cannot leave its own anchors over.
    """
    rows, n_duplicates = drop_duplicates(rows)
    tick_parts: list[NDArray[np.int64]] = []
    value_parts: list[NDArray[np.float64]] = []
    while rows.n_rows:
        anchors = _distinct(rows.time_us[_anchor_codes(rows, series)[rows.code]])
        if not tick_parts:
            anchors = _apart(anchors, interval_us)
        tick, is_near = _nearest_tick(rows.time_us, anchors, interval_us, early_us)
        winners = _first_of_each_cell(rows, tick, is_near, anchors)
        values = _blank(len(anchors), len(series))
        _fill(values, tick[winners], rows.where(winners))
        tick_parts.append(anchors)
        value_parts.append(values)
        left = np.ones(rows.n_rows, dtype=np.bool_)
        left[winners] = False
        rows = rows.where(left)
    tick_us = np.concatenate(tick_parts)
    order = np.argsort(tick_us, kind="stable")
    values = np.asfortranarray(np.concatenate(value_parts)[order])
    return Grid(tick_us=tick_us[order], values=values, n_duplicates=n_duplicates)


def drop_duplicates(rows: Rows) -> tuple[Rows, int]:
    """Return samples by time and series, the least of each stamp and series, and how many went."""
    rows = rows.where(np.lexsort((rows.value, rows.code, rows.time_us)))
    is_new = np.ones(rows.n_rows, dtype=np.bool_)
    is_new[1:] = (np.diff(rows.time_us) != 0) | (np.diff(rows.code) != 0)
    n_duplicates = int(rows.n_rows - np.count_nonzero(is_new))
    return (rows.where(is_new) if n_duplicates else rows), n_duplicates


def _anchor_codes(rows: Rows, series: Sequence[Series]) -> NDArray[np.bool_]:
    """Return an (n_series,) mask of the group whose stamps are the anchors.

    Further metrics of GPUs may be sampled apart: they are no anchors.
    """
    present = np.bincount(rows.code, minlength=len(series)) > 0
    gpu_use = [item.type == "gpu" and item.dimension in _GPU_DIMENSIONS for item in series]
    for is_of_group in (gpu_use, [item.type == "memory" for item in series]):
        mask = np.array(is_of_group, dtype=np.bool_)
        if (mask & present).any():
            return mask
    earliest = rows.time_us == rows.time_us.min()
    first_type = min(series[code].type for code in set(rows.code[earliest].tolist()))
    return np.array([item.type == first_type for item in series], dtype=np.bool_)


def _interval_us(rows: Rows, is_anchor: NDArray[np.bool_]) -> int:
    codes = np.flatnonzero(is_anchor & (np.bincount(rows.code, minlength=len(is_anchor)) > 1))
    if not codes.size:
        return _DEFAULT_INTERVAL_US
    stamps = _distinct(rows.time_us[rows.code == codes[0]])
    return snapped_interval_us(stamps) or _DEFAULT_INTERVAL_US


def _distinct(values: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the different values, ascending; ``np.unique`` would load numpy's masked arrays."""
    ascending = np.sort(values)
    is_new = np.ones(ascending.size, dtype=np.bool_)
    is_new[1:] = ascending[1:] > ascending[:-1]
    return ascending[is_new]


def _same_us(interval_us: int) -> int:
    return min(_SAME_US, interval_us // 10)


def _apart(stamps: NDArray[np.int64], interval_us: int) -> NDArray[np.int64]:
    """Drop stamps close behind one that is kept: they are the same instant."""
    tolerance_us = _same_us(interval_us)
    if not (np.diff(stamps) <= tolerance_us).any():
        return stamps
    kept: list[int] = []
    for stamp in stamps.tolist():
        if not kept or stamp - kept[-1] > tolerance_us:
            kept.append(stamp)
    return np.array(kept, dtype=np.int64)


def _nearest_tick(
    time_us: NDArray[np.int64], anchors: NDArray[np.int64], interval_us: int, early_us: int
) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """Return each sample's anchor, and whether it is near enough to be the same instant.

    Neighbouring lines mostly share their stamp, so runs of equal stamps are looked up once.
    """
    starts = np.flatnonzero(np.diff(time_us, prepend=time_us[0] - 1))
    stamps = time_us[starts]
    tick = np.searchsorted(anchors, stamps + early_us, side="right") - 1
    exact = np.searchsorted(anchors, stamps, side="right") - 1
    tick = np.where((exact >= 0) & (anchors[exact] == stamps), exact, tick)
    is_near = (tick >= 0) & (stamps - anchors[tick] < interval_us - early_us)
    lengths = np.diff(starts, append=len(time_us))
    return np.repeat(tick, lengths), np.repeat(is_near, lengths)


def _first_of_each_cell(
    rows: Rows, tick: NDArray[np.intp], is_near: NDArray[np.bool_], anchors: NDArray[np.int64]
) -> NDArray[np.intp]:
    """Return the samples that get their cell: the nearest to the anchor, then the earliest."""
    near = np.flatnonzero(is_near)
    distance = np.abs(rows.time_us[near] - anchors[tick[near]])
    cell = tick[near] * (int(rows.code.max()) + 1) + rows.code[near]
    order = np.lexsort((rows.time_us[near], distance, cell))
    sorted_cell = cell[order]
    is_first = np.ones(len(order), dtype=np.bool_)
    is_first[1:] = np.diff(sorted_cell) != 0
    return near[order[is_first]]


def _fill(values: NDArray[np.float64], tick: NDArray[np.intp], rows: Rows) -> bool:
    """Write samples into their cells; return whether no two shared a cell."""
    flat = values.T.reshape(-1)
    flat[rows.code * np.intp(values.shape[0]) + tick] = rows.value
    return bool(np.count_nonzero(flat == flat) == rows.n_rows)  # NaN != NaN


def _blank(n_ticks: int, n_series: int) -> NDArray[np.float64]:
    return np.full((n_ticks, n_series), np.nan, order="F")
