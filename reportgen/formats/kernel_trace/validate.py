"""Raw columns of a kernel trace without impossible times, on one origin and in order.

Raw columns count as the file does, in float64 microseconds: only these can hold a time that is
absent or far too large. After ``drop_impossible``, ``to_origin`` makes int64 ns of them.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from reportgen.formats.columns import Column, Columns
from reportgen.units import NS_PER_US

_DAY_US = 86_400e6
MAX_DURATION_US = 7 * _DAY_US
"""Longer events are overflows (2^64). Source: docs/definitions.md, Impossible times."""

MAX_DISTANCE_US = 7 * _DAY_US
"""Events this far from most others have broken times; the limit is that of durations."""

OVERRUN_NS = 100 * NS_PER_US
"""Overlaps on one stream beyond this are broken ends, below it are real.
Source: docs/definitions.md, Impossible times; TraceLens#669."""

NS_TOLD_BELOW_US = 2**43
"""Below, float64 keeps whole nanoseconds: true for files that state a base for their times."""

ROW = "row"
"""Column that keeps the place of a row in the file while rows are dropped and sorted."""

MOST_DEVICES = 1_024
"""GPUs of one trace; each costs rules some ms. A machine has 16, a rank mostly one."""

_SAMPLED_ROWS = 10_001


def drop_impossible(tables: Mapping[str, Columns]) -> tuple[int, int]:
    """Drop rows that cannot be, in place; return how many had bad durations and bad times.

    Tables have ``start_us`` and maybe ``duration_us``, in microseconds of the file; one without
    rows has no columns afterwards.
    """
    typical_us = _typical_time_us(tables)
    bad_durations = bad_times = 0
    for table in tables.values():
        if not table:
            continue
        start_us = table["start_us"]
        table[ROW] = np.arange(len(start_us), dtype=np.int32)
        is_near = np.abs(start_us - typical_us) <= MAX_DISTANCE_US  # false for NaN
        is_possible = np.ones_like(is_near)
        if "duration_us" in table:
            duration_us = table["duration_us"]
            is_possible = (duration_us >= 0) & (duration_us <= MAX_DURATION_US)
        bad_times += int(np.count_nonzero(~is_near))
        bad_durations += int(np.count_nonzero(is_near & ~is_possible))
        if not (is_near & is_possible).all():
            take_rows(table, is_near & is_possible)
            if not len(table[ROW]):
                table.clear()
    return bad_durations, bad_times


def drop_further_devices(tables: Mapping[str, Columns]) -> int:
    """Drop rows of GPUs beyond the ``MOST_DEVICES`` lowest, in place; return how many."""
    found = [np.unique(table["device"]) for table in tables.values() if "device" in table]
    devices = np.unique(np.concatenate(found)) if found else np.empty(0)
    if len(devices) <= MOST_DEVICES:
        return 0
    n_rows = 0
    for table in tables.values():
        if "device" in table:
            is_kept = table["device"] < devices[MOST_DEVICES]
            n_rows += int(np.count_nonzero(~is_kept))
            take_rows(table, is_kept)
            if not is_kept.any():
                table.clear()
    return n_rows


def _typical_time_us(tables: Mapping[str, Columns]) -> float:
    found = []
    for table in tables.values():
        if table:
            start_us = table["start_us"]
            found.append(start_us[:: max(len(start_us) // _SAMPLED_ROWS, 1)])
    starts_us = np.concatenate(found) if found else np.empty(0)
    starts_us = starts_us[np.isfinite(starts_us)]
    return float(np.median(starts_us)) if starts_us.size else 0.0


def whole_base_us(tables: Mapping[str, Columns]) -> int:
    """Return the last whole microsecond before everything; 0 without rows."""
    starts = [table["start_us"].min() for table in tables.values() if table]
    return int(np.floor(min(starts))) if starts else 0


def to_origin(table: Columns, base_us: int) -> None:
    """Turn the times of a table into int64 ns after an origin, in place.

    ``start_us`` and ``duration_us`` become ``start_ns``, ``end_ns`` and ``duration_ns``. Profilers
    write up to three decimals, which are whole nanoseconds; further decimals are rounded.

    An end is start plus duration. Where float64 does not hold nanoseconds, as since 1970, the two
    are summed before they are moved, as everyone does who reads the file: the figures that others
    publish carry the rounding of that sum. The subtraction itself is exact.
    """
    if not table:
        return
    start_us = table.pop("start_us")
    table["start_ns"] = _whole_ns(start_us - base_us)
    if "duration_us" not in table:
        return
    duration_us = table.pop("duration_us")
    if base_us < NS_TOLD_BELOW_US:
        del start_us  # tens of MB of a large trace
        table["duration_ns"] = _whole_ns(duration_us)
        del duration_us
        table["end_ns"] = table["start_ns"] + table["duration_ns"]
    else:
        table["end_ns"] = _whole_ns((start_us + duration_us) - base_us)
        del start_us
        table["duration_ns"] = _whole_ns(duration_us)


def _whole_ns(time_us: Column) -> Column:
    time_us *= NS_PER_US
    return np.rint(time_us, out=time_us).astype(np.int64)


def sort_rows(table: Columns, *, is_outer_first: bool = False) -> None:
    """Sort a table by start and end, in place; of equal starts the longest first if asked for."""
    if not table:
        return
    keys = [table["start_ns"]]
    if "end_ns" in table:
        keys.insert(0, -table["end_ns"] if is_outer_first else table["end_ns"])
    order = np.lexsort(keys)
    take_rows(table, order)


def take_rows(table: Columns, rows: NDArray[np.bool_] | NDArray[np.int64]) -> None:
    """Keep the selected rows, in place: one column at a time, for the memory's sake."""
    kept = np.flatnonzero(rows) if rows.dtype == np.bool_ else rows
    for name in list(table):  # the column before is freed with its place
        table[name] = np.take(table[name], kept, mode="clip")


def clip_overruns(table: Columns) -> None:
    """Add ``is_overrun`` to sorted GPU ops and clip the ends of those that overrun."""
    n_rows = len(table["start_ns"])
    order = np.lexsort((np.arange(n_rows), table["stream"], table["device"]))
    start_ns, end_ns = table["start_ns"][order], table["end_ns"][order]
    device, stream = table["device"][order], table["stream"][order]
    is_same = (device[1:] == device[:-1]) & (stream[1:] == stream[:-1])
    is_over = np.zeros(n_rows, dtype=np.bool_)
    is_over[:-1] = is_same & (end_ns[:-1] - start_ns[1:] > OVERRUN_NS)
    following_ns = np.append(start_ns[1:], end_ns[-1:])
    table["end_ns"][order] = np.where(is_over, following_ns, end_ns)
    table["is_overrun"] = np.empty_like(is_over)
    table["is_overrun"][order] = is_over
